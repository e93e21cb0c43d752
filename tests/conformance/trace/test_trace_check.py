"""`trace check` before and after Spark: what it refuses, how it tells progress, what its pages say."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance import cli
from conformance.outcome.results import Results
from conformance.trace.stages import Stages
from reports.html import captures, history
from reports.pipeline import session


def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> tuple[int, str]:
    code = cli.main(["trace", "check", *words, "--out", str(tmp_path / "out")])
    return code, " ".join(capsys.readouterr().err.split())


def test_what_is_not_there_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    code, said = run(capsys, tmp_path, str(tmp_path / "nothing"))
    assert (code, "no such file or directory" in said) == (2, True)


def test_what_is_neither_is_refused_by_what_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("hello")
    code, said = run(capsys, tmp_path, str(tmp_path / "notes.txt"))
    assert (code, "neither a recording nor a capture" in said) == (2, True)
    code, said = run(capsys, tmp_path, str(tmp_path))
    assert (code, "no recording and no capture here" in said) == (2, True)


@pytest.mark.parametrize(
    ("option", "value", "told"),
    [
        ("--profile", "rabbitmq-9", "there is no profile 'rabbitmq-9'"),
        ("--deviations", "rabbitmq-9", "there are no deviations 'rabbitmq-9'"),
    ],
)
def test_options_are_checked_first(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    option: str,
    value: str,
    told: str,
) -> None:
    code, said = run(capsys, tmp_path, str(tmp_path), option, value)
    assert (code, told in said) == (2, True)


def test_without_java_it_says_what_to_install(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "events-a.jsonl").write_text('{"schema":"amqp-conformance/recording/1","run":"r1"}\n')
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setattr(session, "_had", lambda: None)
    code, said = run(capsys, tmp_path, str(tmp_path / "events-a.jsonl"), "--spark")
    assert (code, "openjdk-17-jre-headless" in said, "amqp-conformance[jre]" in said) == (2, True, True)


def test_progress_in_a_log_is_a_line_for_each_stage() -> None:
    stream = io.StringIO()
    with Stages(("reading", "judging"), stream) as stages:
        stages("reading", 0, 0)
        stages("reading", 3, 8)
        stages("judging", 0, 0)
    lines = [line.split(":")[0] for line in stream.getvalue().splitlines()]
    assert lines == ["1/2 reading ...", "1/2 reading", "2/2 judging ...", "2/2 judging"]


def test_a_filter_names_the_packets() -> None:
    assert captures.filtered([7, 3, 4, 5, 12]) == "frame.number in {3..5, 7, 12}"


SUMMARY: dict[str, Any] = {
    "runs": [
        {"run": run, "broker": "B <1>", "started": f"2026-01-0{day}", "profile": "p", "events": 5}
        for day, run in enumerate(("r1", "r2", "r3"), 1)
    ],
    "history": [
        {"run": run, "broker": "B <1>", "rule": rule, "verdict": verdict}
        for rule, verdicts in {"X-1": ("held", "broken", "held"), "X-2": ("held",) * 3}.items()
        for run, verdict in zip(("r1", "r2", "r3"), verdicts, strict=True)
    ],
    "flakiness": [{"broker": "B <1>", "rule": "X-1", "flips": 2, "flaky": True}],
    "latency": [
        {
            "run": "r1",
            "broker": "B <1>",
            "what": "confirm",
            "n": 12,
            "p50": 0.4,
            "p90": 2.0,
            "p99": 1500.0,
            "p999": 1500.0,
            "worst": 1500.0,
        }
    ],
    "regressions": [{"before": "r1", "after": "r2", "rule": "X-1", "was": "held", "now": "broken", "change": "broken"}],
}


def test_the_history_page_shows_what_changed_and_counts_the_rest() -> None:
    page = history.render(SUMMARY)
    assert "1 rule had nothing to show" in page
    assert "flaky, changed 2 times" in page
    assert "B &lt;1&gt;: " not in page
    assert "<1>" not in page
    assert "median 400 µs, 90 % 2 ms, 99 % 1.5 s, n = 12" in page
    assert page == history.render(SUMMARY)


def test_the_capture_page_leads_to_the_case_and_to_the_packets(results_of: Results) -> None:
    from conformance.trace.results import document

    shown = document(results_of)
    place = {
        "run": "x",
        "case": "X-1",
        "rule": shown["rules"][0]["id"],
        "observed": "tag 0",
        "file": "x.pcap",
        "packet": 9,
        "packets": [8, 9],
    }
    page = captures.render([(shown, [place], {"kind": "capture", "gap": 2, "connections": 3, "events": 4})])
    assert f'href="index.html#/{place["rule"]}"' in page
    assert "frame.number in {8..9}" in page
    assert "2 gaps in the capture" in page


@pytest.fixture
def results_of() -> Results:
    from conformance.outcome.assemble import Frame, build
    from conformance.outcome.gate import Known
    from conformance.outcome.ledger import Ledger
    from conformance.outcome.results import Selection

    words: Sequence[str] = ("a", "b")
    return build(Ledger(), Frame("r", "2026-01-01", 0.0, *words, 0, "ci", Selection("may", "*", False), Known()))

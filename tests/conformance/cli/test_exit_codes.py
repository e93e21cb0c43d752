"""Exit codes, one by one: each verb, each code that it can end with, and never a traceback.

0 gate open, or done · 1 gate closed, or a difference · 2 wrong use · 3 broker unreachable · 4 harness error, or
inconclusive · 130 interrupted. Signals that arrive in the middle of things are in test_bad_input; the work of verbs
that need Spark, or run until interrupted, has its codes in the tests of that work.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.cli import command, main
from conformance.outcome.results import to_json
from conformance.session.exits import MEANING
from reference_broker import ReferenceBroker
from tests.support.runs import case, results, rule

QUICK = ("--depth", "smoke", "--examples", "1")
VERBS = (
    "run",
    "doctor",
    "list",
    "explain",
    "replay",
    "baseline",
    "diff",
    "broker",
    "report",
    "trace",
    "mutants",
    "hunt",
)
GET = {"channel": 1, "method": "basic.get", "queue": "{q1}", "on": "c1"}
STORY = [
    {"n": 1, "who": "-", "on": "c1", "method": "connect", "capabilities": {}},
    {"n": 2, "who": ">", "on": "c1", "channel": 1, "method": "channel.open"},
    {"n": 3, "who": "<", "on": "c1", "channel": 1, "method": "channel.open-ok"},
    {"n": 4, "who": ">", "on": "c1", "channel": 1, "method": "queue.declare", "queue": "{q1}"},
    {"n": 5, "who": "<", "on": "c1", "channel": 1, "method": "queue.declare-ok", "queue": "{q1}"},
    {"n": 6, "who": ">", **GET},
    {"n": 7, "who": "<", "on": "c1", "channel": 1, "method": "basic.get-ok", "message": "m1", "decisive": True},
]
"""An empty queue gives a message: no broker does that."""
UNPLAYED = [
    *STORY[:5],
    {"n": 6, "who": "<", "on": "c1", "channel": 1, "method": "basic.deliver", "message": "m"},
    *[{**row, "n": row["n"] + 1} for row in STORY[5:]],
]
"""Before that, a delivery that nothing brings about: nobody comes to the place in question."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str], str]]:
    """Fills in {names} of files and brokers."""
    folder = tmp_path_factory.mktemp("codes")
    broken = rule("ACK-002", "broken", case("ACK-002", "it stays"))
    for name, judged in (("held", rule("ACK-002")), ("broken", broken)):
        (folder / f"{name}.json").write_text(to_json(results("Broker 1", [judged])))
    told = {"schema": "amqp-conformance/case/1", "rule": "ACK-002", "title": "t", "queue_type": "classic"}
    for name, reproducer in (("fixed", STORY), ("unplayed", UNPLAYED), ("untold", [])):
        (folder / f"{name}.case.json").write_text(json.dumps({**told, "story": reproducer, "rerun": "again"}))
    (folder / "known.toml").write_text(
        '[[deviation]]\nrule = "ACK-002"\nreason = "it stays"\nnote = "n"\nevidence = "e"\nowner = "o"\n'
    )
    (folder / "wrong.toml").write_text("[[deviation]]\n")
    with ReferenceBroker() as broker, socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
        taken.close()
        known = {"url": broker.url, "nobody": f"amqp://guest:guest@127.0.0.1:{free}/", "dir": str(folder)}
        yield lambda word: word.format(**known)


TABLE: list[tuple[int, str]] = [
    (0, "list"),
    (0, "list ACK-* --format json"),
    (0, "list --set guides-1"),
    (0, "explain ACK-001"),
    (0, "doctor {url}"),
    (0, "run {url} --rules TAG-001"),
    (0, "run {url} --set guides-1 --rules TAG-001"),
    (0, "report {dir}/held.json --out {dir}/report"),
    (0, "replay {dir}/fixed.case.json {url} --times 1"),
    (0, "diff {dir}/held.json {dir}/held.json"),
    (0, "diff --explain documented documented --rules TAG-003"),
    (0, "baseline {dir}/broken.json --deviations {dir}/known.toml"),
    (0, "baseline {dir}/broken.json --deviations {dir}/known.toml --dry-run"),
    (0, "baseline {dir}/broken.json --deviations {dir}/new.toml"),
    (0, "hunt {url} --rules TAG-001 --minutes 0.1"),
    (1, "run --rules CNF-009 --mutant routes.return-with-code-313"),
    (1, "diff {dir}/held.json {dir}/broken.json"),
    (1, "diff {dir}/held.json {dir}/broken.json --format json"),
    (1, "baseline {dir}/held.json --deviations {dir}/known.toml --dry-run"),
    (2, ""),
    (2, "judge"),
    (2, "run http://localhost"),
    (2, "run {url} --rules XYZ-*"),
    (2, "run {url} --level shall"),
    (2, "run {url} --set guides-0"),
    (2, "run {url} --profile none"),
    (2, "run {url} --deviations {dir}/wrong.toml"),
    (2, "run --mutant none"),
    (2, "hunt {url} --minutes -1"),
    (2, "hunt {url} --hours long"),
    (2, "hunt {url} --again luck"),
    (2, "doctor"),
    (2, "doctor redis://localhost"),
    (2, "list XYZ-*"),
    (2, "list --set guides-0"),
    (2, "explain XYZ-001"),
    (2, "explain"),
    (2, "report {dir}/none.json"),
    (2, "report {dir}/known.toml"),
    (2, "replay {dir}/none.json {url}"),
    (2, "replay {dir}/held.json {url}"),
    (2, "replay {dir}/untold.case.json {url}"),
    (2, "replay {dir}/fixed.case.json nonsense"),
    (2, "replay {dir}/fixed.case.json {url} --times 0"),
    (2, "diff {dir}/held.json"),
    (2, "diff {dir}/held.json {dir}/none.json"),
    (2, "diff {dir}/held.json {dir}/known.toml"),
    (2, "diff --explain nothing documented"),
    (2, "diff {dir}/held.json {dir}/held.json --format pdf"),
    (2, "baseline"),
    (2, "baseline {dir}/none.json"),
    (2, "baseline {dir}/known.toml"),
    (2, "baseline {dir}/held.json --deviations {dir}/wrong.toml"),
    (2, "baseline {dir}/held.json --expires soon"),
    (2, "broker --port 99999"),
    (2, "broker --mutant none --port 0"),
    (2, "mutants none.*"),
    (2, "mutants --seeds 0"),
    (2, "mutants --legal 0"),
    (2, "mutants -n none"),
    (2, "trace"),
    (2, "trace record {url} --listen none"),
    (2, "trace record nonsense --listen 0"),
    (2, "trace watch {dir}/none --once"),
    (3, "run {nobody} --rules TAG-001"),
    (3, "hunt {nobody} --minutes 1"),
    (3, "doctor {nobody}"),
    (3, "replay {dir}/fixed.case.json {nobody}"),
    (3, "diff --explain {nobody} documented --rules TAG-003"),
    (4, "replay {dir}/unplayed.case.json {url} --times 1"),
]


@pytest.mark.parametrize(("code", "line"), TABLE, ids=[f"{code} {line}" for code, line in TABLE])
def test_the_code_of_a_command(
    code: int,
    line: str,
    place: Callable[[str], str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    words = [place(word) for word in line.split()]
    assert main([*words, *(QUICK if line.startswith(("run", "hunt")) else ())]) == code
    said = capsys.readouterr()
    assert "Traceback" not in said.out + said.err
    if code == 2:
        assert said.err.strip(), "wrong use is explained"


def test_every_verb_and_every_code_is_in_the_table() -> None:
    used = {line.split()[0] for _, line in TABLE if line}
    assert used - {"judge"} == set(VERBS)
    assert {code for code, _ in TABLE} | {130} == set(MEANING)


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (RuntimeError("broken"), 4)])
def test_an_interrupt_and_a_fault_of_ours_end_any_verb_in_words(
    verb: str,
    raised: BaseException,
    code: int,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fail(options: Any) -> int:
        raise raised

    options = SimpleNamespace(verb=fail)
    monkeypatch.setattr(command, "parser", lambda verb: SimpleNamespace(parse_args=lambda words: options))
    assert main([verb]) == code
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert ("Interrupted" if code == 130 else "The suite itself failed") in said


def test_help_is_no_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        with pytest.raises(SystemExit) as ended:
            main([verb, "--help"])
        assert ended.value.code == 0
    assert "exit codes:" in capsys.readouterr().out


def test_a_gate_that_a_deviation_closes_is_closed_like_any_other(tmp_path: Path) -> None:
    entry = '[[deviation]]\nrule = "TAG-001"\nreason = "gone"\nnote = "n"\nevidence = "e"\nowner = "o"\n'
    for name, more in (("stale", ""), ("expired", "expires = 2020-01-01\n")):
        file = tmp_path / f"{name}.toml"
        file.write_text(entry + more)
        assert main(["run", "--rules", "TAG-001", "--deviations", str(file), *QUICK]) == 1

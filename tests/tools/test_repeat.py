"""The tally of repeated runs: what counts as unsteady, and that a real repetition is steady."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from reference_broker import ReferenceBroker
from tools import repeat
from tools.repeat import Tally, main
from tools.steadiness import lines


def results(**verdicts: str) -> dict[str, object]:
    return {"rules": [{"id": rule.replace("_", "-"), "verdict": verdict} for rule, verdict in verdicts.items()]}


def test_a_verdict_that_changes_is_unsteady() -> None:
    tally = Tally("b")
    tally.add(0, results(ACK_001="held", ACK_002="held"))
    tally.add(0, results(ACK_001="held", ACK_002="broken"))
    assert list(tally.unsteady()) == ["ACK-002"]
    assert not tally.steady()


def test_a_rule_that_only_reports_may_change() -> None:
    tally = Tally("b")
    tally.add(0, results(TAG_004="held"))
    tally.add(0, results(TAG_004="broken"))
    assert tally.steady()


def test_a_run_that_ends_otherwise_is_unsteady() -> None:
    tally = Tally("b")
    tally.add(0, results(ACK_001="held"))
    tally.add(3, None)
    assert not tally.unsteady()
    assert not tally.steady()


def test_runs_on_the_reference_broker_agree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ReferenceBroker() as broker:
        short = ["--runs", "2", "--depth", "smoke", "--rules", "ACK-01*"]
        code = main([*short, "--out", str(tmp_path), f"ref={broker.url}"])
    assert code == 0, capsys.readouterr().out
    document = json.loads((tmp_path / "repeat.json").read_text())
    (row,) = document["brokers"]
    assert row["exits"] == {"0": 2}
    assert row["verdicts"]["ACK-010"] == {"held": 2}
    assert [one["crowded"] for one in document["rounds"]] == [False, True]
    assert "2 runs" in capsys.readouterr().out
    page = tmp_path / "page.md"
    assert main(["--out", str(tmp_path), "--page", str(page)]) == 0
    assert "No rule was unsteady" in page.read_text()
    assert "| 2 | 1 | 0 in 2 |" in page.read_text()
    tally = str(tmp_path / "repeat.json")
    assert main(["--page", str(page), "--note", "Twice told.", tally, tally]) == 0
    assert "| 4 | 2 | 0 in 4 |" in page.read_text()
    assert "seed 0. Twice told." in page.read_text()


def test_a_page_names_what_was_unsteady() -> None:
    tally = Tally("b")
    tally.add(0, {**results(ACK_001="held", ACK_002="held", ACK_003="deviates"), "broker": {"name": "B 1"}})
    tally.add(1, {**results(ACK_001="held", ACK_002="broken", ACK_003="deviates"), "broker": {"name": "B 1"}})
    rounds = [{"crowded": False, "seconds": 10}, {"crowded": True, "seconds": 30}]
    document = {"suite": "0", "depth": "ci", "seed": 0, "cores": 4, "rounds": rounds, "brokers": [tally.row()]}
    page = "\n".join(lines([document]))
    assert "- B 1, ACK-002: broken in 1, held in 1" in page
    assert "| B 1 | 2 | 1 | 0 in 1, 1 in 1 | 0 | 3 | 1 | 1 | none | 1 |" in page
    assert "10 calm, 30 crowded" in page


def test_an_interrupt_loses_the_round_that_it_meets_and_nothing_else(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played: list[Path] = []

    def once(url: str, options: object, out: Path) -> tuple[int, dict[str, object]]:
        played.append(out)
        if len(played) == 3:
            raise KeyboardInterrupt
        return 0, results(ACK_001="held")

    monkeypatch.setattr(repeat, "run_once", once)
    assert main(["--runs", "5", "--out", str(tmp_path), "b=amqp://nowhere"]) == 130
    assert len(json.loads((tmp_path / "repeat.json").read_text())["rounds"]) == 2
    assert "b: 2 runs (exit 0 x2)" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["amqp://nowhere"]])
def test_a_broker_has_a_name_and_a_url(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2


def test_no_page_without_a_tally(tmp_path: Path) -> None:
    assert main(["--out", str(tmp_path), "--page", str(tmp_path / "page.md")]) == 2


def test_tallies_of_different_suites_are_not_told_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        document = {"suite": name, "depth": "ci", "seed": 0, "cores": 4, "rounds": [], "brokers": []}
        (tmp_path / name).write_text(json.dumps(document))
    assert main(["--page", str(tmp_path / "page.md"), str(tmp_path / "one"), str(tmp_path / "two")]) == 2
    assert "differ in one of suite" in capsys.readouterr().err

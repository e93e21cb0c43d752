"""Traits alone, in a few scenes each: what is found, what is wrong, and what is kept. The campaign is `make traits`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from conformance.drive.run.plays import Play
from reference_broker.personalities import TRAITS
from tools.personalities import traits

WRITTEN_FOR = {"RQ-009", "ACK-004"}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Only these scenes are played; the names of those that were."""
    played: list[str] = []
    choose, enter = traits.chosen, traits.Examination.enter

    def noted(self: traits.Examination, each: Play) -> None:
        played.append(each.key)
        enter(self, each)

    def chosen(*given: Any) -> list[Play]:
        return [one for one in choose(*given) if WRITTEN_FOR.intersection(one.check.rules)]

    monkeypatch.setattr(traits, "chosen", chosen)
    monkeypatch.setattr(traits.Examination, "enter", noted)
    return played


def test_a_trait_is_found_and_nothing_else_is(few: list[str], tmp_path: Path, capsys: Any) -> None:
    asked = ["redelivered.always", "--kept", str(tmp_path)]
    assert traits.main(asked) == 0
    first, last = capsys.readouterr().out.splitlines()
    assert first.startswith("1/1 redelivered.always: ")
    assert first.endswith("broken RQ-009")
    assert last == "traits 1, wrong verdicts 0"
    count = len(few)
    assert count
    assert traits.main(asked) == 0, "what is played is not played again"
    assert len(few) == count


def test_wrong_verdicts_are_told(few: list[str], tmp_path: Path, capsys: Any) -> None:
    """A rule that was broken and is kept by the truth; one that is broken by the truth and was held."""
    traits.main(["redelivered.always", "--kept", str(tmp_path)])
    path = tmp_path / "redelivered.always.json"
    kept = json.loads(path.read_text())
    said = kept["run"]["said"]
    said["ACK-004"]["verdict"], said["RQ-009"]["verdict"] = "broken", "held"
    path.write_text(json.dumps(kept))
    capsys.readouterr()
    assert traits.main(["redelivered.always", "--kept", str(tmp_path)]) == 1
    told = capsys.readouterr().out
    assert "ACK-004 wrongly accused (keeps)" in told
    assert "RQ-009 wrongly held (breaks)" in told
    path.write_text(json.dumps({**kept, "unplayed": ["RQ-009"]}))
    traits.main(["redelivered.always", "--kept", str(tmp_path)])
    assert "wrongly held" not in capsys.readouterr().out, "not all of its own scenes were played"


def test_general_traits_come_first_and_ends_last() -> None:
    names = [one.name for one in traits.ordered()]
    assert len(names) == len(TRAITS)
    assert names[0].startswith("settle.")
    assert not any(one.breaks_down for one in traits.ordered()[:100])
    assert traits.ordered()[-1].breaks_down

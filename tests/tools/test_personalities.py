"""A short campaign: strangers that the suite examines to the end within a minute, and judges rightly.

Chosen are such as deviate much and let everything else be examined; the whole campaign is `make personalities`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from reference_broker.personalities import personality
from tools.personalities import __main__ as personalities
from tools.personalities.truth import compare

SHORT = (
    "redelivered.always+cancel.notifies-everybody+tune.small-frames",
    pytest.param("guillotine", marks=pytest.mark.long),
    pytest.param(
        "immediate.honoured+refused.basic.recover-by-connection+routes.unroutable-refused", marks=pytest.mark.long
    ),
)


@pytest.mark.parametrize("name", SHORT)
def test_a_stranger_is_examined_to_the_end_and_judged_rightly(name: str, tmp_path: Path) -> None:
    stranger = personality(name)
    run = personalities.play(stranger, personalities.CampaignOptions(bound=120, kept=tmp_path))
    seen = compare(run, stranger.truth)
    assert run.how == "judged", run.last_words
    assert seen.wrong == ()
    assert seen.found


@pytest.mark.long
def test_who_lacks_a_good_deal_is_examined_all_the_same(tmp_path: Path) -> None:
    """A broker without basic.get, confirms and transactions, as young ones are."""
    stranger = personality("sketch")
    run = personalities.play(stranger, personalities.CampaignOptions(bound=170, kept=tmp_path))
    assert (run.how, run.exit) == ("judged", 1)
    assert compare(run, stranger.truth).wrong == ()


def test_what_is_played_is_kept_and_told(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    monkeypatch.setattr(personalities, "suite", lambda url, wanted: (3, "", f"said something\nno broker at {url}"))
    assert personalities.main(["--name", "pedant", "--kept", str(tmp_path)]) == 1, "who is given up misses a goal"
    told = capsys.readouterr().out
    assert told.startswith("1/1 pedant: ")
    assert "aborted: no broker at amqp://" in told
    kept = json.loads((tmp_path / "smoke" / "pedant.json").read_text())
    assert kept["run"]["how"] == "aborted"


def test_a_suite_that_does_not_end_is_killed(monkeypatch: Any) -> None:
    monkeypatch.setattr(personalities, "INTERRUPT", 0.1)
    with personalities.broker("sieve") as url:
        code, _, _ = personalities.suite(url, personalities.CampaignOptions(bound=0.2))
    assert code is None

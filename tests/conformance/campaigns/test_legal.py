"""No lawful broker is taken for a wrong one: each variation alone, combinations, machines and scenes.

A short form of `amqp-conformance mutants --legal N`; and what that says when something is wrong after all.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conformance.campaigns import legal
from conformance.campaigns.hunt import DEADLINE
from conformance.campaigns.journal import Journal
from conformance.campaigns.legal import LegalOptions, LegalTask
from conformance.catalogue import profiles
from conformance.cli import main
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.target import Target
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import plays
from conformance.drive.run.runner import observe
from conformance.history.recording import to_event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from reference_broker.configuration import charter
from reference_broker.dialects import DIALECTS
from reference_broker.nondeterminism import VARIATIONS

PROFILE = profiles.load("documented")
Perform = Callable[[LegalTask], Any]
CHARTERS = 10
"""So many combinations, each dialect twice: more than 300 histories."""


EACH = LegalTask(0).histories


@pytest.fixture(params=[1, pytest.param(2, marks=pytest.mark.long)], ids=["once", "twice"])
def examples(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """So many histories of each machine, queue type and scheduler; `make trust` plays thousands."""
    monkeypatch.setattr(legal, "EXAMPLES", request.param)


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("name", VARIATIONS)
@pytest.mark.sampled(5)
def test_each_variation_alone_is_lawful(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in every third round, other ones for the next; combinations below, and two examples, are for all rounds."""
    if legal.EXAMPLES == 1:
        monkeypatch.setattr(legal, "ROUNDS", legal.ROUNDS[list(VARIATIONS).index(name) % 3 :: 3])
    task = LegalTask(1, names=(name,))
    result = legal.perform(task)
    assert result["alarms"] == []
    assert result["runs"] == task.histories


@pytest.mark.usefixtures("examples")
@pytest.mark.parametrize("seed", range(CHARTERS))
@pytest.mark.sampled(5)
def test_combinations_are_lawful(seed: int) -> None:
    result = legal.perform(LegalTask(seed))
    assert result["alarms"] == []
    assert result["runs"] == LegalTask(seed).histories


def test_each_dialect_has_its_turn_and_scenes_that_it_can_be_asked() -> None:
    assert {LegalTask(seed).dialect for seed in range(CHARTERS)} == {*DIALECTS}
    for seed in range(CHARTERS):
        profile = profiles.load(LegalTask(seed).dialect)
        scenes = LegalTask(seed).scenes()
        assert len({play.key for play in scenes}) == legal.SCENES
        assert all(play.suits(profile, legal.DEPTH) for play in scenes)


@pytest.mark.parametrize("every", [False, pytest.param(True, marks=pytest.mark.long)], ids=["once", "each-queue-type"])
@pytest.mark.sampled(2)
def test_the_scenes_find_nothing_either(every: bool) -> None:
    """On each queue type 16 of them are played above, on every broker."""
    seed = 0
    found: list[str] = []

    def watch(judgement: Judgement, history: object) -> None:
        found.extend(f"{play.key}: {one.rule}: {one.observed}" for one in judgement.findings if one.certain)

    with ReferenceBroker(clock="elastic", http_port=0, nondeterminism=seed) as broker:
        bench = Bench(
            Target.parse(broker.url),
            PROFILE,
            Around(Admin(broker.admin_url), broker.leap),
            5 * DEADLINE,
            seed,
            "smoke",
        )
        for play in plays():
            wanted = every or play.queue_type == play.check.queue_types[0]
            if wanted and not play.machine and play.suits(PROFILE, "smoke"):
                assert observe(play, bench, watch) is None, play.key
    assert found == []


@pytest.fixture
def wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that takes one variation too many."""
    monkeypatch.setattr(legal, "ReferenceBroker", partial(ReferenceBroker, mutants=("requeue.at-tail",)))


@pytest.mark.usefixtures("wrong")
def test_an_alarm_tells_how_to_see_it_again(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def here(left: list[LegalTask], journal: Journal, workers: int, progress: object, perform: Perform) -> None:
        for task in left:
            journal.add(task.key, perform(task))

    monkeypatch.setattr(legal, "played", here)
    monkeypatch.setattr(legal, "ROUNDS", [one for one in legal.ROUNDS if one[0] is REQUEUEING][:2])
    trust = tmp_path / "trust.json"
    trust.write_text('{"mutants": 7}')
    assert legal.run(LegalOptions(1, 5, 1, "text", tmp_path, trust)) == 1
    said = capsys.readouterr().out
    assert "with the variations of seed 5 (amqp-conformance broker --dialect documented --nondeterminism 5)" in said
    assert re.search(r"FALSE ALARM RQ-\d+: ", said)
    figures = json.loads(trust.read_text())
    assert (figures["mutants"], figures["chaos_runs"]) == (7, LegalTask(5).histories)
    assert figures["false_alarms"] > 0
    case = json.loads(next(tmp_path.glob("alarm-*.json")).read_text())
    again = judge([to_event(row) for row in case["slice"]], profiles.load(case["dialect"]))
    assert case["rule"] in {finding.rule for finding in again.findings}


def test_a_campaign_has_at_least_as_many_histories_as_asked_for() -> None:
    assert [len(legal.tasks(LegalOptions(wanted))) for wanted in (1, EACH, EACH + 1)] == [1, 1, 2]
    many = legal.tasks(LegalOptions(20_000))
    assert sum(task.histories for task in many[:-1]) < 20_000 <= sum(task.histories for task in many)


def test_no_histories_are_no_campaign(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mutants", "--legal", "0"]) == 2
    assert "plays nothing; give at least 1." in capsys.readouterr().err


def test_the_tally_of_a_campaign_without_alarms(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is carried on where it was interrupted."""
    wanted = LegalOptions(1, 7, 1, "json", tmp_path, tmp_path / "trust.json")
    done = {"runs": EACH, "alarms": [], "exercised": {"ACK-001": 3}, "seconds": 2.0}
    Journal(tmp_path, "legal").add(LegalTask(7).key, done)
    monkeypatch.setattr(legal, "perform", None)
    assert legal.run(wanted) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["runs"], document["alarms"], document["charters"]) == (EACH, [], 1)
    assert document["liberties"] == dict.fromkeys(sorted(charter(7).granted), 1)
    assert json.loads(wanted.trust.read_text()) == {"chaos_runs": EACH, "false_alarms": 0}

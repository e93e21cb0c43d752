"""A reproducer is written within its budget, and a right broker is sought where the dialect is wrong as well."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import pytest

from conformance.campaigns import trial
from conformance.catalogue import deviations
from conformance.catalogue.deviations import excuse
from conformance.catalogue.profiles import Profile, load
from conformance.drive.drivers.target import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import plays_for
from conformance.drive.run.runner import perform
from conformance.drive.stage import Stage
from conformance.evidence.scripts import player
from conformance.oracle.verdicts import Finding
from conformance.session import brokers, checks
from conformance.session.session import patient
from reference_broker import ReferenceBroker

MINUTE = 60.0


def found(bench: Bench, rules: Sequence[str]) -> tuple[Stage, Finding]:
    """The first finding on one of these rules, in the scenes of those."""
    for play in plays_for(rules, bench.profile, "smoke"):
        if not play.machine:
            stage, _ = perform(play, bench)
            for finding in stage.judgement.findings:
                if finding.certain and finding.rule in rules:
                    return stage, finding
    raise AssertionError(f"{rules} are not contradicted")


def tell_finding(stage: Stage, finding: Finding, profile: Profile, target: Target) -> trial.TrialResult:
    return trial.tell(stage.events, checks.cut(stage.events, finding, profile), finding, profile, target, 3.0)


def test_when_the_time_is_up_there_is_no_story_and_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trial, "BUDGET", 0.0)
    profile = load("documented")
    with ReferenceBroker(mutants=("routes.return-with-code-313",)) as broker:
        target = Target.parse(broker.url)
        stage, finding = found(Bench(target, profile), ["CNF-009"])
        began = time.monotonic()
        tale = tell_finding(stage, finding, profile, target)
    assert time.monotonic() - began < 10
    assert tale.story == ()
    assert tale.untold == "there was no time left to try it"


def test_the_right_broker_speaks_the_dialect_that_was_asked_for() -> None:
    finding = Finding("TMO-002", "h", 1, "a", "basic.cancel")
    assert trial.right(finding, load("rabbitmq-4.3")) == "rabbitmq-4.3"
    assert trial.right(finding, load("lavinmq-2.9")) == "documented"
    assert trial.right(finding, load("rabbitmq-4.2")) == "rabbitmq-4.0", "the dialect of the version it is taken from"


def test_what_the_dialect_does_as_well_is_compared_with_what_the_texts_say() -> None:
    """The reference broker in the dialect of 4.3 answers a client's cancel-ok with 541, as 4.3 does."""
    profile = load("rabbitmq-4.3")
    with ReferenceBroker(dialect="rabbitmq-4.3") as broker:
        target = Target.parse(broker.url)
        stage, finding = found(Bench(target, profile, deadline=0.5), ["CAN-017"])
        tale = tell_finding(stage, finding, profile, target)
        made = trial.Trial(target, 3.0, right=trial.right(finding, profile))
        assert made.here(tale.story) == player.BROKEN
        assert made.honest(tale.story) == player.ELSE
    assert tale.reproduced == "3 of 3"


@pytest.mark.rabbitmq
def test_a_known_deviation_of_a_real_broker_is_shown_within_a_minute() -> None:
    url = os.environ.get("AMQP_RABBITMQ_URL")
    if not url:
        pytest.skip("AMQP_RABBITMQ_URL is not set")
    broker = brokers.resolve(url)
    assert broker.profile.deviations is not None
    known = [entry for entry in deviations.load(broker.profile.deviations) if not entry.intermittent]
    wanted = [entry.rule for entry in known if entry.rule in ("QOS-008", "CAN-017")]
    bench = Bench(patient(broker.target), broker.profile, deadline=broker.deadline, run=f"t{os.getpid()}")
    stage, finding = found(bench, wanted)
    assert excuse(known, finding.rule, finding.observed, stage.queue_type, finding.where) is not None
    began = time.monotonic()
    tale = tell_finding(stage, finding, broker.profile, broker.target)
    assert time.monotonic() - began < MINUTE
    assert tale.story, tale.untold
    assert tale.reproduced == "3 of 3"


def test_a_symptom_of_the_fault_on_the_way_is_no_condition() -> None:
    """A single ack settles the oldest. That another message comes first in the drain is the fault as well: a right
    broker does something else there, and is not in doubt."""
    profile = load("documented")
    with ReferenceBroker(mutants=("settle.single-takes-oldest",)) as broker:
        target = Target.parse(broker.url)
        play = next(play for play in plays_for(["ACK-001"], profile, "smoke") if play.queue_type == "classic")
        stage, _ = perform(play, Bench(target, profile, deadline=0.5))
        finding = next(one for one in stage.judgement.findings if one.rule == "MODE-004")
        tale = tell_finding(stage, finding, profile, target)
        made = trial.Trial(target, 3.0)
        assert made.here(tale.story) == player.BROKEN
        assert made.honest(tale.story) == player.ELSE
    plain = [{name: value for name, value in row.items() if name != "decisive"} for row in tale.story[:-1]]
    assert made.honest([*plain, tale.story[-1]]) == player.UNCLEAR

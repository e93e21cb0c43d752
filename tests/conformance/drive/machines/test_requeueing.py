"""The requeueing machine: its world, what it exercises, and the broker that keeps returns for one client."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import campaign, search
from conformance.drive.machines.campaign import SCHEDULERS, MachineOutcome, Scheduler
from conformance.drive.machines.requeueing import REQUEUEING, Return, Rivals, Watch
from conformance.drive.machines.shape import Shape
from conformance.drive.run.bench import Bench
from conformance.drive.stage import Stage
from conformance.history.recorder import Recorder
from reference_broker import ReferenceBroker

DOCUMENTED = profiles.load("documented")


def run(
    target: Target,
    queue_type: str,
    scheduler: Scheduler,
    examples: int = 10,
    deadline: float = 10.0,
) -> MachineOutcome:
    bench = Bench(target, DOCUMENTED, deadline=deadline)
    return search.run(REQUEUEING, bench, queue_type, scheduler, examples, 30, 1)


@pytest.mark.parametrize("scheduler", SCHEDULERS)
@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_a_right_broker_is_explained(target: Target, queue_type: str, scheduler: Scheduler) -> None:
    outcome = run(target, queue_type, scheduler)
    assert outcome.judgement.findings == []
    assert outcome.histories >= 10
    if scheduler == "lockstep":  # pipelined, what can be proved hangs on the interleaving
        assert outcome.judgement.exercised["RQ-005"] > 5


def test_returns_that_are_kept_for_one_client_have_no_explanation(monkeypatch: pytest.MonkeyPatch) -> None:
    """What nobody else is given never comes out either: that it is lost is said before where it should have been."""
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 1.0)
    with ReferenceBroker(mutants=("returning.to-former-only",)) as broker:
        broken = run(Target.parse(broker.url), "classic", "lockstep", 15, deadline=0.2).broken
        assert broken.keys() & {"RQ-005", "ACK-012"}


@pytest.mark.parametrize("queue_type", ["classic", "quorum"])
def test_the_world_has_a_connection_for_each_channel(target: Target, queue_type: str) -> None:
    stage = Stage(target, DOCUMENTED, Recorder("run", "reference"), "machine", queue_type=queue_type)
    world = Rivals(stage, Shape(2, apart=True))
    assert len({channel.connection.name for channel in world.channels}) == len(world.channels)
    world.channels[0].publish(world.queue(0), 2)
    stage.quiesce()
    for channel in (0, 1):
        Watch(channel, 1).perform(world)
        stage.quiesce()
    assert [world.consumers(channel) for channel in world.channels] == [1, 0, 0], "one at a time"
    world.channels[1].get(world.queue(0))
    stage.quiesce()
    Return(1, "nack", 0, False).perform(world)
    assert not world.channels[1].unacked
    world.channels[2].connection.abort()
    again = world.channel(2)
    assert again.connection.alive
    assert stage.finish().findings == []
    stage.cleanup()

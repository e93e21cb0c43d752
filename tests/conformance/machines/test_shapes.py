"""What a history is played with is drawn as a whole; and nothing is drawn that machines keep clear of."""

from __future__ import annotations

import pytest
from hypothesis import find
from hypothesis.errors import NoSuchExample

from conformance.machines.campaign import SCHEDULERS, Scheduler
from conformance.machines.confirms import CONFIRMS
from conformance.machines.prefetch import PREFETCH
from conformance.machines.requeueing import REQUEUEING
from conformance.machines.search import Machine
from conformance.machines.settlement import SETTLEMENT
from conformance.machines.timeouts import TIMED_OUT
from conformance.machines.world import Shape


def drawn(machine: Machine, queue_type: str, scheduler: Scheduler, shape: Shape) -> bool:
    try:
        return find(machine.shapes(queue_type, scheduler), shape.__eq__) == shape
    except NoSuchExample:
        return False


@pytest.mark.parametrize("machine", [SETTLEMENT, PREFETCH, CONFIRMS], ids=lambda machine: machine.name)
def test_histories_are_wide_and_apart_in_lockstep(machine: Machine) -> None:
    assert drawn(machine, "classic", "lockstep", Shape(2, 70, True))
    assert drawn(machine, "classic", "pipelined", Shape(1, 9, False))
    assert not drawn(machine, "classic", "pipelined", Shape(1, 1, True))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_nothing_is_wide_on_quorum_queues(scheduler: Scheduler) -> None:
    assert drawn(SETTLEMENT, "quorum", scheduler, Shape(2, 1, False))
    assert not drawn(SETTLEMENT, "quorum", scheduler, Shape(2, 9, False))


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_rivals_are_always_apart_and_clocks_never_wide(scheduler: Scheduler) -> None:
    assert drawn(REQUEUEING, "classic", scheduler, Shape(1, 9, True))
    assert not drawn(REQUEUEING, "classic", scheduler, Shape(1, 1, False))
    assert not any(drawn(machine, "classic", scheduler, Shape(2, 9, False)) for machine in TIMED_OUT)

"""What a history is played with is drawn as a whole; and nothing is drawn that machines keep clear of."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import Phase, find, settings
from hypothesis.errors import NoSuchExample

from conformance.drive.machines.campaign import SCHEDULERS, Scheduler
from conformance.drive.machines.chance import BACKEND
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.search import Machine
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.timeouts import TIMED_OUT

QUICK = settings(max_examples=400, phases=(Phase.generate,), database=None, deadline=None, backend=BACKEND)


def drawn(machine: Machine, queue_type: str, scheduler: Scheduler, shape: Shape) -> bool:
    """Is there one with so many queues, as wide, and apart like this one?"""
    return possible(
        machine,
        queue_type,
        scheduler,
        lambda one: (one.queues, one.wide, one.apart) == (shape.queues, shape.wide, shape.apart),
    )


def possible(machine: Machine, queue_type: str, scheduler: Scheduler, such: Callable[[Shape], bool]) -> bool:
    try:
        return such(find(machine.shapes(queue_type, scheduler), such, settings=QUICK, random=Random(1)))
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


def test_circumstances_meet_each_other() -> None:
    """Any two of them, in one history or another."""

    def both(one: Shape) -> bool:
        return one.often > 1 and one.length > 100

    assert possible(CONFIRMS, "classic", "pipelined", both)
    assert possible(SETTLEMENT, "quorum", "lockstep", lambda one: one.behind and one.quiet and "cancel" in one.used)
    assert possible(SETTLEMENT, "classic", "lockstep", lambda one: one.apart and one.alike)


@pytest.mark.parametrize(
    "such",
    [
        lambda one: one.often > 1,
        lambda one: one.stock > 0,
    ],
    ids=["by the dozen", "stocked"],
)
def test_quorum_queues_are_not_made_to_return_too_much_at_once(such: Callable[[Shape], bool]) -> None:
    assert possible(SETTLEMENT, "classic", "lockstep", such)
    assert not possible(SETTLEMENT, "quorum", "lockstep", such)


def test_nothing_is_large_and_by_the_dozen_and_wide() -> None:
    assert not possible(CONFIRMS, "classic", "lockstep", lambda one: one.wide > 1 and one.often > 1)
    assert not possible(CONFIRMS, "classic", "lockstep", lambda one: one.wide > 1 and one.frames > 0)


def test_an_own_clock_has_one_connection() -> None:
    assert not any(possible(machine, "quorum", "lockstep", lambda one: one.behind) for machine in TIMED_OUT)

"""Soak tests go all their rounds on a right broker, and meet a fault that shows once in so many times."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from conformance.campaigns.hunt import embedded
from conformance.drive.machines.soak import Course, Lap, run_course
from conformance.drive.machines.soak.consumers import CONSUMERS
from conformance.drive.machines.soak.deliveries import DELIVERIES
from conformance.drive.machines.soak.messages import MESSAGES
from conformance.drive.machines.soak.publishing import PUBLISHING
from conformance.drive.machines.soak.topology import TOPOLOGY
from conformance.drive.run.runner import run
from conformance.drive.run.size import ROUNDS
from conformance.drive.stage import Stage
from tests.tools.mutation.conftest import place
from tools.mutation.install import installed
from tools.mutation.triggers import Trigger

COURSES = {course.name: course for course in (*DELIVERIES, *CONSUMERS, *PUBLISHING, *TOPOLOGY, *MESSAGES)}
ROUNDS_HERE, SELDOM = 240, 128
FAULTS = {
    "get_without_ack": ("queue.Queue.publish", "dropped", "self.ready.push("),
    "get_and_ack_many": ("channel.Channel.next_tag", "constant", ""),
    "close_with_unacked": ("queue.Queue.put_back", "dropped", "self.ready.put_back"),
    "consume_and_ack": ("unacked.Unacked.add", "dropped", ""),
    "commit": ("queue.Queue.publish", "dropped", "self.ready.push("),
    "bind_and_unbind": ("routing.Exchange.unbind", "dropped", "self.remove(binding)"),
    "reject": ("queue.Queue.publish", "dropped", "self.ready.push("),
}
"""Of a course: a place of the broker where something goes wrong once in a while."""


@pytest.mark.parametrize("name", COURSES)
def test_a_right_broker_goes_round_and_round(name: str) -> None:
    course = COURSES[name]
    with embedded("documented", 1, "ci") as bench, bench.staged(Stage, name) as stage:
        run_course(course, stage, ROUNDS_HERE)
        assert not stage.finish().findings
        rounds = ROUNDS_HERE * course.share
        assert len(stage.events) > 2 * rounds
    assert stage.lacking == ""


@pytest.mark.parametrize("name", FAULTS)
def test_what_goes_wrong_once_in_many_times_is_found(name: str) -> None:
    """The fault shows at the 128th time and at no other before it."""
    with (
        installed(place(*FAULTS[name]), Trigger("every", k=SELDOM)) as live,
        embedded("documented", 1, "ci", deadline=0.5) as bench,
        bench.staged(Stage, name) as stage,
    ):
        assert run(stage, partial(run_course, COURSES[name], stage, ROUNDS_HERE)) is None
        assert 1 <= live.fired <= live.occasions // SELDOM
        assert bench.damning(stage.judgement, "classic")


def test_there_are_more_rounds_than_counters_of_ten_bits_hold() -> None:
    assert 2**10 < ROUNDS["ci"] < 2**12 < ROUNDS["deep"]
    assert len(COURSES) == sum(map(len, (DELIVERIES, CONSUMERS, PUBLISHING, TOPOLOGY, MESSAGES)))


def test_a_slow_broker_ends_a_course_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    laps: list[int] = []

    def never_done(stage: Stage) -> Lap:
        def lap(rounds: int) -> Iterator[None]:
            laps.append(rounds)
            yield

        return lap

    monkeypatch.setattr("conformance.drive.machines.soak.SECONDS", 0.0)
    with embedded("documented", 1, "ci") as bench, bench.staged(Stage, "slow") as stage:
        run_course(Course(never_done, at_once=1), stage, 1_000_000)
    assert len(laps) <= 1

"""Soak tests: one short exchange after the other, a thousand times over in one history.

Some faults show only when something has been done often: a counter overflows, a table is full, one of so many answers
is lost. Each course does one thing with one channel or a few, many times in each write. What it leaves it takes away
again, so nothing piles up but the count.

A course is a function that prepares a stage and answers with its lap. A lap is called with a number, says that many
rounds, and yields where the broker must have answered before it goes on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from conformance.drive.channel import Channel
from conformance.drive.stage import Stage

Lap = Callable[[int], Iterator[None]]
AT_ONCE = 50
"""Rounds of one lap."""
FEW = 16
"""Channels that are open at once, as an operator may have set a limit; and messages that return at once: quorum queues
put many in any order."""
SECONDS = 6.0
"""Of one course on a slow broker; on a fast one it takes one or two."""


@dataclass(frozen=True, slots=True)
class Course:
    """`at_once`: rounds in each lap. `share`: of the rounds, where each needs its own answer from the broker."""

    prepare: Callable[[Stage], Lap]
    at_once: int = AT_ONCE
    share: float = 1.0

    @property
    def name(self) -> str:
        return self.prepare.__name__


def run_course(course: Course, stage: Stage, rounds: int) -> None:
    """So many rounds of the course, or as many as there is time for."""
    lap, end = course.prepare(stage), time.monotonic() + SECONDS
    for _ in range(0, round(rounds * course.share), course.at_once):
        if time.monotonic() > end:
            break
        steps = lap(course.at_once)
        while _step(stage, steps):
            stage.quiesce()


def _step(stage: Stage, steps: Iterator[None]) -> bool:
    """The lap up to where it waits, in one write. Is there more of it?"""
    with stage.batch():
        return next(steps, stage) is None


def renew(stage: Stage, channels: list[Channel]) -> None:
    """Opens those that are closed, in the write that is being made."""
    for channel in channels:
        if channel.state != "open":
            channel.open()


def publisher(stage: Stage) -> Channel:
    """A channel whose publishes are confirmed, where the broker offers that: what has not come surely is not judged."""
    channel = stage.channel()
    if stage.offers("confirm.select"):
        channel.confirm()
        stage.quiesce()
    return channel


def take(reader: Channel, queue: str, times: int, *, no_ack: bool = True) -> None:
    """So many gets, without an ack."""
    for _ in range(times):
        reader.get(queue, no_ack=no_ack)


def take_one_by_one(reader: Channel, queue: str, times: int) -> Iterator[None]:
    """The same, each when the one before is answered: then it is known what is left."""
    for _ in range(times):
        reader.get(queue, no_ack=True)
        yield


def ack_all(channel: Channel) -> None:
    """Acknowledges what is unacked, one by one."""
    for tag in channel.unacked:
        channel.ack(tag)

"""The clock of a delivery: how long it may be out, and since when it is.

Nobody sees when a broker takes a delivery out of the queue: it is after the client sent the last thing that made it
possible (`earliest`), and before the client read the delivery (`at`). A timeout before `earliest` plus the limit is
certainly early. A missing timeout is late only if the driver has waited past `at` plus the limit.

What a passed deadline does is written in `timeouts.py`, which alone changes a clock.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.history.events import Event

if TYPE_CHECKING:
    from conformance.oracle.model.queues.queue import Queue
    from conformance.oracle.model.records import Delivery

ARGUMENT = "x-consumer-timeout"
DEFAULT = 1_800_000
"""Milliseconds where nobody says otherwise."""
MS = 1_000_000
TOLERANCE = 20 * MS
"""The broker counts in milliseconds of its own clock."""
SLACK = 1000 * MS
"""This much later a deadline has been acted upon for certain, if the broker acts at all."""
BURST = 50 * MS
"""What is read within so little time may have come together."""
TICK = 60_000 * MS
"""This often a channel, or a broker, looks where the queue does not."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The timeouts that were set for a delivery's consumer when it started, in milliseconds."""

    consumer: int | None = None
    argument: int | None = None
    policy: int | None = None
    general: int | None = None
    default: bool = False
    """The broker's own setting is its default."""

    def effective(self) -> int | None:
        """The consumer's own; else the smaller of the queue's two; else the broker's. None: not known."""
        if self.consumer is not None:
            return self.consumer
        queue = [one for one in (self.argument, self.policy) if one is not None]
        return min(queue) if queue else self.general

    @property
    def rule(self) -> str:
        """The rule that decides."""
        if self.consumer is not None:
            return "TMO-002"
        if self.argument is not None or self.policy is not None:
            return "TMO-003"
        return "TMO-005" if self.default else "TMO-004"

    @property
    def others(self) -> frozenset[int]:
        """Timeouts that are set and do not count."""
        levels = {one for one in (self.consumer, self.argument, self.policy, self.general) if one is not None}
        return frozenset(levels - {self.effective()})

    def __str__(self) -> str:
        names = {"consumer": self.consumer, "queue": self.argument, "policy": self.policy, "broker": self.general}
        return ", ".join(f"{name} {value} ms" for name, value in names.items() if value is not None) or "nothing set"


@dataclass(slots=True, eq=False, repr=False)
class Timer:
    """A delivery's clock."""

    levels: Levels
    earliest: int
    at: int
    stale: int = 0
    """When the client learned that it had timed out."""
    sure: bool = False
    announced: bool = False
    spared: bool = False
    """Another consumer's delivery timed out while this one was out."""
    later: bool = False
    """An older one of the same consumer did."""
    behind: Delivery | None = None
    """The last delivery of the queue before it, if its deadline was to come first."""
    overdue: bool = False
    tick: int = 0
    """The broker looks only so often."""

    @property
    def limit(self) -> int | None:
        """In nanoseconds."""
        timeout = self.levels.effective()
        return None if timeout is None else timeout * MS

    @property
    def alone(self) -> bool:
        """The delivery before it has left before its deadline, for which the queue may still look."""
        older = self.behind
        return older is not None and not older.stale and older.channel.unacked.get(older.tag) is not older

    def possible(self, now: int) -> bool:
        """May it have timed out by now?"""
        return self.limit is not None and now >= self.earliest + self.limit - TOLERANCE

    def certain(self, now: int) -> bool:
        return self.limit is not None and now >= self.at + self.limit + SLACK

    def due(self) -> int | None:
        return None if self.limit is None else self.at + self.limit + self.tick


@dataclass(slots=True, eq=False, repr=False)
class Settings:
    """What the history says of timeouts that no frame shows, and when things were sent."""

    general: int | None = None
    default: bool = False
    policies: dict[str, int] = field(default_factory=dict)
    stamps: dict[int, int] = field(default_factory=dict)
    timed: bool = False
    """Timeouts are the history's subject: from now on the times of what the client sends are kept."""
    latest: dict[Queue, Delivery] = field(default_factory=dict)
    """The last delivery of each queue that watches its deliveries."""

    def policy(self, event: Event) -> None:
        """A policy is in force for this queue, or no longer."""
        name, timeout = str(event.args["queue"]), event.args.get("consumer_timeout")
        self.timed = True
        self.policies.pop(name, None)
        if isinstance(timeout, int):
            self.policies[name] = timeout

    def broker(self, event: Event) -> None:
        """The broker's own setting; none is its default."""
        timeout = event.args.get("consumer_timeout")
        self.timed = True
        self.default = timeout is None
        self.general = timeout if isinstance(timeout, int) else DEFAULT

    def levels(self, queue: Queue, argument: object = None) -> Levels:
        own = argument if isinstance(argument, int) and not isinstance(argument, bool) else None
        return Levels(own, queue.timeout, self.policies.get(queue.name), self.general, self.default)

"""Messages that a purge or the deletion of their queue has removed, and that could die there of nothing.

Only what had certainly come into its queue, and was seen by nobody; and neither it nor its queue has a time to live,
nor the queue a limit.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.oracle.monitors.messages.deadletters.deaths import (
    EXCHANGE,
    KEY,
    MESSAGES,
    WAITING,
    DeadLettering,
    TrackedMessage,
)

CAUSELESS = frozenset({EXCHANGE, KEY, "x-queue-type", "x-single-active-consumer"})
"""In a queue with no other arguments a message that nobody touches does not die."""


@dataclass(frozen=True, slots=True)
class Removal:
    """A queue, how it was emptied, when, and where its dead letters would go."""

    queue: str
    how: str
    time_ns: int
    heir: str | None


@dataclass(slots=True)
class Removals:
    """The latest removals, by message."""

    by_message: OrderedDict[str, Removal] = field(default_factory=OrderedDict)
    unread: int = 0
    """When a client gave up last what it had not read: that may have been any message of before."""

    def given_up_unread(self, seq: int) -> None:
        self.unread = seq
        self.by_message.clear()

    def begin(self, lettering: DeadLettering, queue: str, how: str, time_ns: int) -> None:
        """The queue is emptied, and no more is known of it."""
        place = lettering.places.pop(queue, None)
        if place is None or place.exchange is None or not CAUSELESS.issuperset(place.arguments):
            return
        for message in place.came:
            tracked = lettering.messages.get(message)
            if tracked is not None and tracked.sent > self.unread and _untouched(tracked) and lettering.alone(tracked):
                self.by_message[message] = Removal(queue, how, time_ns, lettering.target(place, tracked.key))
                if len(self.by_message) > MESSAGES:
                    self.by_message.popitem(last=False)


def _untouched(tracked: TrackedMessage) -> bool:
    """Is it certainly in its queue alone, where nobody can have had it, and has it no time to live?"""
    copies = tracked.publication.copies if tracked.publication is not None else ()
    waits = bool(tracked.certain_ns) and tracked.fate == WAITING and not (tracked.seen or tracked.over)
    lasts = tracked.expiration is None and all(copy.queue.name == tracked.queue for copy in copies)
    return waits and lasts and not tracked.exposed()

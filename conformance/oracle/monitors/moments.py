"""Findings of the last moment: each stands only if what it rests on was still there.

A broker that ends a connection goes on at once: it gives to others what the connection held, and lets them have its
exclusive queues. Those may hear of that before the end itself is seen here. So a finding against what one connection
was told is certain no more if another one ends, or loses a channel, within `MOMENT`, and the broker was not heard on
it in between. What speaks of an end, or of silence, rests on no other connection.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_CLIENT, Event
from conformance.oracle.model.facts import ClosedUnasked, ConnectionFailed, DroppedSilently, Fact

MOMENT = 1_000_000_000
"""Nanoseconds. On the reference broker the news of an end came up to some milliseconds after its consequences, beside
other work."""
ENDS = (ClosedUnasked, ConnectionFailed, DroppedSilently)


@dataclass(slots=True)
class RecentFinding:
    """A certain finding, by its place in the judgement."""

    place: int
    connection: str
    time_ns: int
    heard: set[str] = field(default_factory=set)
    """On these connections the broker has said something since."""


@dataclass(slots=True)
class Moment:
    """The findings of the last one."""

    found: list[RecentFinding] = field(default_factory=list)

    def enter(self, place: int, event: Event, subject: Fact | None) -> None:
        """A finding has its place in the judgement."""
        if event.kind == METHOD and not isinstance(subject, ENDS):
            self.found.append(RecentFinding(place, event.connection, event.time_ns))

    def take_doubtful(self, end: Event) -> list[int]:
        """The places of those that this end of another connection may explain."""
        doubtful = [one for one in self.found if _explains(end, one)]
        self.found = [one for one in self.found if one not in doubtful]
        return [one.place for one in doubtful]

    def pass_on(self, event: Event) -> None:
        """Time goes on, and the broker may be heard."""
        self.found = [one for one in self.found if event.time_ns - one.time_ns <= MOMENT]
        for one in self.found if event.direction == TO_CLIENT else ():
            one.heard.add(event.connection)


def _explains(end: Event, one: RecentFinding) -> bool:
    unheard = end.connection != one.connection and end.connection not in one.heard
    return unheard and end.time_ns - one.time_ns <= MOMENT

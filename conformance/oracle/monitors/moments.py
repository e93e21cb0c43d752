"""Findings of the last moment: each stands only if what it rests on was still there.

A broker that ends a connection, or a channel, goes on at once: it gives to others what that held, and lets them have
its exclusive queues. Those may hear of it before the end itself is seen here, on another channel of the same connection
as well. So a finding against what one channel was told is certain no more if another one ends unasked within `MOMENT`,
the broker was not heard there in between, and the end does not answer what was sent there since. What speaks of an end,
or of silence, rests on no other channel.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_CLIENT, Event
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import ClosedUnasked, ConnectionFailed, DroppedSilently, Fact

MOMENT = 1_000_000_000
"""Nanoseconds. On the reference broker the news of an end came up to some milliseconds after its consequences, beside
other work."""
ENDS = (ClosedUnasked, ConnectionFailed, DroppedSilently)


@dataclass(slots=True)
class RecentFinding:
    """A certain finding, by its place in the judgement."""

    place: int
    seq: int
    connection: str
    channel: int
    time_ns: int
    heard: set[tuple[str, int]] = field(default_factory=set)
    """On these channels of these connections the broker has said something since."""

    def may_follow_from(self, end: Event, cause: int) -> bool:
        """Does this end come soon after it, from where nothing was heard in between, and was it caused before? `cause`:
        what it blames was sent then; 0: nobody knows."""
        if end.time_ns - self.time_ns > MOMENT or cause > self.seq:
            return False
        if end.channel:
            place = end.connection, end.channel
            return place != (self.connection, self.channel) and place not in self.heard
        return end.connection not in {self.connection, *(connection for connection, _ in self.heard)}


@dataclass(slots=True)
class Moment:
    """The findings of the last one."""

    found: list[RecentFinding] = field(default_factory=list)

    def enter(self, place: int, event: Event, subject: Fact | None) -> None:
        """A finding has its place in the judgement."""
        if event.kind == METHOD and not isinstance(subject, ENDS):
            self.found.append(RecentFinding(place, event.seq, event.connection, event.channel, event.time_ns))

    def take_doubtful(self, end: Fact) -> list[int]:
        """The places of those that this end may explain."""
        cause = _cause(end) if isinstance(end, ClosedUnasked) else 0
        doubtful = [one for one in self.found if one.may_follow_from(end.event, cause)]
        self.found = [one for one in self.found if one not in doubtful]
        return [one.place for one in doubtful]

    def pass_on(self, event: Event) -> None:
        """Time goes on, and the broker may be heard."""
        self.found = [one for one in self.found if event.time_ns - one.time_ns <= MOMENT]
        for one in self.found if event.direction == TO_CLIENT else ():
            one.heard.add((event.connection, event.channel))


def _cause(end: ClosedUnasked) -> int:
    """When the method was sent that the close blames; the first of such, where several wait for their answers."""
    if end.suspect is not None:
        return end.suspect.seq
    ids = ids_of(end.event)
    waiting = [one.seq for one in end.channel.pending() if (one.class_id, one.method_id) == ids]
    return min(waiting, default=end.channel.sent.get(ids, 0))

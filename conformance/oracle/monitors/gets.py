"""What gets of several queues on one channel ask for: they are answered in the order in which they were sent."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.oracle.model.facts import Passed

MOST = 256


@dataclass(frozen=True, slots=True)
class OpenGet:
    """One basic.get, until it is answered."""

    queue: str
    no_ack: bool
    ns: int


UNKNOWN = OpenGet("", True, 0)


@dataclass(slots=True)
class OpenGets:
    """By the opening of a channel, as its number may be used again."""

    by_channel: OrderedDict[int, deque[OpenGet]] = field(default_factory=OrderedDict)

    def ask(self, fact: Passed) -> None:
        """One more is sent."""
        channel, event = fact.connection.channels.get(fact.event.channel), fact.event
        if channel is not None:
            one = OpenGet(event.queue or "", event.has("no_ack"), event.time_ns)
            self.by_channel.setdefault(channel.opened, deque()).append(one)
        if len(self.by_channel) > MOST:
            self.by_channel.popitem(last=False)

    def answered(self, fact: Passed) -> OpenGet:
        """The first one has its answer."""
        channel = fact.connection.channels.get(fact.event.channel)
        waiting = self.by_channel.get(channel.opened) if channel is not None else None
        if not waiting or channel is None:
            return UNKNOWN
        first = waiting.popleft()
        if not waiting:
            del self.by_channel[channel.opened]
        return first

    def asks(self, queue: str) -> bool:
        """Is another one under way for this queue?"""
        return any(one.queue == queue for one in self._all())

    def _all(self) -> Iterator[OpenGet]:
        return (one for waiting in self.by_channel.values() for one in waiting)

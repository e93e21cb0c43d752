"""Prefetch: what basic.qos limits, and what counts towards a limit."""

from __future__ import annotations

from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.queues.queue import Queue
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "channel",
    BEHAVIOURS,
    "limits.gets-fill-the-channel",
    "a channel's limit counts what is outstanding when it is set, gets too",
    until="4.0",
)
class GetsFillTheChannel(Channel):
    def limit_together(self, count: int) -> None:
        if not self.limit.count:
            self.limit.held = len(self.unacked)
        super().limit_together(count)


@does(
    "channel",
    BEHAVIOURS,
    "limits.consumers-clear-the-channel",
    "setting a limit for consumers removes that of the channel",
)
class ConsumersClearTheChannel(Channel):
    def limit_each(self, count: int) -> None:
        super().limit_each(count)
        self.limit.change(0)


@does("channel", BEHAVIOURS, "limits.none-for-the-channel", "global means nothing: it is denied", since="4.3")
class NoneForTheChannel(Channel):
    def limit_together(self, count: int) -> None:
        self.limit_each(count)


@does(
    "consumer",
    BEHAVIOURS,
    "limits.channel-stops-automatic",
    "a channel's limit stops consumers in automatic mode, too",
)
class ChannelStopsAutomatic(Consumer):
    __slots__ = ()

    def bound_together(self) -> bool:
        return True


@does(
    "channel",
    BEHAVIOURS,
    "limits.tag-inherits",
    "on a quorum queue a new consumer begins with what an earlier one of its tag has outstanding",
)
class TagInherits(Channel):
    def limit_of(self, queue: Queue, tag: str) -> Limit:
        for delivery in self.unacked.by_tag.values() if queue.quorum is not None else ():
            earlier = delivery.consumer
            if earlier is not None and earlier.tag == tag and earlier.queue is queue:
                earlier.own.change(queue.window(self.prefetch))
                return earlier.own
        return super().limit_of(queue, tag)


@does(
    "consumer",
    BEHAVIOURS,
    "limits.namesake-is-credited",
    "on a classic queue what an earlier consumer of the tag had frees a slot of the one that has the tag now, too",
)
class NamesakeIsCredited(Consumer):
    __slots__ = ()

    def namesake(self) -> Consumer | None:
        """Who has its tag now, on the same queue."""
        found = self.channel.consumers.get(self.tag)
        same = found is not None and found is not self and found.queue is self.queue and self.queue.quorum is None
        return found if same else None

    def release(self) -> None:
        super().release()
        if (other := self.namesake()) is not None:
            other.own.held -= 1

    def wake(self) -> None:
        super().wake()
        if (other := self.namesake()) is not None:
            other.wake()

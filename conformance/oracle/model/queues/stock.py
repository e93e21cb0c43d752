"""What a queue holds and who consumes from it, for the question whether it may be deleted.

Three answers, as everywhere: yes, no, and None, where the history does not decide. Only classic queues are asked:
others do not take if-unused and if-empty everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import LIVE, ChannelLife
from conformance.oracle.model.queues import counts
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import OUT, PotentialReceiver
from conformance.oracle.topology.state import SOON

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


@dataclass(frozen=True, slots=True)
class Stock:
    """Of one queue, now, for a method on this channel."""

    queue: Queue
    channel: ChannelLife
    timed: bool
    """Deliveries may come back by themselves."""
    asked_ns: int
    """When the method was sent."""

    def filled(self) -> bool | None:
        """Is a message ready in it?"""
        queue = self.queue
        if not self._known() or queue.lossy or queue.receivers or (queue.held and self.timed):
            return None
        return bool(queue.fresh or queue.returned) if counts.rests(queue) else None

    def bare(self) -> bool:
        """Is it certain that no message is in it, be it ready or with a client, and that the last left it a while ago,
        or was purged? No text says that a message which is out is none that the queue has, or how soon one is gone that
        was settled."""
        queue = self.queue
        over = queue.settled_ns == 0 or self.asked_ns - queue.settled_ns >= SOON
        return self.filled() is False and not queue.held and over

    def unused(self) -> bool:
        """Is it certain that it has no consumer, and that the last one left it a while ago?"""
        over = self.queue.parted_ns == 0 or self.asked_ns - self.queue.parted_ns >= SOON
        return self.consumed() is False and over

    def consumed(self) -> bool | None:
        """Has it a consumer?"""
        if not self._known():
            return None
        return (
            True
            if any(self._consumes(one) for one in self.queue.receivers)
            else None
            if self.queue.receivers
            else False
        )

    def monopolised(self) -> bool | None:
        """Has it an exclusive consumer?"""
        alone = [one for one in self.queue.receivers if one.consumer is not None and one.consumer.exclusive]
        if not self._known():
            return None
        return True if any(self._consumes(one) for one in alone) else None if alone else False

    def contested(self, exclusive: bool) -> bool:
        """May another consumer be refused, because it is to be alone, or one that is there?"""
        return excludes(self.queue, exclusive=exclusive)

    def lent(self) -> bool:
        """Is a message out that a get has brought?"""
        out = (one for one in self.queue.copies.values() if one.place == OUT and not one.indeterminate)
        return self._known() and any(one.holder is not None and one.holder.consumer is None for one in out)

    def consumers(self) -> int:
        """How many active consumers has it, all of them certain? Else -1. Of several single active ones a broker may
        count one, and of a channel that was paused none."""
        certain = self._known() and all(self._active(one) for one in self.queue.receivers)
        many = self.queue.single_active and len(self.queue.receivers) > 1
        return len(self.queue.receivers) if certain and not many else -1

    def abandoned(self) -> bool:
        """Has it had consumers, and have all of them ended, because their clients wanted that or with a channel that
        the broker closed, so long ago that the queue has gone with them?"""
        queue = self.queue
        over = self.asked_ns - queue.parted_ns >= SOON
        return self._known() and over and 0 < queue.joined == queue.parted + queue.fallen

    def remaining(self) -> int:
        """How many it has had at most that have not ended as in `abandoned`."""
        queue = self.queue
        over = self.asked_ns - queue.parted_ns >= SOON
        return queue.joined - (queue.parted + queue.fallen if over else 0)

    def _known(self) -> bool:
        queue = self.queue
        return bool(queue.declared) and queue.kind == "classic" and not (queue.opaque or queue.deleted)

    def _consumes(self, receiver: PotentialReceiver) -> bool:
        """Does it consume, for all that was sent and seen? One without consume-ok may be later than what another
        channel does."""
        consumer = receiver.consumer
        if consumer is None or receiver.lost or consumer.state != LIVE or consumer.asked:
            return False
        return consumer.established > 0 or self.channel.consumers.get(consumer.tag) is consumer

    def _active(self, receiver: PotentialReceiver) -> bool:
        """Does it consume, on a channel that was never paused since?"""
        return self._consumes(receiver) and receiver.consumer is not None and not receiver.consumer.suspended


def excludes(queue: Queue, *, exclusive: bool) -> bool:
    """May the consumers that are there stand against another one, or against one that is to be alone?"""
    alone = (one for one in queue.receivers if one.consumer is not None and one.consumer.exclusive)
    return (exclusive and bool(queue.receivers)) or any(alone)


def stock_of(model: Model, channel: ChannelLife, event: Event) -> Stock | None:
    """Of the queue that the method names, where it is known."""
    queue = model.queues.get(event.queue or "")
    return Stock(queue, channel, model.settings.timed, event.time_ns) if queue is not None else None

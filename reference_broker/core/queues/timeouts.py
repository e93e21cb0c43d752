"""Consumer timeouts: deliveries that stay unsettled for too long go back.

A quorum queue watches: every delivery has its own deadline, by the
timeout that its consumer had when it started. What is over time is returned at once, without counting as a failure,
and becomes *stale*: its tag can still be settled, once, and that moves no message. Meanwhile its consumer gets nothing;
it is served again when the last of its stale tags is settled. The client is told by basic.cancel if it said that it
understands and the consumer is still there; else it loses the channel.

Deliveries of one consumer have one timeout, so they end in the order in which they began: one line per consumer, and
one call on the clock for the head of it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from codec import methods as m
from reference_broker.core.errors import ChannelException, precondition

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.channels.prefetch import Consumer
    from reference_broker.core.channels.unacked import Delivery
    from reference_broker.core.queues.queue import Queue

ARGUMENT, POLICY = "x-consumer-timeout", "consumer-timeout"


class Line:
    """Deliveries with one timeout, oldest first."""

    __slots__ = ("__weakref__", "armed", "consumer", "timeout", "waiting")

    def __init__(self, timeout: float | None, consumer: Consumer | None = None) -> None:
        self.timeout = timeout
        self.consumer = consumer
        self.waiting: deque[tuple[float, Delivery]] = deque()
        self.armed = False


class Timeouts:
    """The watch over one channel's deliveries."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self.clock = channel.vhost.clock
        self.lines: dict[Consumer, Line] = {}

    # -- how long

    def effective(self, queue: Queue, own: int | None) -> float | None:
        """Seconds: the consumer's own timeout; else the smaller of argument and policy; else the broker's."""
        if own is not None:
            return own / 1000
        return min(self.levels(queue), default=self.channel.vhost.settings.general_timeout()) / 1000

    def levels(self, queue: Queue) -> list[int]:
        """What argument and policy say, in milliseconds."""
        both = queue.effective(ARGUMENT), self.channel.vhost.settings.by_policy(queue, POLICY)
        return [level for level in both if isinstance(level, int)]

    def watches(self, queue: Queue) -> bool:
        return queue.quorum is not None

    # -- deliveries begin

    def join(self, consumer: Consumer, own: int | None) -> None:
        """A consumer starts: its timeout is fixed."""
        if self.watches(consumer.queue) and not consumer.no_ack:
            self.lines[consumer] = Line(self.effective(consumer.queue, own), consumer)

    def began_with(self, delivery: Delivery) -> None:
        """A delivery is out."""
        if (self.lines or delivery.consumer is None) and self.watches(delivery.queue):
            line = self.line_of(delivery)
            if line is not None and line.timeout is not None:
                line.waiting.append((self.clock.now + line.timeout, delivery))
                self.arm(line)

    def line_of(self, delivery: Delivery) -> Line | None:
        if delivery.consumer is not None:
            return self.lines.get(delivery.consumer)
        return Line(self.effective(delivery.queue, None))

    # -- deliveries end

    def arm(self, line: Line) -> None:
        """One call is due, for the oldest that is still out."""
        while line.waiting and not self.out(line.waiting[0][1]):
            line.waiting.popleft()
        if line.waiting and not line.armed:
            line.armed = True
            self.clock.at(line.waiting[0][0], type(self).fire, self, line)

    def out(self, delivery: Delivery) -> bool:
        """Is it unsettled, and its channel there?"""
        held = self.channel.unacked.by_tag.get(delivery.tag) is delivery
        return held and not delivery.stale and not delivery.lost and not self.channel.closing

    def fire(self, line: Line) -> None:
        line.armed = False
        expired = self.expired(line)
        if expired:
            self.time_out(expired, line.consumer)
        self.arm(line)

    def expired(self, line: Line) -> list[Delivery]:
        """Those of a line whose time is over, taken out of it."""
        over = []
        while line.waiting and line.waiting[0][0] <= self.clock.now:
            _, delivery = line.waiting.popleft()
            if self.out(delivery):
                over.append(delivery)
        return over

    def time_out(self, deliveries: list[Delivery], consumer: Consumer | None) -> None:
        """Their messages go back, and their client is told."""
        for delivery in deliveries:
            delivery.stale = True
            if consumer is not None:
                consumer.release()
                consumer.pause.held += 1
        for delivery in deliveries:
            self.give_back(delivery)
        self.tell(consumer)
        for queue in {delivery.queue: None for delivery in deliveries}:
            if not queue.deleted:
                queue.settle_down()

    def give_back(self, delivery: Delivery) -> None:
        """Not a failure: it does not count towards a delivery limit."""
        queue = delivery.queue
        if not queue.deleted and queue.quorum is not None and queue.quorum.keeps(delivery.entry, False):
            queue.put_back(delivery.entry)
        else:
            queue.let_go(delivery.entry)

    def tell(self, consumer: Consumer | None) -> None:
        """basic.cancel, or the end of the channel."""
        channel = self.channel
        there = consumer is not None and channel.consumers.get(consumer.tag) is consumer
        if consumer is not None and there and channel.connection.announces_cancel():
            self.notify(consumer)
        else:
            self.close(-1)

    def notify(self, consumer: Consumer) -> None:
        self.channel.connection.send(m.BasicCancel(self.channel.number, consumer.tag, True))

    def close(self, timeout: int) -> None:
        self.channel.connection.close_channel(self.channel, too_late(self.channel, timeout), (0, 0))

    # -- what is stale

    def settled(self, delivery: Delivery) -> None:
        """A stale tag was settled: no message moves, and the last one of its consumer revives it."""
        consumer = delivery.consumer
        if consumer is not None:
            consumer.pause.held -= 1
            consumer.pause.wake()


def too_late(channel: Channel, timeout: int) -> ChannelException:
    return precondition(
        f"delivery acknowledgement on channel {channel.number} timed out. Timeout value used: {timeout} ms. This "
        "timeout value can be configured, see consumers doc guide to learn more"
    )

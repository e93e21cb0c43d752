"""How many unsettled deliveries a consumer, and a channel, may hold.

A `Limit` counts what is held and knows who waits for room. Every consumer has one of its own, fixed
when it starts, and shares its channel's; both bind at once and neither knows of the other, so the
order of the basic.qos calls does not matter. Deliveries of basic.get and of no-ack consumers hold
nothing. A count of 0 means no limit. A channel's limit does not reach into quorum queues.

A consumer that cannot take a message is *parked* with the limit that stops it and leaves its queue's
ring; it costs nothing until that limit has room again. Nobody ever scans consumers that cannot take.
A connection whose outgoing side is full stops its consumers in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from codec.values import FieldTable

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Channel
    from reference_broker.core.queues.queue import Queue


class Limit:
    __slots__ = ("count", "held", "parked")

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self.held = 0
        self.parked: dict[Consumer, None] = {}

    def full(self) -> bool:
        return self.count != 0 and self.held >= self.count

    def wake(self) -> None:
        """Let parked consumers go on, one after the other, for as long as there is room."""
        while self.parked and not self.full():
            consumer = next(iter(self.parked))
            del self.parked[consumer]
            consumer.resume()

    def change(self, count: int) -> None:
        self.count = count
        self.wake()


class Outgoing(Limit):
    """The limit a connection sets by its outgoing side: octets not yet written, or a peer that stalls."""

    __slots__ = ("stalled",)

    def __init__(self, octets: int) -> None:
        super().__init__(octets)
        self.stalled = False

    def full(self) -> bool:
        return self.stalled or self.held >= self.count


class Consumer:
    __slots__ = (
        "arguments",
        "channel",
        "no_ack",
        "own",
        "pause",
        "priority",
        "queue",
        "shared",
        "tag",
    )

    def __init__(self, tag: str, channel: Channel, queue: Queue, no_ack: bool, own: Limit) -> None:
        self.tag = tag
        self.channel = channel
        self.queue = queue
        self.no_ack = no_ack
        self.own = own
        self.arguments: FieldTable = []
        self.priority = 0
        self.pause = Limit(1)
        """What it holds here has timed out and is not settled; meanwhile it gets nothing."""
        self.shared = channel.limit if queue.quorum is None else Limit()

    def obstacle(self) -> Limit | None:
        """The limit that keeps this consumer from taking one more message, if any."""
        outgoing = self.channel.connection.outbox.limit
        if outgoing.stalled or outgoing.held >= outgoing.count:
            return outgoing
        if self.pause.held:
            return self.pause
        if self.own.full() and not self.no_ack:
            return self.own
        if self.shared.full() and self.bound_together():
            return self.shared
        return None

    def bound_together(self) -> bool:
        """Does the limit of its channel stop it? What needs no acknowledgement is not limited."""
        return not self.no_ack

    def hold(self) -> None:
        self.own.held += 1
        self.shared.held += 1

    def release(self) -> None:
        self.own.held -= 1
        self.shared.held -= 1

    def wake(self) -> None:
        if self.own.parked:
            self.own.wake()
        if self.shared.parked:
            self.shared.wake()

    def resume(self) -> None:
        self.queue.ring.append(self)
        self.queue.serve()

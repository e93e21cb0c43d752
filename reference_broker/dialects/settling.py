"""Settlements: which are lost, which reach what they were not meant for, and what a stale one does."""

from __future__ import annotations

from reference_broker.core.channels.channel import Channel, Fate, acked, requeued
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.dialects.kinds import Behaviour, does
from reference_broker.dialects.pipeline import Pipeline

BEHAVIOURS: list[Behaviour] = []
SOFT_LIMIT = 32
"""Settlements that a channel passes on at once to a quorum queue."""


@does(
    "channel",
    BEHAVIOURS,
    "settlements.for-the-namesake",
    "a classic queue takes a settlement of a delivery from its deleted namesake for one of its own",
    since="3.10",
)
class ForTheNamesake(Channel):
    def carry_out(self, deliveries: list[Delivery], fate: Fate) -> None:
        orphans = [one for one in deliveries if one.queue.deleted]
        mistaken = [namesake for one in orphans if (namesake := self.namesake(one)) is not None]
        if mistaken:
            super().carry_out(mistaken, fate)
            for one in mistaken:
                one.lost = True
        super().carry_out(deliveries, fate)

    def namesake(self, delivery: Delivery) -> Delivery | None:
        """What this channel holds at the same place of a queue that was declared under the name of the deleted one."""
        if delivery.queue.quorum is not None:
            return None
        queue, place = self.vhost.queues.get(delivery.queue.name), delivery.entry.position
        if queue is None or queue.quorum is not None:
            return None
        held = (one for one in self.unacked.by_tag.values() if one.queue is queue and not one.lost)
        return next((one for one in held if one.entry.position == place), None)


@does(
    "channel",
    BEHAVIOURS,
    "settlements.held-up",
    "more settlements at once than a soft limit wait at their channel, and are lost with it",
)
class HeldUp(Channel):
    def __init__(self, connection: Connection, number: int) -> None:
        super().__init__(connection, number)
        self.pipeline = Pipeline(SOFT_LIMIT)

    def carry_out(self, deliveries: list[Delivery], fate: Fate) -> None:
        super().carry_out(self.pipeline.admit(deliveries, fate), fate)
        self.connection.confirm(self)

    def flush(self) -> None:
        for deliveries, fate in self.pipeline.take():
            super().carry_out(deliveries, fate)
        super().flush()

    def stop(self) -> None:
        super().stop()
        self.unacked.restore(delivery for held_up, _ in self.pipeline.take() for delivery in held_up)


@does(
    "channel",
    BEHAVIOURS,
    "settlements.stale-requeue-revives-nobody",
    "who requeues what timed out is not served again",
    since="4.3",
)
class StaleRequeueRevivesNobody(Channel):
    def settle_stale(self, delivery: Delivery, fate: Fate) -> None:
        if fate is not requeued:
            super().settle_stale(delivery, fate)


@does(
    "channel",
    BEHAVIOURS,
    "settlements.stale-ack-reaches-the-successor",
    "an ack of what timed out settles what a later consumer of the same tag has",
    since="4.3",
)
class StaleAckReachesTheSuccessor(Channel):
    """The queue knows consumers by their tags: what it lets go of belongs to a later one of the same."""

    def settle_stale(self, delivery: Delivery, fate: Fate) -> None:
        super().settle_stale(delivery, fate)
        former = delivery.consumer
        successor = self.consumers.get(former.tag) if former is not None and fate is acked else None
        if successor is None or successor is former or successor.queue is not delivery.queue:
            return
        held = (other for other in self.unacked.by_tag.values() if other.consumer is successor)
        victim = next((other for other in held if not other.stale and not other.lost), None)
        if victim is not None:
            victim.lost = True
            victim.queue.let_go(victim.entry)
            successor.release()
            successor.wake()

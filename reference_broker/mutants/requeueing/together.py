"""Several messages come back at once, and not as they must."""

from __future__ import annotations

from reference_broker.channel import Channel, requeued
from reference_broker.mutants.kinds import replaces
from reference_broker.transaction import Transaction


@replaces(
    "transaction.commit",
    "together.backwards",
    "a commit returns what one nack gives back in reverse",
    "RQ-002",
    "RQ-001",
)
def backwards(self: Transaction, channel: Channel) -> bool:
    for deliveries, fate in self.settled if channel.transaction is self else ():
        if fate is requeued:
            for queue in {one.queue for one in deliveries}:
                entries = [one.entry for one in deliveries if one.queue is queue]
                places = [one.position for one in entries]
                for entry, position in zip(entries, reversed(places), strict=True):
                    entry.position = position
            deliveries.reverse()
    return Transaction.commit(self, channel)

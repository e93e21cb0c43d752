"""Several messages come back at once, and not as they must."""

from __future__ import annotations

from reference_broker.channel import Channel, requeued
from reference_broker.mutants.kinds import changes
from reference_broker.parts import Parts
from reference_broker.transaction import Transaction
from reference_broker.unacked import Delivery


@changes("together.backwards", "a commit returns what one nack gives back in reverse", "RQ-002", "RQ-001")
def backwards(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        for deliveries, fate in self.settled if channel.transaction is self else ():
            if fate is requeued:
                _turn(deliveries)
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


def _turn(deliveries: list[Delivery]) -> None:
    """Each takes the place of another one of its queue."""
    for queue in {one.queue for one in deliveries}:
        entries = [one.entry for one in deliveries if one.queue is queue]
        for entry, position in zip(entries, [one.position for one in reversed(entries)], strict=True):
            entry.position = position
    deliveries.reverse()

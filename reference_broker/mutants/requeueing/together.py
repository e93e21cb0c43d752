"""Several messages come back at once, and not as they must."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel, failed, requeued
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

MANY_HEADERS = 16

SOME = 16


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


@changes("together.recover-some", f"basic.recover returns {SOME} messages at most", "RQ-014")
def recover_some(parts: Parts) -> None:
    below = parts.handlers[m.BasicRecover]

    def recover(channel: Channel, method: m.BasicRecover) -> None:
        everything = channel.unacked.everything()
        channel.unacked.restore(everything[:SOME])
        below(channel, method)
        channel.unacked.restore(everything[SOME:])

    parts.handlers[m.BasicRecover] = recover


@changes("together.recover-beside", "basic.recover returns what other channels have got as well", "RQ-014", "MODE-001")
def recover_beside(parts: Parts) -> None:
    below = parts.handlers[m.BasicRecover]

    def recover(channel: Channel, method: m.BasicRecover) -> None:
        below(channel, method)
        for other in channel.connection.channels.values():
            other.requeue(other.unacked.those(lambda delivery: delivery.consumer is None))

    parts.handlers[m.BasicRecover] = recover


@changes("together.recover-makes-no-room", "basic.recover-async makes no room for its consumers", "RQ-014", "QOS-018")
def recover_makes_no_room(parts: Parts) -> None:
    below = parts.handlers[m.BasicRecoverAsync]

    def recover(channel: Channel, method: m.BasicRecoverAsync) -> None:
        for delivery in channel.unacked.by_tag.values():
            if delivery.consumer is not None:
                delivery.consumer.own.held += 1
        below(channel, method)

    parts.handlers[m.BasicRecoverAsync] = recover


@changes("together.second-failure", "the second channel of a connection that fails returns nothing", "AUTO-004")
def second_failure(parts: Parts) -> None:
    below = parts.channel

    def fail(self: Channel) -> None:
        failures: list[int] = memory(self.connection, "failures", list)
        failures.append(1)
        lost = self.unacked.everything() if len(failures) == 2 else []
        for delivery in lost:
            if delivery.consumer is not None:
                delivery.consumer.release()
        below.fail(self)

    parts.override("channel", fail=fail)


@changes("together.sixteen-headers", "what is given back keeps sixteen headers", "RQ-016")
def sixteen_headers(parts: Parts) -> None:
    below = parts.queue

    def put_back(self: Queue, entry: Entry) -> None:
        message = entry.message
        if len(message.headers) > MANY_HEADERS:
            headers = message.headers[:MANY_HEADERS]
            entry.message = message.copy(message.exchange, message.routing_key, headers=headers)
        below.put_back(self, entry)

    parts.override("queue", put_back=put_back)


@changes("together.recovered-as-failed", "basic.recover counts towards the delivery limit", "RQ-013", "RQ-012")
def recovered_as_failed(parts: Parts) -> None:
    def requeue(self: Channel, deliveries: list[Delivery]) -> None:
        self.finish(deliveries, failed)

    parts.override("channel", requeue=requeue)


@changes(
    "together.places-anew",
    "after a purge what was out comes back behind what has come since",
    "RQ-001",
    "RQ-004",
)
def places_anew(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        count = below.purge(self)
        self.published -= 1_000_000
        return count

    parts.override("queue", purge=purge)

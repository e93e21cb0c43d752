"""Something outlasts its end: a transaction that of its channel, what was out a purge."""

from __future__ import annotations

from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory


@changes("outlasting.transaction", "a channel number stays transactional when it is opened again", "ERR-007", "TX-004")
def transaction(parts: Parts) -> None:
    below = parts.channel

    def stop(self: Channel) -> None:
        if self.transaction is not None:
            memory(self.connection, "transactional", set).add(self.number)
        below.stop(self)

    def begin(self: Channel, connection: Connection, number: int) -> None:
        below.__init__(self, connection, number)
        if number in memory(connection, "transactional", set):
            self.transaction = connection.parts.transaction()

    parts.override("channel", stop=stop, __init__=begin)


@changes("outlasting.purge", "as many as were out when a queue was purged are never counted again", "MODE-007")
def purge(parts: Parts) -> None:
    below, channel = parts.queue, parts.channel

    def hold(self: Channel, delivery: Delivery) -> None:
        channel.hold(self, delivery)
        memory(delivery.queue, "out", list).append((self, delivery))

    def emptied(self: Queue) -> int:
        held: list[tuple[Channel, Delivery]] = memory(self, "out", list)
        out = [one for by, one in held if by.unacked.by_tag.get(one.tag) is one]
        vars(self)["mutant_hidden"] = len(out)
        count: int = below.purge(self)
        return count

    def count(self: Queue) -> int:
        hidden: int = memory(self, "hidden", int)
        return max(0, below.count(self) - hidden)

    parts.override("channel", hold=hold)
    parts.override("queue", purge=emptied, count=count)

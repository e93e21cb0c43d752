"""What was given back, or came before an end, and is forgotten: counts, conditions and purges that know new messages
only, and ends that come too early or too late."""

from __future__ import annotations

from collections.abc import Iterator
from heapq import heapify

from codec import methods as m
from reference_broker.core.channels import basic, topology
from reference_broker.core.channels.channel import RETURNS, Channel, Fate, acked
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import AmqpException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces


@changes(
    "ghosts.purged-and-counted",
    "a purge does not take what was given back out of the count",
    "MODE-008",
    "MODE-007",
)
def purged_and_counted(parts: Parts) -> None:
    def purge(self: Queue) -> int:
        left = len(self.ready.returned)
        vars(self)["ghosts"] = left
        return Queue.purge(self)

    def count(self: Queue) -> int:
        ghosts: int = vars(self).get("ghosts", 0)
        return Queue.count(self) + ghosts

    parts.override("queue", purge=purge, count=count)


@handles(
    m.QueueDelete,
    "ghosts.not-in-the-way",
    "a deletion with if-empty takes what was given back for nothing",
    "QUEUE-013",
)
def not_in_the_way(channel: Channel, method: m.QueueDelete) -> None:
    queue = channel.vhost.queues.get(method.queue)
    method.if_empty = method.if_empty and (queue is None or bool(queue.ready.fresh))
    topology.queue_delete(channel, method)


@replaces(
    "queue.purge",
    "ghosts.nobody-waits-after-a-purge",
    "a purge of a queue with priorities forgets the consumers that wait",
    "PRIO-007",
)
def nobody_waits_after_a_purge(self: Queue) -> int:
    count = Queue.purge(self)
    if self.settings.max_priority:
        self.ring.clear()
    return count


@changes(
    "ghosts.used-by-who-is-gone",
    "the time of a queue does not begin when its consumer goes with its channel",
    "TTL-010",
)
def used_by_who_is_gone(parts: Parts) -> None:
    def leave(self: Queue, consumer: Consumer) -> None:
        Queue.leave(self, consumer)
        vars(self)["haunted"] = consumer.channel.closing

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        if not vars(queue).get("haunted"):
            VirtualHost.watch_expiry(self, queue)

    parts.override("queue", leave=leave)
    parts.override("vhost", watch_expiry=watch_expiry)


@replaces(
    "intake.work",
    "ghosts.acks-before-the-end",
    "acks that come in one write with connection.close are discarded",
    "ACK-018",
)
def acks_before_the_end(self: Intake, frames: Iterator[Inbound]) -> None:
    arrived = list(frames)
    if any(isinstance(one, m.ConnectionClose) for one in arrived):
        arrived = [one for one in arrived if not isinstance(one, m.BasicAck)]
    Intake.work(self, iter(arrived))


@changes(
    "ghosts.settled-before",
    "a commit fails where one of several settlements in it is of several deliveries",
    "TX-002",
    "ERR-012",
)
def settled_before(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        if any(len(deliveries) > 1 for deliveries, _ in self.settled[1:]):
            raise fails()
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes(
    "ghosts.reopened-is-mute",
    "a channel number on which a consume has failed delivers nothing when it is opened again",
    "ERR-007",
    "QOS-002",
)
def reopened_is_mute(parts: Parts) -> None:
    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        Connection.close_channel(self, channel, error, offender)
        if offender == (m.BasicConsume.CLASS_ID, m.BasicConsume.METHOD_ID):
            memory(self, "mute", set).add(channel.number)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        Queue.join(self, consumer, exclusive)
        if consumer.channel.number in memory(consumer.channel.connection, "mute", set) and consumer in self.ring:
            self.ring.remove(consumer)

    parts.override("connection", close_channel=close_channel)
    parts.override("queue", join=join)


@changes(
    "ghosts.recovered-and-acknowledged",
    "an ack right behind basic.recover settles what that has given back",
    "RQ-014",
)
def recovered_and_acknowledged(parts: Parts) -> None:
    below = parts.channel

    def recover(channel: Channel, method: m.BasicRecover) -> None:
        memory(channel, "old", dict).update(channel.unacked.by_tag)
        basic.recover(channel, method)

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        old = memory(self, "old", dict).pop(tag, None)
        if old is None or tag in self.unacked.by_tag:
            return below.collect(self, tag, multiple)
        ready = old.queue.ready
        ready.returned = [one for one in ready.returned if one[1] is not old.entry]
        heapify(ready.returned)
        return []

    def work(self: Intake, frames: Iterator[Inbound]) -> None:
        Intake.work(self, frames)
        for channel in self.connection.channels.values():
            memory(channel, "old", dict).clear()

    parts.handlers[m.BasicRecover] = recover
    parts.override("channel", collect=collect)
    parts.override("intake", work=work)


@changes("ghosts.returned-by-nobody", "what a cancelled consumer gives back is dropped", "ACK-012", "ACK-016")
def returned_by_nobody(parts: Parts) -> None:
    below = parts.channel

    def carry_out(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        returned = deliveries if fate in RETURNS else []
        gone = [one for one in returned if one.consumer and one.consumer.tag not in self.consumers]
        below.carry_out(self, gone, acked)
        below.carry_out(self, [one for one in deliveries if one not in gone], fate)

    parts.override("channel", carry_out=carry_out)

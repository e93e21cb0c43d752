"""What else users have complained of: what is given back in a moment when something else ends."""

from __future__ import annotations

from functools import partial

from codec import methods as m
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Handler, Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"


def without(queue: Queue, entries: list[Entry]) -> None:
    """Take these out of what is ready, if they are."""
    kept = [one for one in queue.ready.entries() if one not in entries]
    gone = [one for one in queue.ready.entries() if one in entries]
    queue.ready.returned.clear()
    queue.ready.fresh.clear()
    queue.ready.octets = 0
    for one in sorted(kept, key=lambda one: one.position):
        queue.ready.push(one)
    for one in gone:
        queue.let_go(one)


@changes(
    "heard.given-back-and-cancelled",
    "what a consumer gives back to a quorum queue is lost if it is cancelled in the same moment",
    "RQ-015",
    "RQ-011",
    field=RABBITMQ.format("pull/12442"),
)
def given_back_and_cancelled(parts: Parts) -> None:
    below, wire = parts.channel, parts.connection

    def take(self: Connection) -> bytes:
        for channel in self.channels.values():
            memory(channel, "back", list).clear()
        paused = memory(self, "paused", list)
        for consumer in paused:
            consumer.pause.held -= 1
        for consumer in paused:
            consumer.pause.wake()
        paused.clear()
        return wire.take(self)

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        back = [one for one in deliveries if fate in fates.RETURNS and one.queue.quorum is not None and not one.stale]
        for one in back if not self.closing else []:
            if one.consumer is not None:
                one.consumer.pause.held += 1
                memory(self.connection, "paused", list).append(one.consumer)
        memory(self, "back", list).extend(back)
        below.finish(self, deliveries, fate)

    def cancel(self: Channel, tag: str) -> None:
        consumer = self.consumers.get(tag)
        below.cancel(self, tag)
        own = [one.entry for one in memory(self, "back", list) if one.consumer is consumer]
        if consumer is not None and own and not consumer.queue.deleted:
            without(consumer.queue, own)

    parts.override("connection", take=take)
    parts.override("channel", finish=finish, cancel=cancel)


@changes(
    "heard.uncommitted-recovered",
    "basic.recover returns what the transaction has settled as well",
    "RQ-014",
    "TX-002",
    field="https://github.com/cloudamqp/lavinmq/commit/f28e08834",
)
def uncommitted_recovered(parts: Parts) -> None:
    for kind in (m.BasicRecover, m.BasicRecoverAsync):
        parts.handlers[kind] = partial(restored, parts.handlers[kind])


def restored(below: Handler, channel: Channel, method: m.BasicRecover | m.BasicRecoverAsync) -> None:
    if channel.transaction is not None:
        channel.unacked.restore(channel.transaction.take_settled())
    below(channel, method)


@changes(
    "heard.lost-and-not-served",
    "what a lost connection held of a quorum queue waits there until something else happens to it",
    "AUTO-012",
    field=RABBITMQ.format("commit/7d4fcc6447"),
)
def lost_and_not_served(parts: Parts) -> None:
    wire, below = parts.connection, parts.queue

    def lost(self: Connection) -> None:
        memory(self.vhost, "lost", list).append(self)
        wire.lost(self)
        memory(self.vhost, "lost", list).clear()

    def settle_down(self: Queue) -> None:
        if self.quorum is None or not memory(self.vhost, "lost", list):
            below.settle_down(self)

    parts.override("connection", lost=lost)
    parts.override("queue", settle_down=settle_down)


@changes(
    "heard.got-and-not-served",
    "what a channel had got waits when that ends until something else happens to its queue",
    "AUTO-012",
    field="https://issues.apache.org/jira/browse/QPID-7425",
)
def got_and_not_served(parts: Parts) -> None:
    below, queues_below = parts.channel, parts.queue

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        queues = {one.queue for one in deliveries} if self.closing else set()
        consumed = {one.queue for one in deliveries if one.consumer is not None}
        memory(self.vhost, "quiet", list).extend(queues - consumed)
        below.finish(self, deliveries, fate)
        memory(self.vhost, "quiet", list).clear()

    def settle_down(self: Queue) -> None:
        if self not in memory(self.vhost, "quiet", list):
            queues_below.settle_down(self)

    parts.override("channel", finish=finish)
    parts.override("queue", settle_down=settle_down)

"""What goes wrong when something has changed meanwhile: a binding far away, a queue that is gone, a second alarm."""

from __future__ import annotations

from typing import Any

from codec import methods as m
from reference_broker.core import routing
from reference_broker.core.channels.channel import RETURNS, Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.beside import blurs, write_of, writes
from reference_broker.mutants.topology.ways import walks


def names(table: Any) -> list[str]:
    """Of the fields."""
    return [name for name, _, _ in table]


blurs("meanwhile.lists-by-length", "to a headers exchange lists of one length are equal", "A", len)
blurs("meanwhile.tables-by-names", "to a headers exchange tables with the same names are equal", "F", names)
blurs("meanwhile.floats-whole", "to a headers exchange floats are equal whose whole parts are", "d", int)


def matches_at_once(pattern: list[str], words: list[str]) -> bool:
    """A # ends where the next word of the pattern comes first."""
    at = 0
    for place, one in enumerate(pattern):
        if one == "#":
            if place + 1 == len(pattern):
                return True
            following = pattern[place + 1]
            while following not in ("*", "#") and at < len(words) and words[at] != following:
                at += 1
        elif at < len(words) and one in ("*", words[at]):
            at += 1
        else:
            return False
    return at == len(words)


def at_once(exchange: Exchange, hits: list[Destination], message: Message) -> list[Destination]:
    if not isinstance(exchange, Topic):
        return hits
    keys = [routing.words_of(key) for key in message.routing_keys()]
    bound = [(one.destination, routing.words_of(one.key)) for one in exchange.bindings]
    return [to for to, pattern in bound if any(matches_at_once(pattern, words) for words in keys)]


walks("meanwhile.first-fit", "a # ends where the word behind it comes first", "ROUTE-005", spoil=at_once)


@changes(
    "meanwhile.far-bindings-unseen", "bindings beyond the first exchange count as they were", "ROUTE-010", "ROUTE-014"
)
def far_bindings_unseen(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        if message.headers or message.more_keys:
            return below._walk(self, start, message)
        known: dict[Any, list[Queue]] = memory(start, "known", dict)
        way = message.routing_key, tuple(start.bindings)
        if way not in known:
            known[way] = below._walk(self, start, message)
        return [queue for queue in known[way] if not queue.deleted]

    parts.override("vhost", _walk=walk)


@changes(
    "meanwhile.went-well-before", "what goes the way of one that was routed before does not come back", "RETURN-001"
)
def went_well_before(parts: Parts) -> None:
    below = parts.channel

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        known: set[tuple[str, str]] = memory(self, "known", set)
        way = exchange, message.routing_key
        if any(True for _ in self.vhost.route(exchange, message)):
            known.add(way)
        elif way in known:
            mandatory = False
        return below.publish(self, exchange, message, mandatory)

    parts.override("channel", publish=publish)


@changes("meanwhile.onward-is-nothing", "an auto-delete exchange goes with its last queue", "EXCH-006")
def onward_is_nothing(parts: Parts) -> None:
    below = parts.vhost

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        below.drop_binding(self, binding)
        source = binding.source
        lost = source.auto_delete and source.name in self.exchanges and isinstance(binding.destination, Queue)
        if lost and not any(isinstance(one.destination, Queue) for one in source.bindings):
            self.delete_exchange(source)

    parts.override("vhost", drop_binding=drop_binding)


@changes("meanwhile.left-quietly", "an auto-delete queue stays when its consumer is cancelled with nowait", "QUEUE-024")
def left_quietly(parts: Parts) -> None:
    below = parts.handlers[m.BasicCancel]

    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        consumer = channel.consumers.get(method.consumer_tag)
        spared = consumer.queue if consumer is not None and method.no_wait and consumer.queue.auto_delete else None
        if spared is not None:
            spared.auto_delete = False
        below(channel, method)
        if spared is not None:
            spared.auto_delete = True

    parts.handlers[m.BasicCancel] = cancel


@changes("meanwhile.held-is-company", "no consumer is exclusive while a former one holds deliveries", "CONSUME-006")
def held_is_company(parts: Parts) -> None:
    below = parts.queue

    def excludes(self: Queue, exclusive: bool) -> bool:
        channels: dict[Channel, None] = memory(self, "channels", dict)
        out = [one for channel in channels for one in channel.unacked.by_tag.values()]
        held = any(one.queue is self and one.consumer is not None for one in out)
        return below.excludes(self, exclusive) or (exclusive and held)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        memory(self, "channels", dict)[consumer.channel] = None
        below.join(self, consumer, exclusive)

    parts.override("queue", excludes=excludes, join=join)


@changes(
    "meanwhile.slots-go-with-a-queue", "what came from a deleted queue fills its channel for ever", "QOS-010", "QOS-019"
)
def slots_go_with_a_queue(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for one in deliveries:
            if one.queue.deleted and one.consumer is not None:
                one.consumer.shared.held += 1
        below.finish(self, deliveries, fate)

    parts.override("channel", finish=finish)


@changes(
    "meanwhile.same-tag-same-write",
    "a tag that is cancelled and taken in one write is not served",
    "CAN-013",
    "QOS-002",
)
def same_tag_same_write(parts: Parts) -> None:
    writes(parts)
    cancel, consume = parts.handlers[m.BasicCancel], parts.handlers[m.BasicConsume]

    def leave(channel: Channel, method: m.BasicCancel) -> None:
        cancel(channel, method)
        memory(channel, "left", dict)[method.consumer_tag] = write_of(channel)

    def join(channel: Channel, method: m.BasicConsume) -> None:
        consume(channel, method)
        consumer = channel.consumers.get(method.consumer_tag)
        same = memory(channel, "left", dict).get(method.consumer_tag) == write_of(channel)
        if same and consumer is not None and consumer in consumer.queue.ring:
            consumer.queue.ring.remove(consumer)

    parts.handlers[m.BasicCancel] = leave
    parts.handlers[m.BasicConsume] = join


@changes("meanwhile.second-alarm-untold", "only the first alarm is told", "BLOCK-003")
def second_alarm_untold(parts: Parts) -> None:
    below = parts.connection

    def block(self: Connection, reason: str) -> None:
        told: list[str] = memory(self, "told", list)
        self.blocked = True
        if not told:
            below.block(self, reason)
        told.append(reason)

    parts.override("connection", block=block)


@changes("meanwhile.no-beat-to-the-busy", "a client that sends something is sent no heartbeats", "CONN-022")
def no_beat_to_the_busy(parts: Parts) -> None:
    below = parts.connection

    def beat(self: Connection) -> None:
        now, half = self.broker.peers_clock.now, self.heartbeat / 2
        if not self.finished and now - self.heard_at < half:
            self.broker.peers_clock.at(now + half, type(self).beat, self)
        else:
            below.beat(self)

    parts.override("connection", beat=beat)


@changes(
    "meanwhile.committed-to-the-next",
    "what a transaction gives back to a queue that is gone comes with the commit into the next of its name",
    "QUEUE-031",
)
def committed_to_the_next(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        for deliveries, fate in self.settled:
            for one in deliveries if fate in RETURNS else ():
                heir = channel.vhost.queues.get(one.queue.name)
                if one.queue.deleted and heir is not None:
                    heir.put_back(one.entry)
                    heir.settle_down()
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes(
    "meanwhile.quietly-cancelled-counted",
    "a consumer that was cancelled with nowait is counted for ever",
    "QUEUE-020",
)
def quietly_cancelled_counted(parts: Parts) -> None:
    connections, cancels = parts.connection, parts.handlers[m.BasicCancel]

    def send(self: Connection, item: Outbound) -> None:
        if isinstance(item, m.QueueDeclareOk) and item.queue in self.vhost.queues:
            item.consumer_count += len(memory(self.vhost.queues[item.queue], "left", list))
        connections.send(self, item)

    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        consumer = channel.consumers.get(method.consumer_tag)
        if consumer is not None and method.no_wait:
            memory(consumer.queue, "left", list).append(consumer)
        cancels(channel, method)

    parts.override("connection", send=send)
    parts.handlers[m.BasicCancel] = cancel

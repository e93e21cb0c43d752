"""What concerns others as well: the same message in another queue, a consumer of the same tag, who comes later."""

from __future__ import annotations

from heapq import heappush

from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

STRANGEQ = "https://github.com/maxpert/strangeq/commit/{}"
MOCK = "https://github.com/fridujo/rabbitmq-mock/commit/{}"


@changes(
    "others.one-flag",
    "what comes back to one queue is marked as redelivered in all that it waits in",
    "RQ-009",
    field=STRANGEQ.format("766fb50b"),
)
def one_flag(parts: Parts) -> None:
    below = parts.queue

    def put_back(self: Queue, entry: Entry) -> None:
        below.put_back(self, entry)
        for queue in self.vhost.queues.values():
            for other in queue.ready.entries():
                other.redelivered = other.redelivered or other.message is entry.message

    parts.override("queue", put_back=put_back)


@changes(
    "others.namesakes-end",
    "the end of a connection ends consumers of all others that have the tag of one of its own",
    "QOS-028",
    "QOS-002",
    "AUTO-012",
    field=MOCK.format("d12c12c4"),
)
def namesakes_end(parts: Parts) -> None:
    below = parts.connection

    def end_channels(self: Connection) -> None:
        tags = [tag for channel in self.channels.values() for tag in channel.consumers]
        below.end_channels(self)
        for other in self.broker.connections:
            for channel in other.channels.values():
                for tag in tags:
                    channel.cancel(tag)

    parts.override("connection", end_channels=end_channels)


@changes(
    "others.newcomers-starve",
    "once a connection with a consumer of a queue has ended, later consumers get only what is there when they come",
    "QOS-002",
    "QOS-028",
    "AUTO-003",
    field=MOCK.format("4b5755d1"),
)
def newcomers_starve(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        below.leave(self, consumer)
        if not consumer.channel.connection.channels:
            memory(self, "bereft", bool)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        below.join(self, consumer, exclusive)
        if "mutant_bereft" in vars(self) and consumer in self.ring:
            self.ring.remove(consumer)

    parts.override("queue", leave=leave, join=join)


@changes(
    "others.left-without-rank",
    "what a connection leaves behind has no priority any more",
    "PRIO-005",
    field="https://github.com/ottermq/ottermq/commit/381ddaa2",
)
def left_without_rank(parts: Parts) -> None:
    below, queue = parts.connection, parts.queue

    def end_channels(self: Connection) -> None:
        for channel in self.channels.values():
            for delivery in channel.unacked.by_tag.values():
                memory(delivery.queue, "left", list[Entry]).append(delivery.entry)
        below.end_channels(self)

    def put_back(self: Queue, entry: Entry) -> None:
        if not self.ready.max_priority or entry not in memory(self, "left", list[Entry]):
            queue.put_back(self, entry)
            return
        entry.redelivered = True
        heappush(self.ready.returned, (entry.position, entry))
        self.ready.octets += len(entry.message.body)

    parts.override("connection", end_channels=end_channels)
    parts.override("queue", put_back=put_back)


@changes("others.lost-lives-on", "what a lost connection held never expires", "TTL-007", "TTL-001")
def lost_lives_on(parts: Parts) -> None:
    below = parts.connection

    def lost(self: Connection) -> None:
        for channel in self.channels.values():
            for delivery in channel.unacked.by_tag.values():
                delivery.entry.expires = None
        below.lost(self)

    parts.override("connection", lost=lost)


@changes(
    "others.own-successor",
    "where one consumer is served, what it holds is lost when it is cancelled and comes back under its tag",
    "AUTO-001",
    "SAC-003",
    "SAC-002",
    field="https://github.com/rabbitmq/rabbitmq-server/commit/c55fd217ad",
)
def own_successor(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        below(channel, method)
        mine = channel.consumers.get(method.consumer_tag)
        for delivery in channel.unacked.by_tag.values():
            former = delivery.consumer
            if former and former is not mine and former.tag == method.consumer_tag:
                delivery.lost = delivery.queue.settings.single_active_consumer

    parts.handlers[m.BasicConsume] = consume

"""What the trackers of clones tell: contents that reach the wire otherwise than they were published."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.queues.message import Entry, Message, copied
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import handles, replaces

LARGE = 10240
BEFORE_PROPERTIES = 7 + 2 + 2 + 8 + 2
"""Octets of a header frame up to its first property."""


@handles(
    m.BasicPublish,
    "trackers.lists-in-lists",
    "a list among the headers comes as the only one in another list",
    "CONTENT-002",
    "RQ-016",
    field="https://github.com/ottermq/ottermq/releases/tag/v0.12.0",
)
def lists_in_lists(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    fields = header.headers or []
    if any(letter == "A" and name not in ("CC", "BCC", "x-death") for name, letter, _ in fields):
        wrapped: FieldTable = [wrap(field) for field in fields]
        header = codec.header(0, len(body), **{**header.properties(), "headers": wrapped})
    basic.publish(channel, method, header, body)


def wrap(field: tuple[str, str, Any]) -> tuple[str, str, Any]:
    name, letter, value = field
    return (name, "A", [("A", value)]) if letter == "A" and name not in ("CC", "BCC", "x-death") else field


@replaces(
    "outbox.pieces",
    "trackers.properties-out-of-order",
    "the headers of a message are written before its content type",
    "RQ-016",
    "ERR-013",
    field="https://github.com/maxpert/strangeq/commit/c9b9487",
)
def properties_out_of_order(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if not isinstance(item, tuple) or not item[1].header.headers or item[1].header.content_type is None:
        return Outbox.pieces(self, item)
    method, message = item
    raw = message.header.encode()
    raw = raw[:1] + method.channel.to_bytes(2, "big") + raw[3:]
    kind_ends = BEFORE_PROPERTIES + 1 + raw[BEFORE_PROPERTIES]
    table_at = kind_ends if message.header.content_encoding is None else kind_ends + 1 + raw[kind_ends]
    (length,) = struct.unpack_from(">I", raw, table_at)
    table_ends = table_at + 4 + length
    first, table = raw[BEFORE_PROPERTIES:table_at], raw[table_at:table_ends]
    turned = raw[:BEFORE_PROPERTIES] + table + first + raw[table_ends:]
    return method.encode(), turned, *message.frames(method.channel, self.frame_max)[1:]


@replaces(
    "outbox.encoded",
    "trackers.two-at-once",
    "frames of deliveries to two consumers of one channel come mixed",
    "ERR-013",
    field="https://github.com/wso2-attic/ballerina-message-broker/commit/1869dbdc",
)
def two_at_once(self: Outbox, items: Iterable[Outbound]) -> bytes:
    out: list[bytes] = []
    waiting: list[Outbound] = list(items)
    while waiting:
        item, waiting = waiting[0], waiting[1:]
        if waiting and (at := between(self, item, waiting[0])):
            out += at
            waiting = waiting[1:]
        else:
            out += Outbox.pieces(self, item)
    return b"".join(out)


def between(outbox: Outbox, item: Outbound, following: Outbound) -> list[bytes]:
    """The frames of two deliveries, both methods first, where these are for two consumers of one channel."""
    if not isinstance(item, tuple) or not isinstance(following, tuple):
        return []
    first, second = item[0], following[0]
    if not isinstance(first, m.BasicDeliver) or not isinstance(second, m.BasicDeliver):
        return []
    if first.channel != second.channel or first.consumer_tag == second.consumer_tag:
        return []
    parts = [message.frames(first.channel, outbox.frame_max) for _, message in (item, following)]
    return [first.encode(), second.encode(), *(piece for pieces in parts for piece in pieces)]


@replaces(
    "vhost.publish",
    "trackers.exchange-of-the-last",
    "a message that passes a binding between exchanges is delivered with the name of the second",
    "RQ-016",
    "ROUTE-010",
)
def exchange_of_the_last(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    accepted = []
    for queue in self.route(exchange, message):
        sources = [one.source.name for one in self.bound_to.get(queue, ())] if isinstance(queue, Queue) else []
        last = message if not exchange or exchange in sources or not sources else under(message, exchange=sources[0])
        accepted.append(queue.publish(last))
    return bool(accepted), all(accepted)


def under(message: Message, exchange: str | None = None, key: str | None = None) -> Message:
    """The same, as if it had been published to that address."""
    exchange, key = message.exchange if exchange is None else exchange, message.routing_key if key is None else key
    return copied(exchange, key, message.header, message.body, message.more_keys)


@replaces(
    "vhost.publish",
    "trackers.key-of-the-binding",
    "what a topic exchange leads to a queue is delivered with the key of the binding",
    "RQ-016",
    "ROUTE-004",
    field="https://github.com/arempe93/bunny-mock/commit/de83d12",
)
def key_of_the_binding(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    accepted = []
    for queue in self.route(exchange, message):
        keys = [
            one.key
            for one in (self.bound_to.get(queue, ()) if isinstance(queue, Queue) else ())
            if isinstance(one.source, Topic) and one.source.name == exchange
        ]
        accepted.append(queue.publish(under(message, key=keys[0]) if keys else message))
    return bool(accepted), all(accepted)


@replaces(
    "channel.get",
    "trackers.nothing-left-in-quorum",
    "get-ok of a quorum queue never counts what is left",
    "MODE-007",
    field="https://github.com/rabbitmq/rabbitmq-server/commit/649b8c95e6",
)
def nothing_left_in_quorum(self: Channel, queue: Queue, no_ack: bool) -> None:
    Channel.get(self, queue, no_ack)
    said = self.connection.outbox.items[-1]
    if queue.quorum is not None and isinstance(said, tuple) and isinstance(said[0], m.BasicGetOk):
        said[0].message_count = 0


@replaces(
    "channel.deliver",
    "trackers.large-ones-stay-behind",
    "a message of more than 10240 octets is not delivered to a consumer, and counts as delivered",
    "TAG-004",
    "RQ-016",
    field="https://github.com/streamnative/aop/commit/8ca2422f",
)
def large_ones_stay_behind(self: Channel, consumer: Consumer, entry: Entry) -> None:
    said = len(self.connection.outbox.items)
    Channel.deliver(self, consumer, entry)
    if len(entry.message.body) > LARGE:
        del self.connection.outbox.items[said:]


@replaces(
    "vhost.publish",
    "trackers.default-by-name",
    "what comes by the default exchange is delivered with a name for it",
    "RQ-016",
    field="https://github.com/fridujo/rabbitmq-mock/commit/cd5a077",
)
def default_by_name(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    accepted = [
        queue.publish(message if exchange else under(message, "default")) for queue in self.route(exchange, message)
    ]
    return bool(accepted), all(accepted)

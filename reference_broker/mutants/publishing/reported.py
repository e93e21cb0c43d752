"""What users have reported of publishes: where they go, and what becomes of large, empty and unlucky ones."""

from __future__ import annotations

from collections.abc import Iterable

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.errors import ConnectionException
from reference_broker.core.queues.message import FRAME_OVERHEAD, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange, Topic, words_of
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import fails, handles, memory, replaces

LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
LONGEST = 255


@replaces(
    "channel.publish",
    "reported.large-in-one-queue",
    "of several queues the first gets a body of several frames whole, and the others its first frame again and again",
    "RQ-016",
    "CONTENT-001",
    field=LAVINMQ.format("releases/tag/v1.1.6"),
)
def large_in_one_queue(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
    room = self.connection.outbox.frame_max - FRAME_OVERHEAD
    queues = list(self.vhost.route(exchange, message)) if len(message.body) > room else []
    if len(queues) < 2:
        return Channel.publish(self, exchange, message, mandatory)
    spoilt = (message.body[:room] * (len(message.body) // room + 1))[: len(message.body)]
    accepted = [queues[0].publish(message)]
    for queue in queues[1:]:
        accepted.append(queue.publish(Message(exchange, message.routing_key, message.header, spoilt)))
    return all(accepted)


@handles(
    m.BasicPublish,
    "reported.full-short-strings",
    "a publish whose exchange or routing key has 255 octets is an internal error",
    "ERR-012",
    field=LAVINMQ.format("issues/1093"),
)
def full_short_strings(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if LONGEST in (len(method.exchange.encode()), len(method.routing_key.encode())):
        raise fails()
    basic.publish(channel, method, header, body)


@handles(
    m.BasicPublish,
    "reported.sixteen-bits-of-body",
    "a body of more than 65535 octets cannot be published",
    "CONTENT-001",
    field=LAVINMQ.format("commit/cd77b3f0"),
)
def sixteen_bits_of_body(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if len(body) > 0xFFFF:
        raise ConnectionException(ReplyCode.FRAME_ERROR, "body too large")
    basic.publish(channel, method, header, body)


@handles(
    m.BasicPublish,
    "reported.empty-never-whole",
    "a publish with an empty body waits for a body for ever",
    "CNF-004",
    "CNF-008",
    field="https://github.com/wso2-attic/ballerina-message-broker/issues/433",
)
def empty_never_whole(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if body:
        basic.publish(channel, method, header, body)


@replaces(
    "vhost.publish",
    "reported.refusal-ends-the-round",
    "when a queue refuses a message, those that would get it after that one do not",
    "LEN-012",
    field=LAVINMQ.format("pull/1958"),
)
def refusal_ends_the_round(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    routed = False
    for queue in self.route(exchange, message):
        routed = True
        if not queue.publish(message):
            return True, False
    return routed, True


@replaces(
    "vhost.publish",
    "reported.first-exchange-alone",
    "of the exchanges that are bound to an exchange the first gets its messages alone",
    "ROUTE-010",
    field=LAVINMQ.format("pull/117"),
)
def first_exchange_alone(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    start = self.exchanges.get(exchange)
    if start is None:
        return VirtualHost.publish(self, exchange, message)
    hits = list(dict.fromkeys(start.matches(message.routing_key, message.headers)))
    onward = [one for one in hits if isinstance(one, Exchange)]
    if len(onward) < 2:
        return VirtualHost.publish(self, exchange, message)
    found: list[Queue | ReplyTo] = [one for one in hits if isinstance(one, Queue)]
    found += self.route(onward[0].name, message)
    accepted = [queue.publish(message) for queue in dict.fromkeys(found)]
    return bool(accepted), all(accepted)


@handles(
    m.BasicPublish,
    "reported.gone-exchange-costs-all",
    "a publish to an exchange that was deleted ends the connection",
    "ERR-012",
    field="https://github.com/rabbitmq/rabbitmq-server/releases/tag/v3.10.1",
)
def gone_exchange_costs_all(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    known: set[str] = memory(channel.connection, "published_to", set)
    if method.exchange in known and method.exchange not in channel.vhost.exchanges:
        raise fails()
    known.add(method.exchange)
    basic.publish(channel, method, header, body)


@replaces(
    "vhost.route",
    "reported.published-wildcards",
    "words of a routing key that are * or # match what is bound to a topic exchange, and bindings may not have them",
    "ROUTE-004",
    "ROUTE-005",
    field="https://github.com/arempe93/bunny-mock/issues/16",
)
def published_wildcards(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    start = self.exchanges.get(exchange)
    if not isinstance(start, Topic):
        return VirtualHost.route(self, exchange, message)
    asked = Topic("")
    asked.bind(asked, message.routing_key, [])
    hits = [one.destination for one in start.bindings if list(asked.matches(one.key, []))]
    return list(dict.fromkeys(one for one in hits if isinstance(one, Queue)))


@replaces(
    "vhost.route",
    "reported.wildcards-both-ways",
    "words of a routing key that are * or # match the bindings of a topic exchange as well",
    "ROUTE-004",
    "ROUTE-003",
    field="https://github.com/arempe93/bunny-mock/issues/16",
)
def wildcards_both_ways(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    found = list(VirtualHost.route(self, exchange, message))
    start = self.exchanges.get(exchange)
    if not isinstance(start, Topic) or not {"*", "#"} & set(words_of(message.routing_key)):
        return found
    asked = Topic("")
    asked.bind(asked, message.routing_key, [])
    hits = [one.destination for one in start.bindings if list(asked.matches(one.key, []))]
    return list(dict.fromkeys([*found, *(one for one in hits if isinstance(one, Queue))]))


@handles(
    m.BasicPublish,
    "reported.reopened-swallows",
    "a channel number on which a publish to nowhere has failed swallows publishes when it is opened again",
    "CNF-022",
    "CNF-019",
    field="https://github.com/cloudamqp/amqproxy/issues/154",
)
def reopened_swallows(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    mute: set[int] = memory(channel.connection, "mute", set)
    if channel.number in mute:
        return
    if method.exchange and method.exchange not in channel.vhost.exchanges:
        mute.add(channel.number)
    basic.publish(channel, method, header, body)

"""Messages that name more queues than the routing key does, and do not come there, or say too much."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message, copied, listed
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange, Fanout, Topic
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces


@replaces("vhost.publish", "carbon.unread", "the headers CC and BCC lead nowhere", "ROUTE-018")
def unread(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    if message.more_keys:
        message = Message(exchange, message.routing_key, message.header, message.body)
    return VirtualHost.publish(self, exchange, message)


@replaces("vhost.publish", "carbon.blind-unread", "the header BCC leads nowhere", "ROUTE-018")
def blind_unread(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    if message.more_keys:
        keys = tuple(listed(message.headers, "CC"))
        message = copied(exchange, message.routing_key, message.header, message.body, keys)
    return VirtualHost.publish(self, exchange, message)


@changes("carbon.blind-shown", "the header BCC is delivered with the message", "ROUTE-019")
def blind_shown(parts: Parts) -> None:
    below, routed = parts.publish, parts.channel.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        memory(channel, "blind", list)[:] = [one for one in header.headers or () if one[0] == "BCC"]
        below(channel, method, header, body)

    def hand_over(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        blind: list[Any] = memory(self, "blind", list)
        return routed(self, exchange, message.with_headers([*blind]) if blind else message, mandatory)

    parts.publish = publish
    parts.override("channel", publish=hand_over)


@replaces("vhost._walk", "carbon.no-topics", "topic exchanges read neither CC nor BCC", "ROUTE-018")
def no_topics(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    if message.more_keys and isinstance(start, Topic):
        message = Message(message.exchange, message.routing_key, message.header, message.body)
    return VirtualHost._walk(self, start, message)


@replaces(
    "vhost._walk",
    "carbon.alternate-as-well",
    "an alternate exchange gets what only CC and BCC find a way for",
    "ROUTE-018",
)
def alternate_as_well(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
    found = VirtualHost._walk(self, start, message)
    alternate = self.exchanges.get(start.alternate)
    if alternate is None or not message.more_keys or list(start.matches(message.routing_key, message.headers)):
        return found
    return list(dict.fromkeys([*found, *VirtualHost._walk(self, alternate, message)]))


@replaces("vhost.route", "carbon.each-key-counts", "a queue that two keys name gets two copies", "ROUTE-018")
def each_key_counts(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
    if exchange or not message.more_keys:
        return VirtualHost.route(self, exchange, message)
    return [self.queues[key] for key in message.routing_keys() if key in self.queues]


@changes("carbon.fanout-twice", "a fanout exchange gives two copies of what has CC", "ROUTE-018")
def fanout_twice(parts: Parts) -> None:
    below = parts.vhost

    def route(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
        found = list(below.route(self, exchange, message))
        return found * 2 if message.more_keys and isinstance(self.exchanges.get(exchange), Fanout) else found

    parts.override("vhost", route=route)


@changes("carbon.not-behind-another", "behind another exchange the keys in CC do not count", "ROUTE-018")
def not_behind_another(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        direct = {one.destination: None for key in message.routing_keys() for one in start.bindings if one.key == key}
        plain = Message(message.exchange, message.routing_key, message.header, message.body)
        beyond = below._walk(self, start, plain)
        return [queue for queue in below._walk(self, start, message) if queue in direct or queue in beyond]

    parts.override("vhost", _walk=walk)


@changes(
    "carbon.blind-behind-an-alternate", "the header BCC is shown to who gets it by an alternate exchange", "ROUTE-019"
)
def blind_behind_an_alternate(parts: Parts) -> None:
    below, publish = parts.vhost, parts.publish

    def remember(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        vars(channel.vhost)["blind"] = [field for field in header.headers or [] if field[0] == "BCC"]
        publish(channel, method, header, body)
        vars(channel.vhost)["blind"] = []

    def route(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        found, blind = self.exchanges.get(exchange), vars(self).get("blind", [])
        ways = [hit for key in message.routing_keys() for hit in found.matches(key, message.headers)] if found else []
        if blind and found is not None and found.alternate in self.exchanges and not ways:
            properties = {**message.header.properties(), "headers": [*message.headers, *blind]}
            header = codec.header(0, len(message.body), **properties)
            message = copied(message.exchange, message.routing_key, header, message.body, message.more_keys)
        return below.publish(self, exchange, message)

    parts.publish = remember
    parts.override("vhost", publish=route)


@changes("carbon.not-in-transactions", "in a transaction the headers CC and BCC lead nowhere", "ROUTE-018")
def not_in_transactions(parts: Parts) -> None:
    below = parts.transaction

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        plain = Message(message.exchange, message.routing_key, message.header, message.body)
        below.publish(self, channel, exchange, plain, mandatory)

    parts.override("transaction", publish=publish)


@changes("carbon.empty-list", "a message whose header CC is an empty list goes nowhere", "ROUTE-018")
def empty_list(parts: Parts) -> None:
    below = parts.vhost

    def publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        if ("CC", "A", []) in message.headers:
            return False, True
        return below.publish(self, exchange, message)

    parts.override("vhost", publish=publish)

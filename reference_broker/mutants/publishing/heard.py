"""What else users have complained of: publishes that are confirmed twice, never, or under another number."""

from __future__ import annotations

from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import PERSISTENT, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/commit/{}"


@changes(
    "heard.mandatory-counts-before",
    "mandatory publishes before confirm.select are counted too",
    "CNF-002",
    field=RABBITMQ.format("1b0eb9a4a3"),
)
def mandatory_counts_before(parts: Parts) -> None:
    publish_below, below = parts.publish, parts.channel

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if method.mandatory and channel.confirms is None:
            memory(channel, "counted", list).append(method)
        publish_below(channel, method, header, body)

    def select_confirms(self: Channel) -> Confirms:
        confirms = below.select_confirms(self)
        confirms.published += len(memory(self, "counted", list))
        return confirms

    parts.publish = publish
    parts.override("channel", select_confirms=select_confirms)


@changes(
    "heard.two-quorum-queues",
    "a publish that goes to two quorum queues is never confirmed",
    "CNF-010",
    "CNF-004",
    field=RABBITMQ.format("42e63f0e6f"),
)
def two_quorum_queues(parts: Parts) -> None:
    publish_below, host = parts.publish, parts.vhost

    def route(self: VirtualHost, exchange: str, message: Message) -> Any:
        found = list(host.route(self, exchange, message))
        several = sum(isinstance(one, Queue) and one.quorum is not None for one in found) > 1
        vars(self)["mutant_several"] = several
        return found

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        vars(channel.vhost)["mutant_several"] = False
        publish_below(channel, method, header, body)
        if channel.confirms is not None and vars(channel.vhost)["mutant_several"]:
            channel.confirms.wait(channel.confirms.published)

    parts.override("vhost", route=route)
    parts.publish = publish


@changes(
    "heard.confirmed-once-more",
    "a persistent message that comes back to its durable queue is confirmed once more",
    "CNF-004",
    "CNF-006",
    field=RABBITMQ.format("c2bd1bb51b"),
)
def confirmed_once_more(parts: Parts) -> None:
    publish_below, below, host = parts.publish, parts.channel, parts.vhost

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        vars(channel.vhost)["mutant_publisher"] = channel if channel.confirms is not None else None
        publish_below(channel, method, header, body)
        vars(channel.vhost)["mutant_publisher"] = None

    def vhost_publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        channel = vars(self).get("mutant_publisher")
        if channel is not None:
            memory(self, "of", dict)[id(message)] = message, channel, channel.confirms.published
        return host.publish(self, exchange, message)

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        below.finish(self, deliveries, fate)
        for one in deliveries if fate in fates.RETURNS else []:
            message, lasts = one.entry.message, one.queue.durable
            known = memory(self.vhost, "of", dict).get(id(message))
            if known is not None and lasts and message.header.delivery_mode == PERSISTENT and not known[1].closing:
                known[1].connection.send(m.BasicAck(known[1].number, known[2], False))

    parts.publish = publish
    parts.override("vhost", publish=vhost_publish)
    parts.override("channel", finish=finish)


@changes(
    "heard.all-or-returned",
    "a mandatory message comes back if one of several queues refuses it",
    "CNF-025",
    field=RABBITMQ.format("4b5b7601f5"),
)
def all_or_returned(parts: Parts) -> None:
    below = parts.channel

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        accepted = below.publish(self, exchange, message, mandatory)
        if mandatory and not accepted and len(list(self.vhost.route(exchange, message))) > 1:
            self.give_back(exchange, message)
        return accepted

    parts.override("channel", publish=publish)

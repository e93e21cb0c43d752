"""What a broker was not prepared for when something is published: bodies of many frames or of whole ones, many messages
in one transaction, a refusal among them, a multiple that is rolled back, a key that led nowhere before."""

from __future__ import annotations

from collections.abc import Iterable

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.connections.intake import Intake
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import FRAME_OVERHEAD, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

MOST = 16


def room(channel: Channel) -> int:
    """Octets of a body that one frame has room for."""
    return channel.connection.outbox.frame_max - FRAME_OVERHEAD


@changes(
    "unprepared.large-ones-are-confirmed",
    "a publish of several frames that a full queue refuses is confirmed",
    "CNF-011",
)
def large_ones_are_confirmed(parts: Parts) -> None:
    below = parts.channel

    def publish(self: Channel, exchange: str, message: Message, mandatory: bool) -> bool:
        return below.publish(self, exchange, message, mandatory) or len(message.body) > room(self)

    parts.override("channel", publish=publish)


@changes(
    "unprepared.whole-frames",
    "a publish whose body fills its frames is carried out with the next one of its channel",
    "CNF-004",
    "CNF-026",
    "CONTENT-001",
    "RQ-016",
)
def whole_frames(parts: Parts) -> None:
    below = parts.intake
    Waiting = list[tuple[m.BasicPublish, codec.Header, bytes]]

    def publish(self: Intake, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        waiting: Waiting = memory(channel, "waiting", list)
        waiting.append((method, header, body))
        while waiting and not (len(waiting) == 1 and body and len(body) % room(channel) == 0):
            below.publish(self, channel, *waiting.pop(0))

    parts.override("channel")
    parts.override("intake", publish=publish)


@changes("unprepared.sixteen-in-one", "a commit carries out sixteen publishes, and leaves more to the next", "TX-010")
def sixteen_in_one(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        rest, self.published = self.published[MOST:], self.published[:MOST]
        accepted = below.commit(self, channel)
        self.published = rest
        return accepted

    parts.override("transaction", commit=commit)


@changes("unprepared.refused-among-others", "a commit ends with the first publish that a full queue refuses", "TX-010")
def refused_among_others(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        published, self.published = self.published, []
        all(channel.publish(*one) for one in published)
        return below.commit(self, channel)

    parts.override("transaction", commit=commit)


@changes(
    "unprepared.rolled-back-together", "of a multiple a rollback undoes the settlement of the named tag alone", "TX-002"
)
def rolled_back_together(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        for deliveries, _ in self.settled:
            for delivery in deliveries[:-1]:
                delivery.lost = True
            del deliveries[:-1]
        below.rollback(self, channel)

    parts.override("transaction", rollback=rollback)


@changes(
    "unprepared.returned-again",
    "what one commit has returned comes back with the next one as well",
    "RETURN-002",
    "TX-012",
)
def returned_again(parts: Parts) -> None:
    below, channels = parts.transaction, parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        channels.give_back(self, exchange, message)
        memory(self, "returned", list).append((exchange, message))

    def commit(self: Transaction, channel: Channel) -> bool:
        before: list[tuple[str, Message]] = memory(channel, "returned", list)
        again = before[:]
        before.clear()
        for exchange, message in again:
            channels.give_back(channel, exchange, message)
        return below.commit(self, channel)

    parts.override("channel", give_back=give_back)
    parts.override("transaction", commit=commit)


@changes("unprepared.return-and-multiple", "behind a return comes a multiple confirm that covers nothing", "CNF-006")
def return_and_multiple(parts: Parts) -> None:
    below = parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        below.give_back(self, exchange, message)
        memory(self, "given", list).append(message)

    def flush_confirms(self: Channel) -> None:
        below.flush_confirms(self)
        given: list[Message] = memory(self, "given", list)
        if given and self.confirms is not None and not self.confirms.pending:
            self.connection.send(m.BasicAck(self.number, self.confirms.published, True))
        given.clear()

    parts.override("channel", give_back=give_back, flush_confirms=flush_confirms)


@changes("unprepared.trusted-once", "who has published in the own name may publish in any other", "CONTENT-006")
def trusted_once(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        connection, user = channel.connection, channel.connection.user
        if header.user_id is not None and memory(channel, "trusted", list):
            connection.user = header.user_id
        try:
            below(channel, method, header, body)
        finally:
            connection.user = user
        if header.user_id is not None:
            memory(channel, "trusted", list).append(True)

    parts.override("channel")
    parts.publish = publish


@changes(
    "unprepared.once-nowhere",
    "a key that led nowhere is remembered, and leads nowhere when a queue is bound with it",
    "CNF-010",
    "ROUTE-001",
    "ROUTE-014",
)
def once_nowhere(parts: Parts) -> None:
    below = parts.vhost

    def route(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
        nowhere: set[tuple[str, str]] = memory(self, "nowhere", set)
        way = exchange, message.routing_key
        plain = exchange and not (message.more_keys or message.headers or self.exchanges[exchange].alternate)
        found = [] if plain and way in nowhere else list(below.route(self, exchange, message))
        if plain and not found:
            nowhere.add(way)
        return found

    parts.override("vhost", route=route)

"""Returned publishes: not at all, twice, elsewhere, or out of turn."""

from __future__ import annotations

from collections.abc import Iterator

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import FRAME_OVERHEAD, Message, addressed
from reference_broker.mutants.kinds import changes, memory, replaces


@replaces("channel.give_back", "mandatory.with-confirms-only", "returns take confirm mode", "RETURN-001")
def with_confirms_only(self: Channel, exchange: str, message: Message) -> None:
    if self.confirms is not None or self.transaction is not None:
        Channel.give_back(self, exchange, message)


@replaces("channel.give_back", "mandatory.no-empty-return", "an empty body is not returned", "RETURN-001")
def no_empty_return(self: Channel, exchange: str, message: Message) -> None:
    if message.body or self.confirms is not None:
        Channel.give_back(self, exchange, message)


@replaces("channel.give_back", "mandatory.twice", "a mandatory publish comes back twice", "RETURN-002")
def twice(self: Channel, exchange: str, message: Message) -> None:
    for _ in range(2):
        Channel.give_back(self, exchange, message)


@replaces("channel.give_back", "mandatory.on-first-channel", "returns come on the first channel", "RETURN-003")
def on_first_channel(self: Channel, exchange: str, message: Message) -> None:
    first = next(iter(self.connection.channels.values()))
    Channel.give_back(first, exchange, message)


@replaces("channel.give_back", "mandatory.not-consumed", "without confirms a return has the code 313", "RETURN-005")
def not_consumed(self: Channel, exchange: str, message: Message) -> None:
    if self.confirms is not None:
        Channel.give_back(self, exchange, message)
    else:
        method = m.BasicReturn(self.number, 313, "NO_CONSUMERS", exchange, message.routing_key)
        self.connection.send_content(method, message)


@replaces("channel.give_back", "mandatory.no-address", "without confirms a return names no exchange", "RETURN-005")
def no_address(self: Channel, exchange: str, message: Message) -> None:
    Channel.give_back(self, exchange if self.confirms is not None else "", message)


@replaces("channel.give_back", "mandatory.no-headers", "without confirms a return has no headers", "RETURN-006")
def no_headers(self: Channel, exchange: str, message: Message) -> None:
    bare = message.copy(message.exchange, message.routing_key, headers=None)
    Channel.give_back(self, exchange, message if self.confirms is not None else bare)


@replaces("channel.give_back", "mandatory.one-frame", "without confirms a return is one body frame long", "RETURN-006")
def one_frame(self: Channel, exchange: str, message: Message) -> None:
    room = self.connection.outbox.frame_max - FRAME_OVERHEAD
    cut = addressed(message.exchange, message.routing_key, message.header, message.body[:room])
    cut = cut.copy(message.exchange, message.routing_key)  # whose header tells the size that is left
    Channel.give_back(self, exchange, message if self.confirms is not None else cut)


@changes("mandatory.shortest-first", "a return waits behind a shorter one", "RETURN-004")
def shortest_first(parts: Parts) -> None:
    below = parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        memory(self, "waiting", list).append((exchange, message))
        self.connection.confirm(self)

    def flush(self: Channel) -> None:
        waiting = memory(self, "waiting", list)
        for exchange, message in sorted(waiting, key=lambda one: len(one[1].body)):
            below.give_back(self, exchange, message)
        waiting.clear()
        below.flush(self)

    parts.override("channel", give_back=give_back, flush=flush)


@replaces("channel.give_back", "mandatory.for-each-key", "a publish comes back for each of its keys", "RETURN-002")
def for_each_key(self: Channel, exchange: str, message: Message) -> None:
    for _ in message.routing_keys():
        Channel.give_back(self, exchange, message)


@changes("mandatory.last-first", "what a transaction has published comes back from behind", "RETURN-004")
def last_first(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        held: list[tuple[str, Message]] = memory(channel, "held", list)
        vars(channel)["give_back"] = lambda exchange, message: held.append((exchange, message))
        try:
            accepted = below.commit(self, channel)
        finally:
            del vars(channel)["give_back"]
        while held:
            channel.give_back(*held.pop())
        return accepted

    parts.override("transaction", commit=commit)


@replaces("intake.work", "mandatory.not-before-a-close", "a publish right before channel.close is lost", "RETURN-001")
def not_before_a_close(self: Intake, frames: Iterator[Inbound]) -> None:
    arrived = list(frames)
    following = [*arrived[1:], None]
    kept = [
        one
        for one, after in zip(arrived, following, strict=True)
        if not (isinstance(one, codec.Content) and isinstance(after, m.ChannelClose))
    ]
    Intake.work(self, iter(kept))


@changes(
    "mandatory.dead-letters-too", "a dead letter that leads nowhere comes back to who has rejected it", "RETURN-003"
)
def dead_letters_too(parts: Parts) -> None:
    below = parts.handlers[m.BasicReject]

    def reject(channel: Channel, method: m.BasicReject) -> None:
        held = channel.unacked.by_tag.get(method.delivery_tag) if not method.requeue else None
        below(channel, method)
        target = held.queue.settings.dead_letter_exchange if held is not None else None
        if held is None or target is None or (target and target not in channel.vhost.exchanges):
            return
        message, key = held.entry.message, held.queue.settings.dead_letter_routing_key
        letter = message.copy(target, message.routing_key if key is None else key)
        if not list(channel.vhost.route(target, letter)):
            channel.give_back(target, letter)

    parts.handlers[m.BasicReject] = reject


@changes(
    "mandatory.large-without-headers",
    "a body of several frames comes back without its headers",
    "RETURN-006",
    "CNF-009",
)
def large_without_headers(parts: Parts) -> None:
    below = parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        if len(message.body) > self.connection.outbox.frame_max - FRAME_OVERHEAD:
            message = message.copy(exchange, message.routing_key, headers=None)
        below.give_back(self, exchange, message)

    parts.override("channel", give_back=give_back)


@replaces("channel.give_back", "mandatory.to-the-octet", "a return goes to the last octet of its channel", "RETURN-003")
def to_the_octet(self: Channel, exchange: str, message: Message) -> None:
    """If there is a channel of that number."""
    number = self.number & 0xFF
    number = number if number in self.connection.channels else self.number
    method = m.BasicReturn(number, 312, "NO_ROUTE", exchange, message.routing_key)
    self.connection.send_content(method, message)

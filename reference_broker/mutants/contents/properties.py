"""Properties and frames that a broker wrongly refuses, or passes on otherwise than they came."""

from __future__ import annotations

from typing import Any

import codec
from codec import methods as m
from codec import values
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.message import Message, copied
from reference_broker.mutants.kinds import changes, handles, replaces
from reference_broker.mutants.requeueing.contents import showing

LAVINMQ = "https://github.com/cloudamqp/lavinmq/issues/1684"
AOP = "https://github.com/streamnative/aop/issues/308"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/issues/10623"
YEAR_2106 = 1 << 32


# -- frames


@changes("frames.of-one-size-only", "frames of one body must have one size", "CONTENT-001")
def of_one_size_only(parts: Parts) -> None:
    below = parts.intake

    class OfOneSizeOnly(below):  # type: ignore[misc, valid-type]
        def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
            assembly = self.assemblies.get(number)
            if isinstance(frame, codec.Body) and assembly is not None and assembly.bodies:
                size = len(frame.payload)
                if size != len(assembly.bodies[0]) and size < assembly.missing:
                    raise ConnectionException(ReplyCode.FRAME_ERROR, f"unexpected body frame of {size} octets")
            super().on_content(number, frame)

    parts.intake = OfOneSizeOnly


@changes("frames.short-is-padding", "a frame of one octet counts as padding", "CONTENT-001")
def short_is_padding(parts: Parts) -> None:
    below = parts.intake

    class ShortIsPadding(below):  # type: ignore[misc, valid-type]
        def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
            if isinstance(frame, codec.Body) and len(frame.payload) == 1:
                frame = codec.Body(number, b"\0")
            super().on_content(number, frame)

    parts.intake = ShortIsPadding


@replaces("intake.serve", "frames.not-woven", "contents of two channels may not overlap", "CONTENT-001")
def not_woven(self: Intake, channel: Channel, method: codec.Method) -> None:
    if method.HAS_CONTENT and self.assemblies and channel.number not in self.assemblies:
        raise ConnectionException(ReplyCode.UNEXPECTED_FRAME, "expected content body, got a method instead")
    Intake.serve(self, channel, method)


# -- headers


def with_headers(message: Message, headers: FieldTable | None) -> Message:
    """The same with other headers."""
    kept = {name: value for name, value in message.header.properties().items() if name != "headers"}
    properties = kept if headers is None else {**kept, "headers": headers}
    header = codec.header(0, len(message.body), **properties)
    return copied(message.exchange, message.routing_key, header, message.body, message.more_keys)


def as_text(letter: str, value: Any) -> tuple[str, Any]:
    """What many a client library makes of a value."""
    return "S", value if letter in "Sx" else str(values.plain_value(letter, value)).encode()


@changes("headers.all-texts", "headers become texts", "CONTENT-002", field=AOP)
def all_texts(parts: Parts) -> None:
    def texts(_: object, message: Message) -> Message:
        return with_headers(message, [(name, *as_text(letter, value)) for name, letter, value in message.headers])

    showing(parts, texts, first=True)


@changes("headers.integers-widened", "every integer among the headers is 64 bits wide", "CONTENT-002")
def integers_widened(parts: Parts) -> None:
    def wide(_: object, message: Message) -> Message:
        return with_headers(
            message, [(name, "l" if letter in "bBsuIi" else letter, value) for name, letter, value in message.headers]
        )

    showing(parts, wide, first=True)


@changes("headers.lists-of-texts", "lists among the headers become lists of texts", "CONTENT-002")
def lists_of_texts(parts: Parts) -> None:
    def flat(_: object, message: Message) -> Message:
        return with_headers(
            message,
            [
                (name, letter, [as_text(*item) for item in value] if letter == "A" else value)
                for name, letter, value in message.headers
            ],
        )

    showing(parts, flat, first=True)


@changes("headers.empty-left-out", "an empty table of headers is left out", "CONTENT-003", field=RABBITMQ)
def empty_left_out(parts: Parts) -> None:
    showing(parts, lambda _, message: message if message.headers else with_headers(message, None), first=True)


@changes("headers.always-there", "a message without headers gets an empty table", "CONTENT-003")
def always_there(parts: Parts) -> None:
    showing(parts, lambda _, message: with_headers(message, message.headers), first=True)


@handles(
    m.BasicPublish, "headers.few-types", "headers other than texts, integers and tables are refused", "CONTENT-002"
)
def few_types(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if any(letter not in "SIltFA" for _, letter, _ in header.headers or []):
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, "unknown type of a header")
    basic.publish(channel, method, header, body)


# -- properties


@handles(
    m.BasicPublish, "properties.early-timestamps", "timestamps beyond 2106 are refused", "CONTENT-004", field=LAVINMQ
)
def early_timestamps(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if (header.timestamp or 0) >= YEAR_2106:
        raise precondition(f"invalid timestamp {header.timestamp}")
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "properties.timestamp-zero", "a timestamp of 0 ends the connection", "CONTENT-004")
def timestamp_zero(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.timestamp == 0:
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, "timestamp is not set")
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "properties.ten-priorities", "priorities above 9 are refused", "CONTENT-005")
def ten_priorities(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if (header.priority or 0) > 9:
        raise precondition(f"invalid priority {header.priority}")
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "properties.any-user", "a publish may have the user-id of somebody else", "CONTENT-006")
def any_user(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    user = channel.connection.user
    channel.connection.user = header.user_id or user
    basic.publish(channel, method, header, body)
    channel.connection.user = user


@handles(m.BasicPublish, "properties.no-user", "a publish may not have a user-id", "CONTENT-006")
def no_user(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.user_id is not None:
        raise precondition("user_id property is not supported")
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "properties.content-type-checked", "a content type must have a slash", "CONTENT-008")
def content_type_checked(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.content_type is not None and "/" not in header.content_type:
        raise precondition(f"invalid content type '{header.content_type}'")
    basic.publish(channel, method, header, body)


@handles(m.BasicPublish, "properties.ascii-only", "a correlation id must be ASCII", "CONTENT-008")
def ascii_only(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if not (header.correlation_id or "").isascii():
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, "invalid correlation id")
    basic.publish(channel, method, header, body)


# -- dead letters


@replaces(
    "dead_letters.letter", "letters.headers-lost", "a dead letter has no headers but those of death", "CONTENT-007"
)
def headers_lost(self: DeadLetters, message: Message, *more: Any) -> Message:
    return DeadLetters.letter(self, with_headers(message, None), *more)


@replaces("dead_letters.letter", "letters.all-texts", "the headers of a dead letter become texts", "CONTENT-007")
def letters_of_texts(self: DeadLetters, message: Message, *more: Any) -> Message:
    texts = [(name, *as_text(letter, value)) for name, letter, value in message.headers if name != "x-death"]
    return DeadLetters.letter(self, with_headers(message, texts), *more)


@replaces("dead_letters.letter", "letters.priority-lost", "a dead letter has lost its priority", "CONTENT-007")
def letters_without_priority(self: DeadLetters, message: Message, *more: Any) -> Message:
    letter = DeadLetters.letter(self, message, *more)
    return letter.copy(letter.exchange, letter.routing_key, priority=None)


@replaces(
    "dead_letters.letter",
    "properties.noughts-die",
    "a dead letter loses texts that are empty and numbers that are 0",
    "CONTENT-007",
)
def noughts_die(
    self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
) -> Message:
    dead = DeadLetters.letter(self, message, queue, reason, now, exchange, key)
    empty = {name: None for name, value in dead.header.properties().items() if not value and name != "headers"}
    return dead.copy(dead.exchange, dead.routing_key, **empty) if empty else dead


@changes(
    "properties.any-user-in-transactions",
    "a publish in a transaction may name any user",
    "CONTENT-006",
    "TX-015",
)
def any_user_in_transactions(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if channel.transaction is None or header.user_id in (None, channel.connection.user):
            below(channel, method, header, body)
        else:
            message = Message(method.exchange, method.routing_key, header, body)
            channel.transaction.publish(channel, method.exchange, message, method.mandatory)

    parts.publish = publish

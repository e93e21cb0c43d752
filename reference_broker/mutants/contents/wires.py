"""Reported of what is on the wire: frames, contents, the values in their headers, and the end of a connection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import codec
from codec import Content
from codec import methods as m
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, fails, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
THOUSAND = 1000


@replaces(
    "outbox.pieces",
    "wires.body-of-nothing",
    "an empty body is delivered in a frame of no octets",
    "ERR-013",
    field=NOTES.format("1.3.0"),
)
def body_of_nothing(self: Outbox, item: Outbound) -> Sequence[bytes]:
    pieces = Outbox.pieces(self, item)
    if isinstance(item, tuple) and isinstance(item[0], m.BasicDeliver) and not item[1].body:
        return *pieces, codec.Body(item[0].channel, b"").encode()
    return pieces


@changes(
    "wires.framed-as-it-came",
    "a body is delivered in frames as large as those in which it came",
    "CONN-013",
    field=NOTES.format("1.8.0"),
)
def framed_as_it_came(parts: Parts) -> None:
    below, outgoing = parts.intake, parts.outbox
    whole: dict[int, tuple[codec.Header, int]] = {}

    def on_whole(self: Intake, channel: Channel, content: Content) -> None:
        whole[id(content.header)] = content.header, len(content.body)
        below.on_whole(self, channel, content)

    def pieces(self: Outbox, item: Outbound) -> Sequence[bytes]:
        if isinstance(item, tuple) and id(item[1].header) in whole:
            method, message = item
            return method.encode(), *message.frames(method.channel, max(self.frame_max, len(message.body) + 8))
        return outgoing.pieces(self, item)

    parts.override("intake", on_whole=on_whole)
    parts.override("outbox", pieces=pieces)


def types_in(table: FieldTable) -> set[str]:
    """The types of the values at the top of a table."""
    return {letter for _, letter, _ in table}


@replaces(
    "channel.publish",
    "wires.small-unsigned-fail",
    "a header that is an unsigned number of 8 or 16 bits ends the connection",
    "CONTENT-002",
    field="https://issues.apache.org/jira/browse/QPID-7769",
)
def small_unsigned_fail(self: Channel, exchange: str, message: Any, mandatory: bool) -> bool:
    if types_in(message.headers) & {"B", "u"}:
        raise fails()
    return Channel.publish(self, exchange, message, mandatory)


@replaces(
    "channel.publish",
    "wires.lists-fail",
    "a header that is a list ends the connection",
    "CONTENT-002",
    field="https://issues.apache.org/jira/browse/QPID-5969",
)
def lists_fail(self: Channel, exchange: str, message: Any, mandatory: bool) -> bool:
    if "A" in types_in(message.headers):
        raise fails()
    return Channel.publish(self, exchange, message, mandatory)


@replaces(
    "channel.publish",
    "wires.lists-of-tables-fail",
    "a header that is a list of tables ends the connection",
    "CONTENT-002",
    field="https://github.com/rabbitmq/rabbitmq-server/releases/tag/v3.10.18",
)
def lists_of_tables_fail(self: Channel, exchange: str, message: Any, mandatory: bool) -> bool:
    if any(letter == "A" and any(kind == "F" for kind, _ in value) for _, letter, value in message.headers):
        raise fails()
    return Channel.publish(self, exchange, message, mandatory)


@replaces(
    "outbox.pieces",
    "wires.counted-in-characters",
    "of a routing key as many octets are delivered as it has characters",
    "RQ-016",
    field="https://issues.apache.org/jira/browse/QPID-6545",
)
def counted_in_characters(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, tuple) and isinstance(item[0], m.BasicDeliver | m.BasicGetOk):
        key = item[0].routing_key
        item[0].routing_key = key.encode()[: len(key)].decode(errors="ignore")
    return Outbox.pieces(self, item)


@changes(
    "wires.milliseconds",
    "a timestamp is delivered in milliseconds",
    "RQ-016",
    "CONTENT-004",
    field=LAVINMQ.format("releases/tag/v0.8.3"),
)
def milliseconds(parts: Parts) -> None:
    below = parts.connection

    def send_content(self: Connection, method: codec.Method, message: Any) -> None:
        stamp = message.header.timestamp
        if stamp is not None and 0 < stamp < 2**53:
            message = message.copy(message.exchange, message.routing_key, timestamp=stamp * THOUSAND)
        below.send_content(self, method, message)

    parts.override("connection", send_content=send_content)


@replaces(
    "outbox.pieces",
    "wires.get-empty-too-short",
    "get-empty comes without its only argument",
    "ERR-013",
    field=LAVINMQ.format("releases/tag/v0.8.3"),
)
def get_empty_too_short(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, m.BasicGetEmpty):
        raw = item.encode()
        return (raw[:3] + (4).to_bytes(4, "big") + raw[7:11] + raw[-1:],)
    return Outbox.pieces(self, item)


@changes(
    "wires.late-gets-cost-all",
    "a get on a channel that the broker has closed meanwhile ends the connection",
    "ERR-006",
    "ERR-004",
    field="https://github.com/cloudamqp/amqp-client.rb/pull/79",
)
def late_gets_cost_all(parts: Parts) -> None:
    below = parts.intake

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if closing is not None and isinstance(frame, m.BasicGet):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "channel is closed")
        below.on_no_channel(self, number, closing, frame)

    parts.override("intake", on_no_channel=on_no_channel)


@changes(
    "wires.ranks-unsigned",
    "a negative priority of a consumer that has eight bits counts as a high one",
    "CPRIO-001",
    field=NOTES.format("3.3.0"),
)
def ranks_unsigned(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        method.arguments = [
            (name, "I" if name == "x-priority" and letter == "b" else letter, value % 256)
            if name == "x-priority" and letter == "b"
            else (name, letter, value)
            for name, letter, value in method.arguments
        ]
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes(
    "wires.counted-tags",
    "a tag that the broker chooses may be one that the client has chosen before",
    "CONSUME-004",
    field="https://issues.apache.org/jira/browse/QPID-8571",
)
def counted_tags(parts: Parts) -> None:
    def consume(channel: Channel, method: m.BasicConsume) -> None:
        if not method.consumer_tag and method.queue != "amq.rabbitmq.reply-to":
            numbers: list[int] = memory(channel, "numbers", list)
            numbers.append(len(numbers) + 1)
            tag = f"sgen_{numbers[-1]}"
            former = channel.consumers.pop(tag, None)
            method.consumer_tag = tag
            basic.consume(channel, method)
            if former is not None:
                memory(channel, "former", list).append(former)
            return
        basic.consume(channel, method)

    def stop(self: Channel) -> None:
        for former in memory(self, "former", list):
            if former in former.queue.consumers:
                former.queue.leave(former)
        below.stop(self)

    below = parts.channel
    parts.override("channel", stop=stop)
    parts.handlers[m.BasicConsume] = consume

"""What a broker may stumble over in contents: properties that say nothing, odd numbers, deep tables, long headers."""

from __future__ import annotations

import struct
from collections.abc import Callable
from math import isfinite
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.mutants.contents.properties import with_headers
from reference_broker.mutants.kinds import changes, handles
from reference_broker.mutants.requeueing.contents import showing

FRAME_END = b"\xce"
LEVELS, LONG = 16, 8192
Leaf = Callable[[str, Any], tuple[str, Any]]


def each(leaf: Leaf, letter: str, value: Any) -> tuple[str, Any]:
    """A value with each plain value in it made anew."""
    if letter == "F":
        return letter, [(name, *each(leaf, *item)) for name, *item in value]
    if letter == "A":
        return letter, [each(leaf, *item) for item in value]
    return leaf(letter, value)


def turns_values(name: str, says: str, rule: str) -> Callable[[Leaf], Leaf]:
    """The decorated function makes of each plain value among the headers what comes out."""

    def add(leaf: Leaf) -> Leaf:
        def shown(_: object, message: Message) -> Message:
            if message.header.headers is None:
                return message
            return with_headers(message, [(name, *each(leaf, *item)) for name, *item in message.headers])

        changes(name, says, rule)(lambda parts: showing(parts, shown, first=True))
        return leaf

    return add


# -- properties that say nothing


def without(parts: Parts, *nothing: object) -> None:
    """Properties with one of these values are left out."""

    def shown(_: object, message: Message) -> Message:
        properties = message.header.properties().items()
        gone = {name: None for name, value in properties if name != "headers" and value in nothing}
        return message.copy(message.exchange, message.routing_key, **gone) if gone else message

    showing(parts, shown, first=True)


@changes("properties.empty-left-out", "properties that are empty texts are left out", "CONTENT-009")
def empty_left_out(parts: Parts) -> None:
    without(parts, "")


@changes("properties.zero-left-out", "properties that are 0 are left out", "CONTENT-009")
def zero_left_out(parts: Parts) -> None:
    without(parts, 0)


@changes("properties.always-a-priority", "a message without a priority gets the priority 0", "CONTENT-009")
def always_a_priority(parts: Parts) -> None:
    def shown(_: object, message: Message) -> Message:
        priority = message.header.priority or 0
        return message.copy(message.exchange, message.routing_key, priority=priority)

    showing(parts, shown, first=True)


# -- numbers


@turns_values("headers.integers-as-floats", "integers among the headers are held as floats", "CONTENT-010")
def integers_as_floats(letter: str, value: Any) -> tuple[str, Any]:
    return letter, min(int(float(value)), 2**63 - 1) if letter == "l" else value


@turns_values("headers.floats-rounded", "floats among the headers are rounded to 32 bits", "CONTENT-010")
def floats_rounded(letter: str, value: Any) -> tuple[str, Any]:
    if letter != "d" or not isfinite(value) or abs(value) > 1e38:
        return letter, value
    return letter, struct.unpack(">f", struct.pack(">f", value))[0]


@turns_values("headers.decimals-shortened", "decimals lose the zeros at their end", "CONTENT-010")
def decimals_shortened(letter: str, value: Any) -> tuple[str, Any]:
    if letter == "D":
        scale, number = value
        while scale and number % 10 == 0:
            scale, number = scale - 1, number // 10
        value = scale, number
    return letter, value


def odd_floats(letter: str, value: Any) -> bool:
    """Is there a float that is infinite, or no number?"""
    if letter in "FA":
        return any(odd_floats(*item[-2:]) for item in value)
    return letter in "df" and not isfinite(value)


@handles(m.BasicPublish, "headers.floats-fail", "a float that is no number ends the connection", "CONTENT-011")
def floats_fail(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if odd_floats("F", header.headers or []):
        raise ConnectionException(ReplyCode.INTERNAL_ERROR)
    basic.publish(channel, method, header, body)


@turns_values("headers.no-number-is-zero", "a float that is no number comes out as 0", "CONTENT-011")
def no_number_is_zero(letter: str, value: Any) -> tuple[str, Any]:
    return letter, 0.0 if letter in "df" and not isfinite(value) else value


# -- depth and length


def deeper_than(levels: int, letter: str, value: Any) -> bool:
    if letter not in "FA":
        return False
    return not levels or any(deeper_than(levels - 1, *item[-2:]) for item in value)


@handles(m.BasicPublish, "headers.shallow", "more than 16 levels of tables are refused", "CONTENT-012")
def shallow(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if deeper_than(LEVELS, "F", header.headers or []):
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, "tables are nested too deep")
    basic.publish(channel, method, header, body)


def cut(levels: int, letter: str, value: Any) -> tuple[str, Any]:
    """Below so many levels tables and lists are empty."""
    if letter == "F":
        return letter, [(name, *cut(levels - 1, *item)) for name, *item in value] if levels else []
    if letter == "A":
        return letter, [cut(levels - 1, *item) for item in value] if levels else []
    return letter, value


@changes("headers.deeper-left-out", "what is deeper than 16 levels of tables is left out", "CONTENT-012")
def deeper_left_out(parts: Parts) -> None:
    def shown(_: object, message: Message) -> Message:
        headers: FieldTable = cut(LEVELS, "F", message.headers)[1]
        return with_headers(message, headers) if message.headers else message

    showing(parts, shown, first=True)


@handles(m.BasicPublish, "headers.no-longer-than-8192", "headers of more than 8192 octets are refused", "CONTENT-014")
def no_longer_than_8192(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if header.headers and len(header.encode()) > LONG:
        raise precondition("headers are too large")
    basic.publish(channel, method, header, body)


@turns_values("headers.long-cut", "texts among the headers are cut after 8192 octets", "CONTENT-014")
def long_cut(letter: str, value: Any) -> tuple[str, Any]:
    return letter, value[:LONG] if letter == "S" else value


# -- octets


@changes("contents.up-to-frame-end", "a body ends before the first octet CE", "CONTENT-013")
def up_to_frame_end(parts: Parts) -> None:
    def shown(_: object, message: Message) -> Message:
        if FRAME_END not in message.body:
            return message
        body = message.body.split(FRAME_END)[0]
        return Message(message.exchange, message.routing_key, message.header, body).copy(
            message.exchange, message.routing_key
        )

    showing(parts, shown, first=True)


@handles(m.BasicPublish, "contents.frame-end-refused", "an octet CE in a body ends the connection", "CONTENT-013")
def frame_end_refused(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
    if FRAME_END in body:
        raise ConnectionException(ReplyCode.FRAME_ERROR, "unexpected frame end")
    basic.publish(channel, method, header, body)

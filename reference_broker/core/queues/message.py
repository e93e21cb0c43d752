"""A published message, and its place in one queue.

A `Message` is immutable in effect and shared by all queues it was routed to. An `Entry` is one
queue's copy of it: its position (the order of publication into that queue, which a requeue never
changes), whether it was delivered before, when it expires, and which segment of the log keeps it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import codec
from codec.values import FieldTable
from reference_broker.core.errors import precondition
from reference_broker.core.queues.arguments import TYPE_NAMES

FRAME_OVERHEAD = 8
PERSISTENT = 2
FRAME_END = b"\xce"


class Message:
    __slots__ = ("body", "exchange", "header", "routing_key")

    more_keys: tuple[str, ...] = ()

    def __init__(self, exchange: str, routing_key: str, header: codec.Header, body: bytes) -> None:
        self.exchange = exchange
        self.routing_key = routing_key
        self.header = header
        self.body = body

    def routing_keys(self) -> tuple[str, ...]:
        return (self.routing_key, *self.more_keys)

    @property
    def headers(self) -> FieldTable:
        return self.header.headers or []

    def frames(self, channel: int, frame_max: int) -> Sequence[bytes]:
        """Header and body frames for `channel`, in pieces: a body that fits in a frame is not copied."""
        raw, number, body = self.header.encode(), channel.to_bytes(2, "big"), self.body
        header, room = b"".join((raw[:1], number, raw[3:])), frame_max - FRAME_OVERHEAD
        if not body:
            return (header,)
        if len(body) <= room:
            return b"".join((header, b"\x03", number, len(body).to_bytes(4, "big"))), body, FRAME_END
        return header, *(codec.Body(channel, body[at : at + room]).encode() for at in range(0, len(body), room))

    def copy(self, exchange: str, routing_key: str, **properties: Any) -> Message:
        """The same body under another address, with some properties replaced (None removes one)."""
        kept = {**self.header.properties(), **properties}
        present = {name: value for name, value in kept.items() if value is not None}
        header = codec.header(0, len(self.body), **present)
        return addressed(exchange, routing_key, header, self.body)

    def with_headers(self, more: FieldTable) -> Message:
        """The same message with some headers set."""
        names = {name for name, _, _ in more}
        headers = [field for field in self.headers if field[0] not in names] + more
        properties = {**self.header.properties(), "headers": headers}
        header = codec.header(0, len(self.body), **properties)
        return copied(self.exchange, self.routing_key, header, self.body, self.more_keys)


def addressed(exchange: str, routing_key: str, header: codec.Header, body: bytes) -> Message:
    """A message as published; its headers CC and BCC name more routing keys, and BCC stays behind."""
    fields = header.headers
    if fields is None or not any(name in ("CC", "BCC") for name, _, _ in fields):
        return Message(exchange, routing_key, header, body)
    more_keys = (*listed(fields, "CC"), *listed(fields, "BCC"))
    properties = {**header.properties(), "headers": [field for field in fields if field[0] != "BCC"]}
    return copied(exchange, routing_key, codec.header(0, len(body), **properties), body, more_keys)


class Copied(Message):
    """A message that has more than one routing key; most have not, and need no place for it."""

    __slots__ = ("more_keys",)

    def __init__(
        self, exchange: str, routing_key: str, header: codec.Header, body: bytes, more_keys: tuple[str, ...]
    ) -> None:
        super().__init__(exchange, routing_key, header, body)
        self.more_keys = more_keys


def copied(exchange: str, routing_key: str, header: codec.Header, body: bytes, more_keys: tuple[str, ...]) -> Message:
    if more_keys:
        return Copied(exchange, routing_key, header, body, more_keys)
    return Message(exchange, routing_key, header, body)


def listed(fields: FieldTable, wanted: str) -> list[str]:
    for name, letter, value in fields:
        if name == wanted and letter == "A":
            return [key.decode(errors="replace") for kind, key in value if kind == "S"]
        if name == wanted:
            raise precondition(f'invalid message: {{unacceptable_type_in_header,"{name}",{TYPE_NAMES[letter]}}}')
    return []


class Segment:
    """A part of the log: how many of the messages in it live, and its octets."""

    __slots__ = ("live", "number", "octets")

    def __init__(self, number: int) -> None:
        self.number = number
        self.live = 0
        self.octets = 0


class Entry:
    __slots__ = ("expires", "message", "position", "redelivered")

    kept_in: Segment | None = None

    def __init__(self, position: float, message: Message, expires: float | None) -> None:
        self.position = position
        self.message = message
        self.expires = expires
        self.redelivered = False


class Kept(Entry):
    """One that may be in the log."""

    __slots__ = ("kept_in",)

    def __init__(self, position: float, message: Message, expires: float | None) -> None:
        super().__init__(position, message, expires)
        self.kept_in = None

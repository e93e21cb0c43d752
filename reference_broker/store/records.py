"""The log's format: blocks of records.

    segment   magic, then blocks
    block     length u32 | crc32 u32 | records           what one tick of the broker changed, all of it or nothing
    record    kind u8 | length u32 | content             integers little-endian, texts with their length in front

    S  the segment begins: all that was defined before is void         (the definitions follow)
    D  define: key | value       F  forget: key                        a durable thing, its value an AMQP method or JSON
    C  counters: queue | published | redelivered up to                 of a durable queue, where a segment begins
    P  publish: entry | message  A  and into this queue, too: entry    a message enters a queue, or is written again
    R  returned: queue | (position, failures, returns)...              back and redelivered
    O  out: queue | position...                                        of a quorum queue, delivered and not settled
    G  gone: queue | position...                                       settled, or has left otherwise
    E  the broker ended in order

A queue is named by a number, a message in it by its position; neither is ever used for another one. So inside a block
only the order of definitions matters, and a record that is read twice does no harm.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import codec
from reference_broker.core.queues.message import Message, copied

MAGIC = b"AMQPLOG1"
FRAME = struct.Struct("<II")
RECORD = struct.Struct("<cI")
ENTRY = struct.Struct("<IddBII")
COUNTERS = struct.Struct("<Idd")
RETURN = struct.Struct("<dII")
NUMBER = struct.Struct("<I")
PUBLISH_HEAD = struct.Struct(f"<cI{ENTRY.size}s")

BEGIN, DEFINE, FORGET, COUNT, PUBLISH, AND, RETURNED, OUT, GONE, END = (bytes([each]) for each in b"SDFCPAROGE")
REDELIVERED, IN_LINE, IS_OUT = 1, 2, 4
NEVER = float("inf")

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """A message in a queue: `expires` in seconds since 1970; `in_line`: it waits where returned messages do."""

    queue: int
    position: float
    expires: float = NEVER
    redelivered: bool = False
    in_line: bool = False
    failures: int = 0
    returns: int = 0
    out: bool = False


class Damaged(ValueError):
    """A block that is not whole, or not ours."""


def block(records: Iterable[bytes]) -> bytes:
    payload = b"".join(records)
    return FRAME.pack(len(payload), zlib.crc32(payload)) + payload


def blocks(data: bytes, start: int) -> Iterator[tuple[int, memoryview]]:
    """(where it ends, its records) of each whole block from `start` on. Raises Damaged where one is not."""
    view = memoryview(data)
    while start < len(data):
        if start + FRAME.size > len(data):
            raise Damaged
        length, crc = FRAME.unpack_from(data, start)
        end = start + FRAME.size + length
        payload = view[start + FRAME.size : end]
        if end > len(data) or length == 0 or zlib.crc32(payload) != crc:
            raise Damaged
        yield end, payload
        start = end


def records(payload: memoryview) -> Iterator[tuple[bytes, memoryview]]:
    at = 0
    while at < len(payload):
        kind, length = RECORD.unpack_from(payload, at)
        at += RECORD.size
        yield kind, payload[at : at + length]
        at += length


# -- writing


def record(kind: bytes, *contents: bytes) -> bytes:
    content = b"".join(contents)
    return RECORD.pack(kind, len(content)) + content


def key(parts: Key) -> bytes:
    return bytes([len(parts)]) + b"".join([NUMBER.pack(len(raw)) + raw for raw in (part.encode() for part in parts)])


def publish(entry: bytes, address_and_header: bytes, body: bytes) -> Sequence[bytes]:
    """In pieces: the body is not copied."""
    length = ENTRY.size + len(address_and_header) + len(body)
    return PUBLISH_HEAD.pack(PUBLISH, length, entry), address_and_header, body


def address_and_header(message: Message) -> bytes:
    """All of a message but its body."""
    exchange, routing_key, header = message.exchange.encode(), message.routing_key.encode(), message.header.encode()
    texts = b"%c%b%c%b%c" % (len(exchange), exchange, len(routing_key), routing_key, len(message.more_keys) and 1)
    more_keys = key(message.more_keys) if message.more_keys else b""
    return b"".join((texts, more_keys, NUMBER.pack(len(header)), header))


def those(kind: bytes, queue: int, positions: Sequence[float]) -> bytes:
    """`GONE` or `OUT`."""
    return record(kind, NUMBER.pack(queue), struct.pack(f"<{len(positions)}d", *positions))


def returned(queue: int, places: Iterable[tuple[float, int, int]]) -> bytes:
    return record(RETURNED, NUMBER.pack(queue), *[RETURN.pack(*place) for place in places])


# -- reading


def read_key(content: memoryview) -> tuple[Key, memoryview]:
    """The parts, and what follows them."""
    parts, at = [], 1
    for _ in range(content[0]):
        (length,) = NUMBER.unpack_from(content, at)
        at += NUMBER.size
        parts.append(bytes(content[at : at + length]).decode())
        at += length
    return tuple(parts), content[at:]


def read_place(content: memoryview) -> Place:
    queue, position, expires, flags, failures, returns = ENTRY.unpack_from(content)
    redelivered, in_line, out = (bool(flags & flag) for flag in (REDELIVERED, IN_LINE, IS_OUT))
    return Place(queue, position, expires, redelivered, in_line, failures, returns, out)


def read_message(content: memoryview) -> Message:
    """The message of a publish, from behind its place."""
    texts = []
    for _ in range(2):
        length = content[0]
        texts.append(bytes(content[1 : 1 + length]).decode())
        content = content[1 + length :]
    more_keys, content = read_key(content[1:]) if content[0] else ((), content[1:])
    (length,) = NUMBER.unpack_from(content)
    content = content[NUMBER.size :]
    header = codec.decode(bytes(content[:length]))
    assert isinstance(header, codec.Header)
    return copied(texts[0], texts[1], header, bytes(content[length:]), more_keys)


def read_those(content: memoryview) -> tuple[int, Sequence[float]]:
    count = (len(content) - NUMBER.size) // 8
    return NUMBER.unpack_from(content)[0], struct.unpack_from(f"<{count}d", content, NUMBER.size)


def read_returned(content: memoryview) -> tuple[int, Iterator[tuple[float, int, int]]]:
    return NUMBER.unpack_from(content)[0], RETURN.iter_unpack(content[NUMBER.size :])

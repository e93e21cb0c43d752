"""Contents as a client may send them: bodies in frames of any sizes, and headers of every type.

A method, a header and bodies are frames of their own here, so that those of other channels may come between them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import codec
from codec import methods as m
from codec import values
from conformance.drive.channel import Channel

MOST = 131072
"""Octets of a frame, where none were agreed."""
OVERHEAD = 8

PLAIN: Mapping[str, list[tuple[str, Any]]] = {
    "integers": [("b", -3), ("s", -300), ("u", 60_000), ("I", -70_000), ("i", 3_000_000_000), ("l", 2**40), ("B", 200)],
    "texts": [("S", "ünï".encode()), ("S", b"\xff\x00"), ("x", b"text"), ("x", b"\x00\xfe")],
    "others": [("t", True), ("T", 1_700_000_000), ("D", (2, 314)), ("d", 0.5), ("f", 0.25), ("V", None)],
    "nothing": [("t", False), ("I", 0), ("S", b""), ("x", b""), ("A", []), ("F", [])],
}
"""Fields of all types that RabbitMQ's errata list, and such as have next to nothing in them."""
LONG_NAMES = [("n" * 127 + end, "S", end.encode()) for end in "ab"]
"""As long as a name may be, and alike but for the end."""


def every_type() -> values.FieldTable:
    """One of each; then the same in a list, in a table, and deeper."""
    flat = [(f"{kind} {n}", letter, value) for kind in PLAIN for n, (letter, value) in enumerate(PLAIN[kind])]
    listed = [item for items in PLAIN.values() for item in items]
    return [
        *flat,
        *LONG_NAMES,
        ("list", "A", listed),
        ("table", "F", flat),
        ("deep", "F", [("deeper", "A", [("F", flat)])]),
    ]


def largest(channel: Channel) -> int:
    """The octets of a body that one frame may carry, within reason."""
    return min(channel.connection.tuned.frame_max or MOST, MOST) - OVERHEAD


def frames(method: m.BasicPublish, body: bytes, sizes: Iterable[int], properties: Mapping[str, Any]) -> list[bytes]:
    """A publish whose body is split like this; what is left goes into a last frame."""
    number, pieces, at = method.channel, [], 0
    for size in (*sizes, len(body)):
        pieces.append(body[at : at + size])
        at += size
    header = codec.header(number, len(body), **properties)
    return [method.encode(), header.encode(), *(codec.Body(number, piece).encode() for piece in pieces if piece)]

"""Frames that are wrong on purpose, made from good ones: for harnesses that must see how a peer takes them.

`variants(raw)` gives every defect that a good frame can have, one at a time, each with a name that says what is wrong;
`frame` lays out any frame at all. Nothing made by `variants` is accepted by `codec.decode`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from codec import wire
from codec.explain import Part, anatomy

Variants = Iterator[tuple[str, bytes]]


def frame(kind: int, channel: int, payload: bytes, *, size: int | None = None, end: int = wire.FRAME_END) -> bytes:
    """Any type, any payload, and where asked for a size and an end that are not its own."""
    length = len(payload) if size is None else size
    return (
        kind.to_bytes(1, "big")
        + channel.to_bytes(2, "big")
        + length.to_bytes(4, "big")
        + payload
        + end.to_bytes(1, "big")
    )


def oversized(frame_max: int, channel: int = 1) -> bytes:
    """A body one octet larger than frame_max allows."""
    return frame(wire.BODY, channel, bytes(frame_max - 7))


def too_deep(depth: int = wire.MAX_DEPTH + 1) -> bytes:
    """The octets of so many tables inside each other."""
    raw = bytes(4)
    for _ in range(depth - 1):
        raw = (len(raw) + 2).to_bytes(4, "big") + b"\0F" + raw
    return raw


def variants(raw: bytes) -> Variants:
    """(what is wrong, octets) for every defect that this good frame can have."""
    parts = anatomy(raw)
    for make in _OF_THE_FRAME:
        yield from make(raw)
    for part in parts:
        for change in _OF_A_FIELD.get(part.op.kind, ()):
            yield from change(raw, part)


def defect(name: str, raw: bytes) -> bytes:
    """The first variant of that name; LookupError when this frame cannot have it."""
    for found, octets in variants(raw):
        if found == name:
            return octets
    raise LookupError(f"this frame cannot have the defect {name!r}")


def _replaced(raw: bytes, at: int, octets: bytes) -> bytes:
    return raw[:at] + octets + raw[at + len(octets) :]


def _with_payload(raw: bytes, payload: bytes) -> bytes:
    return frame(raw[0], int.from_bytes(raw[1:3], "big"), payload)


def _envelope(raw: bytes) -> Variants:
    size = len(raw) - 8
    yield "wrong frame end", raw[:-1] + b"\0"
    yield "unknown frame type", _replaced(raw, 0, b"\4")
    yield "size too large by one", _replaced(raw, 3, (size + 1).to_bytes(4, "big"))
    yield "size of 4 GiB", _replaced(raw, 3, b"\xff\xff\xff\xff")
    yield "cut short", raw[:-1]
    if size:
        yield "size too small by one", _replaced(raw, 3, (size - 1).to_bytes(4, "big"))


def _payload(raw: bytes) -> Variants:
    if raw[0] == wire.BODY:
        return
    yield "trailing octets", _with_payload(raw, raw[7:-1] + b"\0")
    if raw[0] != wire.HEARTBEAT:
        yield "payload ends early", _with_payload(raw, raw[7:-2])


def _method(raw: bytes) -> Variants:
    if raw[0] == wire.METHOD:
        yield "unknown class", _replaced(raw, 7, b"\0\xc7")
        yield "unknown method", _replaced(raw, 9, b"\0\xc7")


def _too_long(raw: bytes, part: Part) -> Variants:
    """A length that leads past the end of the payload."""
    width = 1 if part.op.fmt == "B" else 4
    left = len(raw) - 1 - part.begin - width
    if left + 1 < 1 << 8 * width:
        yield f"{part.op.kind} longer than the frame", _replaced(raw, part.begin, (left + 1).to_bytes(width, "big"))


def _bad_text(raw: bytes, part: Part) -> Variants:
    if part.end > part.begin + 1:
        yield "bad UTF-8", _replaced(raw, part.begin + 1, b"\xff")


def _undefined_bits(raw: bytes, part: Part) -> Variants:
    if len(part.op.extra) < 8:
        yield "undefined bits", _replaced(raw, part.begin, bytes([raw[part.begin] | 0x80]))


def _unknown_letter(raw: bytes, part: Part) -> Variants:
    for letter in (b"Z", b"\0"):
        yield "unknown letter", _replaced(raw, part.begin, letter)


def _nested(raw: bytes, part: Part) -> Variants:
    yield "tables nested too deep", _with_payload(raw, raw[7 : part.begin] + too_deep() + raw[part.end : -1])


def _other_constant(raw: bytes, part: Part) -> Variants:
    if part.op.name in ("class_id", "weight"):
        yield f"content header with another {part.op.name}", _replaced(raw, part.begin, b"\0\x32")
    if part.op.name == "flags":
        for bit in (1, 2):
            yield "undefined property flags", _replaced(raw, part.end - 1, bytes([raw[part.end - 1] | bit]))


_OF_THE_FRAME: tuple[Callable[[bytes], Variants], ...] = (_envelope, _payload, _method)
_OF_A_FIELD: dict[str, tuple[Callable[[bytes, Part], Variants], ...]] = {
    "text": (_too_long, _bad_text),
    "octets": (_too_long,),
    "items": (_too_long, _nested),
    "bits": (_undefined_bits,),
    "letter": (_unknown_letter,),
    "const": (_other_constant,),
}

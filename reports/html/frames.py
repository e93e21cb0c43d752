"""Raw frames, cut into fields with names and values.

The codec knows which octets of a frame are which field; here they get their words. This works on anything that was
recorded. Octets that are not a frame are shown with what the codec expected instead, because some cases are about
malformed frames.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import codec
from codec import explain, methods, values
from codec.explain import Part as Field

LONGEST = 96
"""Octets of one part that are shown; bodies may be long."""

_TYPES = {1: "method", 2: "header", 3: "body", 8: "heartbeat"}
_TONES = {"index": "t1", "class_id": "t1", "channel": "t2", "size": "t3", "delivery_tag": "t4", "body_size": "t4"}
_PLAIN = frozenset({"end", "weight"})


@dataclass(frozen=True, slots=True)
class Part:
    """A run of octets with a name and a meaning; `tone` is the class of its background."""

    octets: str
    name: str
    meaning: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Cut:
    """One frame, or the octets that are none."""

    title: str
    size: int
    parts: tuple[Part, ...]


def cut(raw: str) -> list[Cut]:
    """The frames in the recorded octets (hexadecimal) of one event."""
    try:
        octets = bytes.fromhex(raw)
    except ValueError:
        return []
    return list(_cuts(octets))


def _cuts(octets: bytes) -> Iterator[Cut]:
    at = 0
    while at < len(octets):
        size = _whole(octets, at) or len(octets) - at
        yield _frame(octets[at : at + size])
        at += size


def _whole(octets: bytes, at: int) -> int | None:
    """The size of the frame that starts here, if a whole one does."""
    if len(octets) < at + 8 or octets[at] not in _TYPES:
        return None
    size = 8 + int.from_bytes(octets[at + 3 : at + 7], "big")
    return size if at + size <= len(octets) else None


@lru_cache(maxsize=1024)  # many cases begin alike
def _frame(raw: bytes) -> Cut:
    if raw.startswith(b"AMQP") and len(raw) == 8:
        version = "AMQP " + "-".join(str(octet) for octet in raw[5:])
        return Cut("protocol header", 8, (_part(raw, "protocol header", version, "t1"),))
    try:
        frame, fields = codec.decode(raw), explain.anatomy(raw)
    except codec.MalformedFrame:
        wrong = explain.explain(raw, 0, 0)
        why = f"octet {wrong.offset}: expected {wrong.expected}, found {wrong.found}"
        return Cut("malformed", len(raw), (_part(raw, "no frame", why, "wrong"),))
    return Cut(_TYPES[raw[0]], len(raw), tuple(_parts(raw, fields, frame)))


def _parts(raw: bytes, fields: list[Field], frame: codec.Frame) -> Iterator[Part]:
    """The fields of a good frame. What is inside a table is told by the table."""
    reached = 0
    for field in fields:
        octets = raw[field.begin : field.end]
        if not octets or field.begin < reached:
            continue
        reached = field.end
        if field.op.name == "index":
            yield from _index(octets)
        else:
            yield _part(octets, _name(field), _meaning(field, octets, frame), _tone(field))


def _index(octets: bytes) -> Iterator[Part]:
    family, _, name = methods.BY_INDEX[int.from_bytes(octets, "big")].NAME.partition(".")
    yield _part(octets[:2], "class", f"{int.from_bytes(octets[:2], 'big')} {family}", "t1")
    yield _part(octets[2:], "method", f"{int.from_bytes(octets[2:], 'big')} {name}", "t1")


def _name(field: Field) -> str:
    return "frame" if _type(field) else {"class_id": "class"}.get(field.op.name) or plain(field.op.name)


def _type(field: Field) -> bool:
    """Is it the frame's own type? exchange.declare and the properties have another one."""
    return field.begin == 0


def _tone(field: Field) -> str:
    if field.op.name in _PLAIN or _type(field):
        return ""
    return _TONES.get(field.op.name) or ("t5" if field.op.kind in ("text", "octets") else "t6")


def _meaning(field: Field, octets: bytes, frame: codec.Frame) -> str:
    kind, name = field.op.kind, field.op.name
    if _type(field):
        return f"{octets[0]} {_TYPES[octets[0]]}"
    if name == "end":
        return ""
    if kind == "bits":
        return ", ".join(plain(bit) for bit in field.op.extra if getattr(frame, bit)) or "none set"
    if name == "flags" and isinstance(frame, codec.Header):
        return ", ".join(plain(one) for one in frame.properties()) or "no properties"
    if kind == "rest":
        return printable(octets)
    if kind in ("text", "octets"):
        return f"“{printable(octets[1 if kind == 'text' else 4 :])}”"
    if kind == "items":
        return _shortened(json.dumps(values.to_json(getattr(frame, name)), ensure_ascii=False))
    return str(int.from_bytes(octets, "big"))


def plain(name: str) -> str:
    """An argument's name as the protocol writes it."""
    return name.strip("_").replace("_", "-")


def printable(octets: bytes) -> str:
    """The octets as text where they are ASCII, a dot where they are not; the beginning of it."""
    return _shortened("".join(chr(octet) if 32 <= octet < 127 else "·" for octet in octets))


def _shortened(text: str, room: int = 64) -> str:
    return text if len(text) <= room else text[: room - 1] + "…"


def _part(octets: bytes, name: str, meaning: str, tone: str) -> Part:
    shown = octets[:LONGEST].hex(" ").upper()
    more = len(octets) - LONGEST
    return Part(shown + (f" … {more} more" if more > 0 else ""), name, meaning, tone)

"""Raw frames, cut where a reader wants them cut: envelope, class and method, arguments, end.

Works on whatever octets were recorded. What is no frame is shown as the octets that it is; nothing here fails on
hostile input, because malformed frames are what some cases are about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codec import methods

LONGEST = 96
"""Octets of one part that are shown; bodies may be long."""

_TYPES = {1: "method", 2: "header", 3: "body", 8: "heartbeat"}


@dataclass(frozen=True, slots=True)
class Part:
    """A run of octets with a name and a meaning. `tone` picks a background; 0 is none."""

    octets: str
    name: str
    meaning: str
    tone: int


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
        size = _whole(octets, at)
        if size is None:
            yield Cut("octets", len(octets) - at, (_part(octets[at:], *_unframed(octets[at:])),))
            return
        yield _frame(octets[at:at + size])
        at += size


def _whole(octets: bytes, at: int) -> int | None:
    """The size of the frame that starts here, if a whole one does."""
    if len(octets) < at + 8 or octets[at] not in _TYPES:
        return None
    size = 8 + int.from_bytes(octets[at + 3:at + 7], "big")
    return size if at + size <= len(octets) else None


def _unframed(octets: bytes) -> tuple[str, str, int]:
    if octets.startswith(b"AMQP") and len(octets) == 8:
        return "protocol header", "AMQP " + "-".join(str(octet) for octet in octets[5:]), 1
    return "no frame", printable(octets), 5


def _frame(frame: bytes) -> Cut:
    kind = _TYPES[frame[0]]
    channel, payload, end = int.from_bytes(frame[1:3], "big"), frame[7:-1], frame[-1:]
    inside = {"method": _method, "header": _header}.get(kind, _body)(payload) if payload else []
    return Cut(kind, len(frame), (
        _part(frame[:1], "frame", f"{frame[0]} {kind}", 0), _part(frame[1:3], "channel", str(channel), 2),
        _part(frame[3:7], "size", str(len(payload)), 3), *inside,
        _part(end, "end", "" if end == b"\xce" else "wrong: CE expected", 0 if end == b"\xce" else 5),
    ))


def _method(payload: bytes) -> list[Part]:
    known = methods.BY_INDEX.get(int.from_bytes(payload[:4], "big"))
    family, _, name = known.NAME.partition(".") if known else ("", "", "unknown")
    parts = [
        _part(payload[:2], "class", f"{int.from_bytes(payload[:2], 'big')} {family}", 1),
        _part(payload[2:4], "method", f"{int.from_bytes(payload[2:4], 'big')} {name}", 1),
    ]
    rest = payload[4:]
    if known and known.FIELDS[:1] == ("delivery_tag",) and len(rest) >= 8:
        parts.append(_part(rest[:8], "delivery-tag", str(int.from_bytes(rest[:8], "big")), 4))
        rest, fields = rest[8:], known.FIELDS[1:]
    else:
        fields = known.FIELDS if known else ()
    if rest:
        only_bits = bool(known) and len(rest) == 1 and set(fields) <= set(known.BITS if known else ())
        parts.append(_bits(rest, fields) if only_bits else _part(rest, _names(fields), printable(rest), 6))
    return parts


def _bits(octet: bytes, fields: tuple[str, ...]) -> Part:
    on = [_plain(name) for position, name in enumerate(fields) if octet[0] >> position & 1]
    return _part(octet, "bits", ", ".join(on) or "none set", 6)


def _header(payload: bytes) -> list[Part]:
    return [
        _part(payload[:2], "class", str(int.from_bytes(payload[:2], "big")), 1),
        _part(payload[2:4], "weight", str(int.from_bytes(payload[2:4], "big")), 0),
        _part(payload[4:12], "body size", str(int.from_bytes(payload[4:12], "big")), 4),
        _part(payload[12:], "properties", printable(payload[14:]), 6),
    ]


def _body(payload: bytes) -> list[Part]:
    return [_part(payload, "payload", printable(payload), 6)]


def _names(fields: tuple[str, ...]) -> str:
    return ", ".join(_plain(name) for name in fields if not name.startswith("reserved")) or "arguments"


def _plain(name: str) -> str:
    return name.strip("_").replace("_", "-")


def _part(octets: bytes, name: str, meaning: str, tone: int) -> Part:
    shown = octets[:LONGEST].hex(" ").upper()
    more = len(octets) - LONGEST
    return Part(shown + (f" … {more} more" if more > 0 else ""), name, meaning, tone)


def printable(octets: bytes) -> str:
    """The octets as text where they are ASCII, a dot where they are not; the beginning of it."""
    text = "".join(chr(octet) if 32 <= octet < 127 else "·" for octet in octets[:40])
    return text + ("…" if len(octets) > 40 else "")

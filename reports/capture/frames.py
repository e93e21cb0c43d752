"""From the octets of one direction to frames, also if their beginning is unknown.

If the beginning of a direction was seen, it is read like any stream: what is not a frame is malformed, and that is a
fact about its sender. After a hole, or if a capture begins in the middle, frames must be found first, and a wrong
guess would accuse somebody. So they are believed only if a chain is long enough: whole frames one after the other,
each end octet in its place, each method and header decoded strictly, at least one method among them, and nothing but
the beginning of a frame after them. Whole frames before the end of this proof are skipped, because their place in the
order has passed. The beginning of a connection, the protocol header or connection.start, needs no other proof.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import codec
from codec.explain import envelope, explain

MOST = 1 << 26
PROVEN = 3
ATTEMPTS = 16

_FRAME_END = 0xCE
_KINDS = frozenset({1, 2, 3, 8})
_LARGEST = 1 << 28
_BEGIN = re.compile(rb"(?=[\x01\x02\x03\x08]..[\x00-\x0f]...)", re.DOTALL)
START = re.compile(rb"\x01\x00\x00\x00[\x00-\x0f]..\x00\x0a\x00\x0a", re.DOTALL)
MAGIC = b"AMQP"


class Splitter:
    """One direction's octets, cut into frames. A protocol header counts as a frame.

    `problem` is set when malformed octets came and stays set, `blind` while no frame can be told, `skipped` counts the
    octets that were passed over since it became so.
    """

    __slots__ = (
        "_attempts",
        "_beginning",
        "_limit",
        "_need",
        "_next_look",
        "_parts",
        "_size",
        "blind",
        "idle",
        "most",
        "problem",
        "skipped",
        "sure",
        "waits",
    )

    def __init__(self, *, whole: bool) -> None:
        self.limit = codec.FRAME_MAX if whole else 0
        self.sure = whole
        """Was every octet of this direction seen?"""
        self.blind, self._beginning = not whole, True
        self.problem: codec.MalformedFrame | None = None
        self.skipped = 0
        self.waits = False
        """Are octets held back that begin with whole frames?"""
        self.idle = False
        """Will the next octet be the first of a frame?"""
        self._parts: list[bytes] = []
        self._size = self._need = self._attempts = self._next_look = 0

    @property
    def rest(self) -> bytes:
        """Octets that are not yet a whole frame."""
        return b"".join(self._parts)

    @property
    def limit(self) -> int:
        """The most octets of a frame; 0: any. `most` is what it may carry."""
        return self._limit

    @limit.setter
    def limit(self, limit: int) -> None:
        self._limit, self.most = limit, limit - 8 if limit else _LARGEST

    def hold(self, data: bytes, need: int) -> None:
        """Keeps the begin of a message, from the first octet of its method, until it has this many octets."""
        self._keep(data)
        self._need, self.waits = need, True

    def more(self, data: bytes) -> bytes:
        """What was held back, with these octets, once it is enough; before, nothing."""
        self._parts.append(data)
        self._size += len(data)
        return self.release() if self._size >= self._need else b""

    def release(self) -> bytes:
        """What was held back."""
        data = self.rest
        self.waits = False
        self._keep(b"")
        return data

    def resume(self, rest: bytes, limit: int, *, sure: bool) -> None:
        """Goes on where another left off."""
        self.limit, self.sure, self.blind, self._beginning = limit, sure, False, False
        self._keep(rest)

    def lose(self) -> None:
        """Octets are missing here."""
        self.skipped += self._size
        self.limit, self.sure = 0, False
        self.blind, self._beginning, self._next_look = True, False, 0
        self._keep(b"")

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that these octets complete."""
        if self.problem is not None:
            return []
        if self.idle and self._single(data):
            return [data]
        before = self._size
        self.idle = False
        self._parts.append(data)
        self._size += len(data)
        if self._size < self._need:
            return []
        if len(self._parts) > 1:
            data = b"".join(self._parts)
        if self.blind:
            return self._look(data, before)
        found: list[bytes] = []
        at = self._begin(data, found) if self._beginning else 0
        self._cut(data, at, found)
        return found

    def _single(self, data: bytes) -> bool:
        """Are these octets one whole frame? Most are that come in a segment of their own."""
        length = int.from_bytes(data[3:7], "big")
        return len(data) == length + 8 and data[-1] == _FRAME_END and data[0] in _KINDS and length <= self.most

    def _begin(self, data: bytes, found: list[bytes]) -> int:
        """Protocol headers stand before all frames."""
        if data[:4] != MAGIC[: len(data)]:
            self._beginning = False
        elif len(data) >= 8:
            self._beginning = False
            found.append(data[:8])
            return 8
        return 0

    def _cut(self, data: bytes, at: int, found: list[bytes]) -> None:
        size = len(data)
        most, end = self.most, at
        while at + 8 <= size and not self._beginning:
            length = data[at + 3] << 24 | data[at + 4] << 16 | data[at + 5] << 8 | data[at + 6]
            end = at + 8 + length
            if length > most or data[at] not in _KINDS:
                self.refuse(envelope(data, at, self.limit) or explain(data, at, self.limit))
                return
            if end > size:
                break
            if data[end - 1] != _FRAME_END:
                self.refuse(explain(data, at, self.limit))
                return
            found.append(data[at:end])
            at = end
        self._keep(data[at:] if at else data)
        if self._size >= 7:
            self._need = end - at
        elif self._size and not self._beginning:
            early = envelope(data, at, self.limit)
            if early is not None:
                self.refuse(early)

    def refuse(self, problem: codec.MalformedFrame) -> None:
        """These octets are no frames that mean anything."""
        self.problem, self.idle = problem, False

    def distrust(self) -> bool:
        """These frames were told after a hole, and cannot be right: look again. False if that was tried too often."""
        self._attempts += 1
        if self._attempts >= ATTEMPTS:
            return False
        self.problem = None
        self.lose()
        return True

    def _keep(self, rest: bytes) -> None:
        self._parts = [rest] if rest else []
        self._size, self._need = len(rest), 0
        self.idle = not (rest or self.blind or self._beginning)

    # -- where it is not known how frames lie

    def _look(self, data: bytes, before: int) -> list[bytes]:
        if self._beginning and (data[:8] == codec.ProtocolHeader().encode() or START.match(data)):
            self.blind, self.sure, self.limit = False, True, codec.FRAME_MAX
            return self._resume(data, 0, keep=True)
        if self._size < self._next_look:
            return []
        at = proven(data, before)
        if at is None:
            if self._size > MOST:
                self.skipped += self._size - MOST // 2
                self._keep(data[-MOST // 2 :])
            self._next_look = self._size + (self._size >> 2 if self._size > 4096 else 1)
            return []
        self.skipped += at
        self.blind = False
        return self._resume(data, at, keep=False)

    def _resume(self, data: bytes, at: int, *, keep: bool) -> list[bytes]:
        found: list[bytes] = []
        self._beginning = keep
        self._cut(data, self._begin(data, found) if keep else at, found)
        return found


def proven(data: bytes, before: int = 0) -> int | None:
    """Where the first frame begins that ends behind `before`, if the octets prove how frames lie in them; else None."""
    for candidate in _BEGIN.finditer(data):
        at = candidate.start()
        if _chain(data, at):
            for raw in _whole(data, at):
                if at + len(raw) > before:
                    break
                at += len(raw)
            return at
    return None


def _chain(data: bytes, at: int) -> bool:
    """Is there a chain of frames from here that is long enough to be believed?"""
    count, methods, size = 0, 0, len(data)
    for raw in _whole(data, at):
        if not raw or not _sound(raw):
            return False
        count += 1
        methods += raw[0] == 1
        at += len(raw)
    if not methods or count < PROVEN - (at == size):
        return False
    return at == size or data[at] in _KINDS


def _whole(data: bytes, at: int) -> Iterator[bytes]:
    """Frame after frame while they are whole; an empty one where there cannot be one."""
    size = len(data)
    while at + 8 <= size:
        end = at + 8 + int.from_bytes(data[at + 3 : at + 7], "big")
        if data[at] not in _KINDS or end - at > _LARGEST:
            yield b""
            return
        if end > size:
            return
        yield data[at:end] if data[end - 1] == _FRAME_END else b""
        at = end


def _sound(raw: bytes) -> bool:
    if raw[0] == 3:
        return len(raw) > 8
    try:
        codec.decode(raw)
    except codec.MalformedFrame:
        return False
    return raw[0] != 8 or raw[1:3] == b"\0\0"

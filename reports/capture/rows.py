"""Events in columns: what many events have in common is made once.

Most frames of a busy connection say the same as one before them, but for a delivery tag. So an event is made by
`EventBuilder` when its words are first seen and kept as a *template*; a row is the number of a template and what
differs: seq, time, tag, body, octets, and the packet that completed it. A `Block` of rows gives `Event`s, rows of a
recording, or (through `columns`) Arrow.

Many programs give every message an id of its own. A template leaves a HOLE for it where it stands among the arguments,
and the id belongs to the row. That is done for ids that JSON writes as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import codec
from conformance.events import Event, EventBuilder, Labels, body_hash
from reports.capture.identity import cut
from reports.recording import to_row

MOST_TEMPLATES = 1 << 16
MOST_HEADERS = 4096
HOLE = "\0"
"""Stands for the message id in the arguments of a template; JSON has none."""

Row = tuple[int, int, int, int | None, int | None, str | None, str | None, bytes, int]
"""(template, seq, time_ns, delivery_tag, body_size, body_hash, message_id, raw, packet)"""

Stray = tuple[int, int, int, bytes]
"""(seq, packet, time_ns, raw)"""


class Block(NamedTuple):
    """Rows of one file, in the order in which they were made."""

    file: str
    templates: list[Event]
    rows: list[Row]

    def events(self) -> Iterator[Event]:
        for number, seq, time_ns, tag, size, digest, name, raw, _ in self.rows:
            template = self.templates[number]
            yield template._replace(
                seq=seq, time_ns=time_ns, delivery_tag=tag, body_size=size, body_hash=digest, raw=raw,
                message_id=name, arguments=template.arguments.replace(HOLE, name or ""),
            )

    def recorded(self) -> Iterator[dict[str, Any]]:
        """Rows as a recording has them, each with its place in the capture."""
        for event, row in zip(self.events(), self.rows, strict=True):
            yield {**to_row(event), "file": self.file, "packet": row[-1]}


class Rows:
    """Collects rows, whatever connection they are of."""

    def __init__(self, file: str = "") -> None:
        self.file = file
        self.templates: list[Event] = []
        self.rows: list[Row] = []
        self._known: dict[int, dict[bytes, int]] = {}

    def known(self) -> dict[bytes, int]:
        """A new memory, from octets to templates; emptied when there are too many templates."""
        memory: dict[bytes, int] = {}
        self._known[id(memory)] = memory
        return memory

    def release(self, memory: dict[bytes, int]) -> None:
        """Nobody will ask this memory again."""
        self._known.pop(id(memory), None)

    def template(self, event: Event) -> int:
        self.templates.append(event)
        return len(self.templates) - 1

    def add(self, event: Event, seq: int, time_ns: int, packet: int) -> None:
        """An event that is not expected to come again."""
        self.rows.append((
            self.template(event), seq, time_ns, event.delivery_tag, event.body_size, event.body_hash,
            event.message_id, event.raw, packet,
        ))

    def take(self) -> Block:
        """What was collected since the last time."""
        block = Block(self.file, self.templates, self.rows)
        self.rows = []
        if len(self.templates) > MOST_TEMPLATES:
            self.templates = []
            for memory in self._known.values():
                memory.clear()
        return block


class Place:
    """Where events are put: the packet that is being read, and the order so far."""

    __slots__ = ("packet", "rank", "seq", "time_ns")

    def __init__(self) -> None:
        self.packet = self.time_ns = self.seq = self.rank = 0

    def next(self) -> int:
        """The next seq. In a ring it tells the packet, so that files can be read apart."""
        seq = self.seq + 1
        self.seq = seq = seq if seq > self.rank else self.rank
        return seq


class _Content:
    """A method that waits for its content."""

    __slots__ = ("body", "got", "header", "method", "name", "raw", "size", "tag")

    def __init__(self, method: bytes, tag: int | None, raw: bytes) -> None:
        self.method, self.tag, self.raw = method, tag, [raw]
        self.header: bytes | None = None
        self.name: str | None = None
        self.body: list[bytes] = []
        self.got = self.size = 0


# octets of the frame before the delivery tag; that of basic.deliver comes after a string
_TAGGED = {b"\x00\x3c\x00\x50": 11, b"\x00\x3c\x00\x5a": 11, b"\x00\x3c\x00\x78": 11, b"\x00\x3c\x00\x47": 11,
           b"\x00\x3c\x00\x3c": 12}
_DELIVER = 12
_CONTENT = -1
_HEADER, _BODY, _END = 2, 3, 0xCE


class Reader:
    """Frames of one direction of one connection to rows; the same events as `EventBuilder` makes."""

    __slots__ = ("_builder", "_direction", "_doubtful", "_headers", "_known", "_on_tune", "_open", "_place",
                 "_rows", "late", "strays")

    def __init__(
        self, labels: Labels, direction: str, rows: Rows, place: Place, on_tune: Callable[[int], None],
    ) -> None:
        self._rows, self._place, self._direction, self._on_tune = rows, place, direction, on_tune
        self._builder = EventBuilder(labels, lambda: 0, lambda: 0)
        self._known = rows.known()
        self._headers: set[bytes] = set()
        self._open: dict[bytes, _Content] = {}
        self._doubtful: set[bytes] | None = None
        self.strays: list[Stray] = []
        """Content whose method was sent before this file began."""
        self.late = False

    def lose(self) -> None:
        """Frames are missing: content under way will not be complete, and content may begin in its middle."""
        self._open.clear()
        self._doubtful = set()
        self.late = False

    def begin_late(self) -> None:
        """Frames can be told, but content may have begun in the file before: it is kept for whoever knows that."""
        self.lose()
        self.late = True

    @property
    def open(self) -> list[bytes]:
        """The frames of content that is not complete; taken by another reader, they make it go on from here."""
        return [raw for content in self._open.values() for raw in content.raw]

    @property
    def doubtful(self) -> list[int] | None:
        """Channels whose content is known to begin with its method; None: all of them."""
        return None if self._doubtful is None else [int.from_bytes(channel, "big") for channel in self._doubtful]

    def resume(self, open_: list[bytes], doubtful: list[int] | None) -> None:
        """Goes on where another left off."""
        self._doubtful = None if doubtful is None else {channel.to_bytes(2, "big") for channel in doubtful}
        self.frames(open_)

    def close(self) -> None:
        """No more frames will come."""
        self._open.clear()
        self._rows.release(self._known)

    def frames(self, raws: list[bytes]) -> codec.MalformedFrame | None:
        """Takes whole frames; what is wrong with the first that cannot be decoded, if any."""
        for raw in raws:
            try:
                if raw[0] == 1 or raw[0] == 8:
                    self._method(raw)
                else:
                    self._content(raw)
            except codec.MalformedFrame as problem:
                return problem
        return None

    def known(self, data: bytes, most: int) -> int:
        """Takes methods, with their content, as long as they are whole and their words were seen before; how many
        octets of the data that was. `most`: octets that a frame may carry."""
        at, size = 0, len(data)
        if self._open or self._doubtful is not None or size > most:
            return 0
        while at + 12 <= size and data[at] == 1:
            end = self._one(data, at, size)
            if not end:
                break
            at = end
        return at

    def _one(self, data: bytes, begin: int, size: int) -> int:
        """One method that is known, with its content; where it ends. 0: nothing was taken."""
        end = begin + 8 + int.from_bytes(data[begin + 3:begin + 7], "big")
        if end > size or data[end - 1] != _END:
            return 0
        at, tag = _TAGGED.get(data[begin + 7:begin + 11]), None
        if at:
            at += begin + (data[begin + 11] if at == _DELIVER else 0)
            key, tag = data[begin:at] + data[at + 8:end], int.from_bytes(data[at:at + 8], "big")
        else:
            key = data[begin:end]
        template = self._known.get(key)
        if template is None:
            return 0
        if template == _CONTENT:
            return self._whole(data, begin, end, size, key, tag)
        place = self._place
        self._rows.rows.append((
            template, place.next(), place.time_ns, tag, None, None, None, data[begin:end], place.packet,
        ))
        return end

    def _whole(self, data: bytes, begin: int, at: int, size: int, method: bytes, tag: int | None) -> int:
        """A method whose content, behind `at`, is a header and at most one body; where that ends, or 0."""
        channel = data[begin + 1:begin + 3]
        if at + 22 > size or data[at] != _HEADER or data[at + 1:at + 3] != channel:
            return 0
        body = at + 8 + int.from_bytes(data[at + 3:at + 7], "big")
        many = int.from_bytes(data[at + 11:at + 19], "big")
        end = body + 8 + many if many else body
        if end > size or data[body - 1] != _END:
            return 0
        if many and (data[body] != _BODY or data[body + 1:body + 3] != channel or data[end - 1] != _END
                     or int.from_bytes(data[body + 3:body + 7], "big") != many):
            return 0
        words, name = cut(data[at:body])
        template = self._known.get(method + words) if words in self._headers else None
        if template is None:
            return 0
        if name is None:
            name = self._rows.templates[template].message_id
        place, said = self._place, data[body + 7:end - 1] if many else b""
        self._rows.rows.append((
            template, place.next(), place.time_ns, tag, many, body_hash(said), name, data[begin:end], place.packet,
        ))
        return end

    def _method(self, raw: bytes) -> None:
        at, tag, key = _TAGGED.get(raw[7:11]), None, raw
        if at:
            if at == _DELIVER:
                at += raw[11]
            key, tag = raw[:at] + raw[at + 8:], int.from_bytes(raw[at:at + 8], "big")
        template = self._known.get(key)
        if template is None:
            template = self._first(key, raw)
        if template == _CONTENT:
            self._open[raw[1:3]] = _Content(key, tag, raw)
            if self._doubtful is not None:
                self._doubtful.add(raw[1:3])
        else:
            place = self._place
            self._rows.rows.append((template, place.next(), place.time_ns, tag, None, None, None, raw, place.packet))

    def _first(self, key: bytes, raw: bytes) -> int:
        """The template of words that were not seen before."""
        frame = codec.decode(raw)
        if isinstance(frame, codec.Method) and frame.HAS_CONTENT:
            template = _CONTENT
        else:
            if isinstance(frame, codec.methods.ConnectionTuneOk):
                self._on_tune(frame.frame_max)
            event = self._builder.frame(self._direction, frame, raw)
            assert event is not None
            template = self._rows.template(event)
        self._known[key] = template
        return template

    def _content(self, raw: bytes) -> None:
        content = self._open.get(raw[1:3])
        if content is None:
            self._stray(raw)
            return
        content.raw.append(raw)
        if raw[0] == _HEADER:
            words, name = cut(raw)
            if words not in self._headers:
                codec.decode(raw)
                if len(self._headers) > MOST_HEADERS:
                    self._headers.clear()
                self._headers.add(words)
            content.header, content.name = words, name
            content.size = int.from_bytes(raw[11:19], "big")
        else:
            content.body.append(raw[7:-1])
            content.got += len(raw) - 8
        if content.header is not None and content.got >= content.size:
            del self._open[raw[1:3]]
            self._complete(content)

    def _complete(self, content: _Content) -> None:
        assert content.header is not None
        key, name = content.method + content.header, content.name
        template = self._known.get(key)
        if template is None:
            event = self._build(content.raw)
            if name is None:
                name = event.message_id
            elif (said := f'"message_id": "{name}"') and event.arguments.count(said) == 1:
                event = event._replace(arguments=event.arguments.replace(said, f'"message_id": "{HOLE}"'))
            else:
                key = b"".join(content.raw)
            template = self._known[key] = self._rows.template(event)
        elif name is None:
            name = self._rows.templates[template].message_id
        body, place = b"".join(content.body), self._place
        self._rows.rows.append((
            template, place.next(), place.time_ns, content.tag, len(body), body_hash(body), name,
            b"".join(content.raw), place.packet,
        ))

    def _build(self, raws: list[bytes]) -> Event:
        for raw in raws:
            event = self._builder.frame(self._direction, codec.decode(raw), raw)
        assert event is not None
        return event

    def _stray(self, raw: bytes) -> None:
        """Content without its method. After a hole that is no wonder."""
        if self._doubtful is not None and raw[1:3] not in self._doubtful:
            if self.late:
                self.strays.append((self._place.next(), self._place.packet, self._place.time_ns, raw))
            return
        event = self._builder.frame(self._direction, codec.decode(raw), raw)
        assert event is not None
        place = self._place
        self._rows.add(event, place.next(), place.time_ns, place.packet)

"""From the frames of one direction of one connection to rows: the same events as `EventBuilder` makes.

A message with new words is decoded strictly, frame by frame; `rows` keeps a template of it, and `shapes` keeps where
its values are. A message with known words is read in one step. Both ways give the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import codec
from conformance.history.events import Event, EventBuilder, Labels, body_hash
from reports.capture import identity, shapes
from reports.capture.rows import HOLE, Place, Rows
from reports.capture.shapes import MOST_SHAPES, PREFIX, Shape

MOST_HEADERS = 4096

Stray = tuple[int, int, int, bytes]
"""(seq, packet, time_ns, raw)"""

_CONTENT = -1
_HEADER, _END = 2, 0xCE


class _Content:
    """A method that waits for its content."""

    __slots__ = ("body", "got", "header", "method", "name", "raw", "size", "tag")

    def __init__(self, method: bytes, tag: int | None, raw: bytes) -> None:
        self.method, self.tag, self.raw = method, tag, [raw]
        self.header: bytes | None = None
        self.name: str | None = None
        self.body: list[bytes] = []
        self.got = self.size = 0


class Reader:
    """One direction. `need`: see `known`."""

    __slots__ = (
        "_builder",
        "_direction",
        "_doubtful",
        "_headers",
        "_known",
        "_on_tune",
        "_open",
        "_place",
        "_rows",
        "_shapes",
        "late",
        "need",
        "strays",
    )

    def __init__(
        self,
        labels: Labels,
        direction: str,
        rows: Rows,
        place: Place,
        on_tune: Callable[[int], None],
    ) -> None:
        self._rows, self._place, self._direction, self._on_tune = rows, place, direction, on_tune
        self._builder = EventBuilder(labels, lambda: 0, lambda: 0)
        self._known = rows.known()
        self._shapes: dict[bytes, tuple[Shape, ...]] = {}
        self.need = 0
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
        """Takes methods, with their content, as long as their shape and words were seen before; how many octets of the
        data that was. Where a message that is known is not yet whole, `need` says how many octets it will have. `most`:
        octets that a frame may carry."""
        at, size = 0, len(data)
        self.need = 0
        if self._open or self._doubtful is not None:
            return 0
        while at + PREFIX < size:
            end = self._one(data, at, size, most)
            if not end:
                break
            at = end
        return at

    def _one(self, data: bytes, at: int, size: int, most: int) -> int:
        """One method that is known, with its content; where it ends. 0: nothing was taken."""
        for shape in self._shapes.get(data[at : at + PREFIX], ()):
            unpack, fixed, tagged, content, _ = shape
            end = at + fixed
            if end > size:
                continue
            if content:
                if end := self._message(data, at, size, most, shape):
                    return end
                continue
            before, tag, after = unpack(data, at)
            template = self._known.get((before, after))
            if template is not None:
                place = self._place
                place.seq = seq = max(place.seq + 1, place.rank)
                self._rows.rows.append(
                    (
                        template,
                        seq,
                        place.time_ns,
                        tag if tagged else None,
                        None,
                        None,
                        None,
                        data[at:end],
                        place.packet,
                    )
                )
                return end
        return 0

    def _message(self, data: bytes, at: int, size: int, most: int, shape: Shape) -> int:
        """A message, if it is of this shape; as for `_one`."""
        unpack, fixed, tagged, _, body = shape
        before, tag, middle, many, words, named, rest, length = unpack(data, at)
        template = self._known.get((before, middle, words, rest))
        if template is None or not (length == many > 0 if body else not many):
            return 0
        if named and not (named.isalnum() or identity.plain(named)):
            return 0
        start = end = at + fixed
        if body:
            end += many + 1
            if end - at > most:
                return 0
            if end > size:
                self.need = end - at
                return 0
            if data[end - 1] != _END:
                return 0
        name = named.decode("ascii") if named else self._rows.templates[template].message_id
        place = self._place
        place.seq = seq = max(place.seq + 1, place.rank)
        self._rows.rows.append(
            (
                template,
                seq,
                place.time_ns,
                tag if tagged else None,
                many,
                blake2b(data[start : end - 1] if body else b"", digest_size=8).hexdigest(),
                name,
                data[at:end],
                place.packet,
            )
        )
        return end

    def _method(self, raw: bytes) -> None:
        if raw[1:3] in self._open and raw[0] == 1:
            self._open[raw[1:3]].raw.append(raw)
            self._torn(raw[1:3])
            return
        at, tag, key = shapes.tag_of(raw), None, raw
        if at:
            key, tag = raw[:at] + raw[at + 8 :], int.from_bytes(raw[at : at + 8], "big")
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
            self._learn(shapes.plain(raw), raw, template)
        self._known[key] = template
        return template

    def _learn(self, shape: Shape, raw: bytes, template: int) -> None:
        """Words of this shape are known from now on."""
        self._known[shape.words(raw)] = template
        before = self._shapes.get(raw[:PREFIX], ())
        if shape not in before:
            self._shapes[raw[:PREFIX]] = (shape, *before)[:MOST_SHAPES]

    def _content(self, raw: bytes) -> None:
        content = self._open.get(raw[1:3])
        if content is None:
            self._stray(raw)
            return
        content.raw.append(raw)
        if (raw[0] == _HEADER) is (content.header is not None):  # a second header, or a body before the first
            self._torn(raw[1:3])
            return
        if raw[0] == _HEADER:
            words, name = identity.cut(raw)
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
        if content.header is not None and content.got > content.size:
            self._torn(raw[1:3])
        elif content.header is not None and content.got == content.size:
            del self._open[raw[1:3]]
            self._complete(content)

    def _torn(self, channel: bytes) -> None:
        """The content does not go on, or end, as it must: its last frame shows that."""
        event, place = self._build(self._open.pop(channel).raw), self._place
        self._rows.add(event, place.next(), place.time_ns, place.packet)

    def _complete(self, content: _Content) -> None:
        assert content.header is not None
        key, name, cut_out = content.method + content.header, content.name, content.name is not None
        template, raw = self._known.get(key), b"".join(content.raw)
        if template is None:
            event = self._build(content.raw)
            if name is None:
                name = event.message_id
            elif (said := f'"message_id": "{name}"') and event.arguments.count(said) == 1:
                event = event._replace(arguments=event.arguments.replace(said, f'"message_id": "{HOLE}"'))
            else:
                key, cut_out = raw, False
            template = self._known[key] = self._rows.template(event)
        elif name is None:
            name = self._rows.templates[template].message_id
        body, place = b"".join(content.body), self._place
        if key is not raw and content.raw[1][0] == _HEADER and len(content.raw) == 2 + bool(content.size):
            shape = shapes.content(content.raw[0], content.raw[1], cut_out, body=bool(content.size))
            self._learn(shape, raw, template)
        self._rows.rows.append(
            (
                template,
                place.next(),
                place.time_ns,
                content.tag,
                len(body),
                body_hash(body),
                name,
                raw,
                place.packet,
            )
        )

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

"""The values: equality, text, copies; header classes made on demand and forgotten again."""

from __future__ import annotations

import copy
import linecache
import pickle

import pytest

import codec
from codec import kinds, wire
from codec import methods as m

FRAMES = [
    m.BasicDeliver(1, "c", 2, True, "e", "k"),
    codec.header(1, 5, priority=0, headers=[("a", "V", None)]),
    codec.Body(1, b"x"),
    codec.Heartbeat(),
    codec.ProtocolHeader(),
]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_equals_its_copies_and_nothing_else(frame: codec.Frame) -> None:
    copies = [copy.copy(frame), copy.deepcopy(frame), pickle.loads(pickle.dumps(frame))]
    assert copies == [frame] * 3
    assert [c.encode() for c in copies] == [frame.encode()] * 3
    assert all(frame != other for other in FRAMES if other is not frame)
    with pytest.raises(TypeError, match="unhashable"):
        hash(frame)


def test_frames_differ_by_any_field() -> None:
    assert m.BasicAck(1, 2) != m.BasicAck(2, 2)
    assert m.BasicAck(1, 2) != m.BasicAck(1, 2, True)
    assert m.BasicAck(1, 2) != m.BasicReject(1, 2)
    assert codec.header(1, 5) != codec.header(1, 6)
    assert codec.header(1, 5) != codec.header(1, 5, priority=0)


def test_frames_show_what_they_are() -> None:
    assert repr(m.BasicAck(1, 2)) == "BasicAck(channel=1, delivery_tag=2, multiple=False)"
    assert repr(codec.header(1, 5, priority=0)) == "header(1, 5, priority=0)"
    assert repr(codec.ProtocolHeader()) == "ProtocolHeader(major=0, minor=9, revision=1)"


def test_absent_properties_are_none() -> None:
    header = codec.header(1, 5, priority=0, app_id="", type=None)
    assert header.properties() == {"priority": 0, "app_id": ""}
    assert [name for name in wire.PROPERTIES if getattr(header, name) is not None] == ["priority", "app_id"]
    assert (header.class_id, header.weight, header.body_size) == (60, 0, 5)


def test_an_unknown_property_is_refused() -> None:
    with pytest.raises(TypeError, match="no such property: colour"):
        codec.header(1, 5, colour="red")


def test_header_classes_are_bounded_and_what_is_forgotten_is_made_again() -> None:
    words = [flags << 2 for flags in range(kinds.MOST_WORDS + 50)]
    headers = [codec.decode(_header(word)) for word in words]
    assert len(kinds.HEADER_DECODERS) <= kinds.MOST_WORDS
    assert sum(where.startswith("<codec header") for where in linecache.cache) <= kinds.MOST_WORDS
    assert [h.encode() for h in headers] == [_header(w) for w in words]
    assert codec.decode(_header(words[0])) == headers[0]


def _header(flags: int) -> bytes:
    """A header with these properties, all of them zero or empty."""
    ops = {"headers": bytes(4), "timestamp": bytes(8)}
    properties = b"".join(ops.get(n, b"\0") for n, bit in wire.FLAGS.items() if flags & bit)
    payload = b"\0\x3c\0\0" + bytes(8) + flags.to_bytes(2, "big") + properties
    return b"\2\0\1" + len(payload).to_bytes(4, "big") + payload + b"\xce"


def test_the_protocol_header_is_eight_octets() -> None:
    assert codec.ProtocolHeader().encode() == b"AMQP\0\0\x09\1"
    assert codec.ProtocolHeader.decode(b"AMQP\0\0\x09\1") == codec.ProtocolHeader(0, 9, 1)
    for raw in (b"AMQP\1\1\0\x0a", b"AMQP\0\0\x09", b"HTTP/1.1"):
        with pytest.raises(codec.MalformedFrame, match="a protocol header"):
            codec.ProtocolHeader.decode(raw)

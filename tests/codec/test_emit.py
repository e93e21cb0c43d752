"""The emitted functions do what the declaration says: same verdict, same values, same octets."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import emit, wire
from codec import methods as m
from tests.support.octets import strategies

few = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
many = settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
Declaration = Callable[[bytes], codec.Frame]
Verdicts = Callable[[bytes], tuple[bool, bool]]


@pytest.mark.parametrize("index", m.BY_INDEX, ids=lambda index: m.BY_INDEX[index].NAME)
def test_every_method_is_read_and_written_as_declared(index: int, declaration: Declaration) -> None:
    @few
    @given(strategies.methods(index))
    def check(raw: bytes) -> None:
        frame = codec.decode(raw)
        assert frame == declaration(raw)
        assert frame.encode() == raw

    check()


@pytest.mark.parametrize("index", m.BY_INDEX, ids=lambda index: m.BY_INDEX[index].NAME)
def test_every_method_is_refused_as_declared(index: int, verdicts_on: Verdicts) -> None:
    @few
    @given(strategies.damaged(strategies.methods(index)))
    def check(raw: bytes) -> None:
        declared, ours = verdicts_on(raw)
        assert declared == ours

    check()


@many
@given(raw=strategies.headers() | strategies.bodies() | strategies.heartbeats())
def test_other_frames_are_read_and_written_as_declared(raw: bytes, declaration: Declaration) -> None:
    frame = codec.decode(raw)
    assert frame == declaration(raw)
    assert frame.encode() == raw


@many
@given(raw=strategies.damaged())
def test_damaged_frames_get_the_declared_verdict(raw: bytes, verdicts_on: Verdicts) -> None:
    declared, ours = verdicts_on(raw)
    assert declared == ours
    if ours:
        assert codec.decode(raw).encode() == wire.Frame.build(wire.Frame.parse(raw))


@given(raw=st.binary(max_size=64))
def test_any_octets_get_the_declared_verdict(raw: bytes, verdicts_on: Verdicts) -> None:
    declared, ours = verdicts_on(raw)
    assert declared == ours


def test_the_emitted_text_can_be_read() -> None:
    read, write = m.DECODERS[m.BasicAck.INDEX], m.BasicAck.encode
    assert read.source.startswith("def decode_basic_ack(b, t, p, end, channel):")  # type: ignore[attr-defined]
    assert "U_QB(b, p)" in read.source  # type: ignore[attr-defined]
    assert "P_BHIIQBB(1, o.channel, 13, 3932240, o.delivery_tag" in write.source  # type: ignore[attr-defined]


def test_delivery_tags_are_unsigned_64_bit() -> None:
    raw = m.BasicAck(1, 2**64 - 1).encode()
    assert raw[11:19] == b"\xff" * 8
    assert codec.decode(raw) == m.BasicAck(1, 2**64 - 1)


UNENCODABLE = {
    "a short string of 256 octets": m.BasicPublish(1, 0, "x" * 256),
    "a short string of 256 octets in UTF-8": m.BasicPublish(1, 0, "é" * 128),
    "half a character": m.BasicPublish(1, 0, "\ud800"),
    "a number out of range": m.BasicQos(1, 0, 65536),
    "a negative number": m.BasicAck(1, -1),
    "a channel out of range": m.TxSelect(65536),
    "text where octets belong": m.ConnectionSecure(0, "text"),  # type: ignore[arg-type]
    "no string": m.QueuePurge(1, 0, None),  # type: ignore[arg-type]
    "an unknown letter": m.QueueBind(1, arguments=[("a", "Z", 1)]),
    "a table value out of range": m.QueueBind(1, arguments=[("a", "b", 128)]),
    "a table name of 256 octets": m.QueueBind(1, arguments=[("a" * 256, "V", None)]),
    "a table that is none": m.QueueBind(1, arguments=7),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("frame", UNENCODABLE.values(), ids=UNENCODABLE)
def test_what_fits_no_frame_is_not_encoded(frame: codec.Method) -> None:
    with pytest.raises(codec.Unencodable):
        frame.encode()


def test_packers_are_kept_within_bounds() -> None:
    for i in range(256):
        for j in range(0, 256, 8):
            m.BasicCancel(1, "x" * i).encode()
            m.BasicPublish(1, 0, "x" * i, "y" * j).encode()
    names = m.BasicPublish.encode.__globals__  # type: ignore[attr-defined]
    kept = {name: len(value) for name, value in names.items() if name.startswith("KEPT_")}
    assert kept["KEPT_encode_basic_publish_0"] > 1
    assert max(kept.values()) <= emit.MOST_PACKERS

"""Every refusal says where, what the protocol asks for there, and what was found."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

import codec
from codec import explain, wire
from codec import methods as m
from tests.support.octets import broken, strategies

START = m.ConnectionStart(0, 0, 9, [("a", "t", True)], b"PLAIN", b"en_US").encode()
PUBLISH = m.BasicPublish(1, 0, "ex", "key", True).encode()
HEADER = codec.header(1, 5, content_type="text", headers=[("x", "I", 1)], priority=1).encode()
ACK = m.BasicAck(1, 7).encode()
BEAT = codec.Heartbeat().encode()
DECLARE = m.QueueDeclare(1, 0, "q").encode()

FINDINGS = [
    (ACK, "wrong frame end", 20, "the frame end 0xce", "0x0"),
    (ACK, "unknown frame type", 0, "a frame type: 1, 2, 3 or 8", "4 in "),
    (ACK, "cut short", 20, "a frame of 21 octets", "its first 20"),
    (ACK, "trailing octets", 20, "the end of the payload", "1 more octets"),
    (ACK, "payload ends early", 19, "a number bits", "the end after 0 of 1 octets"),
    (ACK, "unknown class", 7, "a method of AMQP 0-9-1", "class 199, method 80"),
    (ACK, "unknown method", 7, "a method of AMQP 0-9-1", "class 60, method 199"),
    (ACK, "undefined bits", 19, "bits multiple and zeros", "0x80"),
    (BEAT, "trailing octets", 7, "the end of the payload", "1 more octets"),
    (
        PUBLISH,
        "text longer than the frame",
        13,
        "a short string exchange that ends within the 7 octets left",
        "a length of 8",
    ),
    (PUBLISH, "bad UTF-8", 14, "UTF-8 in a short string exchange", "invalid start byte"),
    (START, "octets longer than the frame", 21, "a long string mechanisms", "a length of 15"),
    (START, "items longer than the frame", 13, "a table server_properties", "a length of 23"),
    (START, "unknown letter", 19, "a letter that announces a value", "b'Z'"),
    (DECLARE, "tables nested too deep", 16 + 32 * 6, "at most 32 tables inside each other", "one more"),
    (HEADER, "content header with another class_id", 7, "class 60, the only one with content", "class 50"),
    (HEADER, "content header with another weight", 9, "weight 0", "50"),
    (HEADER, "undefined property flags", 19, "flags of the 14 properties only", "flags 0xa801, 0x1 undefined"),
]


@pytest.mark.parametrize(
    ("good", "defect", "offset", "expected", "found"), FINDINGS, ids=[finding[1] for finding in FINDINGS]
)
def test_a_defect_is_named(good: bytes, defect: str, offset: int, expected: str, found: str) -> None:
    with pytest.raises(codec.MalformedFrame) as caught:
        codec.decode(broken.defect(defect, good))
    problem = caught.value
    assert (problem.offset, problem.raw) == (offset, broken.defect(defect, good))
    assert problem.expected.startswith(expected)
    assert problem.found.startswith(found)
    assert str(problem) == f"malformed frame at octet {offset}: expected {problem.expected}, found {problem.found}"


def test_a_protocol_header_is_recognised() -> None:
    with pytest.raises(codec.MalformedFrame, match="found a protocol header"):
        codec.FrameReader().feed(codec.ProtocolHeader().encode())


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(raw=strategies.damaged())
def test_no_refusal_is_without_a_reason(raw: bytes) -> None:
    problem = None
    try:
        codec.decode(raw)
    except codec.MalformedFrame as refused:
        problem = refused
    if problem is not None:
        assert problem.found != explain.UNEXPLAINED
        assert 0 <= problem.offset <= max(len(raw), 8 + int.from_bytes(raw[3:7], "big"))


def test_the_anatomy_of_a_frame_covers_its_octets() -> None:
    fields = [p for p in explain.anatomy(HEADER) if p.op.name and p.op.kind not in ("end", "letter")]
    assert [(p.op.name, p.begin, p.end) for p in fields if p.op.name in ("content_type", "headers", "priority")] == [
        ("content_type", 21, 26),
        ("headers", 26, 37),
        ("priority", 37, 38),
    ]
    outer = [p for p in fields if p.op.name != "name"]
    assert [p.begin for p in outer[1:]] == [p.end for p in outer[:-1]]
    assert outer[-1].end == len(HEADER)


def test_a_frame_nested_to_the_limit_has_an_anatomy() -> None:
    raw = broken.frame(1, 1, DECLARE[7:-5] + broken.too_deep(wire.MAX_DEPTH))
    items = [part for part in explain.anatomy(raw) if part.op.kind == "items"]
    assert len(items) == wire.MAX_DEPTH

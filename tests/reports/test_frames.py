"""Frames in words: every octet is shown once, in order, under the right name, whatever was recorded."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from reports.html.frames import Cut, cut
from tests.support.octets import broken, strategies

NACK = m.BasicNack(7, 2**64 - 1, True, False).encode()
CONTENT = codec.content(
    m.BasicPublish(1, 0, "", "q1"),
    b"hello",
    message_id="m1",
    headers=values.table({"x-death": [1, "a"]}),
)


def meanings(found: Cut) -> dict[str, str]:
    return {part.name: part.meaning for part in found.parts}


def octets(found: list[Cut]) -> bytes:
    return b"".join(bytes.fromhex(part.octets) for one in found for part in one.parts)


def test_a_method_is_told_field_by_field() -> None:
    (found,) = cut(NACK.hex())
    assert meanings(found) == {
        "frame": "1 method",
        "channel": "7",
        "size": "13",
        "class": "60 basic",
        "method": "120 nack",
        "delivery-tag": "18446744073709551615",
        "bits": "multiple",
        "end": "",
    }


def test_content_is_three_frames() -> None:
    method, header, body = cut(CONTENT.hex())
    assert [one.title for one in (method, header, body)] == ["method", "header", "body"]
    assert meanings(method)["routing-key"] == "“q1”"
    assert meanings(header)["flags"] == "headers, message-id"
    assert meanings(header)["headers"] == '{"x-death": [1, "a"]}'
    assert meanings(body)["payload"] == "hello"


@pytest.mark.parametrize("kind", ["fanout", "topic", "headers", "direct", "x"])
def test_a_type_that_is_not_the_frame_s_is_told_as_text(kind: str) -> None:
    (found,) = cut(m.ExchangeDeclare(1, exchange="e", type=kind).encode().hex())
    assert (meanings(found)["frame"], meanings(found)["type"]) == ("1 method", f"“{kind}”")
    _, header = cut(codec.content(m.BasicPublish(1, 0, "", "q"), b"", type=kind).hex())[:2]
    assert (meanings(header)["frame"], meanings(header)["type"]) == ("2 header", f"“{kind}”")


@given(strategies.frames())
def test_every_frame_there_is_can_be_told(frame: bytes) -> None:
    told = cut(frame.hex())
    assert all(one.parts[0].name == "frame" and one.parts[-1].name == "end" for one in told)
    assert sum(one.size for one in told) == len(frame)


def test_a_protocol_header_is_named() -> None:
    (found,) = cut(codec.ProtocolHeader().encode().hex())
    assert meanings(found) == {"protocol header": "AMQP 0-9-1"}


@pytest.mark.parametrize("name", sorted(dict(broken.variants(NACK))))
def test_broken_frames_say_what_was_expected(name: str) -> None:
    found = cut(broken.defect(name, NACK).hex())
    assert any(part.tone == "wrong" and "expected" in part.meaning for one in found for part in one.parts)


@given(st.binary(max_size=90) | st.binary(max_size=20).map(lambda tail: NACK + tail))
def test_every_octet_is_shown_once(raw: bytes) -> None:
    assert octets(cut(raw.hex())) == raw


def test_long_parts_are_cut_and_say_so() -> None:
    (found,) = cut(codec.Body(1, b"x" * 1000).encode().hex())
    payload = next(part for part in found.parts if part.name == "payload")
    assert payload.octets.endswith("… 904 more")


def test_what_is_not_hexadecimal_is_nothing() -> None:
    assert cut("no octets") == []

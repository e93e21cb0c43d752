"""The tap tells what a driver tells: the same events from the same octets, however they come."""

from __future__ import annotations

import itertools

import pytest

import codec
from codec import methods as m
from conformance.drive.drivers.tap import Tap
from conformance.drive.drivers.target import Target
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder, Labels

HEADER = codec.ProtocolHeader().encode()
MESSAGE = codec.content(m.BasicPublish(1, 0, "x", "k", False, False), b"body" * 9, message_id="m")


def tapped(*said: tuple[str, bytes], size: int = 10**6) -> list[Event]:
    """What comes of octets that pass in pieces of at most so many."""
    events: list[Event] = []
    tap = Tap(EventBuilder(Labels("r", "b", "h", "c"), itertools.count(1).__next__, lambda: 5), events.append)
    tap.open(Target("broker", 5672), "10.0.0.7:40000")
    for direction, data in said:
        for at in range(0, len(data), size):
            tap.octets(direction, data[at : at + size])
    tap.end("closed")
    return events


@pytest.mark.parametrize("size", [1, 3, 8, 10**6])
def test_octets_become_events_however_they_come(size: int) -> None:
    events = tapped((TO_BROKER, HEADER + MESSAGE), (TO_CLIENT, m.BasicAck(1, 1, False).encode()), size=size)
    assert [(event.direction, event.method or event.kind) for event in events] == [
        ("-", "open"),
        (">", "protocol"),
        (">", "basic.publish"),
        ("<", "basic.ack"),
        ("-", "end"),
    ]
    assert events[0].args == {"host": "broker", "port": 5672, "client": "10.0.0.7:40000"}
    assert b"".join(event.raw for event in events if event.direction == ">") == HEADER + MESSAGE


@pytest.mark.parametrize("size", [1, 10**6])
def test_what_is_no_frame_ends_its_direction_only(size: int) -> None:
    good = m.BasicAck(1, 1, False).encode()
    events = tapped((TO_CLIENT, good + b"HTTP/1.1" + good), (TO_BROKER, good), (TO_CLIENT, good), size=size)
    assert [event.direction + event.kind for event in events] == ["-open", "<method", "<malformed", ">method", "-end"]
    assert events[2].args["offset"] == 0


def test_the_agreed_limit_holds_for_both_directions() -> None:
    small = codec.Body(1, bytes(4089)).encode()
    events = tapped((TO_BROKER, m.ConnectionTuneOk(0, 0, 4096, 0).encode()), (TO_CLIENT, small), (TO_BROKER, small))
    assert [event.kind for event in events] == ["open", "method", "malformed", "malformed", "end"]


def test_a_content_has_one_header_and_it_comes_first() -> None:
    publish, header, body = m.BasicPublish(1).encode(), codec.header(1, 1).encode(), codec.Body(1, b"x").encode()
    for odd, found in ((header + header, "another header"), (body, "a body without a header")):
        events = tapped((TO_BROKER, m.ConnectionTuneOk(0, 0, 4096, 0).encode() + publish + odd))
        assert [event.args["found"] for event in events if event.kind == "malformed"] == [found]


def test_a_method_that_cannot_be_decoded_is_malformed() -> None:
    events = tapped((TO_CLIENT, b"\x01\0\1\0\0\0\4\0\x3c\0\xff\xce"))
    assert [event.kind for event in events] == ["open", "malformed", "end"]

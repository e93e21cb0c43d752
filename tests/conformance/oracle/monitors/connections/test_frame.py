"""FRAME: sound and broken histories, and octets of which nobody can tell what is wrong with them."""

from __future__ import annotations

import struct

import pytest

import codec
from codec import methods as m
from conformance.history.events import EventBuilder, Labels
from conformance.oracle.model.connections import octets
from tests.support.octets.frames import FLOW, OCTETS, PUBLISH, frame, header
from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

CODES = {flaw.rule: flaw.codes[0] for flaw in octets.FLAWS}


def sent(rule: str) -> str:
    return f"@open 1 \n - octets c {OCTETS[rule].hex()} \n"


INNERMOST = bytes(4)
for _ in range(40):
    INNERMOST = struct.pack(">I", len(INNERMOST) + 3) + b"\1aF" + INNERMOST
DEEP = header(flags=0x2000) + INNERMOST
ELSEWHERE = "@open 1 \n 1 > enter / \n"
TWO_HEADERS = f"@open 1 \n - octets c {(PUBLISH + 2 * frame(2, 1, header())).hex()} \n"
SOUND = {
    **{rule: f"{sent(rule)} 0 < kicked {code} 0 0 wrong" for rule, code in CODES.items()},
    "FRAME-012": ELSEWHERE + "0 < kicked 503 10 40 COMMAND_INVALID",
}
BROKEN = [
    *((rule, f"{sent(rule)} 0 < kicked 541 0 0 wrong") for rule in CODES),
    *((rule, f"{sent(rule)} - deadline replies") for rule in CODES),
    ("FRAME-001", f"{sent('FRAME-001')} 1 < flow-ok \n 0 < kicked 501 0 0 wrong"),
    ("FRAME-001", f"{sent('FRAME-001')} 1 < flow-ok \n - end c fin"),
    ("FRAME-004", f"{sent('FRAME-004')} 1 < closed 505 0 0 unexpected"),
    ("FRAME-005", f"{sent('FRAME-005')} - end c fin"),
    ("FRAME-005", f"{sent('FRAME-005')} 1 < closed 505 60 40 unexpected"),
    ("FRAME-012", ELSEWHERE + "1 < closed 503 10 40 COMMAND_INVALID"),
    ("FRAME-012", ELSEWHERE + "0 < kicked 541 10 40 INTERNAL_ERROR"),
    ("FRAME-012", ELSEWHERE + "- deadline replies"),
    ("FRAME-012", ELSEWHERE + "0 < bye-ok \n - end c fin"),
    ("FRAME-005", f"{TWO_HEADERS} 0 < kicked 501 0 0 wrong"),
    ("FRAME-005", f"{sent('FRAME-005')} 0 < kicked 504 60 40 CHANNEL_ERROR"),
]
GONE = "1 < closed 404 60 40 no exchange \n - deadline replies"
AFTER = sent("FRAME-004").replace("- octets", "1 > publish q m1 exchange=x \n - octets")
LAWFUL = [
    (
        "the channel may have been closed before it came",
        AFTER + GONE,
    ),
    *(
        (
            "a channel that is not open may be looked for first",
            f"@open 2 \n - octets c {octets.hex()} \n 0 < kicked 504 60 40 no",
        )
        for octets in (OCTETS["FRAME-005"], OCTETS["FRAME-016"])
    ),
    ("the end alone after another frame end", f"{sent('FRAME-001')} - end c fin"),
    ("the end alone after an unknown type", f"{sent('FRAME-002')} - end c reset"),
    ("any method may be named", f"{sent('FRAME-005')} 0 < kicked 505 60 40 unexpected"),
    ("half a frame", f"@open 1 \n - octets c {frame(1, 1, FLOW)[:6].hex()} \n - deadline replies"),
    *(
        (what, f"@open 1 \n - octets c {content.hex()} \n - deadline replies \n 1 > flow \n 1 < flow-ok")
        for what, content in {
            "a flag that has no meaning": PUBLISH + frame(2, 1, header(flags=1)),
            "a text that is not UTF-8": PUBLISH + frame(2, 1, header(flags=0x8000) + b"\1\xff"),
            "more tables in each other than our codec takes": PUBLISH + frame(2, 1, DEEP),
        }.items()
    ),
    (
        "a connection that was not seen from its beginning",
        f"- joined c \n - octets c {OCTETS['FRAME-002'].hex()} \n- deadline replies",
    ),
]


@pytest.mark.parametrize("rule", OCTETS)
def test_a_flaw_is_read_off_the_octets(rule: str) -> None:
    builder = EventBuilder(Labels("run", "broker", "history", "c"), iter(range(1, 9)).__next__, lambda: 0)
    reader, flaws = codec.FrameReader(), []
    try:
        for raw in reader.cut(OCTETS[rule]):
            event = builder.frame(">", codec.decode(raw), raw)
            flaws.append(octets.flaw_of(event) if event is not None and event.kind != "method" else None)
    except codec.MalformedFrame as problem:
        about = {"offset": problem.offset, "expected": problem.expected, "found": problem.found}
        flaws.append(octets.flaw_of(builder.note(">", "malformed", problem.raw, **about)))
    assert [flaw.rule for flaw in flaws if flaw is not None] == [rule]


def test_a_connection_that_follows_its_channel_suffers_for_no_other(play) -> None:
    """LavinMQ closes the channel alone, and has lost its place in the octets."""
    other = f"d:1 > open \n d:1 < open-ok \n - octets d {OCTETS['FRAME-005'].hex()} \n d:0 < kicked 505 0 0 wrong \n"
    closed = f"{sent('FRAME-010')} 1 < closed 540 99 10 NOT_IMPLEMENTED \n"
    assert play(closed + other + "0 < kicked 501 0 0 FRAME_ERROR").broken == ["FRAME-010"]


@pytest.mark.parametrize(("before", "accused"), [("", True), ("1 > declare q no_wait \n", False)])
def test_an_answer_to_what_has_a_wrong_end_may_be_one_to_what_was_sent_before(play, before: str, accused: bool) -> None:
    declare = frame(1, 1, m.QueueDeclare(1, queue="q").encode()[7:-1], b"\xcd")
    book = play(f"@open 1 \n {before} - octets c {declare.hex()} \n 1 < declare-ok q 0 0 \n 0 < kicked 501 0 0 wrong")
    assert ("FRAME-001" in book.broken) is accused

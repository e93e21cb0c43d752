"""What TCP may do to a capture, and what a capture may do to TCP: the octets come out in order, or a gap is said first.

Both directions are checked against what was really said: everything handed on is contiguous, and nothing is handed on
before what it acknowledges. Captures are shuffled, doubled and thinned out by chance, with fixed seeds.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import pytest

from benchmarks.packets import FIN, MASK, SYN, Seg, Talk, moved
from reports.capture.tcp import HELD_SEGMENTS, PATIENCE, Flow

WRAP = (1 << 32) - 700


@dataclass
class Told:
    """Takes down what TCP hands on."""

    said: list[bytes] = field(default_factory=lambda: [b"", b""])
    log: list[tuple[str, int, object]] = field(default_factory=list)

    def octets(self, direction: int, data: bytes, packet: int, time_ns: int) -> None:
        self.said[direction] += data
        self.log.append(("octets", direction, data))

    def gap(self, direction: int, missing: int, packet: int, time_ns: int) -> None:
        self.said[direction] += b"?" * missing
        self.log.append(("gap", direction, missing))

    def over(self, direction: int, reset: bool, packet: int, time_ns: int) -> None:
        self.log.append(("over", direction, reset))

    @property
    def gaps(self) -> list[int]:
        return [direction for what, direction, _ in self.log if what == "gap"]


def dialogue(turns: int = 40, **how: object) -> list[Seg]:
    """Question and answer, each of several segments; every octet tells its place."""
    segments: list[Seg] = []
    talk = Talk(segments, mss=50, **how).open()  # type: ignore[arg-type]
    for turn in range(turns):
        talk.client(b"".join(b"q%04d," % n for n in range(turn * 20, turn * 20 + 20)))
        talk.broker(b"".join(b"a%04d," % n for n in range(turn * 30, turn * 30 + 30)))
    talk.close()
    return segments


def fed(segments: list[Seg]) -> Told:
    told = Told()
    flow = Flow(told)
    for packet, seg in enumerate(segments):
        side = 0 if seg.destination[1] == 5672 else 1
        assert flow.segment(side, seg.seq, seg.ack, seg.flags, seg.data, packet, packet)
    flow.finish(len(segments), len(segments))
    return told


def alternates(told: Told) -> bool:
    """Is no answer handed on before all of its question?"""
    seen = [0, 0]
    for what, direction, data in told.log:
        if what == "octets":
            assert isinstance(data, bytes)
            seen[direction] += len(data)
            asked, answered = seen[0] / 120, seen[1] / 180
            if answered > int(asked) or asked > int(answered) + 1:
                return False
    return True


@pytest.mark.parametrize("numbers", [(1, 1), (WRAP, WRAP), (MASK, MASK - 1)])
def test_what_was_said_comes_out(numbers: tuple[int, int]) -> None:
    told = fed(dialogue(numbers=numbers))
    assert told.said[0] == b"".join(b"q%04d," % n for n in range(800))
    assert told.said[1] == b"".join(b"a%04d," % n for n in range(1200))
    assert told.gaps == []
    assert told.log[-2:] == [("over", 0, False), ("over", 1, False)]


@pytest.mark.parametrize("seed", range(60))
def test_shuffled_doubled_and_recut_segments_come_out_as_they_were_said(seed: int) -> None:
    chance = random.Random(seed)
    plain = dialogue(numbers=(WRAP, WRAP - 2000))
    segments = list(plain)
    for _ in range(30):
        at = chance.randrange(4, len(segments) - 8)
        seg = segments[at]
        match chance.randrange(3):
            case 0:
                other = at + chance.randint(1, 5)
                segments[at], segments[other] = segments[other], seg
            case 1:
                segments.insert(at + chance.randint(1, 7), seg)
            case _ if len(seg.data) > 4:
                cut = chance.randint(2, len(seg.data) - 2)
                segments[at] = moved(seg, seq=(seg.seq + cut - 2) & MASK, data=seg.data[cut - 2 :])
                segments.insert(at + chance.randint(0, 1), moved(seg, data=seg.data[:cut]))
    told = fed(segments)
    assert told.said == fed(plain).said
    assert told.gaps == []
    assert alternates(told)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_lost_is_said_before_its_consequences(seed: int) -> None:
    chance = random.Random(seed)
    plain = dialogue()
    segments = list(plain)
    for _ in range(chance.randint(1, 6)):
        del segments[chance.randrange(4, len(segments) - 4)]
    told, whole = fed(segments), fed(plain)
    assert told.gaps
    for side in (0, 1):
        assert len(told.said[side]) == len(whole.said[side])
        assert all(a in (b, ord("?")) for a, b in zip(told.said[side], whole.said[side], strict=True))
    seen = [0, 0]
    for what, direction, data in told.log:
        if what != "over":
            seen[direction] += len(data) if isinstance(data, bytes) else int(data)  # type: ignore[call-overload]
            assert seen[1] // 180 <= seen[0] / 120
            assert seen[0] // 120 <= seen[1] / 180 + 1


def steps(segments: list[Seg]) -> list[int]:
    """How many gaps were told after each segment."""
    told, counts = Told(), []
    flow = Flow(told)
    for packet, seg in enumerate(segments):
        flow.segment(0 if seg.destination[1] == 5672 else 1, seg.seq, seg.ack, seg.flags, seg.data, packet, 0)
        counts.append(len(told.gaps))
    return counts


def test_an_acknowledged_hole_is_given_up_soon() -> None:
    talk = Talk(segments := [], mss=50).open().client(b"never captured")
    del segments[-1]
    for _ in range(PATIENCE + 8):
        talk.broker(b"y")
    assert steps(segments).index(1) == 3 + PATIENCE


def test_a_hole_that_nobody_acknowledged_may_still_be_filled() -> None:
    talk = Talk(segments := [], mss=50).open().client(b"late")
    late = segments.pop()
    for _ in range(HELD_SEGMENTS):
        talk.client(b"y")
    assert steps([*segments, late])[-1] == 0
    assert steps([*segments, segments[-1], late])[-1] == 1


def test_a_segment_that_was_sent_again_later_does_not_block() -> None:
    """The capture lost the question, and saw it again only after the answer: it then acknowledges its own answer."""
    talk = Talk(segments := [], mss=50).open()
    talk.client(b"question").broker(b"answer").client(b"thanks")
    question, answered, thanks = segments[-3:]
    again = moved(question, ack=thanks.ack)
    told = fed([*segments[:-3], answered, again, thanks])
    assert told.said == [b"questionthanks", b"answer"]
    assert told.gaps == []
    assert [data for what, _, data in told.log if what == "octets"] == [b"question", b"answer", b"thanks"]


def test_a_reset_hands_on_what_waits_and_ends() -> None:
    talk = Talk(segments := [], mss=50).open()
    talk.client(b"one").client(b"two").client(b"three").reset()
    told = fed([*segments[:-3], segments[-2], segments[-1], segments[-2]])
    assert told.said[0] == b"one???three"
    assert told.log[-1] == ("over", 1, True)


def test_a_capture_may_begin_anywhere() -> None:
    whole = dialogue()
    for begin in range(3, len(whole) - 3, 7):
        told = fed(whole[begin:])
        assert told.gaps == []
        for side in (0, 1):
            assert fed(whole).said[side].endswith(told.said[side])


@pytest.mark.parametrize(
    ("changes", "follows"),
    [
        ({"flags": SYN, "seq": 1000}, True),
        ({"flags": SYN, "seq": 77}, False),
        ({"seq": (1000 - (1 << 25)) & MASK}, False),
        ({"seq": 1000}, True),
    ],
)
def test_segments_of_another_connection_are_told_apart(changes: dict[str, int], follows: bool) -> None:
    talk = Talk(segments := [], numbers=(1000, 1000)).open().client(b"something")
    flow = Flow(Told())
    for seg in segments:
        flow.segment(0 if seg.destination[1] == 5672 else 1, seg.seq, seg.ack, seg.flags, seg.data, 0, 0)
    seg = moved(segments[-1], **changes)
    assert talk.next[0] == 1010
    assert flow.segment(0, seg.seq, seg.ack, seg.flags, seg.data, 1, 1) is follows


def test_a_fin_counts_as_an_octet() -> None:
    segments = dialogue(1)
    fins = [seg for seg in segments if seg.flags & FIN]
    assert len(fins) == 2
    told = fed([*segments[:-3], segments[-2], segments[-3], segments[-1]])
    assert told.gaps == []
    assert {entry for entry in told.log if entry[0] == "over"} == {("over", 0, False), ("over", 1, False)}

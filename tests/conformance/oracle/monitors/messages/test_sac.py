"""SAC: sound and broken histories of queues that serve one consumer at a time."""

from __future__ import annotations

import pytest

from tests.support.tables import Play, test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

QUEUE = "@queue q classic x-single-active-consumer=true \n"
TWO = QUEUE + "@consume 1 q a \n @consume 2 q b \n"
OUTRANKED = QUEUE + "@consume 1 q a \n @open 2 \n 2 > consume q b x-priority=5 \n 2 < consume-ok b \n"
LIMITED = QUEUE + "@open 1 \n 1 > qos 2 \n 1 < qos-ok \n 1 > consume q a \n 1 < consume-ok a \n @consume 2 q b \n"
GOT = "@queue p \n @stock p n1 n2 \n @hold 1 p n1 \n @hold 1 p n2 \n"
COUNTED = GOT + QUEUE + "1 > qos 2 \n 1 < qos-ok \n @consume 1 q a \n @consume 2 q b \n"
ONE = QUEUE + "@consume 1 q a \n"
FOUND_EMPTY = "@barrier 1 \n 90 > get q \n 90 < get-empty \n"
DRAINED = FOUND_EMPTY + "- deadline drain q"
TO_A, TO_B = "1 < deliver a {} {} q \n", "2 < deliver b {} {} q \n"
FIRST = "@stock q m1 \n" + TO_A.format(1, "m1")
SECOND = "@stock q m2 \n"
QUORUM_TWO = TWO.replace("classic", "quorum durable")
ASKED = "2 > qos 0 \n 2 < qos-ok \n"
CANCELLED = "1 > cancel a \n 1 < cancel-ok a \n"
CLOSED = "1 > close \n 1 < close-ok \n"
HELD = "@stock q m1 m2 m3 \n" + TO_A.format(1, "m1") + TO_A.format(2, "m2")
NEXT = "2 < deliver b {} {} q redelivered \n"
EXCLUSIVE = "@open 1 \n 1 > consume q a exclusive \n"
SOUND = {
    "SAC-001": TWO + FIRST + SECOND + TO_A.format(2, "m2"),
    "SAC-002": TWO + FIRST + CANCELLED + SECOND + TO_B.format(1, "m2"),
    "SAC-003": TWO + FIRST + CLOSED + NEXT.format(1, "m1"),
    "SAC-004": QUEUE + EXCLUSIVE + "1 < closed 403 60 20 no \n 1 > closed-ok",
    "SAC-005": LIMITED + HELD + "1 > ack 1 \n" + TO_A.format(3, "m3"),
    "SAC-006": LIMITED + HELD + CLOSED + NEXT.format(1, "m1") + NEXT.format(2, "m2") + TO_B.format(3, "m3"),
}
BROKEN = [
    ("SAC-001", TWO + FIRST + SECOND + TO_B.format(1, "m2")),
    ("SAC-001", TWO + "@stock q m1 \n - deadline replies"),
    ("SAC-001", OUTRANKED + "@stock q m1 \n - deadline replies"),
    ("SAC-002", TWO + FIRST + CANCELLED + SECOND + "- deadline replies"),
    ("SAC-002", QUORUM_TWO + FIRST + "1 > ack 1 \n" + CLOSED + SECOND + ASKED + "- deadline replies"),
    ("SAC-002", TWO + "@consume 3 q c \n" + FIRST + CANCELLED + SECOND + "- deadline replies"),
    ("SAC-002", ONE + FIRST + CANCELLED + SECOND + DRAINED),
    ("RQ-011", ONE + FIRST + CANCELLED + SECOND + "1 > get q \n 1 < get-ok 2 m2 q \n @stock q m3 \n" + DRAINED),
    ("SAC-003", TWO + FIRST + CLOSED + "- deadline replies"),
    ("SAC-004", QUEUE + EXCLUSIVE + "1 < consume-ok a"),
    ("SAC-004", TWO + EXCLUSIVE.replace("1 ", "3 ") + "3 < consume-ok a"),
    ("SAC-005", LIMITED + HELD + TO_B.format(1, "m3")),
    ("SAC-006", LIMITED + HELD + CLOSED + TO_B.format(1, "m3") + NEXT.format(2, "m1")),
]
LAWFUL = {
    "of a quorum queue, where the end of the former is not answered": (
        QUORUM_TWO + FIRST + "1 > ack 1 \n 1 > close \n" + SECOND + ASKED + "- deadline replies"
    ),
    "of a quorum queue, where nobody knows that the other one is there": (
        QUORUM_TWO + FIRST + "1 > ack 1 \n" + CLOSED + SECOND + "- deadline replies"
    ),
    "a refusal with another code: none is named": QUEUE + EXCLUSIVE + "1 < closed 406 60 20 no",
    "one of them is full": LIMITED + HELD + "- deadline replies",
    "one of them has not started yet": TWO
    + "@open 3 \n 3 > consume q c \n @stock q m1 \n 3 < consume-ok c \n"
    + TO_A.format(1, "m1"),
    "a quorum queue in which another one takes over": OUTRANKED.replace("classic", "quorum")
    + "@stock q m1 \n - deadline replies",
    "the former is about to leave": TWO + FIRST + "1 > cancel a \n" + SECOND + TO_B.format(1, "m2"),
    "the former has been cancelled": TWO + FIRST + CANCELLED + SECOND + TO_B.format(1, "m2"),
    "the first is served late": TWO + "@stock q m1 m2 \n" + TO_B.format(1, "m1") + TO_B.format(2, "m2"),
    "a former that was cancelled leaves later": (
        LIMITED + HELD + CANCELLED + TO_B.format(1, "m3") + CLOSED + NEXT.format(2, "m1") + NEXT.format(3, "m2")
    ),
    "a get is no consumer": LIMITED + HELD + "@open 3 \n 3 > get q \n 3 < get-ok 1 m3 q",
    "a quorum queue with a priority": (
        QUEUE.replace("classic", "quorum")
        + "@consume 1 q a \n @open 2 \n 2 > consume q b x-priority=5 \n 2 < consume-ok b \n"
        + FIRST
        + SECOND
        + "2 < deliver b 1 m2 q"
    ),
    "an exclusive consumer of a quorum queue": QUEUE.replace("classic", "quorum") + EXCLUSIVE + "1 < consume-ok a",
    "nobody waits": TWO + FIRST + CANCELLED + "2 > cancel b \n 2 < cancel-ok b \n" + SECOND + "- deadline replies",
}


def test_who_counts_gets_is_not_accused_of_serving_nobody(play) -> None:
    """The gets of the channel may have used up the limit of the consumer that is to be served."""
    assert play(COUNTED + "@stock q m1 \n - deadline replies").rest().broken == ["QOS-015"]


def test_who_wakes_nobody_at_the_end_of_a_channel_has_no_trouble_with_turns(play) -> None:
    """SAC-003: what the end returns waits for all consumers alike (AUTO-012). A cancel returns nothing."""
    rest = "- deadline replies \n 2 > cancel b \n 2 < cancel-ok b \n @drain q {}"
    cases = {"m1": TWO + FIRST + CLOSED, "m2": TWO + FIRST + CANCELLED + SECOND}
    found = [play(text + rest.format(message)).judge.judgement.findings for message, text in cases.items()]
    assert [[(one.rule, one.unless) for one in each if one.certain] for each in found] == [
        [("SAC-003", ("AUTO-012",))],
        [("SAC-002", ())],
    ]


@pytest.mark.parametrize(("known", "unless"), [("", ("ACK-019", "ERR-012")), ("@barrier 1 \n", ())])
def test_who_fails_at_a_settlement_has_ended_whoever_was_served(
    play: Play, known: str, unless: tuple[str, ...]
) -> None:
    """SAC-001: until it is known what became of that."""
    history = TWO + FIRST + "1 > reject 1 requeue \n" + known + NEXT.format(1, "m1")
    found = play(history).judge.judgement.findings
    assert [(one.rule, one.unless) for one in found] == [("SAC-001", unless)]


BACK = {
    "m1 comes back, and m3 has not been out": (
        LIMITED + HELD + CLOSED + "- deadline replies \n 2 > cancel b \n 2 < cancel-ok b \n @drain q m1 m2 m3",
        [("SAC-002", ("AUTO-012",))],
    ),
    "its client gives it back": (
        TWO + FIRST + "1 > nack 1 requeue \n @barrier 1 \n - deadline replies \n 2 > cancel b \n 2 < cancel-ok b \n"
        "@drain q m1",
        [("SAC-001", ("RQ-007", "RQ-015"))],
    ),
}


@pytest.mark.parametrize("how", BACK)
def test_a_queue_that_is_not_woken_by_what_comes_back_serves_nobody(play: Play, how: str) -> None:
    """SAC-001, SAC-002: whichever message is missed first."""
    history, found = BACK[how]
    assert [(one.rule, one.unless) for one in play(history).judge.judgement.findings if one.certain] == found


def test_a_queue_that_serves_nobody_any_more_is_accused_of_nothing_else(play: Play) -> None:
    """SAC-002: what it had is missing, too, be it held by who was cancelled (AUTO), or published since (RQ-011)."""
    history = ONE + FIRST + CANCELLED + SECOND + "@close 1 \n - deadline drain q"
    assert play(history).broken == ["SAC-002"]
    assert "SAC-002" not in play(history.replace("x-single-active-consumer=true", "")).broken


def test_a_get_that_finds_nothing_in_it_follows_from_that(play: Play) -> None:
    """RQ-011: where another queue is empty as well, that is a fault of its own."""
    (found,) = (one for one in play(ONE + FIRST + CANCELLED + SECOND + FOUND_EMPTY).judge.judgement.findings)
    assert (found.rule, found.unless) == ("RQ-011", ("SAC-002",))
    plain = "@queue q \n @stock q m1 \n @open 1 \n" + FOUND_EMPTY
    assert [one.unless for one in play(plain).judge.judgement.findings] == [()]

"""CPRIO: sound and broken histories of consumers that are served before others."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

QUEUE = "@queue q classic \n"


def consumer(channel: int, rank: int | str | None, limit: int = 0) -> str:
    """One on a channel of its own; its tag is c and the number of the channel."""
    limited = f"{channel} > qos {limit} \n {channel} < qos-ok \n" if limit else ""
    asks = "" if rank is None else f"x-priority={rank}"
    return (
        f"@open {channel} \n {limited}{channel} > consume q c{channel} {asks} \n {channel} < consume-ok c{channel} \n"
    )


def to(channel: int, tag: int, message: str) -> str:
    """A delivery."""
    return f"{channel} < deliver c{channel} {tag} {message} q \n"


HIGH, LOW = consumer(1, 5), consumer(2, None)
BOTH = QUEUE + HIGH + LOW
FULL = QUEUE + consumer(1, 5, limit=1) + LOW
EQUAL = QUEUE + HIGH + consumer(2, 5)
TWO = "@stock q m1 m2 \n"
MANY = [f"m{number}" for number in range(1, 11)]
ALL = "@stock q " + " ".join(MANY) + "\n"
SHARED = "".join(to(1 + at % 2, 1 + at // 2, one) for at, one in enumerate(MANY))
ALONE = "".join(to(1, at, one) for at, one in enumerate(MANY, 1))
BOTH_FULL = QUEUE + consumer(1, 5, limit=2) + LOW
REFILLED = BOTH_FULL + TWO + to(1, 1, "m1") + to(1, 2, "m2") + "1 > ack 2 multiple \n@barrier 1 \n@stock q m3 \n"
REFILLED += to(1, 3, "m3")
"""The higher one was full, has settled, and has got one more since."""
TEXT = "@open 1 \n 1 > consume q c1 x-priority=high \n"
DYING = "@queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q \n @stock d m1 \n @hold 3 d m1 \n"
DYING += "3 > reject 1 \n @barrier 3 \n"
SOUND = {
    "CPRIO-001": BOTH + TWO + to(1, 1, "m1") + to(1, 2, "m2"),
    "CPRIO-002": FULL + TWO + to(1, 1, "m1") + to(2, 1, "m2"),
    "CPRIO-003": EQUAL + ALL + SHARED,
    "CPRIO-004": QUEUE + TEXT + "1 < closed 406 60 20 no \n 1 > closed-ok",
}
BROKEN = [
    ("CPRIO-001", BOTH + "@stock q m1 \n" + to(2, 1, "m1") + "@barrier 1"),
    ("CPRIO-001", QUEUE + consumer(1, None) + consumer(2, -5) + "@stock q m1 \n" + to(2, 1, "m1") + "@barrier 1"),
    ("CPRIO-001", QUEUE + consumer(1, 5, limit=2) + LOW + TWO + to(2, 1, "m1") + to(1, 1, "m2") + "@barrier 1"),
    ("CPRIO-001", BOTH + DYING + to(2, 1, "m1") + "@barrier 1"),
    ("CPRIO-001", REFILLED + "@stock q m4 \n" + to(2, 1, "m4") + "@barrier 1"),
    ("CPRIO-002", FULL + TWO + to(1, 1, "m1") + "- deadline replies"),
    ("CPRIO-003", EQUAL + ALL + ALONE + "@barrier 2"),
    ("CPRIO-003", QUEUE + consumer(3, -1) + consumer(1, 0) + LOW + ALL + ALONE + "@barrier 2"),
    ("CPRIO-004", QUEUE + TEXT + "1 < consume-ok c1"),
]
LAWFUL = {
    "where nobody says a priority, no rule of priorities speaks": QUEUE
    + consumer(1, None)
    + LOW
    + ALL
    + ALONE
    + "@barrier 2",
    "a refusal with another code: none is named": QUEUE + TEXT + "0 < kicked 502 60 20 no",
    "the higher one may be full by what is on its way": FULL + TWO + to(2, 1, "m2") + to(1, 1, "m1") + "@barrier 1",
    "an answer to what was asked before": BOTH + "@stock q m1 \n 1 > flow \n" + to(2, 1, "m1") + "1 < flow-ok",
    "the higher one comes later": QUEUE + LOW + "@stock q m1 \n" + HIGH + to(2, 1, "m1") + "@barrier 1",
    "the higher one is cancelled": BOTH + "1 > cancel c1 \n @stock q m1 \n" + to(2, 1, "m1") + "1 < cancel-ok c1",
    "the higher one was full for a while": (
        FULL + TWO + to(1, 1, "m1") + "1 > ack 1 \n" + to(2, 1, "m2") + "@barrier 1"
    ),
    "it may not be known yet that it has room": (
        REFILLED.replace("@stock q m3 \n" + to(1, 3, "m3"), "") + "@stock q m4 \n" + to(2, 1, "m4") + "@barrier 1"
    ),
    "it was full again by what was on its way": REFILLED
    + "@stock q m4 m5 \n"
    + to(2, 1, "m5")
    + to(1, 4, "m4")
    + "@barrier 1",
    "it has settled once more meanwhile": REFILLED
    + "@stock q m4 m5 \n"
    + to(1, 4, "m4")
    + "1 > ack 3 \n"
    + to(2, 1, "m5")
    + "@barrier 1",
    "a queue that serves one at a time": (
        QUEUE.replace("classic", "classic x-single-active-consumer=true")
        + LOW
        + HIGH
        + "@stock q m1 \n"
        + to(2, 1, "m1")
        + "@barrier 1"
    ),
    "a quorum queue": BOTH.replace("classic", "quorum") + "@stock q m1 \n" + to(2, 1, "m1") + "@barrier 1",
    "equals without a priority": QUEUE + consumer(1, None) + LOW + ALL + ALONE + "@barrier 2",
}


def test_a_slot_that_is_lost_is_another_matter(play) -> None:
    """QOS-012: who never gives back a slot takes the higher one for full."""
    said = play(REFILLED + "@stock q m4 \n" + to(2, 1, "m4") + "@barrier 1").judge.judgement.findings
    assert [(one.rule, "QOS-012" in one.unless or "QOS-013" in one.unless) for one in said] == [("CPRIO-001", True)]
    assert all(not one.unless for one in play(BROKEN[0][1]).judge.judgement.findings)


def test_dead_letters_that_go_where_they_may(play) -> None:
    """To the higher one; or to one that was alone when they died."""
    for history in (BOTH + DYING + to(1, 1, "m1"), QUEUE + LOW + DYING + HIGH + to(2, 1, "m1")):
        assert "CPRIO-001" not in play(history + "@barrier 1").broken

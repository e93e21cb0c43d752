"""CHAN: sound and broken histories, and closes that cross what the client sends."""

from __future__ import annotations

from tests.support.tables import test_broken, test_lawful, test_sound

__all__ = ["test_broken", "test_lawful", "test_sound"]

FEW = "0 > tune-ok channels=2 \n"
NO_WISH = "0 < tune channels=9 \n 0 > tune-ok channels=0 \n"
TWO = FEW + "@open 2 \n @open 1 \n"
THIRD = TWO + "3 > open \n"
OVER = TWO + "@close 1 \n @close 2 \n 1 > open \n"
AGAIN = "@open 1 \n 1 > open \n"
SECOND = "0 < kicked 504 20 10 CHANNEL_ERROR \n"
BESIDE = "@queue q \n @consume 2 q c1 \n @confirming 3 \n @open 1 \n @barrier 2 \n @close 1 \n"
SERVED = "3 > publish q m1 \n 3 < ack 1 \n 2 < deliver c1 1 m1 q \n"
HASTY = "@open 1 \n 1 > close \n 1 > open \n 1 > flow \n 1 < close-ok \n 1 < open-ok \n"
ASKED = "2 > flow \n 2 > declare q passive \n"
RENEWED = "@queue q \n @open 1 \n 1 > declare q passive \n 1 < declare-ok q \n @close 1 \n @open 1 \n"
IN_TX = "@open 1 \n 1 > select \n 1 < select-ok \n @close 1 \n @open 1 \n"
CONFIRMS = "1 > confirm \n 1 < confirm-ok \n @close 1 \n @open 1 \n"
TO_TX = "1 > select \n 1 < select-ok \n @close 1 \n @open 1 \n"
COMMIT = "1 > commit \n"
LOCKED = "PRECONDITION_FAILED"
SOUND = {
    "CHAN-001": AGAIN + SECOND,
    "CHAN-002": TWO,
    "CHAN-003": OVER + "1 < open-ok",
    "CHAN-004": THIRD + "0 < kicked 530 0 0 NOT_ALLOWED",
    "CHAN-005": BESIDE + "@barrier 2 \n" + SERVED,
    "CHAN-006": "@open 1 \n 1 > flow pause \n 1 < flow-ok paused \n @barrier 1",
    "CHAN-007": RENEWED + "1 > get \n 1 < closed 404 60 70 NOT_FOUND",
    "CHAN-008": IN_TX + CONFIRMS + TO_TX + COMMIT + f"1 < closed 406 90 20 {LOCKED}",
    "CHAN-009": "@open 1 \n 0 > open \n 0 < kicked 504 20 10 CHANNEL_ERROR",
}
BROKEN = [
    ("CHAN-001", AGAIN + "1 < open-ok \n - deadline replies"),
    ("CHAN-001", AGAIN + "1 < closed 504 20 10 CHANNEL_ERROR"),
    ("CHAN-001", AGAIN + "0 < kicked 503 20 10 COMMAND_INVALID"),
    ("CHAN-002", FEW + "2 > open \n 0 < kicked 504 20 10 CHANNEL_ERROR"),
    ("CHAN-002", FEW + "2 > open \n 2 < closed 504 20 10 CHANNEL_ERROR"),
    ("CHAN-002", NO_WISH + "1 > open \n 0 < kicked 530 0 0 NOT_ALLOWED"),
    ("CHAN-003", OVER + "0 < kicked 530 0 0 number of channels"),
    ("CHAN-004", THIRD + "3 < open-ok \n - deadline replies"),
    ("CHAN-004", THIRD + "0 < kicked 541 0 0 INTERNAL_ERROR"),
    ("CHAN-005", BESIDE + ASKED + "0 < kicked 504 20 20 CHANNEL_ERROR"),
    ("CHAN-005", BESIDE + "2 < closed 504 20 40 CHANNEL_ERROR"),
    ("CHAN-005", BESIDE + ASKED + "- deadline replies"),
    ("CHAN-006", "@open 1 \n 1 > flow \n 1 < flow-ok paused"),
    ("CHAN-006", "@open 1 \n 1 > flow pause \n 1 < flow-ok"),
    ("CHAN-007", RENEWED + "1 > get \n 1 < get-empty \n - deadline replies"),
    ("CHAN-007", RENEWED + "1 > purge \n 1 < purge-ok"),
    ("CHAN-008", IN_TX + COMMIT + "1 < commit-ok"),
    ("CHAN-008", IN_TX + f"1 > confirm \n 1 < closed 406 85 10 {LOCKED}"),
    ("CHAN-009", "@open 1 \n 0 > open \n 0 < open-ok \n - deadline replies"),
    ("CHAN-009", "@open 1 \n 0 > open \n - deadline replies"),
]
LAWFUL = {
    "without a number there may be no limit": NO_WISH.replace("9", "1") + "@open 1 \n @open 2",
    "without a number the limit is what was offered": NO_WISH.replace("9", "1")
    + "@open 1 \n 2 > open \n 0 < kicked 530 0 0 NOT_ALLOWED",
    "there is no room for another channel": FEW + "2 > open \n 0 < kicked 506 20 10 RESOURCE_ERROR",
    "or that costs nothing else": FEW + "2 > open \n 2 < closed 506 20 10 RESOURCE_ERROR",
    "one channel too many takes too much": THIRD + "0 < kicked 506 0 0 RESOURCE_ERROR",
    "a get of no queue costs the connection": RENEWED + "1 > get \n 0 < kicked 530 60 70 NOT_ALLOWED",
    "the broker closes the channel before it reads the second open": "@queue q \n @consume 1 q c1 \n 1 > open \n"
    "1 < closed 406 0 0 PRECONDITION_FAILED",
    "a user may have no more channels": FEW + "2 > open \n 0 < kicked 530 0 0 limit of user guest",
    "a number that is opened again before close-ok is none beside it": HASTY + "0 < kicked 504 20 20 CHANNEL_ERROR",
    "nor when the broker closes it": HASTY + "1 < closed 504 20 40 CHANNEL_ERROR",
    "a closed channel makes room": TWO + "1 > close \n 3 > open \n 1 < close-ok \n 3 < open-ok",
    "a channel that fails may still count": TWO + "1 > ack 9 \n 1 < closed 406 60 80 unknown delivery tag 9 \n"
    "3 > open \n 0 < kicked 530 0 0 NOT_ALLOWED",
    "a number above what was agreed": FEW + "7 > open \n 7 < open-ok",
    "the broker does not pause": "@open 1 \n 1 > flow pause \n 0 < kicked 540 20 20 NOT_IMPLEMENTED",
    "another channel has declared it": "@queue q \n @open 1 \n @close 1 \n @open 1 \n 1 > get \n"
    "1 < closed 404 60 70 NOT_FOUND",
    "no channel was closed": "@queue q \n @open 2 \n" + ASKED + "2 < flow-ok \n 2 < declare-ok q",
}


def test_silence_on_channel_0_is_told_from_an_answer(play) -> None:
    """CHAN-009: what is listed of one broker is what it says, and not that it says nothing."""
    opened = "@open 1 \n 0 > open \n "
    (answered,) = play(opened + "0 < open-ok \n - deadline replies").judge.judgement.findings
    (silent,) = play(opened + "- deadline replies").judge.judgement.findings
    assert answered.observed == "channel.open-ok, and no connection.close"
    assert silent.observed == "no connection.close comes"


def test_who_commits_without_a_transaction_does_so_on_any_channel(play) -> None:
    """TX-004 and CHAN-008 explain each other where the channel before had a transaction; TX-004 stands elsewhere."""
    book = play(IN_TX + COMMIT + "1 < commit-ok \n @open 2 \n 2 > commit \n 2 < commit-ok")
    found = [(one.rule, one.unless) for one in book.judge.judgement.findings]
    assert found == [("TX-004", ("CHAN-008",)), ("CHAN-008", ("TX-004",)), ("TX-004", ())]

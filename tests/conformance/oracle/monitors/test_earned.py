"""A rule is held by what a wrong broker would have failed, and by nothing else.

In each of these histories everything is right, and a broker that breaks the rule, in the way that is said, would have
shown the very same. So the rule is not exercised. What exercises it is in the tables of its family.
"""

from __future__ import annotations

import pytest

from tests.support.tables import Play

FOUR = "@queue q \n @stock q m1 m2 m3 m4 \n @hold 1 q m1 m2 m3 m4 \n"
TWO = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 m2 \n"
CONSUMED = "@queue q \n @stock q m1 m2 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n"
AUTOMATIC = "@queue q \n @stock q m1 \n 1 > consume q c1 no_ack \n 1 < consume-ok c1 \n 1 < deliver c1 1 m1 q \n"
SELECTED = "@queue q \n @stock q m1 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n 1 > ack 1 \n"
BEYOND = "PRECONDITION_FAILED - unknown delivery tag"
UNEARNED = [
    (
        "RQ-004",
        "puts returned messages at the tail, where nothing was ready",
        FOUR + "1 > nack 2 requeue \n @stock q m5 \n @hold 1 q m2",
    ),
    ("RQ-001", "puts them at the tail", FOUR + "1 > nack 2 requeue \n 1 > nack 3 requeue \n @hold 1 q m2 m3"),
    (
        "RQ-001",
        "puts them at the head",
        "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 \n 1 > nack 2 requeue \n @hold 1 q m2 m3",
    ),
    (
        "RQ-003",
        "sorts what was returned",
        "@queue q quorum \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 \n 1 > nack 1 requeue \n 1 > nack 2 requeue \n"
        "@hold 1 q m1 m2 m3",
    ),
    (
        "RQ-014",
        "leaves out what came by get",
        CONSUMED + "1 > recover requeue \n 1 < recover-ok \n 1 < deliver c1 3 m1 q redelivered \n"
        f"1 > ack 1 \n 1 < closed 406 60 80 {BEYOND} 1",
    ),
    (
        "QUEUE-016",
        "takes a negative limit, where it has room",
        "@open 1 \n 1 > declare q x-max-length=-1 \n 1 < closed 403 50 10 ACCESS_REFUSED",
    ),
    ("TAG-004", "skips a number after automatic deliveries", TWO),
    (
        "TAG-008",
        "goes on knowing the old tag",
        "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > nack 1 requeue \n@hold 1 q m1 \n @close 1 \n @drain q m1",
    ),
    ("MODE-002", "returns automatic deliveries with the channel", "@open 1 \n" + AUTOMATIC + "@drain q"),
    ("MODE-004", "forgets with its channel what was acked", TWO + "1 > ack 1 \n 1 > ack 2 \n @barrier 1 \n @drain q"),
    (
        "MODE-005",
        "returns whatever is rejected",
        TWO + "1 > nack 1 \n 1 > nack 2 \n @barrier 1 \n @close 1 \n @drain q",
    ),
    (
        "ACK-003",
        "leaves out what came by get",
        "@queue q \n @queue r \n @stock q m1 \n @stock r m2 \n"
        "@consume 1 q c1 \n"
        "1 < deliver c1 1 m1 q \n @consume 1 r c2 \n 1 < deliver c2 2 m2 r \n 1 > ack 2 multiple \n @barrier 1 \n"
        "@close 1 \n @drain q \n @drain r",
    ),
    (
        "ACK-004",
        "settles on other channels, which return all the same",
        TWO
        + "@stock q m3 \n @hold 2 q m3 \n 2 > nack 0 multiple requeue \n @barrier 2 \n @close 1 \n @drain q m1 m2 m3",
    ),
    ("ACK-005", "settles nothing where there is a gap", FOUR + "1 > ack 2 \n 1 > ack 3 multiple \n @barrier 1"),
    ("ACK-006", "settles nothing by tag 0", FOUR + "1 > ack 0 multiple \n @barrier 1"),
    ("ACK-011", "returns the named delivery alone", FOUR + "1 > nack 1 multiple requeue \n @hold 1 q m1"),
    (
        "ACK-011",
        "returns nothing, and the channel does",
        FOUR + "1 > nack 4 multiple requeue \n @close 1 \n@drain q m1 m2 m3 m4",
    ),
    (
        "ACK-012",
        "never returns what is rejected",
        TWO + "1 > nack 1 requeue \n @hold 1 q m1 \n 1 > reject 2 \n1 > nack 3 \n @close 1 \n @drain q",
    ),
    ("ACK-015", "answers an ack", TWO + "1 > reject 1 \n 1 > nack 2 \n @barrier 1"),
    (
        "ACK-019",
        "settles all below it, and returns them",
        FOUR + "1 > reject 4 requeue \n @close 1 \n@drain q m1 m2 m3 m4",
    ),
    ("ERR-007", "keeps the limit of a reopened channel", "@open 1 \n 1 > qos 1 \n 1 < qos-ok \n @close 1 \n @open 1"),
    (
        "AUTO-006",
        "makes at once final what is to be committed",
        SELECTED + "1 > commit \n 1 < commit-ok \n @close 1 \n @drain q",
    ),
    (
        "AUTO-007",
        "returns what consumers got",
        "@queue q \n @stock q m1 \n @open 1 \n 1 > get q no_ack \n 1 < get-ok 1 m1 q \n @close 1 \n @drain q",
    ),
    (
        "AUTO-008",
        "returns with a cancel what was delivered",
        CONSUMED + "1 > cancel c1 \n 1 < cancel-ok c1 \n @close 1 \n @drain q m1 m2",
    ),
    (
        "AUTO-011",
        "returns nothing with a channel, all with a connection",
        CONSUMED + "0 > bye \n 0 < bye-ok \n o:0 < start \n o:1 > open \n o:1 < open-ok \n o:1 > get q \n"
        "o:1 < get-ok 1 m1 q redelivered",
    ),
    (
        "CAN-009",
        "answers a cancel and does nothing, until the channel has ended",
        "@queue q \n @consume 1 q c1 \n 1 > cancel c1 \n 1 < cancel-ok c1 \n @close 1 \n @stock q m1 \n @hold 2 q m1",
    ),
    ("CNF-004", "confirms everything twice", "@queue q \n @confirming 1 \n 1 > publish q m1 \n 1 < ack 1"),
    (
        "CNF-023",
        "confirms on all channels of the connection",
        "@queue q \n @confirming 1 \n @confirming 2 \n1 > publish q m1 \n 2 > publish q m2 \n 1 < ack 1 \n 2 < ack 1",
    ),
    (
        "QOS-010",
        "frees a slot by the oldest delivery alone",
        "@queue q \n @stock q m1 m2 m3 \n @open 1 \n 1 > qos 1 \n"
        "1 < qos-ok \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 > ack 1 \n 1 < deliver c1 2 m2 q \n @barrier 1",
    ),
    (
        "QOS-024",
        "leaves unanswered what changes nothing",
        "@open 1 \n 1 > qos 1 \n 1 < qos-ok \n 1 > qos 2 \n1 < qos-ok",
    ),
]


@pytest.mark.parametrize(("rule", "wrong", "history"), UNEARNED, ids=[f"{one[0]} {one[1]}" for one in UNEARNED])
def test_what_a_wrong_broker_does_as_well_holds_no_rule(play: Play, rule: str, wrong: str, history: str) -> None:
    book = play(history)
    assert book.broken == [], wrong
    assert book.exercised[rule] == 0, wrong

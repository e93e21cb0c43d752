"""MODE: one sound and one broken history per rule, and the causes of a message seen twice told apart."""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.messages.test_dlx import ONCE, dead
from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

HELD = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 m2 m3 \n"
AUTO = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > get q no_ack \n 1 < get-ok 1 m1 q \n"
BURIED = (
    "@queue d \n @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d \n"
    + HELD.partition("\n ")[2]
    + "{} \n @barrier 1 \n"
)


def unearthed(*messages: str) -> str:
    """These come out of the queue of dead letters, each with its record; then no more."""
    found = (f"7 > get d no_ack \n 7 < get-ok {at} {one} d {dead(ONCE)} \n" for at, one in enumerate(messages, 1))
    return "@open 7 \n" + "".join(found) + "7 > get d no_ack \n 7 < get-empty \n"


RISKS = {
    "an exclusive consumer": "1 > consume q c2 exclusive \n {} 1 < closed 403 60 20 ACCESS_REFUSED",
    "a deletion that is refused": "1 > delete q if_unused \n {} 1 < closed 406 50 40 PRECONDITION_FAILED",
    "a publish to an unknown exchange": "1 > publish key m9 exchange=x \n {} 1 < closed 404 60 40 NOT_FOUND",
    "a binding to it": "1 > bind q x key \n {} 1 < closed 404 50 20 NOT_FOUND",
}
"""What may cost a channel, and nobody knows it before."""


SOUND = {
    "MODE-001": HELD + "@open 2 \n 2 > get q \n 2 < get-empty",
    "MODE-002": AUTO + "1 > consume q c1 no_ack \n 1 < consume-ok c1 \n 1 < deliver c1 2 m2 q \n @close 1 \n @drain q",
    "MODE-003": AUTO + "1 > get q \n 1 < get-ok 2 m2 q \n 1 > ack 2 \n @barrier 1 \n @close 1 \n @drain q",
    "MODE-004": HELD + "1 > ack 2 \n @barrier 1 \n @close 1 \n @drain q m1 m3",
    "MODE-005": HELD + "1 > reject 1 \n 1 > nack 2 \n @barrier 1 \n @close 1 \n @drain q m3",
    "MODE-006": AUTO + "1 > ack 1 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1",
    "MODE-007": HELD + "1 > get q \n 1 < get-empty",
    "MODE-008": HELD + "@stock q m4 m5 \n 1 > declare q passive \n 1 < declare-ok q says=2 \n 1 > purge q \n"
    "1 < purge-ok says=2 \n 1 > declare q passive \n 1 < declare-ok q says=0",
    "MODE-009": BURIED.format("1 > nack 2 multiple \n 1 > reject 3") + unearthed("m1", "m2", "m3"),
}
BROKEN = {
    "MODE-001": HELD + "@open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered",
    "MODE-002": AUTO + "@close 1 \n @drain q m1 m2",
    "MODE-003": AUTO + "1 > get q \n 1 < get-ok 2 m2 q \n 1 > ack 2 \n"
    "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 2",
    "MODE-004": HELD + "1 > ack 2 \n @barrier 1 \n @close 1 \n @drain q m1 m2",
    "MODE-005": HELD + "1 > reject 2 \n @barrier 1 \n @close 1 \n @drain q m1 m2",
    "MODE-006": AUTO + "1 > ack 1 \n - deadline replies",
    "MODE-007": "@queue q \n @stock q m1 \n @open 1 \n 1 > get q \n 1 < get-ok 1 m1 q says=1 \n"
    "1 > get q \n 1 < get-empty",
    "MODE-008": "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > declare q passive \n 1 < declare-ok q says=2 \n"
    "1 > purge q \n 1 < purge-ok says=0",
    "MODE-009": BURIED.format("1 > nack 2 multiple \n 1 > reject 3") + unearthed("m2", "m1", "m3"),
}


@pytest.mark.parametrize(
    ("settle", "rule"),
    [
        ("1 > ack 3 multiple", "ACK-002"),
        ("1 > ack 0 multiple", "ACK-006"),
        ("1 > nack 3 multiple", "ACK-011"),
        ("1 > reject 1", "ACK-012"),
    ],
)
def test_what_was_settled_names_the_rule_when_it_comes_back(play, settle: str, rule: str) -> None:
    book = play(HELD + settle + "\n @barrier 1 \n @close 1 \n @drain q m1")
    assert rule in book.broken


def test_a_multiple_that_stops_at_a_gap(play) -> None:
    book = play(HELD + "1 > ack 2 \n 1 > ack 3 multiple \n @barrier 1 \n @close 1 \n @drain q m1")
    assert book.broken == ["ACK-002", "ACK-005"]


def test_a_multiple_that_forgets_other_queues(play) -> None:
    book = play("""
        @queue q
        @queue r
        @stock q m1
        @stock r m2
        @hold 1 q m1
        @hold 1 r m2
        1 > ack 2 multiple
        @barrier 1
        @close 1
        @drain q m1
    """)
    assert book.broken == ["ACK-003"]


def test_settled_and_closed_in_one_go(play) -> None:
    assert "ACK-018" in play(HELD + "1 > ack 2 \n @close 1 \n @drain q m1 m2").broken


def test_a_sound_close_right_behind_the_settlement(play) -> None:
    book = play(HELD + "1 > ack 2 \n @close 1 \n @drain q m1 m3")
    assert book.broken == []
    assert book.exercised["ACK-018"] == 1


@pytest.mark.parametrize("multiple", ["", " multiple"])
def test_many_settlements_of_a_quorum_queue_may_be_stuck_in_a_buffer(play, multiple: str) -> None:
    names = [f"m{n}" for n in range(40)]
    acks = "\n".join(f"1 > ack {n}{multiple}" for n in range(1, 41))
    book = play(
        f"@queue q quorum \n @stock q {' '.join(names)} \n @hold 1 q {' '.join(names)} \n {acks} \n"
        "@barrier 1 \n @close 1 \n @drain q m39",
    )
    assert book.broken == ["ACK-018"]


def test_another_message_of_its_id_may_have_come_by_an_exchange(play) -> None:
    """Where that leads nobody knows."""
    taken = "@queue q \n @open 1 \n 1 > publish q m1 \n 1 > get q no_ack \n 1 < get-ok 1 m1 q \n"
    again = "1 > get q no_ack \n 1 < get-ok 2 m1 q"
    assert play(taken + "1 > publish k m1 exchange=theirs \n" + again).broken == []
    assert play(taken + again).broken == ["MODE-002"]
    unknown = taken.replace("publish q m1", "publish k m1 exchange=theirs")
    assert play(unknown.replace("1 > get", "1 > publish k m1 exchange=theirs \n 1 > get") + again).broken == []
    assert play(unknown + again).broken == ["MODE-002"]


@pytest.mark.parametrize(
    ("settle", "rule"),
    [
        ("1 > nack 3 requeue", "ACK-001"),
        ("1 > reject 3 requeue", "ACK-019"),
        ("1 > nack 1 multiple requeue", "ACK-011"),
    ],
)
def test_more_is_returned_than_was_named(play, settle: str, rule: str) -> None:
    book = play(HELD + settle + "\n @barrier 1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m2 q redelivered")
    assert book.broken == [rule]


def test_cancel_returns_what_is_out(play) -> None:
    book = play("""
        @queue q
        @stock q m1
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 > cancel c1
        1 < cancel-ok c1
        @open 2
        2 > get q
        2 < get-ok 1 m1 q redelivered
    """)
    assert book.broken == ["AUTO-008", "ACK-016"]


def test_a_dead_letter_is_owed_to_its_queue(play) -> None:
    history = """
        @queue d
        @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d
        @stock q m1 m2
        @hold 1 q m1 m2
        1 > nack 2 multiple
        @barrier 1
    """
    assert play(history + unearthed("m1", "m2")).broken == []
    assert play(history + unearthed("m2") + "- deadline drain d").broken == ["MODE-005"]


FIVE = "@queue q \n @stock q m1 m2 m3 m4 m5 \n @open 1 \n"
PASSIVE = "1 > declare q passive \n 1 < declare-ok q says="


@pytest.mark.parametrize(
    "says",
    [
        "says=5",
        "says=3 \n 1 > get q \n 1 < get-ok 2 m2 q says=3",
        "says=3 \n " + PASSIVE + "4",
        "says=4 \n 1 > get q no_ack \n 1 < get-ok 2 m2 q says=2",
    ],
)
def test_counts_that_contradict_each_other(play, says: str) -> None:
    """Where the model agrees with one of them, the other one is wrong."""
    book = play(FIVE + "1 > get q \n 1 < get-ok 1 m1 q " + says)
    rest = "\n".join(f"1 > get q \n 1 < get-ok {n} m{n} q" for n in range(2 + says.count("> get"), 6))
    book.play(rest + "\n 1 > get q \n 1 < get-empty")
    assert {one.rule for one in book.judge.judgement.findings} <= {"MODE-007"}
    assert book.broken == ["MODE-007"]


def test_a_message_that_is_lost_is_no_wrong_count(play) -> None:
    """m3 is nowhere, and the broker counts what it has."""
    book = play(FIVE + PASSIVE + "4")
    for n, left in ((1, 3), (2, 2), (4, 1), (5, 0)):
        book.play(f"1 > get q \n 1 < get-ok {min(n, n - (n > 3))} m{n} q says={left}")
    book.play("1 > get q \n 1 < get-empty")
    assert "MODE-007" not in {one.rule for one in book.judge.judgement.findings}


def test_a_purge_that_tells_the_truth_about_a_wrong_count(play) -> None:
    assert play(FIVE + PASSIVE + "7 \n 1 > purge q \n 1 < purge-ok says=5").broken == ["MODE-007"]


def test_counts_are_compared_after_a_purge_as_well(play) -> None:
    emptied = FIVE + "1 > purge q \n 1 < purge-ok says=5 \n @stock q m6 m7 \n" + PASSIVE
    assert play(emptied + "2 \n 1 > get q \n 1 < get-ok 1 m6 q says=1").broken == []
    assert play(emptied + "1 \n 1 > get q \n 1 < get-ok 1 m6 q says=1").broken == ["MODE-007"]


@pytest.mark.parametrize("meanwhile", ["2 > nack 1 requeue \n 1 > purge q", "1 > purge q \n 2 > nack 1 requeue"])
def test_what_is_given_back_may_come_after_a_purge(play, meanwhile: str) -> None:
    out = FIVE + f"@open 2 \n 2 > get q \n 2 < get-ok 1 m1 q says=4 \n {meanwhile} \n 1 < purge-ok says=4 \n"
    book = play(out + "@stock q m6 \n" + PASSIVE + "1 \n" + PASSIVE + "2")
    assert "MODE-007" not in {one.rule for one in book.judge.judgement.findings}


def test_what_is_published_may_come_after_a_purge(play) -> None:
    under_way = FIVE + "80 > publish q m6 \n 1 > purge q \n 1 < purge-ok says=5 \n"
    book = play(under_way + PASSIVE + "0 \n" + PASSIVE + "1")
    assert "MODE-007" not in {one.rule for one in book.judge.judgement.findings}


def test_what_is_out_counts_among_what_is_deleted_or_not(play) -> None:
    told = FIVE + "1 > get q \n 1 < get-ok 1 m1 q says=4 \n {} q \n {}-ok says={}"
    for count, broken in ((3, ["MODE-008"]), (4, []), (5, []), (6, ["MODE-008"])):
        assert play(told.format("1 > delete", "1 < delete", count)).broken == broken
    assert play(told.format("1 > purge", "1 < purge", 5)).broken == ["MODE-008"]


@pytest.mark.parametrize(
    "meanwhile",
    [
        "1 > nack 1 requeue",
        "80 > publish q m6",
        "@consume 1 q c1",
        "@open 2 \n 2 > get q",
        "1 > purge q",
    ],
)
def test_what_is_under_way_may_be_counted_or_not(play, meanwhile: str) -> None:
    book = play(FIVE + f"1 > get q \n 1 < get-ok 1 m1 q says=4 \n {meanwhile} \n {PASSIVE}3 \n {PASSIVE}5")
    assert "MODE-007" not in {one.rule for one in book.judge.judgement.findings}


def test_a_quorum_queue_whose_leader_does_not_tell_counts_none(play) -> None:
    book = play("@queue q quorum \n @stock q m1 m2 \n @open 1 \n" + PASSIVE + "2 \n" + PASSIVE + "0")
    assert book.broken == []


def test_a_long_drain_does_not_hide_what_was_settled_before_it(play) -> None:
    many = [f"m{number}" for number in range(2, 300)]
    play_out = f"@queue q \n @stock q m1 {' '.join(many)} \n @hold 1 q m1 \n 1 > ack 1 \n @barrier 1 \n @close 1 \n"
    assert play(play_out + f"@drain q {' '.join(many)}").broken == []
    assert "MODE-004" in play(play_out + f"@drain q {' '.join(many)} m1").broken


def test_what_has_come_back_as_a_dead_letter_may_become_one_again(play) -> None:
    """Two queues lead to each other: once a message has come round, nobody knows which copy of it is where."""
    history = """
        @queue d classic x-dead-letter-exchange= x-dead-letter-routing-key=q
        @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d
        @stock q m1 \n @open 1
        1 > get q \n 1 < get-ok 1 m1 q \n 1 > reject 1 \n @barrier 1
        1 > get d \n 1 < get-ok 2 m1 d \n 1 > reject 2 \n @barrier 1
        1 > declare d passive \n 1 < declare-ok d says=0
        1 > get q \n 1 < get-ok 3 m1 q \n 1 > reject 3 \n @barrier 1
        1 > declare d passive \n 1 < declare-ok d says=1
    """
    assert "MODE-007" not in {one.rule for one in play(history).judge.judgement.findings}


def test_dead_letters_come_as_they_were_discarded_and_not_as_they_stood(play) -> None:
    buried = BURIED.format("1 > reject 3 \n 1 > reject 1 \n 1 > reject 2")
    assert play(buried + unearthed("m3", "m1", "m2")).broken == []
    assert play(buried + unearthed("m1", "m2", "m3")).broken == ["MODE-009"]


def test_what_a_commit_discards_has_any_order(play) -> None:
    discarded = "1 > select \n 1 < select-ok \n 1 > reject 3 \n 1 > reject 1 \n 1 > commit \n 1 < commit-ok"
    assert play(BURIED.format(discarded) + unearthed("m1", "m3")).broken == []


def test_what_expires_comes_to_the_queue_of_dead_letters_by_itself(play) -> None:
    history = """
        @queue d
        @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d
        @open 1
        1 > publish q m1 EXPIRES
        1 > get d no_ack
        1 < get-empty
        1 > delete d
        1 < delete-ok says=1
    """
    assert play(history.replace("EXPIRES", 'with={"expiration":"50"}')).broken == []
    assert play(history.replace("EXPIRES", "")).broken == ["MODE-008"]


@pytest.mark.parametrize("risk", RISKS)
def test_what_a_channel_holds_may_be_back_before_its_end_is_told(play, risk: str) -> None:
    """MODE-001: and once an answer shows that nothing was wrong, it may not."""
    held, again = HELD + "@consume 2 q c1 \n", "2 < deliver c1 1 m1 q redelivered \n"
    assert play(held + RISKS[risk].format(again)).broken == []
    assert play(held + again).broken == ["MODE-001"]


@pytest.mark.parametrize("end", ["1 < closed 404 60 40 NOT_FOUND", "0 < kicked 320 0 0 CONNECTION_FORCED"])
def test_a_discard_that_may_have_had_no_effect_leaves_no_dead_letter(play, end: str) -> None:
    """MODE-005: a publish before it may have cost the channel. Once an answer shows that it has not, it is owed."""
    one = BURIED.partition("{}")[0] + "1 > publish key m9 exchange=x \n 1 > nack 1 \n"
    assert play(one + end + " \n - deadline drain d").broken == []
    assert play(one + "@barrier 1 \n - deadline drain d").broken == ["MODE-005"]


def test_a_purge_that_leaves_messages_is_no_wrong_count(play) -> None:
    """MODE-007: they are still there, and QUEUE-019 says that they may not be."""
    purged = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > purge q \n 1 < purge-ok 2 \n "
    found = play(purged + "1 > declare q passive \n 1 < declare-ok q 1").judge.judgement.findings
    assert [one.unless for one in found if one.rule == "MODE-007"] == [("QUEUE-019",)]

"""What is claimed where a history does not show everything, and what is not."""

from __future__ import annotations

import pytest

from conformance.oracle.verdicts import REASONS


def doubts(book) -> dict[str, set[str]]:
    return {rule: set(reasons) for rule, reasons in book.judge.judgement.doubts.items()}


TWICE = "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > ack 1 \n @barrier 1 \n @drain q m1"
"""A message that was settled comes again."""


# -- connections that were there before


def test_tags_rise_from_the_middle_too(play) -> None:
    book = play("- joined c \n 1 < deliver c1 9 m1 q \n 1 < deliver c1 12 m2 q \n 1 < deliver c1 12 m3 q")
    assert book.broken == ["TAG-004", "TAG-003"]
    assert doubts(book)["TAG-001"] == {"joined"}


def test_settlements_of_what_came_before_may_be_right_or_wrong(play) -> None:
    book = play("""
        - joined c
        1 < deliver c1 9 m1 q
        1 > ack 4
        1 > ack 7 multiple
        1 > flow
        1 < flow-ok
        1 > ack 2
        1 < closed 406 60 80 unknown delivery tag 2
    """)
    assert book.broken == []
    assert doubts(book)["ACK-014"] == {"joined"}


def test_numbers_of_confirms_are_not_known(play) -> None:
    book = play("- joined c \n 1 < ack 812 multiple \n 1 > publish q m1 \n 1 < ack 813 \n 1 < ack 813")
    assert book.broken == []
    assert doubts(book)["CNF-006"] == {"joined"}


def test_a_channel_that_is_opened_later_is_known(play) -> None:
    begins = "- joined c \n 1 < deliver c1 4 m9 q \n @open 2 \n 2 > get q \n 2 < get-ok"
    assert play(f"{begins} 7 m1 q").broken == ["TAG-001"]
    assert play(f"{begins} 5 m1 q").broken == ["TAG-001", "TAG-006"], "it goes on from the other channel"


def test_an_open_ok_that_answers_what_was_not_seen_begins_a_life(play) -> None:
    book = play("- joined c \n 1 < deliver c1 4 m9 q \n 1 < open-ok \n 1 < deliver c1 1 m8 q \n 1 < deliver c1 2 m7 q")
    assert book.broken == []


def test_late_frames_of_a_life_that_was_not_seen_are_nobody_s(play) -> None:
    """The number is opened again before they have all come."""
    book = play("""
        - joined c
        1 < deliver c1 4 m9 q
        1 > open
        1 < deliver c1 5 m8 q
        1 < open-ok
        1 > get q
        1 < get-ok 1 m1 q
    """)
    assert book.broken == []
    assert book.exercised["TAG-001"] == 1


# -- gaps


@pytest.mark.parametrize("direction", ["<", ">"])
def test_after_a_gap_a_channel_is_not_known(play, direction: str) -> None:
    book = play(f"""
        @confirming 1
        1 > publish q m1
        - gap c {direction}
        1 < ack 5
        1 < deliver c7 1 m4 q
        1 > ack 3
        1 < flow-ok
        1 > get q
        1 < get-ok 2 m5 q
    """)
    assert book.broken == []
    assert doubts(book)["CNF-006"] == {"gap"}


def test_what_was_found_before_a_gap_stays(play) -> None:
    assert play(f"{TWICE} \n - gap c < \n 1 < deliver c7 1 m4 q").broken == play(TWICE).broken != []


def test_what_is_sent_before_the_broker_is_seen_again_is_not_read(play) -> None:
    """The open-ok is missing, and with it perhaps deliveries."""
    start = "@open 1 \n - gap c < \n"
    assert play(start + "2 > open \n 2 > get q \n 2 < get-ok 3 m1 q").broken == []
    assert play(start + "- gap c > \n 2 > open \n 2 > get q \n 2 < get-ok 3 m1 q").broken == []
    seen = play(start + "1 < flow-ok \n 2 > open \n 2 > get q \n 2 < open-ok \n 2 < get-ok 3 m1 q")
    assert seen.broken == ["TAG-001"]


def test_what_the_client_asked_may_be_missing_from_the_handshake_on(play) -> None:
    """The broker greets after the hole, and answers what was not seen."""
    assert play("- gap c > \n 0 < start notify \n 1 < open-ok \n 1 < flow-ok").broken == []
    assert play("0 < start notify \n 1 < open-ok").broken == ["ERR-013"]


def test_silence_proves_nothing_about_a_connection_with_a_gap(play) -> None:
    book = play("@open 1 \n 1 > flow \n - deadline replies")
    assert book.broken == ["ERR-014"]
    assert play("@open 1 \n - gap c > \n 1 > flow \n - deadline replies").broken == []
    assert play("@open 1 \n - gap c > \n @open 2 \n 2 > ack 5 \n - deadline replies").broken == []
    assert play("@open 2 \n 2 > ack 5 \n - deadline replies").broken != []


def test_after_a_cut_nothing_is_known(play) -> None:
    book = play("@open 1 \n @hold 1 q m1 m2 \n - cut c \n 1 < deliver c1 1 m3 q")
    assert book.broken == []


# -- an open world


@pytest.mark.parametrize(("mark", "reason"), [("others", "open world"), ("unordered", "clocks")])
def test_the_fate_of_messages_needs_all_connections(play, mark: str, reason: str) -> None:
    assert play(TWICE).broken != []
    book = play(f"- observed {mark} \n{TWICE}")
    assert book.broken == []
    assert doubts(book)["MODE-004"] == {reason}
    assert reason in REASONS


def entered(on: str, vhost: str) -> str:
    """A connection in this virtual host, with a channel and a queue q."""
    begun = f"{on}:0 < start \n {on}:0 > start-ok \n {on}:0 > enter {vhost} \n {on}:0 < entered \n"
    return begun + f"{on}:1 > open \n {on}:1 < open-ok \n" + f"{on}:1 > declare q \n {on}:1 < declare-ok q \n"


@pytest.mark.parametrize(
    "then",
    ["x:1 > declare q passive \n x:1 < declare-ok q", "x:1 > delete q \n x:1 < delete-ok", "x:1 > publish q m1"],
)
def test_a_queue_of_one_name_in_another_virtual_host_opens_the_world(play, then: str) -> None:
    """CAN-003, QUEUE-020 and others: what is done to the one was told of the other."""
    one = entered("c", "a") + "c:1 > consume q c1 \n c:1 < consume-ok c1 \n"
    both = one + entered("x", "b") + then + "\n - deadline replies"
    assert play(both).broken != [], "where nobody says that it is observed"
    book = play("- observed \n" + both)
    assert (book.broken, book.judge._model.open) == ([], "namesakes")
    assert play("- observed \n" + one + entered("x", "a")).judge._model.open == ""
    assert "namesakes" in REASONS


@pytest.mark.parametrize(
    "history",
    [
        "@open 1 \n 1 > get q \n 1 < get-ok 2 m1 q",
        "@open 1 \n 1 > ack 5 \n @close 1",
        "@confirming 1 \n 1 > publish q m1 \n 1 < ack 1 \n 1 < ack 1",
        "@open 1 \n 1 > qos 1 \n 1 < qos-ok \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q",
        "@open 1 \n @hold 1 q m1 m2 \n 1 > ack 1 \n 1 < closed 406 60 80 unknown delivery tag 1",
    ],
)
def test_what_one_connection_shows_stands(play, history: str) -> None:
    assert play(history).broken != []
    assert play("- observed others \n" + history).broken == play(history).broken


@pytest.mark.parametrize(
    "history",
    [
        "@confirming 1 \n 1 > publish q m1 mandatory \n 1 < return q m1 \n 1 < ack 1",
        (
            "@exchange x q \n@confirming 1 \n1 > publish - m1 mandatory exchange=x \n"
            "1 < return - m1 exchange=x \n1 < ack 1"
        ),
        "@open 1 \n @hold 1 q m1 \n 1 > ack 1 \n 1 < closed 406 0 0 something else",
        "@consume 1 q c1 \n 1 < cancel c1 no_wait \n 1 > consume q c1 \n c:0 < kicked 530 60 20 NOT_ALLOWED",
        "@consume 1 q c1 \n 1 > cancel c1 \n 1 < cancel-ok c1 \n 1 < deliver c1 1 m1 q",
        "@open 1 \n 1 > qos 3 global \n 1 < qos-ok \n @consume 1 q c1 \n - end c fin",
    ],
)
def test_others_may_be_the_cause(play, history: str) -> None:
    assert play("- observed others \n@queue q \n" + history).broken == []


def test_a_queue_that_was_there_before_is_not_one_s_own(play) -> None:
    rest = "1 > publish q m1 \n 1 < ack 1 \n @drain q"
    fresh = "@confirming 1 \n 90 > declare q \n 90 < declare-ok q \n"
    assert play("@open 90 \n" + fresh + rest).broken != []
    assert play("@open 90 \n" + fresh.replace("-ok q", "-ok q 3") + rest).broken == []


def test_direct_replies_have_no_numbers_of_their_own(play) -> None:
    start = "@consume 1 amq.rabbitmq.reply-to r no_ack \n"
    assert play(start + "1 < deliver r 1 m1 amq.rabbitmq.reply-to.g1 \n" * 3).broken == []

"""AUTO: one sound and one broken history per rule, and what is nobody's business."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

HELD = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 m2 \n"
DUE = "- deadline drain q"
OTHER = "o:0 < start \n o:1 > open \n o:1 < open-ok \n o:1 > get q \n o:1 < get-ok 1 m1 q \n"
BAD = "1 > ack 9 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 9 \n 1 > closed-ok \n"
AGREED = "0 < start \n 0 > tune-ok heartbeat=2 \n"
SILENT = AGREED + HELD
TX = "@queue q \n @stock q m1 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n 1 > ack 1 \n @barrier 1 \n"
CONSUMED = "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
BACK = "o:1 > get q \n o:1 < get-ok 1 m1 q redelivered \n"
REACH = "o:0 < start \n o:1 > open \n o:1 < open-ok \n"
LOST = (
    "@queue q \n @stock q m1 m2 m3 m4 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n"
    + REACH
    + "- end c aborted \n o:1 > get q \n"
)
SOUND = {
    "AUTO-001": HELD + "@close 1 \n @drain q m1 m2",
    "AUTO-002": HELD + REACH + "0 > bye \n 0 < bye-ok \n" + BACK,
    "AUTO-003": HELD + REACH + "- end c aborted \n" + BACK,
    "AUTO-004": HELD + BAD + "@drain q m1 m2",
    "AUTO-005": SILENT + REACH + "- wait 4 \n - end c fin \n" + BACK,
    "AUTO-006": TX + "1 > commit \n 1 < commit-ok \n @stock q m2 \n @hold 1 q m2 \n 1 > ack 2 \n @close 1 \n"
    "@drain q m2",
    "AUTO-007": "@queue q \n @stock q m1 \n @open 1 \n 1 > consume q c1 no_ack \n 1 < consume-ok c1 \n"
    "1 < deliver c1 1 m1 q \n @close 1 \n @drain q",
    "AUTO-008": CONSUMED + "1 > cancel c1 \n 1 < cancel-ok c1 \n 1 > get q \n 1 < get-empty \n @close 1 \n @drain q m1",
    "AUTO-009": CONSUMED
    + "@stock q m2 \n"
    + REACH
    + "- end c aborted \n"
    + BACK
    + "o:1 > get q \n o:1 < get-ok 2 m2 q redelivered",
    "AUTO-010": "@queue q \n @stock q m1 m2 \n" + OTHER + "- end o aborted \n @open 1 \n 1 > get q \n"
    "1 < get-ok 1 m1 q redelivered \n @close 1 \n @drain q m1 m2",
    "AUTO-011": CONSUMED + "@close 1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered",
    "AUTO-012": CONSUMED + "@consume 2 q c2 \n @close 1 \n 2 < deliver c2 1 m1 q redelivered",
    "AUTO-013": LOST + "o:1 < get-ok 1 m1 q redelivered says=3 \n o:1 > get q \no:1 < get-ok 2 m2 q redelivered says=2",
}
BROKEN = {
    "AUTO-001": HELD + "@close 1 \n @drain q \n" + DUE,
    "AUTO-002": HELD + "0 > bye \n 0 < bye-ok \n" + DUE,
    "AUTO-003": HELD + "- end c aborted \n" + DUE,
    "AUTO-004": HELD + BAD + DUE,
    "AUTO-005": SILENT + "- wait 1 \n - end c fin",
    "AUTO-006": TX + "@close 1 \n" + DUE,
    "AUTO-007": "@queue q \n @stock q m1 \n @open 1 \n 1 > get q no_ack \n 1 < get-ok 1 m1 q \n @close 1 \n@drain q m1",
    "AUTO-008": CONSUMED + "1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q m1",
    "AUTO-009": CONSUMED + "@stock q m2 \n - end c aborted \n" + DUE,
    "AUTO-010": CONSUMED + "@close 1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n @drain q m1",
    "AUTO-011": CONSUMED + "@close 1 \n @open 2 \n 2 > get q \n 2 < get-empty \n @drain q m1",
    "AUTO-012": CONSUMED + "@consume 2 q c2 \n @close 1 \n - deadline replies",
    "AUTO-013": LOST + "o:1 < get-ok 1 m2 q redelivered says=3 \n o:1 > get q \no:1 < get-ok 2 m1 q redelivered says=2",
}


def test_what_never_comes_back_is_not_late(play) -> None:
    """AUTO-011: a broker that settles at once what waits for its commit has nothing to return."""
    history = CONSUMED + "1 > select \n 1 < select-ok \n 1 > ack 1 \n @barrier 1 \n @close 1 \n @open 2 \n 2 > get q \n"
    book = play(history + "2 < get-empty \n @drain q \n" + DUE)
    assert "AUTO-011" not in book.broken
    assert "AUTO-006" in book.broken


def test_nobody_waits_for_what_an_unanswered_mistake_would_return(play) -> None:
    """AUTO-012, ERR-002: the channel was never closed, so it never gave anything to who waits."""
    history = CONSUMED + "@consume 2 q c2 \n 1 > ack 99 \n - deadline replies \n"
    history += "1 > cancel c1 \n 1 < cancel-ok c1 \n 2 > cancel c2 \n 2 < cancel-ok c2 \n @close 1 \n @drain q m1"
    assert play(history).broken == ["ERR-002"]


def test_a_loss_on_a_lost_connection_is_not_blamed_on_a_close(play) -> None:
    broken = play(BROKEN["AUTO-003"]).broken
    assert "AUTO-003" in broken
    assert not {"AUTO-001", "AUTO-002", "AUTO-004", "AUTO-005"} & set(broken)


def test_close_ok_proves_nothing_for_gets(play) -> None:
    book = play(HELD + "@close 1 \n @open 2 \n 2 > get q \n 2 < get-empty")
    assert book.broken == []
    assert book.judge.judgement.reports["AUTO-011"] == {"classic, basic.get: not back by close-ok": 1}


def test_a_client_that_does_not_confirm_the_close_may_keep_its_messages_from_others(play) -> None:
    failing = BAD.removesuffix("1 > closed-ok \n")
    waiting = HELD + failing + "@consume 2 q c2 \n"
    assert play(waiting).judge.owed() == []
    assert play(waiting + "1 > closed-ok \n").judge.owed() != []
    early = play(waiting + "2 < deliver c2 1 m1 q redelivered")
    assert early.broken == []
    assert early.judge.judgement.reports["AUTO-004"] == {"back before the client's close-ok": 1}


def test_what_a_quorum_queue_gets_back_keeps_its_order_by_owner(play) -> None:
    start = "@queue q quorum \n @stock q m1 m2 \n"
    consumed = start + "@consume 1 q c1 \n 1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n 1 > cancel c1 \n"
    consumed += "1 < cancel-ok c1 \n @close 1 \n"
    assert play(consumed + "@drain q m1 m2", "rabbitmq-4.0").broken == []


def test_a_silent_client_that_goes_on_for_ever(play) -> None:
    assert play(SILENT + "- still c").broken == ["AUTO-005"]


def test_a_client_that_is_dropped_over_what_it_said_was_not_missed(play) -> None:
    """With heartbeats as without: its mistake brings a channel.close, and the connection goes on."""
    broken = {text: play(f"{text}@queue q \n @open 5 \n 5 > ack 9 \n - end c fin").broken for text in (AGREED, "")}
    assert broken[AGREED] == broken[""]
    assert "ERR-004" in broken[""]


def test_a_connection_without_heartbeats_may_be_lost_at_any_time(play) -> None:
    assert play(HELD + "- end c fin").broken == []


ELEVEN = "m1 m2 m3 m4 m5 m6 m7 m8 m9 m10 m11"
GOT = f"@queue q quorum \n @stock q {ELEVEN} \n @hold 1 q {ELEVEN} \n"


def test_gets_from_a_quorum_queue_come_back_in_the_order_of_the_profile(play) -> None:
    start = GOT + "@close 1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n 2 > get q \n"
    assert play(start + "2 < get-ok 2 m2 q redelivered").broken == []
    assert play(start + "2 < get-ok 2 m10 q redelivered").rest().broken == ["AUTO-001"]
    assert play(start + "2 < get-ok 2 m10 q redelivered x-delivery-count=1", "rabbitmq-4.0").broken == []
    wrong = play(start + "2 < get-ok 2 m2 q redelivered x-delivery-count=1", "rabbitmq-4.0")
    assert wrong.rest().broken == ["AUTO-001"]


def test_nobody_knows_the_order_of_many_gets(play) -> None:
    others = " ".join(f"n{number}" for number in range(30))
    start = GOT + f"@stock q {others} \n @hold 3 q {others} \n @close 1 \n @open 2 \n 2 > get q \n"
    assert play(start + "2 < get-ok 1 m2 q redelivered x-delivery-count=1", "rabbitmq-4.0").broken == []


@pytest.mark.parametrize(("consumer", "broken"), [("@consume 2 q c2 \n", []), ("", ["AUTO-001"])])
def test_a_consumer_that_ends_as_well_may_have_had_some_meanwhile(play, consumer: str, broken: list[str]) -> None:
    """Its channel is closed too, so nobody sees what it is given; that goes back after the rest. A count changes
    nothing about it."""
    closing = "1 > close \n 2 > close \n 1 < close-ok \n 2 < close-ok \n @open 3 \n"
    held = "@queue q quorum \n @stock q m1 m2 m3 m4 \n @hold 1 q m1 m2 m3 m4 \n" + consumer + closing
    said = "3 > get q \n 3 < get-ok 1 m2 q redelivered says=3 \n 3 > get q \n 3 < get-ok 2 m1 q redelivered says=2"
    assert play(held + said).broken == broken


def test_of_what_a_lost_connection_held_nothing_is_claimed_before_a_count_shows_it(play) -> None:
    """The message may not have been back: two were there beside it, not three; and some always say that one is."""
    for count in ("says=2", "says=4"):
        wrong = LOST + f"o:1 < get-ok 1 m2 q redelivered {count} \n o:1 > get q \n o:1 < get-ok 2 m1 q redelivered"
        assert "AUTO-013" not in play(wrong).broken
    two = LOST.replace("m3 m4", "") + "o:1 < get-ok 1 m2 q redelivered says=1 \n o:1 > get q \n"
    assert "AUTO-013" not in play(two + "o:1 < get-ok 2 m1 q redelivered").broken


def test_what_comes_back_to_a_quorum_queue_after_a_loss_does_so_as_it_was_delivered(play) -> None:
    quorum = LOST.replace("@queue q", "@queue q quorum")
    for first, second, broken in (("m1", "m2", []), ("m2", "m1", ["AUTO-013"])):
        said = f"o:1 < get-ok 1 {first} q redelivered says=3 \n o:1 > get q \n o:1 < get-ok 2 {second} q redelivered"
        assert play(quorum + said, "rabbitmq-4.0").broken == broken


@pytest.mark.parametrize(("shared", "broken"), [("", True), ("@consume 5 q c5 \n @consume 6 q c6 \n", False)])
def test_what_a_loss_returns_comes_after_older_messages_that_are_ready(play, shared: str, broken: bool) -> None:
    """Where two consumers share the queue, its place may have been gone."""
    held = (
        "@queue q \n @stock q m1 m2 m3 m4 \n" + REACH + "o:1 > get q \n o:1 < get-ok 1 m1 q \n"
        "@hold 1 q m2 \n" + shared + "o:1 > reject 1 requeue \n - end c aborted \n o:1 > get q \n"
    )
    said = "o:1 < get-ok 2 m2 q redelivered says=3 \n o:1 > get q \n o:1 < get-ok 3 m1 q redelivered says=2"
    assert ("AUTO-013" in play(held + said).broken) is broken

"""RQ: order of returned messages and the redelivered flag."""

from __future__ import annotations

import pytest

from tests.support.tables import test_sound

__all__ = ["test_sound"]

EIGHT = "@queue q \n @stock q m1 m2 m3 m4 m5 m6 m7 m8 \n @hold 1 q m1 m2 m3 m4 m5 \n"
QUORUM = EIGHT.replace("@queue q", "@queue q quorum")
RETURNED = "1 > nack 4 requeue \n 1 > nack 2 requeue \n 1 > reject 5 requeue \n"
BATCH = "1 > nack 4 multiple requeue \n"
ALONE = "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
RECOVERED = (
    "@queue q \n @queue r \n @stock q m1 m2 \n @stock r m3 \n @hold 1 q m1 m2 \n 1 > qos 1 \n 1 < qos-ok \n"
    "@consume 1 r c1 \n 1 < deliver c1 3 m3 r \n 1 > recover requeue \n 1 < recover-ok \n"
    "1 < deliver c1 4 m3 r redelivered \n"
)
SOUND = {
    "RQ-001": EIGHT + RETURNED + "@hold 1 q m2 m4 m5 m6 m7 m8 \n 1 > nack 11 multiple requeue \n @hold 1 q m1 m2",
    "RQ-002": EIGHT + BATCH + "@hold 1 q m1 m2 m3 m4 m6",
    "RQ-003": QUORUM + RETURNED + "@hold 1 q m4 m2 m5 m6",
    "RQ-004": EIGHT + RETURNED + "@hold 1 q m2 m4 m5 m6",
    "RQ-006": EIGHT,
    "RQ-007": ALONE + "1 > nack 1 requeue \n 1 < deliver c1 2 m1 q redelivered",
    "RQ-008": ALONE + "1 > nack 1 requeue \n 1 < deliver c1 2 m1 q redelivered",
    "RQ-009": EIGHT,
    "RQ-011": EIGHT + "1 > ack 0 multiple \n @barrier 1 \n @close 1 \n @drain q m6 m7 m8",
    "RQ-014": RECOVERED + "1 > recover-async requeue \n @barrier 1 \n 1 < deliver c1 5 m3 r redelivered \n"
    "1 > get q \n 1 < get-ok 6 m1 q redelivered \n 1 > ack 1 \n"
    "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1",
}
BROKEN = {
    "RQ-001": EIGHT + RETURNED + "@hold 1 q m4",
    "RQ-002": EIGHT + BATCH + "@hold 1 q m4",
    "RQ-003": QUORUM + RETURNED + "@hold 1 q m2",
    "RQ-004": EIGHT + RETURNED + "@hold 1 q m6",
    "RQ-006": "@queue q \n @stock q m1 m2 \n @hold 1 q m2",
    "RQ-007": ALONE + "1 > nack 1 requeue \n - deadline replies",
    "RQ-008": ALONE + "1 > nack 1 requeue \n 1 < deliver c1 2 m1 q",
    "RQ-009": "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q redelivered",
    "RQ-011": "@queue q \n @stock q m1 \n @drain q \n - deadline drain q",
    "RQ-014": EIGHT + "1 > recover requeue \n 1 < recover-ok \n @hold 1 q m6",
}


RIVALS = "@queue q \n @stock q m1 m2 m3 m4 \n @hold 1 q m1 m2 \n @open 2 \n"
COUNTED = "@queue q quorum \n @stock q m1 \n @hold 1 q m1 \n 1 > nack 1 requeue \n 1 > get q \n"
LIMITED = "@queue q quorum x-delivery-limit=1 \n @stock q m1 \n @hold 1 q m1 \n"
WAITING = "@consume 2 q c2 \n 1 > qos 1 \n 1 < qos-ok \n @open 3 \n @consume 3 q c3 \n"
LONG = "@queue q \n @open 1 \n 1 > publish q m1 own-count=7 bodies=2 \n 1 > get q \n"
SOUND |= {
    "RQ-005": RIVALS + "1 > nack 1 requeue \n @stock q m5 \n @hold 1 q m1 \n @hold 2 q m3",
    "RQ-012": COUNTED + "1 < get-ok 2 m1 q redelivered x-acquired-count=1",
    "RQ-013": LIMITED + "1 > reject 1 requeue \n @hold 1 q m1 \n 1 > reject 2 requeue \n 1 > get q \n 1 < get-empty",
    "RQ-015": "@queue q \n @stock q m1 \n @hold 1 q m1 \n" + WAITING + "1 > nack 1 requeue \n"
    "3 < deliver c3 1 m1 q redelivered",
    "RQ-016": LONG + "1 < get-ok 1 m1 q own-count=7 bodies=2 \n 1 > nack 1 requeue \n 1 > get q \n"
    "1 < get-ok 2 m1 q redelivered own-count=7 x-delivery-count=1 bodies=2",
}
BROKEN |= {
    "RQ-016": LONG + "1 < get-ok 1 m1 q own-count=7 bodies=3",
    "RQ-005": RIVALS + "@hold 2 q m3 \n @consume 3 q c3 \n 3 < deliver c3 1 m4 q \n 1 > nack 2 requeue \n"
    "1 > get q \n 1 < get-empty \n 2 > nack 1 requeue \n 3 < deliver c3 2 m3 q redelivered",
    "RQ-012": COUNTED + "1 < get-ok 2 m1 q redelivered x-acquired-count=2",
    "RQ-013": LIMITED + "1 > reject 1 requeue \n @hold 1 q m1 \n 1 > reject 2 requeue \n @hold 1 q m1",
    "RQ-015": "@queue q \n @stock q m1 \n @hold 1 q m1 \n" + WAITING + "1 > nack 1 requeue \n - deadline replies",
}


@pytest.mark.parametrize("rule", [rule for rule in BROKEN if rule != "RQ-014"])
def test_broken(play, rule: str) -> None:
    assert rule in play(BROKEN[rule]).rest().broken


def test_recovered_messages_are_passed_over(play) -> None:
    assert play(BROKEN["RQ-014"]).rest().broken == ["RQ-004", "RQ-001"]


@pytest.mark.parametrize(
    "history",
    [
        EIGHT + "1 > recover requeue \n @barrier 1 \n - deadline replies",
        EIGHT + "@stock q m9 \n 1 > recover requeue \n 1 < recover-ok \n 1 > ack 1 \n - deadline replies",
        (
            "@queue q \n @stock q m1 \n @hold 1 q m1 \n 1 > recover requeue \n 1 < recover-ok \n "
            "1 > get q \n 1 < get-empty"
        ),
    ],
)
def test_recover(play, history: str) -> None:
    assert play(history).broken == ["RQ-014"]


def test_after_recover_the_old_tags_are_spent(play) -> None:
    book = play(
        EIGHT + "1 > recover requeue \n 1 < recover-ok \n 1 > ack 1 \n"
        "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1"
    )
    assert book.broken == []
    assert book.exercised["RQ-014"] == 0, "nothing has come again so far"


def test_the_tail_is_lawful_where_the_profile_says_so(play) -> None:
    history = QUORUM + RETURNED + "@hold 1 q m6 m7 m8 m4 m2 m5"
    assert play(history, "rabbitmq-3.10").broken == []
    assert play(history.replace("quorum", "classic"), "rabbitmq-3.10").rest().broken == ["RQ-004", "RQ-001"]


def test_a_batch_of_a_quorum_queue_is_reversed(play) -> None:
    assert play(QUORUM + BATCH + "@hold 1 q m4").rest().broken == ["RQ-002"]


def test_redelivered_after_close_on_another_channel(play) -> None:
    history = "@queue q \n @stock q m1 \n @hold 1 q m1 \n @close 1 \n @open 2 \n 2 > get q \n"
    assert play(history + "2 < get-ok 1 m1 q redelivered").broken == []
    assert play(history + "2 < get-ok 1 m1 q").broken == ["RQ-008"]


def test_a_neighbour_of_a_returned_message_is_flagged(play) -> None:
    history = EIGHT + "1 > nack 5 requeue \n @hold 1 q m5 \n 1 > get q \n 1 < get-ok 7 m6 q redelivered"
    assert play(history).broken == ["RQ-009"]


@pytest.mark.parametrize(("profile", "lawful"), [("documented", True), ("rabbitmq-4.0", False)])
def test_whether_a_nack_counts_is_the_profiles_choice(play, profile: str, lawful: bool) -> None:
    history = LIMITED + "1 > nack 1 requeue \n @hold 1 q m1 \n 1 > nack 2 requeue \n @hold 1 q m1"
    assert play(history, profile).broken == ([] if lawful else ["RQ-013"])
    empty = LIMITED + "1 > nack 1 requeue \n @hold 1 q m1 \n 1 > nack 2 requeue \n 1 > get q \n 1 < get-empty"
    assert play(empty, profile).broken == (["RQ-013"] if lawful else [])


def test_a_message_that_is_dropped_too_early_breaks_the_limit(play) -> None:
    assert play(LIMITED + "1 > reject 1 requeue \n 1 > get q \n 1 < get-empty").broken == ["RQ-013"]


def test_a_returned_message_may_be_with_another_unseen(play) -> None:
    rival = RIVALS + "@consume 3 q c3 \n 1 > nack 1 requeue \n @hold 2 q m4"
    assert play(rival).broken == []
    assert play(rival + "\n 3 < deliver c3 1 m3 q \n 3 < deliver c3 2 m1 q redelivered").broken == []


def test_counts_are_asked_for_only_where_there_are_any(play) -> None:
    book = play(COUNTED + "1 < get-ok 2 m1 q redelivered")
    assert book.broken == []
    assert book.judge.judgement.reports["RQ-012"]["a redelivery: no count"] == 1
    assert play(COUNTED + "1 < get-ok 2 m1 q redelivered x-delivery-count=1", "rabbitmq-4.0").broken == []
    assert play(COUNTED + "1 < get-ok 2 m1 q redelivered x-delivery-count=1").broken == ["RQ-012"]


def test_an_ack_may_make_room_before_an_earlier_return_arrives(play) -> None:
    start = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 \n 1 > qos 1 \n 1 < qos-ok \n @consume 1 q c1 \n"
    start += "1 < deliver c1 2 m2 q \n 1 > nack 1 requeue \n"
    assert play(start + "1 > ack 2 \n 1 < deliver c1 3 m3 q").broken == []
    assert "RQ-004" in play(start + "1 > reject 2 \n 1 < deliver c1 3 m3 q").rest().broken
    mixed = start.replace("qos 1", "qos 2") + "1 < deliver c1 3 m3 q \n 1 > nack 2 requeue \n 1 > {} 3 \n"
    fresh = "@stock q m4 \n 1 < deliver c1 4 m4 q"
    assert play(mixed.format("ack") + fresh).broken == [], "room by the later ack"
    assert "RQ-004" in play(mixed.format("reject") + fresh).rest().broken


@pytest.mark.parametrize(
    "came",
    [
        "m1 r own-count=7 bodies=2",
        "m1 q bodies=2",
        "m1 q own-count=7",
        "m1 q own-count=7 other-count=1 bodies=2",
    ],
)
def test_whatever_differs_from_what_was_published_is_found(play, came: str) -> None:
    """RQ-016: key, headers, and body; but a header of the broker's own is none of the publisher's."""
    assert play(LONG + f"1 < get-ok 1 {came}").broken == ["RQ-016"]
    assert play(LONG + "1 < get-ok 1 m1 q own-count=7 x-count=1 bodies=2").broken == []


def test_of_two_messages_with_one_id_nothing_is_claimed(play) -> None:
    """RQ-016: which of them came, nobody can tell."""
    twice = LONG.replace("1 > get q", "1 > publish q m1 own-count=8 \n 1 > get q")
    assert play(twice + "1 < get-ok 1 m1 q own-count=8").broken == []


FOUR = "@queue q x-max-length=4 \n @stock q m1 m2 m3 m4 \n"
LOST = "@drain q m2 m3 m4 {} \n - deadline drain q"


def test_a_queue_is_an_ordinary_one_while_its_limit_is_out_of_reach(play) -> None:
    """RQ-011: four messages came into a queue for four, so nothing lets it drop the first; of five it may drop one."""
    assert play(FOUR + LOST.format("")).broken == ["RQ-011"]
    assert play(FOUR.replace("=4", "=3") + LOST.format("")).broken == []
    assert play(FOUR + "@stock q m5 \n" + LOST.format("m5")).broken == []


def test_what_was_out_when_the_limit_was_reached_may_be_dropped_on_its_return(play) -> None:
    held = FOUR + "@hold 1 q m1 \n @stock q m5 \n 1 > nack 1 requeue \n @barrier 1 \n"
    assert play(held + LOST.format("m5")).broken == []


@pytest.mark.parametrize("limit", ["x-message-ttl=9000", "x-max-length-bytes=9000", "x-max-length=4 x-expires=9000"])
def test_other_limits_may_be_reached_at_any_time(play, limit: str) -> None:
    """A time to live is another rule's subject: it has not passed."""
    assert play(FOUR.replace("x-max-length=4", limit) + LOST.format("")).broken in ([], ["TTL-004"])


def test_dead_letters_and_routes_that_nobody_can_count_may_reach_a_limit(play) -> None:
    """RQ-011: what another queue drops into it, what a carbon copy or an unknown exchange brings."""
    heir = "x-dead-letter-exchange= x-dead-letter-routing-key=q"
    assert play(FOUR + f"@queue r x-message-ttl=9000 {heir} \n" + LOST.format("")).broken == []
    assert play(f"@queue r {heir} \n" + FOUR + LOST.format("")).broken == []
    assert play(FOUR + "@open 2 \n 2 > publish any m9 exchange=strange \n" + LOST.format("")).broken == []


def test_a_queue_that_turns_messages_away_drops_nothing_that_it_has_room_for(play) -> None:
    """RQ-011: beyond that it may drop what is returned."""
    turning = FOUR.replace("x-max-length=4", "x-max-length=4 x-overflow=reject-publish")
    assert play(turning + LOST.format("")).broken == ["RQ-011"]
    assert play(turning + "@open 2 \n 2 > publish q m5 \n @barrier 2 \n" + LOST.format("")).broken == []


RESTARTED = """
    @queue q
    @queue r
    @exchange x r
    @open 1
    1 > qos 1
    1 < qos-ok
    @consume 1 q c1
    1 > cancel c1 no_wait
    1 > consume r c1
    1 < consume-ok c1
    @open 2
    2 > publish {0} m1 {1}
    2 > publish {0} m2 {1}
    @barrier 2
    1 < deliver c1 1 m1 {0} {1}
    @barrier 1
    @barrier 1
"""


@pytest.mark.parametrize("way", [("r", ""), ("any", "exchange=x")], ids=["straight", "by an exchange"])
def test_whose_delivery_it_is_may_be_uncertain_whichever_way_it_came(play, way: tuple[str, str]) -> None:
    """A tag has a new consumer while its old one may not have ended: its first delivery fills the slot, or does not."""
    assert play(RESTARTED.format(*way) + "- deadline replies \n @drain r m2").broken == []


ROUND = (
    "@queue q classic x-max-length={} x-dead-letter-exchange= x-dead-letter-routing-key=r \n @open 9 \n"
    "9 > declare r classic x-max-length=1 x-dead-letter-exchange= x-dead-letter-routing-key=q \n 9 < declare-ok r \n"
    "@open 1 \n 1 > publish q m1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q {}\n @close 2 \n @open 3 \n"
    "3 > get q \n 3 < get-ok 1 m1 q {}"
)


def test_what_comes_round_is_no_redelivery(play) -> None:
    """RQ-008: a full queue gives up what comes back to it, and another full one sends it there again."""
    died = 'with={"headers":{"x-death":["A",[]]}}'
    assert play(ROUND.format(1, died + " ", died)).broken == []
    assert play(ROUND.format(1, "", "")).broken == ["RQ-008"]


@pytest.mark.parametrize("gets", [40, 300])
def test_a_consumer_of_a_channel_that_failed_is_not_forgotten_beside_many_gets(play, gets: int) -> None:
    """RQ-011: it had taken the message before its channel failed. RabbitMQ 3.10 was accused of having lost it."""
    asked = "@queue q \n @consume 2 q c1 \n @stock q m1 \n @open 1 \n" + "1 > get q \n" * gets
    failed = "2 > ack 9 \n 1 > ack 9 \n" + "1 < get-empty \n" * gets
    assert play(asked + failed).broken == []

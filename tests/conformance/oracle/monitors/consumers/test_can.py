"""CAN: one sound and one broken history per rule, and the races that must not be mistaken for either."""

from __future__ import annotations

import pytest

from tests.support.tables import test_broken, test_sound

__all__ = ["test_broken", "test_sound"]

KEEN = "0 < start notify \n 0 > start-ok notify \n"
DEAF = "0 < start notify \n 0 > start-ok \n"
Q = "@queue q \n @consume 1 q c1 \n @barrier 1 \n"
GONE = "@open 2 \n 2 > delete q \n 2 < delete-ok \n"
NOTICE = "1 < cancel c1 no_wait \n"
CANCEL = "1 > cancel c1 \n 1 < cancel-ok c1 \n"
REVOKED = KEEN + "@queue q \n @consume 1 q c1 \n - rights c q \n 0 > renew \n"
SOUND = {
    "CAN-001": DEAF + Q + GONE + "@barrier 1",
    "CAN-002": KEEN + Q + GONE + NOTICE,
    "CAN-003": KEEN + Q + GONE + NOTICE + "@barrier 1",
    "CAN-004": DEAF + Q + GONE + "@barrier 1",
    "CAN-005": KEEN + Q + CANCEL + "@barrier 1",
    "CAN-006": KEEN + Q + GONE + NOTICE + CANCEL,
    "CAN-007": KEEN + "@open 1 \n 1 > cancel never \n 1 < cancel-ok never",
    "CAN-008": KEEN + Q + "@open 2 \n 1 > cancel c1 \n 2 > delete q \n 1 < cancel-ok c1 \n 2 < delete-ok",
    "CAN-009": Q + CANCEL + "@stock q m1 \n @drain q m1",
    "CAN-010": KEEN + Q + GONE + NOTICE + "@barrier 1",
    "CAN-011": KEEN + "@queue k \n @consume 1 k c2 \n" + Q + GONE + NOTICE + "@stock k m1 \n 1 < deliver c2 1 m1 k",
    "CAN-012": KEEN
    + "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
    + GONE
    + NOTICE
    + "1 > ack 1 \n @barrier 1",
    "CAN-013": KEEN + Q + CANCEL + "@consume 1 q c1",
    "CAN-014": Q + "1 > cancel c1 no_wait \n @barrier 1 \n @barrier 1 \n @stock q m1 \n @drain q m1",
    "CAN-015": "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q",
    "CAN-017": KEEN + Q + GONE + NOTICE + "1 > cancel-ok c1 \n 0 < kicked 503 60 31 COMMAND_INVALID",
    "CAN-018": Q + "1 > consume q c1 \n 0 < kicked 530 60 20 NOT_ALLOWED",
    "CAN-019": REVOKED + "1 < cancel c1 no_wait \n 0 < renew-ok \n @stock q m1 \n @barrier 1",
}
BROKEN = {
    "CAN-001": DEAF + Q + GONE + NOTICE,
    "CAN-002": "0 < start \n 0 > start-ok notify \n" + Q + GONE + NOTICE,
    "CAN-003": KEEN + Q + GONE + "- deadline replies",
    "CAN-004": DEAF + Q + GONE + "1 < closed 404 0 0 NOT_FOUND",
    "CAN-005": KEEN + Q + CANCEL + NOTICE,
    "CAN-006": KEEN + Q + GONE + NOTICE + "1 > cancel c1 \n 1 < closed 404 60 30 NOT_FOUND",
    "CAN-007": KEEN + "@open 1 \n 1 > cancel never \n 1 < closed 404 60 30 NOT_FOUND",
    "CAN-008": KEEN + Q + "@open 2 \n 1 > cancel c1 \n 2 > delete q \n 0 < kicked 541 0 0 INTERNAL_ERROR",
    "CAN-009": Q + CANCEL + "@stock q m1 \n 1 < deliver c1 1 m1 q",
    "CAN-010": KEEN + Q + GONE + NOTICE + "1 < deliver c1 1 m1 q",
    "CAN-011": KEEN + "@queue k \n @consume 1 k c2 \n" + Q + GONE + NOTICE + "@stock k m1 \n - deadline replies",
    "CAN-012": KEEN
    + "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"
    + GONE
    + NOTICE
    + "1 > ack 1 \n 1 < closed 406 60 80 PRECONDITION_FAILED",
    "CAN-013": KEEN + Q + CANCEL + "1 > consume q c1 \n 0 < kicked 530 60 20 NOT_ALLOWED",
    "CAN-014": Q + "1 > cancel c1 no_wait \n @barrier 1 \n @barrier 1 \n @stock q m1 \n 1 < deliver c1 1 m1 q",
    "CAN-015": "@queue q \n @stock q m1 \n @open 1 \n 1 > consume q c1 \n 1 < deliver c1 1 m1 q",
    "CAN-017": KEEN + Q + GONE + NOTICE + "1 > cancel-ok c1 \n 0 < kicked 541 0 0 INTERNAL_ERROR",
    "CAN-018": Q + "1 > consume q c1 \n - deadline replies",
    "CAN-019": REVOKED + "0 < renew-ok \n @stock q m1 \n 1 < deliver c1 1 m1 q",
}


@pytest.mark.parametrize("announced", ["notify=1", "notify=true", "beside"])
def test_only_the_boolean_counts(play, announced: str, tmp_path) -> None:
    start = f"0 < start notify \n 0 > start-ok {announced} \n"
    assert play(start + Q + GONE + NOTICE).broken == ["CAN-001", "CAN-004"]
    tells_all = tmp_path / "tells-all.toml"
    tells_all.write_text('extends = "documented"\ntitle = "x"\n[choices]\ncancel_notice = "everybody"\n', "utf-8")
    assert play(start + Q + GONE + NOTICE, str(tells_all)).broken == []


@pytest.mark.parametrize(
    "race",
    [
        NOTICE + "1 < cancel-ok c1 \n 2 < delete-ok",
        "1 < cancel-ok c1 \n" + NOTICE + "2 < delete-ok",
        "2 < delete-ok \n" + NOTICE + "1 < cancel-ok c1 \n @barrier 1",
    ],
)
def test_a_cancel_and_a_notification_may_cross(play, race: str) -> None:
    book = play(KEEN + Q + "@open 2 \n 1 > cancel c1 \n 2 > delete q \n" + race)
    assert book.broken == []
    assert book.exercised["CAN-008"] > 0


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ("1 < cancel-ok c1 \n 1 < cancel-ok c1", "CAN-008"),
        (NOTICE + NOTICE + "1 < cancel-ok c1", "CAN-003"),
        ("- deadline replies", "CAN-008"),
    ],
)
def test_too_much_or_too_little_in_the_race(play, more: str, rule: str) -> None:
    assert rule in play(KEEN + Q + "@open 2 \n 1 > cancel c1 \n 2 > delete q \n" + more).broken


@pytest.mark.parametrize("more", [NOTICE + NOTICE, "1 < cancel c1"])
def test_once_and_without_answer(play, more: str) -> None:
    assert play(KEEN + Q + GONE + more).broken == ["CAN-003"]


def test_a_deletion_without_an_answer(play) -> None:
    """It is known when the channel answers something that came later."""
    quiet = KEEN + Q + "@open 2 \n 2 > delete q no_wait \n"
    assert play(quiet + "- deadline replies").broken == []
    assert play(quiet + "@barrier 2 \n - deadline replies").broken == ["CAN-003"]
    assert play(quiet + NOTICE + "@barrier 2 \n @barrier 1").broken == []


def test_nothing_is_owed_to_one_of_whom_the_queue_may_not_have_known(play) -> None:
    quorum = "@queue q quorum \n @consume 1 q c1 \n" + GONE + "- deadline replies"
    assert play(KEEN + quorum, "rabbitmq-3.10").broken == []
    assert play(KEEN + quorum.replace("c1 \n", "c1 \n @barrier 1 \n", 1), "rabbitmq-3.10").broken == ["CAN-003"]


def test_nothing_is_owed_while_the_deletion_is_not_answered(play) -> None:
    assert play(KEEN + Q + "@open 2 \n 2 > delete q \n").judge.owed()[0].what == "the answer to queue.delete"


def test_a_tag_whose_queue_was_just_deleted_may_still_be_taken(play) -> None:
    history = DEAF + Q + "@queue k \n" + GONE + "1 > consume k c1 \n"
    assert play(history + "0 < kicked 530 60 20 NOT_ALLOWED").broken == []
    assert play(history + "1 < consume-ok c1").broken == []


def test_a_late_notification_is_not_the_new_owner_s(play) -> None:
    book = play(
        KEEN
        + Q
        + """
        @queue k
        @open 2
        1 > cancel c1
        2 > delete q
        1 < cancel-ok c1
        @consume 1 k c1
        1 < cancel c1 no_wait
        2 < delete-ok
        @stock k m1
        1 < deliver c1 1 m1 k
    """
    )
    assert book.broken == []


def test_deliveries_may_follow_the_first_answer_after_a_silent_cancel(play) -> None:
    cancelled = Q + "@stock q m1 \n 1 > cancel c1 no_wait \n @barrier 1 \n"
    assert play(cancelled + "1 < deliver c1 1 m1 q").broken == []


def test_an_answer_to_a_cancel_that_wanted_none(play) -> None:
    assert play(Q + "1 > cancel c1 no_wait \n 1 < cancel-ok c1").broken == ["CAN-014"]


def test_whose_delivery_it_is_cannot_be_told_while_a_cancel_is_under_way(play) -> None:
    book = play("""
        @queue q
        @queue k
        @stock q m1
        @consume 1 q c1
        1 > cancel c1
        1 > consume k c1
        1 < deliver c1 1 m1 q
        1 < cancel-ok c1
        1 < consume-ok c1
    """)
    assert book.broken == []


def test_a_tag_of_the_broker_s_own_before_it_is_known(play) -> None:
    assert play("@queue q \n @stock q m1 \n @open 1 \n 1 > consume q \n 1 < deliver x 1 m1 q").broken == ["CAN-015"]


def test_the_same_tag_on_another_channel(play) -> None:
    start = Q + "@open 2 \n 2 > consume q c1 \n"
    assert play(start + "2 < consume-ok c1").exercised["CAN-018"] == 1
    assert play(start + "0 < kicked 530 60 20 NOT_ALLOWED").broken == ["CAN-018"]


def test_what_becomes_of_a_cancel_ok_is_reported(play) -> None:
    book = play(KEEN + Q + GONE + NOTICE + "1 > cancel-ok c1 \n @barrier 1")
    assert book.judge.judgement.reports["CAN-017"] == {"accepted": 1}


@pytest.mark.parametrize("refusal", ["0 < kicked 505 60 31 UNEXPECTED_FRAME", "1 < closed 540 60 31 NOT_IMPLEMENTED"])
def test_a_cancel_ok_may_be_refused_in_any_way(play, refusal: str) -> None:
    """CAN-017: LavinMQ closes the channel with 540. The rule asks for a refusal that is no internal error."""
    book = play(KEEN + Q + GONE + NOTICE + "1 > cancel-ok c1 \n" + refusal)
    assert (book.broken, book.exercised["CAN-017"]) == ([], 1)
    failing = refusal.replace("505", "541").replace("540", "541")
    assert play(KEEN + Q + GONE + NOTICE + "1 > cancel-ok c1 \n" + failing).broken == ["CAN-017"]


def test_what_a_deleted_queue_had_sent_may_follow_cancel_ok(play) -> None:
    crossing = KEEN + Q + "@stock q m1 \n @open 2 \n 1 > cancel c1 \n 2 > delete q \n 1 < cancel-ok c1 \n"
    assert play(crossing + "1 < deliver c1 1 m1 q").broken == []


@pytest.mark.parametrize("start", ["1 > consume q c1 \n 1 < consume-ok c1", "1 > consume q c1 no_wait \n @barrier 1"])
def test_slots_that_are_not_given_to_a_successor_of_the_same_tag(play, start: str) -> None:
    book = play(
        f"""
        @queue q quorum
        @stock q m1 m2
        1 > open
        1 < open-ok
        1 > qos 1
        1 < qos-ok
        1 > consume q c1
        1 < consume-ok c1
        1 < deliver c1 1 m1 q
        1 > cancel c1
        1 < cancel-ok c1
        {start}
        - deadline replies
    """,
        "rabbitmq-4.0",
    )
    assert book.rest().broken == ["QOS-020"]


def test_a_settlement_that_reaches_the_namesake_of_its_queue(play) -> None:
    start = (
        KEEN
        + """
        @queue q
        @stock q m1
        @hold 1 q m1
        @open 2
        2 > delete q
        2 < delete-ok
        @queue q
        @stock q m2
        @hold 1 q m2
    """
    )
    assert play(start + "1 > nack 1 requeue \n @barrier 1 \n @drain q m2").broken == ["MODE-001"]
    assert play(start + "1 > ack 1 \n @barrier 1 \n @close 1 \n @drain q \n - deadline drain q").broken == ["RQ-011"]


@pytest.mark.parametrize("told", ["", "1 < cancel c1 no_wait \n"])
def test_a_channel_that_is_closed_with_a_queue_was_not_told_of_it(play, told: str) -> None:
    """CAN-003: no notification comes any more. After it, nothing that the rule claims is missing."""
    history = "@queue q \n @open 1 \n 0 < start notify \n 0 > start-ok notify \n @consume 1 q c1 \n 90 > delete q \n "
    assert play(history + told + "1 < closed 404 0 0 gone").broken == ([] if told else ["CAN-003"])


@pytest.mark.parametrize("asks", ["", "notify"])
def test_a_refused_deletion_is_no_deletion_without_a_notification(play, asks: str) -> None:
    """Its close names queue.delete, so the queue stays, and its consumers are owed nothing."""
    history = f"@queue q \n @open 1 \n 0 < start notify \n 0 > start-ok {asks} \n @consume 1 q c1 \n 1 > delete q \n "
    assert not {"CAN-003", "CAN-004"} & set(play(history + "1 < closed 403 50 40 ACCESS_REFUSED").broken)


def test_without_the_right_what_was_under_way_may_still_come(play) -> None:
    early = "@stock q m1 \n 1 < deliver c1 1 m1 q \n 0 < renew-ok"
    assert play(REVOKED + early).broken == []
    served = "0 < renew-ok \n @stock q m1 \n 1 < deliver c1 1 m1 q"
    for never in ("- rights c q \n", "0 > renew \n"):
        assert play((REVOKED + served).replace(never, "")).broken == [], never


def test_a_notification_for_a_right_is_no_time_out(play) -> None:
    """TMO-001: consumers of classic queues never time out."""
    told = "1 < cancel c1 no_wait \n 0 < renew-ok"
    assert play(REVOKED + told, "rabbitmq-4.3").broken == []
    assert play((REVOKED + told).replace("- rights c q \n", ""), "rabbitmq-4.3").broken == ["TMO-001"]


@pytest.mark.parametrize(
    ("words", "broken"),
    [("attempt to reuse consumer tag", ["CAN-018"]), ("reached maximum of consumers per channel", [])],
)
def test_a_free_tag_is_refused(play, words: str, broken: list[str]) -> None:
    """The broker complains of a tag that nobody has; of anything else it may complain."""
    assert play(KEEN + Q + f"1 > consume q c11 \n 0 < kicked 530 60 20 {words}").broken == broken
    assert play(KEEN + Q + CANCEL + f"1 > consume q c1 \n 0 < kicked 530 60 20 {words}").broken == ["CAN-013"]


@pytest.mark.parametrize(
    ("tag", "text", "found"),
    [
        ("c1", "NOT_ALLOWED - consumerTag c1 is taken", ["CAN-018"]),
        ("c1", "NOT_ALLOWED - no advantage of the stage", []),
        ("amq.mine", "NOT_ALLOWED - this tag is reserved", []),
    ],
)
def test_a_complaint_of_a_free_tag(play, tag: str, text: str, found: list[str]) -> None:
    """CAN-018: where it is of the tag, and of no other thing about it than that it is in use."""
    start = f"@queue q \n @open 1 \n 1 > consume q {tag} \n"
    assert play(start + f"0 < kicked 530 60 20 {text}").broken == found


def test_who_may_no_longer_read_need_not_be_served(play) -> None:
    """CAN-019: a broker that ends such a consumer, and does not say so, owes it nothing."""
    history = REVOKED + "0 < renew-ok \n @stock q m1 \n @barrier 1 \n - deadline replies"
    book = play(history).rest()
    assert "QOS-002" not in book.broken
    kept = history.replace("- rights c q \n ", "")
    assert "QOS-002" in play(kept).rest().broken

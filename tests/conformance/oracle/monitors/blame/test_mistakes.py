"""What the answer to a mistake explains, and the life that goes on after one.

Blame once: one wrong decision breaks the rules nearest to it, and what follows from it breaks no others.

Each history has one such decision; beside it stands, where there is one, the history in which a second decision is
independent of the first, and is found all the same.
"""

from __future__ import annotations

import pytest

from tests.support.blame import STOCK, UNKNOWN

REFUSED = """
    @open 1
    1 > nack 0 multiple requeue
    1 > ack 2 multiple
"""


def test_a_close_speaks_of_the_settlement_that_it_names(play) -> None:
    """ACK-008: LavinMQ refuses a nack of everything on an empty channel, which is none of the next ack's business."""
    book = play(REFUSED + f"1 < closed 406 60 120 {UNKNOWN} 0 \n 1 > closed-ok")
    assert book.broken == ["ACK-008"]
    assert book.judge.owed() == []
    assert play(REFUSED + f"1 < closed 406 60 80 {UNKNOWN} 2").broken == []


def test_a_close_that_names_another_method_and_the_right_tag_is_badly_made(play) -> None:
    """ERR-002: the text says whose close it is."""
    assert play(REFUSED + f"1 < closed 406 60 120 {UNKNOWN} 2").broken == ["ERR-002"]


def test_a_close_that_names_a_method_alone_leaves_a_way_out(play) -> None:
    """Is it the nack that was refused, or the ack, under a wrong name?"""
    book = play(REFUSED + "1 < closed 406 60 120 PRECONDITION_FAILED")
    assert book.broken == []
    assert [(one.rule, one.certain) for one in book.judge.judgement.findings] == [("ACK-008", False)]


def test_the_mistake_that_closed_another_channel_is_answered(play) -> None:
    """ERR-004: the close came to the wrong channel; that none comes to the right one is no second fault."""
    book = play(f"@open 1 \n @open 2 \n 1 > ack 7 \n 2 < closed 406 60 80 {UNKNOWN} 7 \n - deadline replies")
    assert book.broken == ["ERR-004"]


GHOSTS = """
    @queue q
    @open 1
    @consume 1 q c1
    1 > ack 9
    1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 9
    1 > closed-ok
    @open 1
    1 > publish q m1
    1 < deliver c1 {} m1 q
"""


def test_what_follows_from_a_life_that_goes_on_is_no_fault_of_its_own(play) -> None:
    """ERR-007: on GarageMQ a failed channel keeps its consumers, its limits and its count of deliveries."""
    assert play(GHOSTS.format(1)).broken == ["ERR-007"]
    counted = GHOSTS.format(1) + "@consume 1 q c2 \n 1 > publish q m2 \n 1 < deliver c2 2 m2 q"
    assert play(counted).broken == ["ERR-007"]
    settled = "\n 1 > ack 1 \n @barrier 1 \n 1 > ack 1 \n @barrier 1 \n - deadline replies"
    assert play(counted + settled).broken == ["ERR-007"]
    twice = GHOSTS.format(1) + "@close 1 \n @open 1 \n 1 > publish q m2 \n 1 < deliver c1 2 m2 q"
    assert play(twice).broken == ["ERR-007"], "the third life is told nothing new"
    others = GHOSTS.format(1) + "@open 2 \n 2 > ack 7 \n @barrier 2 \n - deadline replies"
    assert play(others).broken == ["ERR-007", "ERR-002"], "another channel is judged on"


AFTER_AN_ERROR = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2 m3
    1 > ack 9
    1 > {}
    1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 9
    1 > closed-ok
    @drain q {}
    - deadline drain q
"""


def test_what_is_settled_after_a_mistake_is_lost_by_that(play) -> None:
    """ERR-006: a broker that goes on carrying out settlements returns the rest."""
    assert play(AFTER_AN_ERROR.format("ack 1", "m2 m3")).broken == ["ERR-006"]
    assert play(AFTER_AN_ERROR.format("ack 2 multiple", "m3")).broken == ["ERR-006"]
    assert "AUTO-004" in play(AFTER_AN_ERROR.format("nack 1 requeue", "m2 m3")).broken, "to return it would be no loss"
    assert play(AFTER_AN_ERROR.format("ack 1", "m1 m2 m3")).broken == []


def test_who_goes_on_delivering_when_all_is_closed_may_do_so_on_the_next_channel(play) -> None:
    """QOS-002: on GarageMQ the consumer of a failed channel took what the consumer of the next one waited for."""
    failed = "@queue q \n @consume 1 q c1 \n 1 > ack 9 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown tag 9 \n"
    failed += "1 > closed-ok \n {} \n @open 1 \n @consume 1 q c2 \n @stock q m2 \n - deadline replies \n"
    failed += "1 > cancel c2 \n 1 < cancel-ok c2 \n @drain q m2"
    assert play(failed.format("")).broken == ["QOS-002"]
    served = "@queue q \n @stock q m1" + failed.replace("@queue q", "", 1).format("1 < deliver c1 1 m1 q")
    assert play(served).broken == []


def test_what_comes_after_a_broken_rule_may_follow_from_it(play) -> None:
    """TAG-003, RQ-001: who has taken one wrong decision stands elsewhere. A flag that is wrong changes nothing."""
    tags = "@queue q \n @stock q m1 m2 m3 \n @hold 1 q m1 \n 1 > get q \n 1 < get-ok 1 m2 q \n"
    behind = play(tags + "1 > qos 0 size=1 \n 1 < qos-ok \n @open 2 \n 2 > ack 7 \n @barrier 2 \n - deadline replies")
    assert {one.rule: one.unless for one in behind.judge.judgement.findings}["ERR-002"] == ("TAG-003",)
    flagged = play(
        "@queue q \n @stock q m1 \n 1 > open \n 1 < open-ok \n 1 > get q \n 1 < get-ok 1 m1 q redelivered \n"
        "@open 2 \n 2 > ack 7 \n @barrier 2 \n - deadline replies"
    )
    assert {one.rule: one.unless for one in flagged.judge.judgement.findings} == {"RQ-009": (), "ERR-002": ()}


REFUSALS = {
    "RQ-014": "1 > recover requeue \n 0 < kicked 540 60 110 NOT_IMPLEMENTED",
    "ACK-012": f"1 > nack 1 requeue \n 1 > nack 2 requeue \n 1 < closed 406 60 120 {UNKNOWN} 1 \n 1 > closed-ok",
}


@pytest.mark.parametrize("rule", REFUSALS)
def test_a_request_that_was_refused_bears_out_nothing(play, rule: str) -> None:
    """What it should have returned came back by the end of the channel."""
    back = """
        d:50 > open
        d:50 < open-ok
        d:50 > get q no_ack
        d:50 < get-ok 1 m1 q redelivered
        d:50 > get q no_ack
        d:50 < get-ok 2 m2 q redelivered
    """
    book = play(STOCK + "@hold 1 q m1 m2 \n" + REFUSALS[rule] + back)
    assert book.exercised[rule] == (rule in book.broken)


def test_an_answer_to_a_mistake_is_no_frame_that_nobody_asked_for(play) -> None:
    """ERR-010: LavinMQ answers channel.close on a number that was never opened. ERR-013 is about what nobody asked."""
    closed = "@open 1 \n 7 > close \n 7 < close-ok \n"
    assert play(closed).broken == []
    assert play(closed + "- deadline replies").broken == ["ERR-010"]
    assert play("@open 1 \n 7 < close-ok").broken == ["ERR-013"]


@pytest.mark.parametrize(
    ("start", "rule"), [("major=8", "CONN-002"), ("locales=en-US", "CONN-003"), ("nameless", "CONN-004")]
)
def test_what_a_broker_says_of_itself_hides_no_fault(play, start: str, rule: str) -> None:
    """Each history begins with it, so nothing else would ever be certain. Seen on Qpid Broker-J, which tells no
    platform."""
    header = b"AMQP\x00\x00\x09\x01".hex()
    greeted = f"- known c login=1 vhost=1 \n - header c {header} \n 0 < start {start} \n"
    entered = "0 > start-ok user=guest \n 0 < tune \n 0 > tune-ok \n 0 > enter \n 0 < entered \n"
    book = play(greeted + entered + "@open 2 \n 2 > ack 7 \n @barrier 2 \n - deadline replies")
    assert {one.rule: one.unless for one in book.judge.judgement.findings} == {rule: (), "ERR-002": ()}


FOUND = """
    @exchange x
    @open 1
    90 > unexchange x
    90 < unexchange-ok
    1 > exchange x direct passive
    1 < exchange-ok
"""
"""An exchange that was deleted is found all the same."""


@pytest.mark.parametrize("answer", ["bind-ok", "closed 404 50 20 NOT_FOUND"])
def test_what_was_done_in_place_of_a_refusal_may_be_there(play, answer: str) -> None:
    """EXCH-001: LavinMQ declared what it was to refuse, and then bound to it, which was held against BIND-003."""
    assert play("@queue q \n" + FOUND + f"1 > bind q x key \n 1 < {answer}").broken == ["EXCH-001"]


def test_what_a_refusal_was_not_about_is_known_as_before(play) -> None:
    """BIND-002: y was deleted as well, and nobody has asked for it."""
    other = "@exchange y \n 90 > unexchange y \n 90 < unexchange-ok \n 1 > bind q y key \n 1 < bind-ok"
    assert play("@queue q \n" + FOUND + other).broken == ["EXCH-001", "BIND-002"]


HUSHED = "@queue q \n @open 1 \n @open 2 \n 1 > declare q exclusive \n - deadline replies \n"


def test_a_refusal_that_does_not_come_hushes_its_connection(play) -> None:
    """QUEUE-006: LavinMQ sends no refusal that names a queue of many octets, and reads nothing on that connection after
    that. What is asked there next breaks no rule; what is asked elsewhere does, and so does what is asked after an
    answer."""
    assert play(HUSHED).broken == ["QUEUE-006"]
    silent = "{} > qos 1 \n - deadline replies"
    assert play(HUSHED + silent.format(2)).broken == ["QUEUE-006"]
    heard = "2 > purge q \n 2 < purge-ok 0 \n"
    assert play(HUSHED + heard + silent.format(2)).broken == ["QUEUE-006", "QOS-024"]
    elsewhere = "d:1 > open \n d:1 < open-ok \n"
    assert play(HUSHED + elsewhere + silent.format("d:1")).broken == ["QUEUE-006", "QOS-024"]


def test_an_end_without_a_name_may_be_that_of_a_settlement(play) -> None:
    """CNF-016, ERR-004: LavinMQ ends the connection over the nack of nothing in a transaction. What was sent behind it
    is another matter; where it is alone, it was answered so."""
    select = "1 > confirm \n 0 < kicked 541 0 0 INTERNAL_ERROR"
    alone = "@open 1 \n 1 > select \n 1 < select-ok \n"
    assert play(alone + select).broken == ["CNF-016", "ERR-004"]
    assert not {"CNF-016", "ERR-004"} & {*play(alone + "1 > nack 0 multiple \n" + select).broken}


PIPED = "@queue q \n @open 1 \n 1 > get q \n 1 > publish q m1 expiration=soon \n"


def test_a_close_that_names_an_earlier_request_is_not_about_a_mistake_behind_it(play) -> None:
    """CNF-019: RabbitMQ 4.3 refuses a get from a quorum queue with a single active consumer."""
    assert "CNF-019" not in play(PIPED + "1 < closed 405 60 70 RESOURCE_LOCKED").broken
    late = PIPED + "1 < get-empty \n 1 < closed 405 60 70 RESOURCE_LOCKED"
    assert "CNF-019" in play(late).broken


RACED = "@queue q \n @open 1 \n 90 > exchange x fanout \n 1 > publish any m1 exchange=x \n"
SOON = "1 > publish q m2 expiration=soon \n"
NO_EXCHANGE = "1 < closed 404 60 40 NOT_FOUND - no exchange 'x'"


def test_a_publish_that_meets_the_declaration_of_its_exchange_may_have_failed_first(play) -> None:
    """CNF-019, TTL-009: RabbitMQ 4.3 says 404 for it, and not 406 for what comes behind."""
    assert play(RACED + SOON + NO_EXCHANGE).broken == []
    assert "CNF-019" in play(RACED + "@barrier 1 \n" + SOON + NO_EXCHANGE).broken, "the publish was handled"
    assert "CNF-019" in play(RACED.replace("fanout \n", "fanout \n 90 < exchange-ok \n") + SOON + NO_EXCHANGE).broken

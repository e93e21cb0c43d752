"""Messages that are lost, and to which end or settlement that is due.

Blame once: one wrong decision breaks the rules nearest to it, and what follows from it breaks no others.

Each history has one such decision; beside it stands, where there is one, the history in which a second decision is
independent of the first, and is found all the same.
"""

from __future__ import annotations

import pytest

from conformance.oracle.monitors.fate import LOSING, TAKING
from tests.conformance.oracle.monitors.messages.test_len import refusing
from tests.conformance.oracle.monitors.messages.test_policy import DROPS, PLAIN, REFUSES, SAYS_REJECT, sent
from tests.support.blame import SETTLED, STOCK, UNKNOWN, doubted


def test_what_one_settlement_covered_is_doubtful_together(play) -> None:
    """ACK-002: m1 came back, so m2 may as well; m3, which was left alone, must."""
    rest = "2 > get q \n 2 < get-ok 2 m2 q redelivered \n 2 > get q \n 2 < get-ok 3 m3 q redelivered"
    book = play(SETTLED + rest)
    assert book.broken == play(SETTLED).broken
    assert len(book.judge.judgement.findings) == len(play(SETTLED).judge.judgement.findings)
    lost = play(SETTLED + "2 > get q \n 2 < get-ok 2 m4 q \n 2 > get q \n 2 < get-empty \n - deadline drain q")
    assert len(lost.judge.judgement.findings) > len(book.judge.judgement.findings)


def test_a_message_that_came_to_two_can_be_settled_by_both_or_by_one(play) -> None:
    """MODE-001: the broker may have taken it from the first, and refuses that one's settlement."""
    doubled = STOCK + "@hold 1 q m1 \n @open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n"
    assert play(doubled + "1 > ack 1 \n @barrier 1").broken == ["MODE-001"]
    assert play(doubled + f"1 > ack 1 \n 1 < closed 406 60 80 {UNKNOWN} 1").broken == ["MODE-001"]
    second = play(doubled + f"2 > ack 1 \n 2 < closed 406 60 80 {UNKNOWN} 1").broken
    assert len(second) == 2
    assert second[0] == "MODE-001"


def test_a_lost_message_may_turn_up(play) -> None:
    """ACK-012: it is missed once."""
    lost = STOCK + "@hold 1 q m1 \n 1 > nack 1 requeue \n @barrier 1 \n @drain q m2 m3 m4 \n - deadline drain q \n"
    broken = play(lost).broken
    assert "ACK-012" in broken
    assert play(lost + "1 > get q \n 1 < get-ok 2 m1 q redelivered \n 1 > ack 2 \n @barrier 1").broken == broken
    assert play(lost + "- deadline drain q").broken == broken


ENDS = {
    "AUTO-001": "@close 1",
    "AUTO-004": f"1 > ack 9 \n 1 < closed 406 60 80 {UNKNOWN} 9 \n 1 > closed-ok",
}


@pytest.mark.parametrize("rule", ENDS)
def test_an_end_that_returns_nothing_is_to_blame_for_all_that_is_lost(play, rule: str) -> None:
    """AUTO: also for what a settlement might explain, where another message is lost that none does. Whether it loses
    some where it returns others (AUTO-010), or messages in other ways (RQ-011), this does not tell."""
    book = play(STOCK + "@hold 1 q m1 m2 m3 \n 1 > ack 2 \n" + ENDS[rule] + "\n @drain q m4 \n - deadline drain q")
    assert book.broken == [rule]
    assert doubted(book) - {rule} == {"AUTO-010", "RQ-011"}


@pytest.mark.parametrize(("settled", "back"), [(3, "m1 m2"), (1, "m4 m5")], ids=["of gets", "of consumers"])
def test_an_end_may_return_what_came_in_one_way_alone(play, settled: int, back: str) -> None:
    """AUTO-001: StrangeQ returns what consumers had. ACK-001 and RQ-011 were accused of what it had handed to gets."""
    had = "@queue q \n @stock q m1 m2 m3 m4 m5 \n @hold 1 q m1 m2 m3 \n"
    had += "1 > consume q c1 \n 1 < consume-ok c1 \n 1 < deliver c1 4 m4 q \n 1 < deliver c1 5 m5 q \n"
    book = play(f"{had} 1 > ack {settled} \n @close 1 \n @drain q {back} \n - deadline drain q")
    assert book.broken == ["AUTO-001"]
    assert {"AUTO-010", "RQ-011"} <= doubted(book)


def test_an_end_that_returns_some_is_not_complete(play) -> None:
    """AUTO-010, RQ-011: m3 is lost, and nothing that was done explains it."""
    history = STOCK + "@hold 1 q m1 m2 m3 \n @close 1 \n @drain q m1 m2 m4 \n - deadline drain q"
    assert set(play(history).broken) == {"AUTO-001", "AUTO-010", "RQ-011"}


def test_what_a_settlement_explains_better_is_no_fault_of_the_end(play) -> None:
    """ACK-001: m1 went with m2, and m3 came back. But AUTO-001 is not borne out by it either."""
    book = play(STOCK + "@hold 1 q m1 m2 m3 \n 1 > ack 2 \n @close 1 \n @drain q m3 m4 \n - deadline drain q")
    assert book.broken == ["ACK-001"]
    assert doubted(book) == {"AUTO-001", "AUTO-010"}


def test_a_message_that_no_consumer_gets_is_still_missed_in_the_end(play) -> None:
    """AUTO-012: nobody gets what is not there. Where the end of a channel has lost it, that is the fault."""
    history = "@queue q \n @stock q m1 \n @hold 1 q m1 \n @consume 2 q c2 \n @close 1 \n - deadline replies \n"
    ended = history + "2 > cancel c2 \n 2 < cancel-ok c2 \n @drain q {} \n - deadline drain q"
    lost = play(ended.format(""))
    assert lost.broken == ["AUTO-001"]
    assert doubted(lost) == {"AUTO-012", "AUTO-010", "RQ-011"}
    assert play(ended.format("m1")).broken == ["AUTO-012"]


PASSED = (
    STOCK
    + """
    @hold 1 q m1
    1 > nack 1 requeue
    @barrier 1
"""
)


def test_a_message_that_is_lost_was_not_passed_over(play) -> None:
    """ACK-012: that others came first, or that it kept a consumer waiting, follows from its loss."""
    rest = "@drain q m2 m3 m4 \n - deadline drain q"
    assert play(PASSED + rest).broken == ["ACK-012"]
    fresh = "@queue q \n @stock q m1 m2 \n @consume 1 q c1 \n 1 < deliver c1 1 m2 q \n - deadline replies \n"
    ended = "1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q {} \n - deadline drain q"
    assert play(fresh + ended.format("")).broken == ["RQ-011"]
    assert set(play(fresh + ended.format("m1")).broken) == {"RQ-006", "QOS-028"}


def test_a_message_that_is_there_was_passed_over(play) -> None:
    """RQ-004: it comes late. Until then that is no more than a suspicion."""
    late = PASSED + "@hold 1 q m2"
    assert play(late).broken == []
    assert {one.rule for one in play(late).judge.judgement.findings} == {"RQ-001", "RQ-004"}
    assert play(late + "\n @hold 1 q m1").broken == ["RQ-004", "RQ-001"]


def test_what_is_told_no_more_is_still_that_fault(play) -> None:
    """CAN-008: RabbitMQ 3.8 answers cancels twice. The sixth is no frame that nobody knows (ERR-013)."""
    twice = "1 > cancel c{0} \n 1 < cancel-ok c{0} \n 1 < cancel-ok c{0} \n"
    history = "@queue q \n @open 1 \n" + "".join(f"@consume 1 q c{n} \n" + twice.format(n) for n in range(8))
    assert play(history).broken == ["CAN-008"]


AGROUND = """
    @queue q
    @stock q m1 m2
    @hold 1 q m1 m2
    @consume 2 q c2
    2 > reject 0
    2 < closed 406 60 90 PRECONDITION_FAILED - unknown delivery tag 0
    2 > closed-ok
    1 > reject 2
    @close 1
"""


def test_what_went_to_a_channel_that_had_failed_is_lost_by_that(play) -> None:
    """AUTO-004: m1 came back, and GarageMQ sent it to the dead. No settlement before has taken it (ACK-019)."""
    end = "@drain q \n - deadline drain q"
    book = play(AGROUND + "2 < deliver c2 1 m1 q redelivered \n" + end)
    lost = [(one.rule, one.unless) for one in book.judge.judgement.findings if "did not deliver it" in one.observed]
    assert lost == [("RQ-011", ("AUTO-004",))]
    assert "ACK-019" in play(AGROUND + end).broken, "nobody else had it"


def test_who_waits_is_not_starved_of_what_the_dead_hold(play) -> None:
    """AUTO-012: it is seen again when the number of the dead channel was used once more."""
    wait = "@consume 3 q c3 \n - deadline replies \n 3 > cancel c3 \n 3 < cancel-ok c3 \n @drain q m1"
    sent = play(AGROUND + "2 < deliver c2 1 m1 q redelivered \n" + wait).broken
    assert set(play(AGROUND + wait).broken) - set(sent) == {"AUTO-012"}


def test_who_loses_messages_anyway_may_not_have_dropped_the_wrong_end(play) -> None:
    """RQ-011, CNF-010: m1 is there in place of m2, so the wrong one was dropped, or m2 was lost. That both are there is
    no loss."""
    stocked = "@queue q classic x-max-length=1 \n @open 1 \n @confirming 8 \n" + "".join(
        f"8 > publish q m{number} \n 8 < ack {number} \n" for number in (1, 2)
    )
    first, empty = "1 > get q no_ack \n 1 < get-ok 1 m1 q \n", "1 > get q no_ack \n 1 < get-empty"
    second = "1 > get q no_ack \n 1 < get-ok 2 m2 q \n"
    found = [play(stocked + first + rest + empty).judge.judgement.findings for rest in ("", second)]
    assert [(one.rule, one.unless) for one in found[0]] == [("LEN-002", LOSING)]
    assert [(one.rule, one.unless) for one in found[1]] == [("LEN-001", ())]


BOTH = "@queue q \n @open 1 \n 1 > select \n 1 < select-ok \n 1 > publish q m1 \n 1 > commit \n 1 < commit-ok \n"


def test_what_a_transaction_has_published_may_be_lost_as_anything_is(play) -> None:
    """TX-010: a broker that loses publishes without any cause loses those of a transaction, too."""
    history = BOTH + "@open 2 \n 2 > get q no_ack \n 2 < get-empty"
    found = {one.rule: one.unless for one in play(history).judge.judgement.findings if one.certain}
    assert set(LOSING) <= {*found["TX-010"]}


def test_what_is_lost_leaves_room(play) -> None:
    """LEN-013: a broker that loses what it takes has room where the queue would be full, and CNF-011 speaks of one that
    confirms what it rejects."""
    (found,) = play(refusing(third="ack")).judge.judgement.findings
    assert (found.rule, found.unless) == ("LEN-013", TAKING)


@pytest.mark.parametrize(("rule", "full"), [("POLICY-018", PLAIN + REFUSES), ("POLICY-020", SAYS_REJECT + DROPS)])
def test_who_confirms_what_is_rejected_need_not_have_passed_over_a_policy(play, rule: str, full: str) -> None:
    """CNF-011: a full queue rejects all the same, and the publisher is told nothing of it."""
    (found,) = play(full + sent(1, 2, 3)).judge.judgement.findings
    assert (found.rule, found.unless) == (rule, TAKING)


@pytest.mark.parametrize(("settles", "early"), [("1 > ack 1 \n", True), ("", False)])
def test_a_purge_takes_what_an_uncommitted_settlement_gave_back(play, settles: str, early: bool) -> None:
    """QUEUE-019, TX-002: LavinMQ recovers what an open transaction has settled, so it was ready when the purge came."""
    held = "@queue q \n @stock q m1 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n" + settles
    history = held + "90 > purge q \n 90 < purge-ok \n @close 1 \n @drain q \n - deadline drain q"
    (unless,) = (one.unless for one in play(history).judge.judgement.findings if one.rule == "QUEUE-019")
    assert ("TX-002" in unless) is early


UNDO = "1 > rollback \n 1 < rollback-ok \n"
RECOVER = "1 > recover requeue \n 1 < recover-ok \n"


@pytest.mark.parametrize("back", [UNDO, RECOVER + UNDO, UNDO + UNDO])
def test_a_purge_is_not_blamed_alone_for_what_a_rollback_has_restored(play, back: str) -> None:
    """QUEUE-019, TX-002: LavinMQ loses what was settled in a transaction that recovers and is rolled back."""
    held = "@queue q \n @stock q m1 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n 1 > ack 1 \n"
    fails = "1 > confirm \n 1 < closed 406 85 10 no \n 1 > closed-ok \n"
    history = held + "90 > purge q \n 90 < purge-ok \n" + back + fails + "@drain q \n - deadline drain q"
    (unless,) = (one.unless for one in play(history).judge.judgement.findings if one.rule == "QUEUE-019")
    assert "TX-002" in unless


def test_what_crossed_a_purge_may_have_gone_with_it(play) -> None:
    """QUEUE-019: m1 may have been out when its queue was purged. Had it come after that, its channel's end lost it."""
    get, purge = "1 > get q \n {}1 < get-ok 1 m1 q \n", "90 > purge q \n {}90 < purge-ok \n"
    rest = "@close 1 \n @drain q \n - deadline drain q"
    crossing = play("@queue q \n @stock q m1 m2 \n @open 1 \n" + purge.format(get.format("")) + rest)
    assert (crossing.broken, doubted(crossing)) == ([], {"QUEUE-019"})
    before = play("@queue q \n @stock q m1 m2 \n @open 1 \n" + get.format("") + purge.format("") + rest)
    assert before.broken == ["QUEUE-019"]
    after = play("@queue q \n @open 1 \n" + purge.format("") + "@stock q m1 \n" + get.format("") + rest)
    assert after.broken == ["AUTO-001"]


def test_what_was_settled_in_a_transaction_may_be_lost_by_its_end(play) -> None:
    """QUEUE-019: so seen on LavinMQ, which loses what was settled when the channel recovers, and purges none of it."""
    held = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > select \n 1 < select-ok \n @hold 1 q m1 \n"
    rest = "90 > purge q \n 90 < purge-ok \n @close 1 \n @drain q \n - deadline drain q"
    for settled, broken in (("1 > ack 1 \n @barrier 1 \n", []), ("", ["QUEUE-019"])):
        assert play(held + settled + rest).broken == broken

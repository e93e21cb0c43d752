"""What has two explanations is held against neither rule, and what has one is held against that one alone.

Each history is what a broker with a single fault shows. `about` are the rules that it may be accused of; next to it
stands the same without the second explanation, which is an accusation, so that no excuse reaches further.
"""

from __future__ import annotations

import pytest

from tests.support.tables import Play

CROSSING = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > qos 1
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    b:1 > open
    b:1 < open-ok
    b:1 > consume q c2
    b:1 < consume-ok c2
    1 > ack 1
    0 > {}
    1 < deliver c1 2 m2 q       # under way when the client said goodbye
    {}
    b:1 < deliver c2 1 m2 q redelivered
"""


def test_what_crosses_the_end_of_a_connection_goes_back(play: Play) -> None:
    """MODE-001: a slow broker sends its last delivery after the client's connection.close, and returns it with it."""
    assert play(CROSSING.format("bye", "0 < bye-ok")).broken == []
    still = CROSSING.replace("0 > {}", "1 > flow").replace("{}", "1 < flow-ok")
    assert play(still).broken == ["MODE-001"]


ORDER = ("RQ-001", "RQ-002")
NOT_RETURNED = """
    @queue q
    @stock q m1 m2
    @hold 1 q m1 m2
    1 > nack 2 multiple requeue
    @barrier 1
    @open 2
    2 > get q
    2 < get-ok 1 m2 q redelivered
    {}
    2 > get q
    2 < get-ok 2 m1 q redelivered
"""


def test_a_nack_is_believed_to_return_while_nothing_else_may_have(play: Play) -> None:
    """RQ-001: who takes a multiple nack for a single one returns the rest with the channel: in order, but later."""
    assert play(NOT_RETURNED.format("")).broken == [*ORDER]
    for later in ("@close 1", "1 > recover requeue \n 1 < recover-ok", "1 > nack 0 multiple requeue \n @barrier 1"):
        broken = play(NOT_RETURNED.format(later)).broken
        assert not {*ORDER} & {*broken}, later


CANCELLED = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > qos {} global
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > cancel c1
    1 < cancel-ok c1
    @consume 1 q c2
    1 < deliver c2 2 {}
"""


@pytest.mark.parametrize(
    ("comes", "about"),
    [
        ("m1 q redelivered", {"ACK-016", "AUTO-008"}),
        ("m2 q", {"QOS-020"}),
    ],
)
def test_a_cancel_that_returns_is_no_wrong_limit(play: Play, comes: str, about: set[str]) -> None:
    """QOS-006: to a broker that returns with a cancel what the consumer held, the slots are free."""
    assert {*play(CANCELLED.format(1, comes)).broken} == about


ELSEWHERE = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > qos 1
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    @open 2
    2 > ack 0 {}
    @barrier 2
    1 < deliver c1 2 m2 q
"""


def test_a_settlement_elsewhere_may_have_freed_the_slot(play: Play) -> None:
    """QOS-001: a multiple that crosses channels frees slots where nobody settled anything."""
    assert play(ELSEWHERE.format("multiple")).broken == []
    assert play(ELSEWHERE.replace("2 > ack 0 {}", "")).broken == ["QOS-001"]


PROVISIONAL = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > select
    1 < select-ok
    1 > get q
    1 < get-ok 1 m1 q
    1 > get q
    1 < get-ok 2 m2 q
    1 > ack 1
    1 > ack 2
    @close 1
    @open 2
    2 > get q
    2 < get-empty
    - deadline drain q
"""


def test_what_was_settled_provisionally_is_lost_by_the_transaction(play: Play) -> None:
    """ACK-001: neither settlement has reached too far, if both were taken for final."""
    broken = play(PROVISIONAL).broken
    assert "AUTO-006" in broken
    assert not {"ACK-001", "ACK-002", "TX-002"} & {*broken}


AGAIN = """
    @queue q
    @confirming 1
    1 > publish q m1
    1 < ack 1
    {}
    1 > publish q m2
    1 > publish q m3
    1 < ack {}
    - deadline confirms
"""


def test_a_repeated_select_may_have_changed_the_numbers(play: Play) -> None:
    """CNF-020: who counts anew after a second select has confirmed 2 publishes, and the client waits for the third."""
    assert play(AGAIN.format("1 > confirm \n 1 < confirm-ok", "2 multiple")).broken == []
    assert play(AGAIN.format("", "2 multiple")).broken == ["CNF-020"]


REFUSED = """
    @queue q
    @stock q m1 m2 m3
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 < deliver c1 3 m3 q
    {}
    1 > ack 3 multiple
    1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 3
"""
GAP, CANCEL = "1 > ack 2", "1 > cancel c1 \n 1 < cancel-ok c1"


def test_a_refusal_with_two_reasons_names_none(play: Play) -> None:
    """ACK-016: a multiple over a gap, after a cancel: which of the two has the broker taken amiss?"""
    assert play(REFUSED.format(GAP)).broken == ["ACK-005"]
    assert play(REFUSED.format(CANCEL)).broken == ["ACK-016"]
    assert play(REFUSED.format(f"{GAP} \n {CANCEL}")).broken == []


def test_an_end_that_returns_nothing_has_lost_what_a_rollback_restored(play: Play) -> None:
    """TX-002: whether the rollback or the end of the channel was wrong shows where that returns another message."""
    history = """
        @queue q
        @stock q m1 m2
        @open 1
        1 > select
        1 < select-ok
        @hold 1 q m1 m2
        1 > ack 1
        1 > rollback
        1 < rollback-ok
        @close 1
        @drain q {}
        - deadline drain q
    """
    assert play(history.format("m2")).broken == ["TX-002"]
    assert "TX-002" not in play(history.format("")).broken


CROSSED = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2 m3
    @open 2
    1 > ack 2
    1 > ack 3 multiple
    1 > close
    2 > get q
    {}
    2 < get-ok 1 m1 q redelivered
"""


def test_what_may_have_been_refused_is_not_counted_as_nacked(play: Play) -> None:
    """RQ-012: nor is it the nack that has returned it then, which counts in another way."""
    history = """
        @queue q quorum
        @stock q m1 m2 m3
        @hold 1 q m1 m2 m3
        @open 2
        {}
        1 > nack 3 multiple requeue
        2 > get q
        2 < get-ok 1 m1 q redelivered x-acquired-count=1 x-delivery-count=1
    """
    assert play(history.format("1 > ack 2")).broken == []
    assert play(history.format("")).broken == ["RQ-012"]


def test_what_may_have_been_refused_is_not_lost_by_the_close(play: Play) -> None:
    """ACK-018: who refuses to pass over a gap returns the deliveries with the channel, before that is read."""
    assert "ACK-018" not in play(CROSSED.format("")).broken
    assert "ACK-018" in play(CROSSED.format("1 < close-ok")).broken


HINDERED = """
    @queue q
    @queue r
    @stock q m1
    @stock r m2
    @hold 1 q m1
    1 > qos 1
    1 < qos-ok
    {}
    1 < deliver c1 2 m2 r
    1 > nack 1 requeue
    1 > get q
    1 < get-empty
"""


def test_a_limit_may_hinder_a_get_of_what_was_returned(play: Play) -> None:
    """ACK-012: who lets a limit that is reached hinder gets has it in the queue."""
    assert play(HINDERED.format("@consume 1 r c1")).broken == []
    free = HINDERED.format("").replace("1 < deliver c1 2 m2 r", "")
    assert play(free).broken == ["ACK-012"]


DELETED = """
    @queue q
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    @open 2
    2 > delete q
    2 < delete-ok
    1 < cancel c1 no_wait
    1 > ack {}
    1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag {}
"""


def test_tag_0_may_be_unknown_whatever_became_of_the_queue(play: Play) -> None:
    """CAN-012: who does not know tag 0 refuses it after the deletion as well."""
    assert "CAN-012" not in play(DELETED.format("0 multiple", 0)).broken
    assert "CAN-012" in play(DELETED.format("1", 1)).broken


PHANTOM = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > qos 2 global
    1 < qos-ok
    1 > qos 1
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > cancel c1
    1 < cancel-ok c1
    1 > ack 1
    {}
    @consume 1 q c2
    - deadline replies
    @close 1
    @drain q m2
"""


def test_who_was_only_told_that_it_has_ended_has_slots(play: Play) -> None:
    """QOS-006: a cancel that is answered and not carried out leaves a consumer that takes messages and slots."""
    assert play(PHANTOM.format("1 < deliver c1 2 m2 q")).broken == ["CAN-009"]
    silent = play(PHANTOM.format("")).broken
    assert silent
    assert "CAN-009" not in silent


SHIFTED = """
    @queue q
    @confirming 1
    1 > publish q m1
    1 > publish q m2
    1 > publish q m3
    1 < ack {}
    1 < ack 2
    - deadline confirms
"""


def test_who_counts_from_0_has_confirmed_the_last(play: Play) -> None:
    """CNF-020: 1 with multiple may mean the second publish, and 1 alone, before any other, the first."""
    assert play(SHIFTED.format("1 multiple")).broken == ["CNF-004"]
    assert play(SHIFTED.format("1")).broken == ["CNF-020"]


UNANSWERED = """
    @queue q
    @open 1
    @open 2
    {}
    2 > unexchange x
    - deadline replies
"""


def test_a_method_that_nobody_ever_answers_is_no_harm_of_a_mistake(play: Play) -> None:
    """ERR-004: GarageMQ leaves exchange.delete unanswered on every connection, also where no channel has failed."""
    mistake = "1 > ack 99 \n 1 < closed 406 60 80 unknown"
    harmed = [one for one in play(UNANSWERED.format(mistake)).judge.judgement.findings if one.certain]
    assert [(one.rule, one.unless) for one in harmed] == [("ERR-004", ("ERR-014",))]
    alone = [one for one in play(UNANSWERED.format("")).judge.judgement.findings if one.certain]
    assert [(one.rule, one.unless) for one in alone] == [("ERR-014", ())]


LEFT_ALONE = """
    @queue q
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > cancel c1
    1 < cancel-ok c1
    1 > {}
    @barrier 1
    @close 1
    @consume 2 q c2
    2 < deliver c2 1 m1 q redelivered
"""


@pytest.mark.parametrize(("settlement", "rule"), [("ack 0 multiple", "ACK-006"), ("ack 1", "MODE-004")])
def test_what_a_settlement_has_left_alone_is_so_for_the_deliveries_of_the_cancelled_too(
    play: Play, settlement: str, rule: str
) -> None:
    """ACK-016: a broker to which tag 0 with multiple means nothing has no trouble with cancelled consumers."""
    (finding,) = play(LEFT_ALONE.format(settlement)).judge.judgement.findings
    assert finding.rule == "ACK-016"
    assert rule in finding.unless


LONG_QUEUE = "@queue q \n @stock q " + " ".join(f"m{number}" for number in range(300)) + " \n"
ASKED = {
    "purge q": ("@queue q \n @open 1", ("ERR-014", ())),
    "purge q ": (LONG_QUEUE + "@open 1", ("QUEUE-034", ("ERR-014",))),
    "consume q c2": ("@queue q \n @consume 1 q c1", ("CAN-015", ())),
    "consume q c1": ("@queue q \n @consume 1 q c1 \n 1 > cancel c1 \n 1 < cancel-ok c1", ("CAN-013", ("CAN-015",))),
}


@pytest.mark.parametrize("asked", ASKED)
def test_who_never_answers_a_method_leaves_no_case_of_it_unanswered(play: Play, asked: str) -> None:
    """QUEUE-034, CAN-013: a long queue is purged, and a tag used again, as any other."""
    before, expected = ASKED[asked]
    found = play(f"{before} \n 1 > {asked} \n - deadline replies").judge.judgement.findings
    assert [(one.rule, one.unless) for one in found if one.certain] == [expected]


TWICE = """
    @queue q
    @queue r
    @exchange x q r
    @confirming 1
    1 > publish any m1 exchange=x
    1 < ack 1
    1 < ack 1
"""


def test_who_confirms_everything_twice_says_nothing_of_queues(play: Play) -> None:
    """CNF-010: one confirm for each of two queues, or CNF-004: two confirms for any publish."""
    (found,) = play(TWICE).judge.judgement.findings
    assert (found.rule, found.unless) == ("CNF-010", ("CNF-004",))
    assert play(TWICE.replace("@exchange x q r", "@exchange x q")).broken == ["CNF-004"]


LED = "@queue q \n @exchange x q \n @confirming 1 \n 1 > publish any m1 exchange=x \n 1 < ack 1 \n @open 2 \n"
THERE_TWICE = "2 > get q no_ack \n 2 < get-ok 1 m1 any \n 2 > get q no_ack \n 2 < get-ok 2 m1 any {}"


def test_a_second_copy_is_no_second_delivery(play: Play) -> None:
    """MODE-002: an exchange may have put it there twice (ROUTE-009); what is marked as redelivered is the same one."""
    for mark, others in (("", ("ROUTE-009",)), ("redelivered", ())):
        found = {one.rule: one.unless for one in play(LED + THERE_TWICE.format(mark)).judge.judgement.findings}
        assert found["MODE-002"] == others

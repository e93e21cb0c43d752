"""Blame once: one wrong decision breaks the rules nearest to it, and what follows from it breaks no others.

Each history has one such decision; beside it stands, where there is one, the history in which a second decision is
independent of the first, and is found all the same.
"""

from __future__ import annotations

import pytest

from conformance import profiles
from conformance.monitors import Judge
from conformance.monitors.state import decode, encode

STOCK = """
    @queue q
    @stock q m1 m2 m3 m4
"""

REFUSED = """
    @open 1
    1 > nack 0 multiple requeue
    1 > ack 2 multiple
"""
UNKNOWN = "PRECONDITION_FAILED - unknown delivery tag"


def doubted(book) -> set[str]:
    """The rules that may be broken."""
    return {one.rule for one in book.judge.judgement.findings if not one.certain}


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


TAGS = STOCK + """
    @open 1
    1 > get q
    1 < get-ok 1 m1 q
    1 > get q
    1 < get-ok 1 m2 q
"""


def test_a_tag_that_comes_again_names_nothing_for_certain(play) -> None:
    """TAG-003: which of the two is settled, whether the second ack is refused, and which of them comes back."""
    assert play(TAGS + "1 > ack 1 \n 1 > ack 1 \n @barrier 1 \n - deadline replies").broken == ["TAG-003"]
    assert play(TAGS + f"1 > ack 1 \n 1 > ack 1 \n 1 < closed 406 60 80 {UNKNOWN} 1").broken == ["TAG-003"]
    assert play(TAGS + "1 > ack 1 \n @close 1 \n @drain q m1 m3 m4 \n - deadline drain q").broken == ["TAG-003"]
    assert play(TAGS + "1 > ack 1 \n @close 1 \n @drain q m2 m3 m4 \n - deadline drain q").broken == ["TAG-003"]


def test_a_tag_that_comes_again_excuses_no_other_channel(play) -> None:
    """ERR-001: there every tag is known."""
    book = play(TAGS + "@open 2 \n 2 > get q \n 2 < get-ok 1 m3 q \n 2 > ack 1 \n 2 > ack 1 \n - deadline replies")
    assert book.broken == ["TAG-003", "ERR-001"]


def test_a_tag_that_comes_late_is_no_gap(play) -> None:
    """TAG-003: on GarageMQ a delivery overtook an answer to basic.get, which came after it with the tag in between."""
    late = TAGS.replace("get-ok 1 m2", "get-ok 3 m2") + "1 > get q \n 1 < get-ok 2 m3 q"
    found = {one.rule: one.unless for one in play(late).judge.judgement.findings}
    assert found == {"TAG-003": (), "TAG-004": ()}


def test_only_tags_that_rise_by_one_hold_that_there_are_no_gaps(play) -> None:
    """TAG-004: not exercised by deliveries that break TAG-003."""
    before = play(TAGS).exercised["TAG-004"]
    again = play(TAGS + "1 > get q \n 1 < get-ok 1 m3 q \n 1 > get q \n 1 < get-ok 1 m4 q")
    assert (before, again.exercised["TAG-004"], again.exercised["TAG-003"]) == (0, 0, 3)


def test_tag_0_is_one_fault(play) -> None:
    """TAG-002: it is not below the tag before it as well."""
    assert play(TAGS.replace("get-ok 1 m2", "get-ok 0 m2")).broken == ["TAG-002"]


WINDOW = STOCK + """
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
"""


def test_a_limit_that_was_passed_is_not_known_any_more(play) -> None:
    """QOS-001: neither is it passed again by what comes after a settlement, nor is anything owed within it."""
    passed = WINDOW + "1 < deliver c1 3 m3 q \n"
    assert play(passed + "1 > ack 1 \n 1 < deliver c1 4 m4 q").broken == ["QOS-001"]
    assert play(passed + "1 > ack 3 multiple \n - deadline replies").broken == ["QOS-001"]


def test_a_limit_is_known_again_when_it_is_set_anew(play) -> None:
    """QOS-001, QOS-012: a consumer that starts under a new limit has that, and another channel had its own."""
    for channel in (1, 2):
        book = play(WINDOW + f"""
            1 < deliver c1 3 m3 q
            1 < deliver c1 4 m4 q
            @queue p
            @stock p n1 n2
            {"@open 2" if channel == 2 else ""}
            {channel} > qos 1
            {channel} < qos-ok
            @consume {channel} p c2
        """)
        assert book.broken == ["QOS-001"]
        tag = 5 if channel == 1 else 1
        book.play(f"{channel} < deliver c2 {tag} n1 p \n {channel} < deliver c2 {tag + 1} n2 p")
        assert len(book.judge.judgement.findings) > 1


def test_a_channels_limit_that_was_passed_is_not_known_any_more(play) -> None:
    """QOS-006: until it is set anew."""
    history = STOCK + """
        @stock q m5 m6 m7
        @open 1
        1 > qos 2 global
        1 < qos-ok
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 < deliver c1 3 m3 q
    """
    assert play(history, "rabbitmq-4.0").broken == ["QOS-006"]
    after = "1 < deliver c1 4 m4 q \n 1 > ack 4 multiple \n - deadline replies"
    book = play(history + after, "rabbitmq-4.0")
    assert (book.broken, len(book.judge.judgement.findings)) == (["QOS-006"], 1)


SETTLED = STOCK + """
    @hold 1 q m1 m2 m3
    1 > ack 2 multiple
    @close 1
    @open 2
    2 > get q
    2 < get-ok 1 m1 q redelivered
"""


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


NUMBERS = """
    @queue q
    @confirming 1
    1 > publish q m1
    1 > publish q m2
    1 > publish q m3
"""


def test_a_wrong_number_ends_what_is_known_of_the_numbers(play) -> None:
    """CNF-006: the broker's count is not ours from then on. Another channel's is."""
    wrong = NUMBERS + "1 < ack 4 \n "
    assert play(wrong + "1 < ack 4 \n 1 < ack 1 \n 1 > publish q m4 \n - deadline replies").broken == ["CNF-006"]
    other = "@confirming 2 \n 2 > publish q n1 \n 2 < ack 1 \n 2 < ack 1"
    assert play(wrong + other).broken == ["CNF-006", "CNF-004"]


def test_a_number_that_comes_again_ends_what_is_known_of_those_so_far(play) -> None:
    """CNF-004: which of them are confirmed nobody knows; that later ones have to be, everybody."""
    wrong = NUMBERS + "1 < ack 2 \n 1 < ack 2 \n"
    assert play(wrong + "1 < ack 1 \n 1 < ack 1 \n - deadline replies").broken == ["CNF-004"]
    book = play(wrong + "1 > publish q m4 \n - deadline replies")
    assert [one.rule for one in book.judge.judgement.findings].count("CNF-004") == 2
    assert play(wrong + "1 < ack 5").broken == ["CNF-004", "CNF-006"]


@pytest.mark.parametrize("history", [TAGS, WINDOW + "1 < deliver c1 3 m3 q", SETTLED, NUMBERS + "1 < ack 4 \n"])
def test_what_is_no_longer_known_is_put_aside_with_the_rest(play, history: str) -> None:
    """The state after a finding, written and read again, judges the rest as if it had never been put aside."""
    rest = "@open 7 \n 7 > get q \n 7 < get-ok 1 m4 q \n 1 > ack 1 \n @barrier 1 \n - deadline replies"
    events = play(history + rest).events
    profile = profiles.load("documented")
    whole, parts = Judge(profile), Judge(profile)
    for event in events:
        whole.step(event)
        parts = decode(encode(parts), profile)
        parts.step(event)
    assert parts.judgement == whole.judgement


CHANGED = STOCK + """
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > qos 0
    1 < qos-ok
"""


def test_a_new_limit_that_running_consumers_follow_is_one_fault(play) -> None:
    """QOS-004: plainly, or after a settlement, which might be to blame as well; QOS-010 and QOS-012 are not accused."""
    assert play(CHANGED + "1 < deliver c1 3 m3 q \n 1 < deliver c1 4 m4 q").broken == ["QOS-004"]
    for settled in ("1 > ack 1", "1 > ack 2 multiple"):
        late = play(CHANGED + settled + "\n 1 < deliver c1 3 m3 q \n 1 < deliver c1 4 m4 q \n @stock q m5"
                    "\n 1 < deliver c1 5 m5 q")
        assert late.broken == []
        assert {one.rule for one in late.judge.judgement.findings} == {"QOS-004"}
        stalled = play(CHANGED + settled + "\n - deadline replies")
        assert {(one.rule, one.certain) for one in stalled.judge.judgement.findings} == {("QOS-004", False)}


def test_a_limit_that_was_never_changed_is_lost_by_a_settlement(play) -> None:
    """QOS-010: nothing else explains it."""
    assert play(WINDOW + "1 > ack 1 \n 1 < deliver c1 3 m3 q \n 1 < deliver c1 4 m4 q").rest().broken == ["QOS-010"]
    assert play(WINDOW + "1 > ack 1 \n - deadline replies").rest().broken == ["QOS-010"]


def test_a_limit_that_was_reached_and_passed_is_not_borne_out(play) -> None:
    """QOS-002: it counts when the channel has answered to something that was sent later, and the limit still holds."""
    assert play(WINDOW).exercised["QOS-002"] == 0
    assert play(WINDOW + "@barrier 1").exercised["QOS-002"] == 1
    assert play(WINDOW + "@barrier 1 \n @barrier 1").exercised["QOS-002"] == 1
    assert play(WINDOW + "@close 1").exercised["QOS-002"] == 1
    assert play(WINDOW + "1 > ack 1 \n 1 < deliver c1 3 m3 q").exercised["QOS-002"] == 1
    assert play(WINDOW + "1 < deliver c1 3 m3 q \n @barrier 1").exercised["QOS-002"] == 0


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


AFTER_A_MISTAKE = """
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
    assert play(AFTER_A_MISTAKE.format("ack 1", "m2 m3")).broken == ["ERR-006"]
    assert play(AFTER_A_MISTAKE.format("ack 2 multiple", "m3")).broken == ["ERR-006"]
    assert "AUTO-004" in play(AFTER_A_MISTAKE.format("nack 1 requeue", "m2 m3")).broken, "to return it would be no loss"
    assert play(AFTER_A_MISTAKE.format("ack 1", "m1 m2 m3")).broken == []


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
    flagged = play("@queue q \n @stock q m1 \n 1 > open \n 1 < open-ok \n 1 > get q \n 1 < get-ok 1 m1 q redelivered \n"
                   "@open 2 \n 2 > ack 7 \n @barrier 2 \n - deadline replies")
    assert {one.rule: one.unless for one in flagged.judge.judgement.findings} == {"RQ-009": (), "ERR-002": ()}


REFUSALS = {
    "RQ-014": "1 > recover requeue \n 1 < kicked 540 60 110 NOT_IMPLEMENTED",
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


PASSED = STOCK + """
    @hold 1 q m1
    1 > nack 1 requeue
    @barrier 1
"""


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


def test_an_answer_to_a_mistake_is_no_frame_that_nobody_asked_for(play) -> None:
    """ERR-010: LavinMQ answers channel.close on a number that was never opened. ERR-013 is about what nobody asked."""
    closed = "@open 1 \n 7 > close \n 7 < close-ok \n"
    assert play(closed).broken == []
    assert play(closed + "- deadline replies").broken == ["ERR-010"]
    assert play("@open 1 \n 7 < close-ok").broken == ["ERR-013"]


def test_a_limit_that_running_consumers_follow_is_no_slot_of_a_get(play) -> None:
    """QOS-015: LavinMQ let a new limit of 2 bind a consumer of 3 (QOS-004), and a get was outstanding beside it."""
    begin = "@queue q \n @stock q m1 m2 m3 m4 m5 m6 \n @open 1 \n 1 > qos 3 \n 1 < qos-ok \n @consume 1 q c1 \n"
    begin += "".join(f"1 < deliver c1 {n} m{n} q \n" for n in (1, 2, 3)) + "1 > get q \n 1 < get-ok 4 m4 q \n"
    begin += "1 > qos 5 global \n 1 < qos-ok \n {} 1 > ack 2 multiple \n 1 < deliver c1 5 m5 q \n - deadline replies \n"
    seen = "1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q m6"
    assert play(begin.format("") + seen).broken == ["QOS-015"]
    assert "QOS-015" not in play(begin.format("1 > qos 2 \n 1 < qos-ok \n") + seen).broken


CONFIRM = "1 > confirm \n 1 < confirm-ok \n"
REOPENED = "@queue q \n @open 1 \n" + CONFIRM + "{} @close 1 \n @open 1 \n {}" + CONFIRM


def test_confirms_that_a_former_life_still_owed_are_its_own(play) -> None:
    """ERR-007: GarageMQ sent them after the number was opened again, and asked for confirms again."""
    after = "1 > publish q m3 \n 1 < ack 1 \n 1 < ack 2"
    assert play(REOPENED.format("1 > publish q m1 \n 1 > publish q m2 \n", "") + after).broken == ["ERR-007"]
    resolved = play(REOPENED.format("1 > publish q m1 \n 1 < ack 1 \n", "") + after)
    assert "CNF-006" in resolved.broken, "nothing was left that it could be"


def test_a_mode_that_outlives_its_channel_explains_what_was_counted_before_the_select(play) -> None:
    """CNF-002, CNF-006, unless the broker breaks ERR-007: the publish counted for the mode of the former life."""
    after = "1 > publish q m2 \n 1 < ack 1 \n 1 < ack 2"
    lived = play(REOPENED.format("", "1 > publish q m1 \n") + after).judge.judgement.findings
    assert {(one.rule, one.unless) for one in lived} == {("CNF-002", ("ERR-007",)), ("CNF-006", ("ERR-007",))}
    fresh = play("@queue q \n @open 1 \n 1 > publish q m1 \n" + CONFIRM + after).judge.judgement.findings
    assert {(one.rule, one.unless) for one in fresh} == {("CNF-002", ()), ("CNF-006", ())}


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
    lost = [(one.rule, one.unless) for one in book.judge.judgement.findings if "never brings it" in one.observed]
    assert lost == [("RQ-011", ("AUTO-004",))]
    assert "ACK-019" in play(AGROUND + end).broken, "nobody else had it"


def test_who_waits_is_not_starved_of_what_the_dead_hold(play) -> None:
    """AUTO-012: it is seen again when the number of the dead channel was used once more."""
    wait = "@consume 3 q c3 \n - deadline replies \n 3 > cancel c3 \n 3 < cancel-ok c3 \n @drain q m1"
    sent = play(AGROUND + "2 < deliver c2 1 m1 q redelivered \n" + wait).broken
    assert set(play(AGROUND + wait).broken) - set(sent) == {"AUTO-012"}

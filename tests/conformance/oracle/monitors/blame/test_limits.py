"""Prefetch limits: one that was passed is not known any more.

Blame once: one wrong decision breaks the rules nearest to it, and what follows from it breaks no others.

Each history has one such decision; beside it stands, where there is one, the history in which a second decision is
independent of the first, and is found all the same.
"""

from __future__ import annotations

from tests.support.blame import STOCK, WINDOW


def test_a_limit_that_was_passed_is_not_known_any_more(play) -> None:
    """QOS-001: neither is it passed again by what comes after a settlement, nor is anything owed within it."""
    passed = WINDOW + "1 < deliver c1 3 m3 q \n"
    assert play(passed + "1 > ack 1 \n 1 < deliver c1 4 m4 q").broken == ["QOS-001"]
    assert play(passed + "1 > ack 3 multiple \n - deadline replies").broken == ["QOS-001"]


def test_a_limit_is_known_again_when_it_is_set_anew(play) -> None:
    """QOS-001, QOS-012: a consumer that starts under a new limit has that, and another channel had its own."""
    for channel in (1, 2):
        book = play(
            WINDOW
            + f"""
            1 < deliver c1 3 m3 q
            1 < deliver c1 4 m4 q
            @queue p
            @stock p n1 n2
            {"@open 2" if channel == 2 else ""}
            {channel} > qos 1
            {channel} < qos-ok
            @consume {channel} p c2
        """
        )
        assert book.broken == ["QOS-001"]
        tag = 5 if channel == 1 else 1
        book.play(f"{channel} < deliver c2 {tag} n1 p \n {channel} < deliver c2 {tag + 1} n2 p")
        assert len(book.judge.judgement.findings) > 1


def test_a_channels_limit_that_was_passed_is_not_known_any_more(play) -> None:
    """QOS-006: until it is set anew."""
    history = (
        STOCK
        + """
        @stock q m5 m6 m7
        @open 1
        1 > qos 2 global
        1 < qos-ok
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 < deliver c1 3 m3 q
    """
    )
    assert play(history, "rabbitmq-4.0").broken == ["QOS-006"]
    after = "1 < deliver c1 4 m4 q \n 1 > ack 4 multiple \n - deadline replies"
    book = play(history + after, "rabbitmq-4.0")
    assert (book.broken, len(book.judge.judgement.findings)) == (["QOS-006"], 1)


CHANGED = (
    STOCK
    + """
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > qos 0
    1 < qos-ok
"""
)


def test_a_new_limit_that_running_consumers_follow_is_one_fault(play) -> None:
    """QOS-004: plainly, or after a settlement, which might be to blame as well; QOS-010 and QOS-012 are not accused."""
    assert play(CHANGED + "1 < deliver c1 3 m3 q \n 1 < deliver c1 4 m4 q").broken == ["QOS-004"]
    for settled in ("1 > ack 1", "1 > ack 2 multiple"):
        late = play(
            CHANGED + settled + "\n 1 < deliver c1 3 m3 q \n 1 < deliver c1 4 m4 q \n @stock q m5"
            "\n 1 < deliver c1 5 m5 q"
        )
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


def test_a_limit_that_running_consumers_follow_is_no_slot_of_a_get(play) -> None:
    """QOS-015: LavinMQ let a new limit of 2 bind a consumer of 3 (QOS-004), and a get was outstanding beside it."""
    begin = "@queue q \n @stock q m1 m2 m3 m4 m5 m6 \n @open 1 \n 1 > qos 3 \n 1 < qos-ok \n @consume 1 q c1 \n"
    begin += "".join(f"1 < deliver c1 {n} m{n} q \n" for n in (1, 2, 3)) + "1 > get q \n 1 < get-ok 4 m4 q \n"
    begin += "1 > qos 5 global \n 1 < qos-ok \n {} 1 > ack 2 multiple \n 1 < deliver c1 5 m5 q \n - deadline replies \n"
    seen = "1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q m6"
    assert play(begin.format("") + seen).broken == ["QOS-015"]
    assert "QOS-015" not in play(begin.format("1 > qos 2 \n 1 < qos-ok \n") + seen).broken


STARVED = "- deadline replies \n 1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q m3 m4"


def test_who_settles_less_than_several_frees_fewer_slots(play) -> None:
    """QOS-012, QOS-019: so seen on DeepMQ, for which tag 0 settles nothing. After single settlements only nothing
    else explains it."""
    for settled in ("1 > ack 2 multiple", "1 > ack 0 multiple"):
        (finding,) = (one for one in play(WINDOW + settled + "\n" + STARVED).judge.judgement.findings if one.certain)
        assert (finding.rule, finding.unless) == ("QOS-012", ("ACK-002", "ACK-003", "ACK-006"))
    (finding,) = (one for one in play(WINDOW + "1 > ack 1 \n" + STARVED).judge.judgement.findings if one.certain)
    assert (finding.rule, finding.unless) == ("QOS-010", ())


def test_who_counts_gets_errs_about_slots_of_consumers(play) -> None:
    """QOS-001, QOS-010: a get before explains that as well, and whatever else does not."""
    got = "@queue p \n @stock p n1 \n 1 > get p \n 1 < get-ok 3 n1 p \n 1 > ack 3 \n"
    for history, counted in ((WINDOW + got, ("QOS-015",)), (WINDOW, ())):
        passed = play(history + f"1 > ack 1 \n 1 < deliver c1 {4 if counted else 3} m3 q \n 1 < deliver c1 5 m4 q")
        assert [one.unless for one in passed.judge.judgement.findings if one.rule == "QOS-010"] == [counted]


def test_who_has_one_window_for_all_that_a_channel_does_errs_about_single_slots(play) -> None:
    """QOS-012, QOS-010: so seen on Qpid, where a nack of several settles the last alone, and what one consumer holds
    counts for all."""
    beside = "@queue p \n @stock p n1 \n @consume 1 p c2 \n 1 < deliver c2 3 n1 p \n"
    for history, rule, cause in (
        ("1 > nack 2 multiple \n", "QOS-012", "ACK-011"),
        (beside + "1 > ack 1 \n", "QOS-010", "QOS-003"),
    ):
        (found,) = (one for one in play(WINDOW + history + STARVED).judge.judgement.findings if one.certain)
        assert (found.rule, cause in found.unless) == (rule, True)


def test_what_a_cancelled_consumer_holds_may_count_where_a_get_is_out(play) -> None:
    """QOS-015, QOS-020: of two that may take the slots, each explains the other."""
    got = STOCK + "@open 1 \n 1 > get q \n 1 < get-ok 1 m1 q \n 1 > qos 1 \n 1 < qos-ok \n"
    former = "@consume 1 q c1 \n 1 < deliver c1 2 m2 q \n 1 > cancel c1 \n 1 < cancel-ok c1 \n"
    rest = "@consume 1 q c2 \n - deadline replies \n 1 > cancel c2 \n 1 < cancel-ok c2 \n @drain q "
    for history, cause in ((got + former + rest + "m3 m4", ("QOS-020",)), (got + rest + "m2 m3 m4", ())):
        found = [one for one in play(history).judge.judgement.findings if one.certain]
        assert [(one.rule, one.unless) for one in found] == [("QOS-015", cause)]

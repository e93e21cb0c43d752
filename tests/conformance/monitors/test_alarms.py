"""Alarms that machines gave on real brokers, each cut down to what it took, with the order of things that was lawful.

They stand apart from the traps because each is about one rule: beside the lawful history there is the one that differs
in what matters, and breaks it.
"""

from __future__ import annotations

import pytest

from tests.support.readings import OTHER

TEXT = "PRECONDITION_FAILED - unknown delivery tag 5"

UNSURE = f"""
    @queue q quorum
    @queue p quorum
    @stock q m1
    @hold 1 q m1
    @consume 1 p c1
    1 > ack 5                   # the tag may be that of a delivery under way
    1 < closed 406 60 80 {TEXT}
    1 > closed-ok
    @open 2
    2 > get q
    2 < get-ok 1 m1 q redelivered x-acquired-count=1 x-delivery-count=1
    2 > nack 1 requeue
    2 > get q
"""


def test_a_return_by_a_race_counts_as_well(play) -> None:
    """RQ-012: the channel may have failed and returned its message, or it may live; nobody counts on either."""
    assert play(UNSURE + "2 < get-ok 2 m1 q redelivered x-acquired-count=2 x-delivery-count=1").broken == []
    certain = UNSURE.replace("@consume 1 p c1", "")
    assert play(certain + "2 < get-ok 2 m1 q redelivered x-acquired-count=3 x-delivery-count=1").broken == ["RQ-012"]


STRAY = """
    @queue q quorum
    @stock q m1 m2
    @consume 1 q c1
    1 > cancel c1
    1 < cancel-ok c1
    1 < deliver c1 1 m1 q       # RabbitMQ 3.8
    1 > nack 1 multiple requeue
"""


def test_what_came_to_nobody_may_be_settled(play) -> None:
    """ACK-011: a broker that delivers to a consumer which has ended waits for the settlement. One fault."""
    assert play(STRAY + "- deadline replies").broken == ["CAN-009"]
    assert play(STRAY + "@barrier 1").broken == ["CAN-009"]
    assert play(STRAY.replace("nack 1 ", "nack 2 ") + "- deadline replies").broken == ["CAN-009", "ACK-010"]


BATCH = """
    @queue q
    @stock q m1 m2
    @hold 1 q m1 m2
    1 > nack 2 requeue
    @hold 1 q m2
    1 > nack 1 requeue
    @hold 1 q m1                # tag 4; m2 is tag 3
    @consume 1 q c1
    1 > nack 4 multiple requeue
"""


def test_gets_return_one_by_one(play) -> None:
    """RQ-001, RQ-002: what was got first is back first, and a consumer in wait may have it before the next one is."""
    assert play(BATCH + "1 < deliver c1 5 m2 q redelivered \n 1 < deliver c1 6 m1 q redelivered").broken == []
    consumed = """
        @queue q
        @stock q m1 m2
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 > nack 2 multiple requeue
        1 < deliver c1 3 m2 q redelivered
    """
    assert play(consumed).rest().broken == ["RQ-001", "RQ-002"]


RIVALS = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2
    @hold 2 q m3
    2 > nack 1 requeue
    2 > get q
    1 > nack 2 multiple requeue
    1 > get q
    1 < get-ok 3 m1 q redelivered
"""


def test_somebody_may_have_taken_it_before_the_others_came_back(play) -> None:
    """RQ-005: the youngest message is returned and taken before the older two are back, and read last."""
    assert play(RIVALS + "2 < get-ok 2 m3 q redelivered").broken == []
    assert play(RIVALS + "2 < get-ok 2 m2 q redelivered").broken == []
    alone = RIVALS.replace("2 > get q", "@barrier 2")
    book = play(alone + "2 > get q \n 2 < get-ok 2 m3 q redelivered").rest()
    found = [one.unless for one in book.judge.judgement.findings if one.rule == "RQ-005" and one.certain]
    assert found == [("RQ-001",)], "whoever returns to other places shows another order"


def test_a_limit_that_counts_gets_starves_every_consumer_of_its_channel(play) -> None:
    """QOS-015: also one that was there before, and had a limit of its own that was reached and is not any more."""
    book = play("""
        @queue q
        @queue p
        @stock q m1 m2
        @stock p n1
        @open 1
        1 > qos 1
        1 < qos-ok
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 > get p
        1 > qos 1 global
        1 < get-ok 2 n1 p
        1 < qos-ok
        1 > ack 1
        - deadline replies
    """, "rabbitmq-3.10")
    assert book.rest().broken == ["QOS-015"]


NAMESAKE = """
    0 < start notify
    0 > start-ok
    o:0 < start notify
    @queue q
    @consume 1 q c1 no_ack
    @open 2
    2 > delete q
    2 < delete-ok
    {}
    @queue q
    @consume 2 q c2
    2 > publish q m1
    {}
    - deadline replies
"""


def test_a_consumer_may_outlive_its_queue_in_a_namesake(play) -> None:
    """QOS-002: a channel that had not heard of the deletion consumes from the new queue (RabbitMQ up to 3.13)."""
    assert play(NAMESAKE.format("", "1 < deliver c1 1 m1 q")).broken == []
    assert play(NAMESAKE.format("@barrier 1", "")).rest().broken == ["QOS-002"]


COMMITTED = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2 m3
    1 > select
    1 < select-ok
    {}
    1 > consume q c1
    1 > commit
    1 < consume-ok c1
    1 < deliver c1 4 m2 q redelivered
"""


def test_of_what_one_commit_returns_the_first_may_be_out_again_before_the_second_is_back(play) -> None:
    """RQ-001, RQ-002: a commit carries out settlement by settlement; only what one settlement returns comes at once."""
    assert play(COMMITTED.format("1 > reject 2 requeue \n 1 > nack 3 multiple requeue")).broken == []
    assert play(COMMITTED.format("1 > nack 3 multiple requeue")).rest().broken == ["RQ-001", "RQ-002"]


EMPTY_LONG_AGO = """
    @queue q
    @stock q m0 m1
    @hold 1 q m0
    @open 3
    3 > qos 2
    3 < qos-ok
    @consume 3 q c3
    3 < deliver c3 1 m1 q
    1 > get q                   # finds nothing, at once; its answer is read late
    3 > publish q m2
    3 < deliver c3 2 m2 q
    3 > publish q m3
    3 > nack 1 requeue
    3 < deliver c3 3 m1 q redelivered
    1 < get-empty
    3 > nack 2 requeue
"""


def test_a_get_may_have_found_nothing_long_ago(play) -> None:
    """RQ-005: m3 came in since, and nobody has taken it."""
    assert play(EMPTY_LONG_AGO + "3 < deliver c3 4 m2 q redelivered").broken == []


UNDER_WAY = """
    @queue q
    @stock q m1 m2 m3 m4
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > reject 1
    1 > recover requeue
    1 < deliver c1 3 m3 q       # under way when all was recovered: its slot is free, and the client cannot know
    1 < recover-ok
    @barrier 1
    1 < deliver c1 4 m2 q redelivered
    1 < deliver c1 5 m3 q redelivered
    1 > reject 4                # the broker sends one more
    {}
    1 < deliver c1 6 m4 q
    1 > cancel c1
    1 < cancel-ok c1
    1 > nack 0 multiple requeue
    1 > get q
    1 < get-empty
"""


def test_a_slot_that_a_race_has_freed_lets_a_delivery_be_under_way(play) -> None:
    """ACK-011: a multiple with tag 0 takes what is under way, to a consumer too that seems to have its fill."""
    assert play(UNDER_WAY.format("1 > ack 0 multiple")).broken == []
    assert play(UNDER_WAY.format("")).broken == ["ACK-011"]


MISTAKEN = """
    @queue q quorum
    @open 1
    @open 2
    {}
    2 > ack 2
    0 < kicked {}
"""


def test_a_connection_that_fails_without_naming_a_mistake_may_fail_for_something_else(play) -> None:
    """ERR-002, ERR-004: RabbitMQ loses connections over a consume and a cancel, or a publish and a delete, that met."""
    crossing = "1 > consume q c1 \n 1 > cancel c1"
    assert play(MISTAKEN.format(crossing, "541 0 0 INTERNAL_ERROR")).broken == []
    assert play(MISTAKEN.format("", "541 0 0 INTERNAL_ERROR")).broken == ["ERR-002", "ERR-004"]
    assert play(MISTAKEN.format(crossing, "406 60 80 unknown delivery tag 2")).broken == ["ERR-002", "ERR-004"]
    assert play(MISTAKEN.format("2 > publish q m1", "541 0 0 INTERNAL_ERROR")).broken == []
    handled = "2 > publish q m1 \n @barrier 2"
    assert play(MISTAKEN.format(handled, "541 0 0 INTERNAL_ERROR")).broken == ["ERR-002", "ERR-004"]


SHARED = """
    @queue q
    @open 1
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    {}
    @stock q m1 m2 m3
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    {}
    1 > get q
    1 < get-empty               # m3 is under way to c1
"""


def test_a_limit_is_reached_for_certain_only_by_what_no_race_has_settled(play) -> None:
    """QOS-014: the nack of all may have met both deliveries; so the next one is a mistake, or frees a slot."""
    assert play(SHARED.format("1 > nack 0 multiple requeue", "1 > nack 1 requeue")).broken == []
    assert play(SHARED.format("", "")).rest().broken == ["QOS-014"]


BY_TOPIC = """
    @confirming 1
    1 > declare
    1 < declare-ok q
    1 > exchange x topic
    1 < exchange-ok
    1 > bind q x a.*
    1 < bind-ok
    1 > publish {} m1 {}
    1 < ack 1
    1 > publish q m2
    1 < ack 2
    1 > get q
    1 < get-ok 1 {} q
"""


def test_what_came_by_ways_that_are_not_known_may_be_older(play) -> None:
    """RQ-006: of a message that a topic exchange brought to a queue nobody saw declared, no publish is known."""
    assert play(BY_TOPIC.format("a.b", "exchange=x", "m1")).broken == []
    assert play(BY_TOPIC.format("q", "", "m2")).rest().broken == ["RQ-006"]


ONE_OF_TWO = """
    0 < start notify
    0 > start-ok notify
    @queue q quorum
    - setting 4000
    @stock q m1 m2
    @open 2
    2 > consume q c2 x-consumer-timeout=1000
    2 < consume-ok c2
    2 < deliver c2 1 m1 q
    {}
    @open 1
    1 > consume q c1 x-consumer-timeout=2500
    1 < consume-ok c1
    - wait 0.5
    {}
    - wait 0.55
    2 < cancel c2 no_wait
    1 < deliver c1 {} m1 q redelivered
    - wait 2.0
    {}
    - wait 1.6
    {}
    - wait 0.4
    1 < cancel c1 no_wait
"""


def test_a_time_out_that_may_have_been_told_of_before_is_not_late(play) -> None:
    """TMO-002: one notification may be about two deliveries, or about one; the second comes when we look again."""
    two = ONE_OF_TWO.format("", "1 < deliver c1 1 m2 q", 2, "1 < cancel c1 no_wait", "@barrier 1")
    assert play(two).broken == []
    assert play(ONE_OF_TWO.format("2 < deliver c2 2 m2 q", "", 1, "", "@barrier 1")).broken == ["TMO-002"]


def test_who_did_not_look_cannot_say_that_it_came_late(play) -> None:
    """TMO-002: a client that slept reads what came in time at another level's time. It is no verdict."""
    slept = play(ONE_OF_TWO.format("2 < deliver c2 2 m2 q", "", 1, "", ""))
    assert slept.broken == []
    assert [one.rule for one in slept.judge.judgement.findings] == ["TMO-002"]


HELD_FOR_A_SECOND = """
    0 < start notify
    0 > start-ok notify
    @queue q quorum
    @stock q m1
    @open 1
    1 > consume q c1 x-consumer-timeout=1000
    1 < consume-ok c1
    1 < deliver c1 1 m1 q
    {}
    - wait 1.1
    1 < {}
"""


def test_a_cancel_under_way_leaves_nobody_to_notify(play) -> None:
    """TMO-007: the cancel came first, and what its consumer had held costs the channel when its time is over."""
    assert play(HELD_FOR_A_SECOND.format("1 > cancel c1", "closed 406 0 0 timed out")).broken == []
    assert play(HELD_FOR_A_SECOND.format("", "closed 406 0 0 timed out")).broken == ["TMO-007"]


def test_what_is_known_to_be_settled_late_may_have_timed_out(play) -> None:
    """TMO-019: an ack leaves when this process gets to it; it was in time if an answer to it was read in time."""
    late = "1 > ack 1 \n 1 > flow \n - wait 0.9 \n 1 < flow-ok"
    assert play(HELD_FOR_A_SECOND.format(late, "cancel c1 no_wait")).broken == []
    prompt = "1 > ack 1 \n 1 > flow \n - wait 0.2 \n 1 < flow-ok"
    assert play(HELD_FOR_A_SECOND.format(prompt, "cancel c1 no_wait")).broken == ["TMO-019"]


def test_a_consumer_that_is_not_revived_does_not_take_its_message_along(play) -> None:
    """TMO-006, TMO-012: what timed out waits in the queue for anybody, though its former consumer gets nothing."""
    timed_out = HELD_FOR_A_SECOND.format("", "cancel c1 no_wait")
    returned = timed_out + "1 > nack 1 requeue \n - deadline replies"
    assert play(returned + "\n 1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q m1").broken == ["TMO-012"]
    acked = timed_out + "1 > ack 1 \n - deadline replies \n 1 > cancel c1 \n 1 < cancel-ok c1 \n @drain q {}"
    assert play(acked.format("m1")).broken == ["TMO-012", "TMO-006"]
    assert play(acked.format("") + "\n - deadline drain q").broken == ["TMO-015"]


IMMEDIATE = """
    @queue q
    @confirming 1
    1 > publish q m1 immediate {}
    1 < return q m1 code={}
    1 < {} 1
"""


@pytest.mark.parametrize("also", ["", "mandatory"])
def test_no_consumer_is_not_no_route(play, also: str) -> None:
    """CNF-025: an immediate publish that nobody takes at once comes back with 313, and no rule is about that."""
    for verdict in ("ack", "nack"):
        assert play(IMMEDIATE.format(also, 313, verdict)).broken == []
    assert play(IMMEDIATE.format(also, 312, "ack")).broken == ["CNF-025"]
    assert play(IMMEDIATE.replace("immediate", "").format(also, 313, "ack")).broken[0] == "CNF-025"


FULL = """
    @queue q classic x-max-length=1 x-overflow=reject-publish
    @confirming 1
    1 > publish q m1 mandatory
    1 < ack 1
    1 > publish q m2 mandatory
"""


def test_what_a_full_queue_refuses_is_not_without_a_route(play) -> None:
    """CNF-025: it is the return that is wrong, and not the refusal which follows it (CNF-009)."""
    assert play(FULL + "1 < nack 2").broken == []
    assert play(FULL + "1 < return q m2 code=312 \n 1 < nack 2").broken == ["CNF-025"]
    assert play(FULL + "1 < return q m2 code=312 \n 1 < ack 2").broken == ["CNF-025", "CNF-011"]


def many(name: str) -> tuple[str, str, str]:
    """Publishes that no queue takes, their returns, and the confirm of them all; `name` says what each is called."""
    names = [name.format(each) for each in range(1, 501)]
    publishes = "\n".join(f"1 > publish any {each} exchange=x mandatory" for each in names)
    returns = "\n".join(f"1 < return any {each} exchange=x" for each in names)
    return f"@exchange x \n @confirming 1 \n {publishes} \n", f"{returns} \n", f"1 < ack {len(names)} multiple"


@pytest.mark.parametrize("name", ["m{}", "m1"], ids=["different", "alike"])
def test_a_return_is_remembered_for_as_long_as_its_confirm_is_owed(play, name: str) -> None:
    """CNF-009: five hundred publishes are under way before the first comes back."""
    publishes, returns, ack = many(name)
    assert play(publishes + returns + ack).broken == []
    assert "CNF-009" in play(publishes + returns.partition("\n")[2] + ack).broken


AFTER_CLOSE = """
    deaf:0 > start-ok
    @queue q
    deaf:2 > open
    deaf:2 < open-ok
    deaf:2 > consume q c9
    deaf:2 < consume-ok c9
    @open 3
    3 > ack 2
    3 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 2
    3 > closed-ok
    {}
    deaf:2 > cancel c9
    deaf:2 < cancel c9 no_wait
    deaf:2 < cancel-ok c9
"""


def test_a_deletion_on_a_closed_channel_may_be_carried_out(play) -> None:
    """CAN-005, TMO-001: on LavinMQ a queue goes by a delete that was sent on a channel just closed, and the notice that
    everybody gets crosses the client's cancel."""
    assert play(AFTER_CLOSE.format("3 > delete q"), OTHER).broken == []
    assert play(AFTER_CLOSE.format("3 > delete q")).broken == ["CAN-001", "CAN-004"]
    assert play(AFTER_CLOSE.format("3 > flow"), OTHER).broken == ["CAN-005"]


def test_who_has_no_quorum_queues_is_not_asked_for_their_time_outs(play) -> None:
    """TMO-001: the argument means nothing to a broker that never offered it."""
    history = "@queue q \n @open 1 \n 1 > consume q c1 x-consumer-timeout=500 \n 1 < consume-ok c1 \n @barrier 1"
    assert play(history).broken == ["TMO-001"]
    assert play(history, OTHER).broken == []


REOPENED = """
    @queue q
    @stock q m1 m2 m3
    @hold 1 q m1 m2
    1 > close
    1 < close-ok
    1 > open
    1 < open-ok
    1 > get q
"""


def test_tags_that_go_on_after_a_reopen_are_one_fault(play) -> None:
    """TAG-007: GarageMQ goes on counting. That a channel begins at 1 is elsewhere the business of TAG-001, TAG-006."""
    goes_on = play(REOPENED + "1 < get-ok 3 m3 q")
    assert goes_on.broken == ["TAG-007"]
    assert goes_on.exercised["TAG-007"] == 1
    assert play(REOPENED + "1 < get-ok 0 m3 q").broken == ["TAG-001", "TAG-007", "TAG-002"]


FANNED = """
    @queue q
    @queue r
    @exchange x q r
    @confirming 1
    1 > publish any m1 exchange=x
    1 < ack 1
    1 < ack 1
"""


def test_a_confirm_for_each_queue_comes_too_soon(play) -> None:
    """CNF-010: GarageMQ confirms with each queue. Twice for one alone is CNF-004."""
    assert play(FANNED).broken == ["CNF-010"]
    assert play(FANNED.replace("@exchange x q r", "@exchange x q")).broken == ["CNF-004"]
    assert play(FANNED.replace("1 < ack 1\n    1 < ack 1", "1 < ack 1 \n 1 < nack 1")).broken == ["CNF-005"]


def test_what_is_wrong_with_a_content_has_no_method(play) -> None:
    """CNF-019: the rule asks for a code. LavinMQ gives neither class nor method for a wrong property."""
    wrong = "@queue q \n @confirming 1 \n 1 > publish q m1 expiration=soon \n"
    for ids in ("60 40", "0 0"):
        assert play(f"{wrong} 1 < closed 406 {ids} PRECONDITION_FAILED").broken == []
    assert play(f"{wrong} 1 < closed 404 0 0 NOT_FOUND").broken == ["CNF-019"]
    assert "CNF-019" in play(f"{wrong} 1 < closed 406 50 10 PRECONDITION_FAILED").broken


def test_where_everybody_is_told_the_channel_goes_on_all_the_same(play) -> None:
    """CAN-004: a notice to who did not ask is the profile's choice, or it breaks the rule; it never holds it."""
    history = """
        0 > start-ok
        @queue q
        @consume 1 q c1
        @open 2
        2 > delete q
        2 < delete-ok
        1 < cancel c1 no_wait
    """
    told = play(history + "@barrier 1", OTHER)
    assert (told.broken, told.exercised["CAN-004"]) == ([], 1)
    assert play(history, OTHER).exercised["CAN-004"] == 0, "nothing shows that its channel lives"
    asked = play(history + "@barrier 1")
    assert asked.broken == ["CAN-001", "CAN-004"]


def test_settlements_alone_say_nothing_of_provisional_ones(play) -> None:
    """AUTO-006: on a broker that never answers tx.select it was held by plain acknowledgements."""
    plain = """
        @queue q
        @stock q m1 m2
        {}
        @hold 1 q m1
        1 > ack 1
        {}
        @hold 1 q m2
        1 > ack 2
        @close 1
        @drain q {}
    """
    assert play(plain.format("@open 1", "@barrier 1", "")).exercised["AUTO-006"] == 0
    begin = "@open 1 \n 1 > select \n 1 < select-ok"
    assert play(plain.format(begin, "1 > commit \n 1 < commit-ok", "m2")).exercised["AUTO-006"] == 1
    assert play(plain.format(begin, "@barrier 1", "m1 m2")).exercised["AUTO-006"] == 0, "nothing was final before"


def test_both_limits_are_in_force_in_either_order(play) -> None:
    """QOS-008: GarageMQ has the limit for consumers replace the channel's, and sends less than both allow."""
    begin = "@queue q \n @stock q m1 m2 m3 m4 m5 \n @open 1 \n"
    shared, own = "1 > qos 3 global \n 1 < qos-ok \n", "1 > qos 2 \n 1 < qos-ok \n"
    stalls = """
        @consume 1 q a
        1 < deliver a 1 m1 q
        1 < deliver a 2 m2 q
        @consume 1 q b
        - deadline replies
        @close 1
        @drain q m1 m2 m3 m4 m5
    """
    assert play(begin + shared + own + stalls).broken == ["QOS-008"]
    assert play(begin + own + shared + stalls).broken == ["QOS-007"]


RECOVERED = """
    @queue q
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > recover requeue
    1 < recover-ok
    1 < deliver c1 2 m1 q redelivered
    1 > reject 2                # the delivery may have been under way to the recover: then this is refused
    {}
    1 > cancel c1
    1 < cancel-ok c1
    1 > nack 0 multiple requeue
    1 < closed 406 60 120 PRECONDITION_FAILED - unknown delivery tag 0
"""


def test_what_might_have_been_refused_and_was_taken_is_settled(play) -> None:
    """ACK-016: LavinMQ was told to have forgotten the delivery of a cancelled consumer, which had been rejected."""
    book = play(RECOVERED.format("@barrier 1"))
    assert book.broken == ["ACK-008"], "nothing is outstanding, and LavinMQ takes 0 for a tag then"
    assert play(RECOVERED.format("")).broken == ["ACK-008"]
    held = RECOVERED.replace("1 > reject 2", "").replace("1 > recover requeue", "").replace("1 < recover-ok", "")
    held = held.replace("1 < deliver c1 2 m1 q redelivered", "").split("#")[0] + "\n" + held.split("{}")[1]
    assert play(held).broken == [], "either what was cancelled is forgotten, or 0 is taken for a tag"
    assert play(held.replace("nack 0 multiple", "nack 1").replace("tag 0", "tag 1")).broken == ["ACK-016"]


WIDENED = """
    @queue q
    @stock q m1 m2
    @open 1
    1 > qos 1
    1 < qos-ok
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 > qos {}
    1 < qos-ok
    1 > ack 0 multiple          # LavinMQ has sent the next by now, as the limit is wider
    1 < deliver c1 2 m2 q
    1 > cancel c1
    1 < cancel-ok c1
    1 > nack 0 multiple requeue
    1 > get q no_ack
    1 < get-empty
"""


def test_a_limit_that_moved_is_no_lost_message(play) -> None:
    """ACK-011: what the new limit let through may be what tag 0 has settled. QOS-004 is judged where it shows."""
    assert play(WIDENED.format(2)).broken == []
    assert play(WIDENED.format(0)).broken == []
    assert play(WIDENED.format(1)).broken == ["ACK-011"]


HELD_BY_ONE = "@queue q \n @stock q m1 \n @consume 1 q c1 \n 1 < deliver c1 1 m1 q \n"


@pytest.mark.parametrize(("recover", "ids"), [("recover requeue", "60 110"), ("recover-async requeue", "60 100")])
def test_a_refused_recover_is_a_recover_that_returns_nothing(play, recover: str, ids: str) -> None:
    """RQ-014: GarageMQ answers both with connection.close 540, LavinMQ the second with channel.close 540."""
    history = f"{HELD_BY_ONE} 1 > {recover} \n"
    assert play(f"{history} 0 < kicked 540 {ids} NOT_IMPLEMENTED").broken == ["RQ-014"]
    assert play(f"{history} 1 < closed 540 {ids} NOT_IMPLEMENTED").broken == ["RQ-014"]
    assert play(f"{history} 0 < kicked 541 0 0 INTERNAL_ERROR").broken == ["RQ-014"]
    either = play(f"{history} 1 > flow \n 0 < kicked 541 0 0 INTERNAL_ERROR")
    assert either.broken == ["ERR-012"], "it may be about the flow, and must not come at all"
    without = history.replace("requeue", "")
    assert play(f"{without} 0 < kicked 540 {ids} NOT_IMPLEMENTED").broken == []


def test_nothing_to_settle_in_a_transaction(play) -> None:
    """ACK-007: LavinMQ closes the connection with 541."""
    history = "@open 1 \n @open 2 \n 1 > select \n 1 < select-ok \n 1 > {} 0 multiple \n 2 > flow \n"
    for settle, rule in (("ack", "ACK-007"), ("nack", "ACK-008")):
        assert play(history.format(settle) + "0 < kicked 541 0 0 INTERNAL_ERROR").broken == [rule]
        assert play(history.format(settle) + "2 < flow-ok \n 1 > commit \n 1 < commit-ok").broken == []


def test_no_limit_from_now_on_stalls_nobody(play) -> None:
    """QOS-004: LavinMQ serves a running consumer no more when the limit for others is removed."""
    begin = "@queue q \n @stock q m1 m2 m3 m4 \n @open 1 \n 1 > qos 2 \n 1 < qos-ok \n @consume 1 q c1 \n"
    begin += "1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n"
    removed, there = begin + "1 > qos 0 \n 1 < qos-ok \n", "- deadline replies \n @close 1 \n @drain q m3 m4"
    assert play(removed + "1 > ack 2 multiple \n" + there).broken == ["QOS-004"]
    assert play(begin + "1 > ack 2 multiple \n" + there).broken == ["QOS-012"]
    assert play(removed + "1 > ack 1 \n" + there.replace("m3", "m2 m3")).broken != ["QOS-004"], "a slot may be lost"


def test_a_failure_without_a_name_has_many_suspects(play) -> None:
    """ACK-004, ACK-011: on LavinMQ another channel's empty transaction was the cause, and any one was accused."""
    history = """
        @queue q
        @stock q m1
        @hold 1 q m1
        @open 3
        3 > select
        3 < select-ok
        3 > ack 0 multiple
        1 > ack 1
        0 < kicked 541 0 0 INTERNAL_ERROR
    """
    assert play(history).broken == []
    assert play(history.replace("1 > ack 1", "")).broken == ["ACK-007"]


def test_most_confirms_come_in_order(play) -> None:
    """CNF-015: GarageMQ confirms by chance, which was reported as held; RabbitMQ has one in hundreds overtake."""
    publishes = "@queue q \n @confirming 1 \n" + "".join(f"1 > publish q m{n} \n" for n in range(1, 31))
    once = publishes + "1 < ack 2 \n 1 < ack 1 \n" + "".join(f"1 < ack {n} \n" for n in range(3, 31))
    assert play(once).broken == []
    assert play(once).exercised["CNF-015"] == 29
    chance = publishes + "".join(f"1 < ack {n + 1} \n 1 < ack {n} \n" for n in range(1, 31, 2))
    found = play(chance).judge.judgement.findings
    assert [(one.rule, one.certain) for one in found][:1] == [("CNF-015", False)], "any order is lawful, if not usual"
    refused = chance.replace("@queue q", "@queue q classic x-max-length=40 x-overflow=reject-publish")
    assert play(refused).broken == [], "a queue that refuses answers at once"


def test_a_batch_comes_in_the_order_of_its_deliveries(play) -> None:
    """RQ-002: m1 had been delivered again after m2, and a nack of both may return them so. RQ-001 says more."""
    nacked = """
        @queue q
        @stock q m1 m2
        @consume 1 q c1
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 > nack 1 requeue
        1 < deliver c1 3 m1 q redelivered
        1 > cancel c1
        1 < cancel-ok c1
        1 > nack 3 multiple requeue
        @barrier 1
        1 > get q
        1 < get-ok 4 m2 q redelivered
        1 > get q
        1 < get-ok 5 m1 q redelivered
    """
    assert play(nacked).broken == ["RQ-001"]


def test_numbers_that_go_on_after_a_reopen_are_one_fault(play) -> None:
    """ERR-007: GarageMQ goes on counting publishes, too; that broke CNF-006 and CNF-023."""
    begin = "@queue q \n @confirming 1 \n 1 > publish q m1 \n 1 < ack 1 \n @close 1 \n"
    begin += "1 > open \n 1 < open-ok \n 1 > confirm \n 1 < confirm-ok \n 1 > publish q m2 \n"
    assert play(begin + "1 < ack 2").broken == ["ERR-007"]
    assert play(begin + "1 < ack 1").broken == []
    assert play(begin + "1 > publish q m3 \n 1 < ack 2 \n 1 < ack 3").broken == ["ERR-007"], "2 might have been right"
    assert play(begin + "1 < ack 3").broken == ["CNF-006"]


@pytest.mark.parametrize(("silent", "rule"), [
    ("1 > get q", "QOS-014"), ("1 > select", "TX-004"), ("0 > bye", "ERR-008"),
])
def test_a_broker_that_answers_nothing_is_not_wrong_about_everything(play, silent: str, rule: str) -> None:
    """A wedged GarageMQ broke QOS-014 without any limit, and TX-004 without any commit."""
    assert rule not in play(f"@queue q \n @open 1 \n {silent} \n - deadline replies").broken


def test_a_get_that_is_not_answered_under_a_limit(play) -> None:
    held = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > qos 1 \n 1 < qos-ok \n @consume 1 q c1 \n"
    assert play(held + "1 < deliver c1 1 m1 q \n 1 > get q \n - deadline replies").broken == ["QOS-014"]


def test_a_close_may_mean_the_first_of_two_alike(play) -> None:
    """RQ-011, AUTO-009: LavinMQ closed over nack(0, multiple), and what was published before nack(0) was gone."""
    alike = """
        @queue q
        @open 1
        1 > nack 0 {}
        1 > publish q m1
        1 > nack 0 requeue
        1 < closed 406 60 120 PRECONDITION_FAILED - unknown delivery tag 0
        1 > closed-ok
        @open 2
        2 > get q
        2 < get-empty
        - deadline drain q
    """
    assert play(alike.format("multiple")).broken == []
    assert "RQ-011" in play(alike.replace("1 > nack 0 {}", "")).broken


SPENT = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > nack 1 requeue
    @hold 1 q m1
    1 > ack 1
"""
ZERO = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > reject 0
"""


@pytest.mark.parametrize(("history", "ids", "about"), [(SPENT, "60 80", "ERR-001"), (ZERO, "60 90", "ACK-009")])
def test_a_refusal_in_another_form_leaves_the_tag_unknown(play, history: str, ids: str, about: str) -> None:
    """TAG-008: it asks that the tag means nothing any more. That it costs the channel, ERR-001 says, and of tag 0
    ACK-009: a reject of it that is ignored has settled nothing, so ACK-019 has nothing to say."""
    tag = history.strip()[-1]
    text = f"PRECONDITION_FAILED - unknown delivery tag {tag}"
    assert sorted(play(f"{history} 0 < kicked 406 {ids} {text}").broken) == sorted([about, "ERR-004"])
    assert play(f"{history} 1 < closed 404 {ids} {text}").broken == [about]
    assert play(f"{history} 1 < closed 406 {ids} {text}").broken == []
    assert play(f"{history} - deadline replies").broken == ["TAG-008" if history is SPENT else "ACK-009"]


RETURNED_TWICE = """
    @queue q
    @stock q m1
    @hold 1 q m1
    1 > nack 1 requeue
    @barrier 1
    1 > ack 1
"""


def test_what_was_returned_and_is_lost_is_no_second_settlement_that_was_refused(play) -> None:
    """ERR-001: the second settlement was refused as it should be. Where the message is, is another matter."""
    refused = RETURNED_TWICE + "1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 1 \n 1 > closed-ok"
    assert play(refused + " \n @drain q \n - deadline drain q").broken == ["RQ-011"]
    assert play(RETURNED_TWICE + "@barrier 1 \n - deadline replies").broken == ["ERR-001"]


def test_who_offers_no_heartbeats_need_not_miss_them(play) -> None:
    """AUTO-005: it speaks of heartbeats that were negotiated. Where the broker's tune says 0, it is left open whether
    the client's word makes them so; with any other number the broker has asked for them itself."""
    silent = "0 < start \n 0 < tune heartbeat={} \n 0 > tune-ok heartbeat=2 \n @queue q \n - still c"
    assert play(silent.format(0)).broken == []
    assert play(silent.format(60)).broken == ["AUTO-005"]
    early = silent.replace("- still c", "- wait 1 \n - end c fin")
    assert play(early.format(0)).broken == ["AUTO-005"]


ORPHANS = """
    @queue q
    @stock q m1 m2
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    1 < deliver c1 2 m2 q
    1 > cancel c1
    1 < cancel-ok c1
"""


def test_who_fails_at_a_settlement_has_not_forgotten_what_was_cancelled(play) -> None:
    """ACK-016: a broker that has forgotten the deliveries of a cancelled consumer takes their tags for unknown. That it
    fails at them says nothing of the consumer: another rule has each such settlement accepted, too."""
    for ids, settled, about in (
        (120, "nack 0 multiple", "ACK-011"), (80, "ack 0 multiple", "ACK-006"), (90, "reject 2", "ACK-019"),
    ):
        history = f"{ORPHANS} 1 > {settled} \n"
        assert play(f"{history} 0 < kicked 541 60 {ids} INTERNAL_ERROR").broken == [about]
        unknown = f"60 {ids} PRECONDITION_FAILED - unknown delivery tag {settled.split()[1]}"
        certain = [] if "multiple" in settled else ["ACK-016"]  # tag 0 itself may be what it does not know
        assert play(f"{history} 1 < closed 406 {unknown}").broken == certain
        assert play(f"{history} 0 < kicked 406 {unknown}").broken == certain


HELD_TWO = """
    @queue q quorum
    @stock q m1 m2
    @hold 1 q m1 m2
    {}
    {reader} > get q
    {reader} < get-ok 1 m2 q redelivered
"""


@pytest.mark.parametrize(("end", "reader", "about"), [
    ("@close 1 \n @open 2", "2", "AUTO-001"),
    ("1 > ack 9 \n 1 < closed 406 60 80 PRECONDITION_FAILED - unknown delivery tag 9 \n 1 > closed-ok \n @open 2", "2",
     "AUTO-004"),
    ("o:0 < start \n o:1 > open \n o:1 < open-ok \n - end c aborted", "o:1", "AUTO-013"),
])
def test_the_order_of_return_is_for_the_rules_that_name_it(play, end: str, reader: str, about: str) -> None:
    """AUTO-003: it says that what a lost connection had goes back, and nothing of the order; AUTO-013 says that."""
    wrong = HELD_TWO.format(end, reader=reader)
    assert play(wrong).rest().broken == [about]
    assert play(wrong.replace("1 m2 q redelivered", "1 m1 q redelivered")).rest().broken == []


CONFIRMED_BEFORE = """
    @queue q
    @stock q m1 m2
    @confirming 1
    1 > publish q m3
    1 < ack 1
    @close 1
    @open 1
"""


def test_an_answer_to_a_settlement_is_no_confirm_mode_that_lives_on(play) -> None:
    """ERR-007: where nothing is published on the new channel there is nothing to confirm."""
    held = CONFIRMED_BEFORE + "1 > get q \n 1 < get-ok 1 m1 q \n 1 > {} \n 1 < ack {}"
    assert play(held.format("ack 1", 1)).broken == ["ACK-015"]
    assert play(held.format("ack 0 multiple", 0)).broken == ["ACK-015", "TAG-002"]
    published = CONFIRMED_BEFORE + "1 > publish q m4 \n 1 < ack {}"
    assert play(published.format(2)).broken == ["ERR-007"]
    assert play(published.format(1)).broken == ["ERR-007"]


THREE = FANNED.replace("@queue r", "@queue r \n @queue s").replace("x q r", "x q r s") + "{} \n"
NEXT = "1 > publish q m2 \n 1 < ack 2"


def test_a_confirm_again_is_one_for_each_queue_where_it_is_as_many(play) -> None:
    """CNF-010: of three queues each is confirmed. A confirm that is doubled, whatever it speaks of, is CNF-004."""
    assert play(THREE.format("1 < ack 1 \n" + NEXT)).broken == ["CNF-010"]
    assert play(THREE.format(NEXT)).broken == ["CNF-004"]
    assert play(THREE.format("")).broken == []
    lone = "@queue q \n @queue r \n @exchange x q r \n @confirming 1 \n 1 > publish q m1 \n 1 < ack 1 \n {} \n"
    both = "1 > publish any m2 exchange=x \n 1 < ack 2 \n 1 < ack 2"
    assert play(lone.format("1 < ack 1") + both).broken == ["CNF-004"]
    assert play(lone.format("") + both).broken == ["CNF-010"]


SIBLINGS = """
    @queue q
    @queue p
    @queue g
    @stock q m1 m2
    @stock g n1 n2
    @hold 1 g n1 n2
    1 > qos 2
    1 < qos-ok
    @consume 1 q c1
    {}
    @consume 1 p c2
    @stock p o1
    - deadline replies
"""


def test_gets_are_not_accused_where_siblings_fill_the_limit_as_well(play) -> None:
    """QOS-015: two gets are out, and two deliveries of another consumer. Either may have been counted."""
    both = SIBLINGS.format("1 < deliver c1 3 m1 q \n 1 < deliver c1 4 m2 q")
    assert play(both + "@close 1 \n @drain p o1").broken == []
    alone = SIBLINGS.replace("@stock q m1 m2", "").format("")
    assert play(alone + "@close 1 \n @drain p o1").broken == ["QOS-015"]


def test_a_consumer_that_nobody_could_notify_may_be_started_anew(play) -> None:
    """RQ-011: RabbitMQ 3.8 served a consumer of a deleted queue from the next one of that name."""
    history = """
        0 < start notify
        0 > start-ok
        @queue q
        @consume 1 q c1
        1 > delete q
        1 < delete-ok
        @barrier 1
        @queue q
        @stock q m1 m2
        1 < deliver c1 1 m1 q
        1 < deliver c1 2 m2 q
        1 > ack 2 multiple
        @barrier 1
        1 > cancel c1
        1 < cancel-ok c1
        @drain q {}
        - deadline drain q
    """
    assert play(history.format("")).broken == []
    assert play(history.format("m1")).broken == []
    lost = history.replace("1 < deliver c1 1 m1 q\n        1 < deliver c1 2 m2 q\n        1 > ack 2 multiple\n", "")
    assert play(lost.format("m1")).broken == ["RQ-011"]


SUCCEEDED = """
    0 < start notify
    0 > start-ok notify
    @queue q
    @queue k
    @consume 1 q c1
    @open 2
    2 > delete {0}
    1 > cancel c1 {1}
    1 > consume k c1
    2 < delete-ok
    1 < cancel c1 no_wait
"""


@pytest.mark.parametrize("answer", ["", "no_wait"])
def test_a_notification_may_be_for_who_had_the_tag_before(play, answer: str) -> None:
    """TMO-001: the consumer's cancel met the deletion of its queue, and another one has its tag already."""
    assert play(SUCCEEDED.format("q", answer)).broken == []
    assert play(SUCCEEDED.format("other", answer)).broken == ["TMO-001"]


INHERITED = """
    @queue d
    @queue q classic x-dead-letter-exchange= x-dead-letter-routing-key=d
    @stock q m1
    @consume 1 q c1
    1 < deliver c1 1 m1 q
    @open 2
    {}
    2 < delete-ok
    @barrier 1
    - deadline drain d
"""
REJECTED, DELETED = "1 > reject 1", "2 > delete q"


def test_a_queue_that_is_gone_has_no_heir(play) -> None:
    """MODE-005: RabbitMQ forgets what is rejected after its queue was deleted, and may do so with what was before."""
    assert play(INHERITED.format(f"{DELETED}\n{REJECTED}")).broken == []
    assert play(INHERITED.format(f"{REJECTED}\n{DELETED}")).broken == []
    kept = INHERITED.format(f"{REJECTED}\n2 > delete other")
    assert play(kept).broken == ["MODE-005"]

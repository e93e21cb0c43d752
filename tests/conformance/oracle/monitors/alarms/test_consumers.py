"""Consumers, their queues and their time-outs: whom a notification is for, who is revived.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations

import pytest

from tests.support.readings import OTHER

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


@pytest.mark.parametrize(("settled", "broken"), [("nack 1 requeue", []), ("ack 1", ["TMO-006"])])
def test_a_consumer_that_returned_what_was_stale_is_owed_it_by_one_rule(play, settled: str, broken: list[str]) -> None:
    """TMO-006, TMO-012: another consumer's message came back by time alone, and waits in front."""
    start = "@queue q quorum x-consumer-timeout=1000 \n @stock q m1 m2 \n 0 < start notify \n 0 > start-ok notify \n"
    each = "@consume {0} q c{0} prefetch=1 \n {0} < deliver c{0} 1 m{0} q \n"
    over = "- wait 1.1 \n 2 < cancel c2 no_wait \n 1 < cancel c1 no_wait \n 2 > close \n 2 < close-ok \n"
    text = start + each.format(1) + each.format(2) + over + f"1 > {settled} \n - deadline replies \n @drain q m2 m1"
    assert play(text).broken == ["TMO-012", *broken]


def test_who_has_no_quorum_queues_is_not_asked_for_their_time_outs(play) -> None:
    """TMO-001: the argument means nothing to a broker that never offered it."""
    history = "@queue q \n @open 1 \n 1 > consume q c1 x-consumer-timeout=500 \n 1 < consume-ok c1 \n @barrier 1"
    assert play(history).broken == ["TMO-001"]
    assert play(history, OTHER).broken == []


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


UNNAMED = "@queue q \n @queue r \n @stock q m1 m3 \n @stock r m2 \n @open 1 \n 1 > consume q{0} \n 1 > consume r{0} \n"
CHOSEN = "1 < deliver amq.ctag-a 1 m1 q \n 1 < deliver amq.ctag-b 2 m2 r \n"


@pytest.mark.parametrize("quiet", [False, True])
def test_tags_that_the_broker_chooses_may_be_known_late(play, quiet: bool) -> None:
    """CAN-009: two consumers that leave their tags to the broker are started at once, perhaps without an answer: then
    their first deliveries tell the tags."""
    told = "" if quiet else "1 < consume-ok amq.ctag-a \n 1 < consume-ok amq.ctag-b \n"
    begun = UNNAMED.format(" no_wait" if quiet else "") + told + CHOSEN
    assert (
        play(begun + "1 > cancel amq.ctag-a \n 1 < cancel-ok amq.ctag-a \n 1 > ack 2 multiple \n @barrier 1").broken
        == []
    )
    assert play(begun + "1 < deliver amq.ctag-c 3 m3 q").broken == ["CAN-009"]


def test_who_has_no_tag_yet_is_told_of_its_end(play) -> None:
    """CAN-010: the queue of a consumer that was started without an answer is deleted before anything comes of it."""
    notice = "0 < start notify \n 0 > start-ok notify \n @queue q \n @open 1 \n 1 > consume q no_wait \n @barrier 1 \n"
    deleted = "@open 2 \n 2 > delete q \n 2 < delete-ok \n 1 < cancel amq.ctag-a no_wait \n @barrier 1"
    assert play(notice + deleted).broken == []

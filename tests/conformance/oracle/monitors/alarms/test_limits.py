"""A prefetch limit: what it counts, when it is reached for certain, and when it stalls.

Alarms that machines gave on real brokers, each cut down to what it took. Each lawful history stands beside one that
breaks a rule.
"""

from __future__ import annotations


def test_a_limit_that_counts_gets_starves_every_consumer_of_its_channel(play) -> None:
    """QOS-015: also one that was there before, and had a limit of its own that was reached and is not any more."""
    book = play(
        """
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
    """,
        "rabbitmq-3.10",
    )
    assert book.rest().broken == ["QOS-015"]


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


def test_no_limit_from_now_on_stalls_nobody(play) -> None:
    """QOS-004: LavinMQ serves a running consumer no more when the limit for others is removed."""
    begin = "@queue q \n @stock q m1 m2 m3 m4 \n @open 1 \n 1 > qos 2 \n 1 < qos-ok \n @consume 1 q c1 \n"
    begin += "1 < deliver c1 1 m1 q \n 1 < deliver c1 2 m2 q \n"
    removed, there = begin + "1 > qos 0 \n 1 < qos-ok \n", "- deadline replies \n @close 1 \n @drain q m3 m4"
    assert play(removed + "1 > ack 2 multiple \n" + there).broken == ["QOS-004"]
    assert play(begin + "1 > ack 2 multiple \n" + there).broken == ["QOS-012"]
    assert play(removed + "1 > ack 1 \n" + there.replace("m3", "m2 m3")).broken != ["QOS-004"], "a slot may be lost"


def test_a_get_that_is_not_answered_under_a_limit(play) -> None:
    held = "@queue q \n @stock q m1 m2 \n @open 1 \n 1 > qos 1 \n 1 < qos-ok \n @consume 1 q c1 \n"
    assert play(held + "1 < deliver c1 1 m1 q \n 1 > get q \n - deadline replies").broken == ["QOS-014"]


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


def test_a_queue_that_drops_fills_the_one_that_takes_the_place_of_its_heir(play) -> None:
    """RQ-011: the heir has a limit, is deleted and declared again; what is dropped pushes out what it has."""
    names = "x-dead-letter-exchange= x-dead-letter-routing-key"
    heir = f"@queue r classic x-max-length=4 {names}=d \n"
    full = "".join(f"1 > publish q m{number} \n" for number in range(1, 8)) + "1 < ack 7 multiple \n"
    more = "1 > publish r m8 \n 1 < ack 8 \n" + full.replace("m", "n").replace("ack 7", "ack 15")
    begin = f"@queue d \n {heir} @queue q classic x-max-length=4 {names}=r \n @confirming 1 \n" + full
    again = "90 > delete r \n 90 < delete-ok says=3 \n" + heir + more + "90 > get r no_ack \n 90 < get-ok 1 n1 r \n"
    assert play(begin + again + "- deadline drain r").broken == []

"""What Qpid Broker-J 10.0 was seen to do, cut down: what follows from one fault accuses no other rule for certain.

Each history has one fault; beside it stands the history in which the other rule is broken by itself.
"""

from __future__ import annotations


def told(book) -> dict[str, tuple[str, ...]]:
    """By rule that is certainly broken: those that would explain it as well."""
    return {one.rule: one.unless for one in book.judge.judgement.findings if one.certain}


HELD = "@queue q \n @stock q m1 m2 \n @hold 1 q m1 \n"
PURGED = "90 > purge q \n 90 < purge-ok \n"
ENDED = "@close 1 \n @drain q {} \n - deadline drain q"


def test_a_purge_takes_what_is_out(play) -> None:
    """The channel that had m1 has ended, or has returned it, and m1 is nowhere: that is no word against the return."""
    assert told(play(HELD + PURGED + ENDED.format(""))) == {"QUEUE-019": ("RQ-011", "AUTO-001")}
    returned = "1 > nack 1 requeue \n 1 > get q \n 1 < get-empty"
    assert told(play(HELD + PURGED + returned)) == {"QUEUE-019": ("ACK-012",)}
    assert told(play(HELD + ENDED.format("m2")))["AUTO-001"] == ()
    assert "ACK-012" in told(play(HELD.replace(" m2", "") + returned))


BOUND = "@queue q \n @confirming 1 \n @route x fanout key q \n {} @open 2 \n"
SENT = "1 > publish key m{0} exchange=x \n 1 < ack {0} \n"
APART = "90 > bind q x key note=red \n 90 < bind-ok \n " + SENT.format(1) + "90 > unbind q x key \n 90 < unbind-ok \n "
OUT = "2 > get q no_ack \n 2 < get-ok {0} m{0} q \n"
NONE = "2 > get q no_ack \n 2 < get-empty"


def test_a_binding_takes_others_of_its_key_with_it(play) -> None:
    """RQ-011: m2 is not lost. It never came, because of two bindings that arguments tell apart both are gone."""
    assert told(play(BOUND.format(APART + SENT.format(2)) + OUT.format(1) + NONE)) == {"BIND-012": ()}
    assert told(play(BOUND.format(SENT.format(1) + SENT.format(2)) + OUT.format(1) + NONE)) == {"RQ-011": ()}
    again = APART + SENT.format(2) + SENT.format(3)
    assert told(play(BOUND.format(again) + OUT.format(1) + OUT.format(2) + NONE)) == {"RQ-011": ()}


TRANSACTION = "@queue q \n @stock q m1 \n @open 1 \n {} @hold 1 q m1 \n {}"
AGAIN = "@open 2 \n 2 > get q \n 2 < get-ok 1 m1 q redelivered"


def test_a_rollback_gives_back(play) -> None:
    """MODE-001: m1 comes again, although nobody has settled it."""
    rolled_back = TRANSACTION.format("1 > select \n 1 < select-ok \n", "1 > rollback \n 1 < rollback-ok \n")
    assert told(play(rolled_back + AGAIN)) == {"MODE-001": ("TX-002", "TX-016"), "TX-016": ()}
    assert told(play(TRANSACTION.format("", "") + AGAIN)) == {"MODE-001": ()}


def test_a_consumer_that_was_started_after_a_mistake_is_served(play) -> None:
    """CAN-009: the broker lets the mistake pass, and so the consumer is one."""
    started = "1 > consume q c2 \n 1 < consume-ok c2 \n 1 < deliver c2 1 m1 q \n"
    assert "CAN-009" not in told(play("@queue q \n @stock q m1 \n @open 1 \n 1 > ack 9 \n" + started))
    later = "1 > consume q c2 \n 1 < consume-ok c2 \n - deadline replies \n 1 > ack 1 \n 1 > get q \n"
    later += "1 < get-empty \n @open 3 \n 3 > publish q m2 \n 1 < deliver c2 2 m2 q"
    assert set(told(play(HELD.replace(" m2", "") + "1 > ack 99 \n" + later))) == {"ERR-002"}
    cancelled = "@consume 1 q c2 \n 1 > cancel c2 \n 1 < cancel-ok c2 \n @stock q m1 \n 1 < deliver c2 1 m1 q \n"
    assert "CAN-009" in told(play("@queue q \n" + cancelled))


CONFIRMING = "c:0 > start-ok user=guest \n @queue q \n @confirming 1 \n "


def test_a_publish_as_somebody_else_is_taken_and_confirmed(play) -> None:
    """CNF-019: whoever does not look at the user-id has taken the publish, and confirms it."""
    somebody = CONFIRMING + '1 > publish q m1 with={"user_id":"other"} \n 1 < ack 1 \n - deadline replies'
    assert told(play(somebody)) == {"CNF-019": ("CONTENT-006", "EXCH-013", "AUTH-010"), "CONTENT-006": ()}


REFUSED = "1 < deliver c1 1 m1 q \n {} 1 > reject 1 \n @barrier 1 \n 90 > get q \n 90 < get-ok 1 m1 q redelivered"


def test_what_is_rejected_comes_back(play) -> None:
    """ACK-016: it comes back also to whoever has cancelled."""
    stocked, cancelled = "@queue q \n @stock q m1 \n @consume 1 q c1 \n", "1 > cancel c1 \n 1 < cancel-ok c1 \n"
    assert told(play(stocked + REFUSED.format(cancelled))) == {"ACK-016": ("MODE-005",)}
    assert told(play(stocked + REFUSED.format(""))) == {"MODE-005": (), "ACK-012": ()}


TWICE = "d:1 > open \n d:1 < open-ok \n d:1 > open \n d:0 < kicked 504 20 10 open \n "
GONE = "@queue q \n 90 > delete q \n 90 < delete-ok \n @open 1 \n "


def test_a_get_from_a_missing_queue_costs_the_connection(play) -> None:
    """CONN-014: another connection has failed before, but this one is lost over its own mistake."""
    over_a_get = "1 > get q \n 0 < kicked 404 60 70 NOT_FOUND"
    assert set(told(play(TWICE + GONE + over_a_get))) == {"GET-001", "ERR-004"}
    assert set(told(play(TWICE + GONE + "0 < kicked 504 20 10 open"))) == {"CONN-014"}


def test_a_mandatory_publish_without_a_route_costs_the_connection(play) -> None:
    """BIND-008: by 312 the broker complains of a publish in a transaction, and names no method."""
    setup = "@queue q \n @exchange x \n @open 1 \n @open 2 \n 2 > select \n 2 < select-ok \n "
    publish, bind = "2 > publish - m1 exchange=x key=gone mandatory \n ", "1 > bind q x key \n "
    assert told(play(setup + publish + bind + "0 < kicked 312 0 0 NO_ROUTE")) == {}
    assert set(told(play(setup + bind + "0 < kicked 541 0 0 INTERNAL_ERROR"))) >= {"BIND-008"}

"""PotentialReceivers: who may hold a message unseen, and what proves that it is in its queue."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.oracle.model.consumers import taking
from conformance.oracle.model.queues.declaring import queue_of
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import GONE, OUT, RELEASED, RETURNED, Copy, PotentialReceiver


def queue(kind: str = "classic") -> Queue:
    return queue_of(profiles.load("documented"), "q", kind, 1, {}, opaque=False)


def message(queue: Queue, name: str, at: int) -> Copy:
    copy = Copy(name, queue, at, entered=at)
    queue.put(copy)
    return copy


def test_nobody_else_is_there() -> None:
    found = queue()
    me = taking.begin(found, PotentialReceiver(5, no_ack=False, get=True))
    assert not found.crowded(me)
    assert not found.others(3, me)


def test_a_live_receiver_may_hold_anything() -> None:
    found = queue()
    other = taking.begin(found, PotentialReceiver(5, no_ack=False, get=False))
    assert found.others(7, None)
    taking.end(found, other, 9, blind=False)
    assert not found.others(7, None)


def test_a_receiver_that_ended_blindly_may_have_held_what_was_there_before() -> None:
    found = queue()
    other = taking.begin(found, PotentialReceiver(5, no_ack=False, get=False))
    taking.end(found, other, 9, blind=True)
    assert found.others(7, None)
    assert not found.others(10, None)


def test_only_lost_receivers_give_back_unseen() -> None:
    found = queue()
    copy = message(found, "m1", 3)
    receiver = taking.begin(found, PotentialReceiver(5, no_ack=False, get=False))
    assert not found.unseen(copy)
    taking.lose(found, receiver)
    assert found.unseen(copy)
    taking.end(found, receiver, 9, blind=False)
    assert found.unseen(copy)
    assert not found.unseen(message(found, "m2", 10))


def test_a_lost_receiver_without_acknowledgement_swallows() -> None:
    found = queue()
    early = message(found, "m1", 3)
    receiver = taking.begin(found, PotentialReceiver(5, no_ack=True, get=False))
    assert not early.unowed
    taking.lose(found, receiver)
    late = message(found, "m2", 7)
    assert early.unowed
    assert late.unowed
    taking.end(found, receiver, 9, blind=True)
    assert not message(found, "m3", 10).unowed


def test_an_undeclared_queue_proves_nothing() -> None:
    found = queue_of(profiles.load("documented"), "q", "classic", 0, {}, opaque=False)
    assert found.crowded(None)
    assert found.unseen(message(found, "m1", 3))


def test_held_counts_what_is_out() -> None:
    found = queue()
    copies = [message(found, f"m{n}", n) for n in range(3)]
    for copy in copies:
        found.leave(copy, OUT)
    assert found.held == 3
    found.back(copies[0], RELEASED, 9)
    found.leave(copies[1], GONE)
    found.unsettle(copies[2], indeterminate=True)
    assert found.held == 1
    assert list(found.waiting()) == [copies[0]]


def test_messages_of_one_id_are_not_told_apart() -> None:
    found = queue()
    message(found, "m1", 3)
    second = message(found, "m1", 4)
    found.leave(second, OUT)
    assert second.indeterminate
    assert list(found.waiting()) == []


def test_near_a_delivery_limit_nobody_owes_a_message_that_may_have_been_returned_unseen() -> None:
    found = queue("quorum")
    found.limit = 20
    copy = message(found, "m1", 3)
    copy.hidden = True
    for at in range(18):
        assert list(found.waiting())
        found.back(copy, RETURNED, at)
    assert copy.unowed
    assert not list(found.waiting())


def test_a_message_is_gone_when_it_returns_once_more_than_the_limit_allows() -> None:
    found = queue("quorum")
    found.limit, found.all_count = 3, True
    copy = message(found, "m1", 3)
    for at in range(3):
        found.back(copy, RETURNED, at)
        assert list(found.waiting()) == [copy]
    found.back(copy, RETURNED, 4)
    assert copy.place == GONE
    assert copy.spent


def test_only_failures_count_where_the_profile_says_so() -> None:
    found = queue("quorum")
    found.limit, found.all_count = 3, False
    copy = message(found, "m1", 3)
    for at in range(30):
        found.back(copy, RETURNED, at)
    assert not copy.spent
    for at in range(4):
        assert not copy.spent
        found.back(copy, RELEASED, at)
    assert copy.spent


@pytest.mark.parametrize(
    ("arguments", "order"),
    [
        ({}, "tail"),
        ({"x-delivery-limit": 5}, "returns-first"),
    ],
)
def test_the_place_of_returns_depends_on_the_declaration(arguments: dict[str, int], order: str) -> None:
    found = queue_of(profiles.load("rabbitmq-3.10"), "q", "quorum", 1, arguments, opaque=False)
    assert found.order == order

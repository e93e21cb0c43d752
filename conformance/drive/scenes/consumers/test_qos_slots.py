"""QOS: the slots of a limit, who takes them and what gives them back.

A window is filled, one slot is freed in one particular way, and the broker comes to rest: exactly as many deliveries
may follow as slots have become free, for exactly those consumers whose slots they were. What else is fetched, or
needs no acknowledgement, has none.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable

import pytest

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import limited, outstanding, restock, shares, stocked
from conformance.drive.stage import NotOffered, Stage

CROWD = 40
"""More deliveries than anybody sets aside."""


@rule("QOS-010")
def test_settling_any_delivery_frees_a_slot(stage: Stage) -> None:
    """A full window of 4; one by one the third, the second, the last and the oldest are settled, in every way. And of a
    channel's limit, where its consumers have others, or their queue is deleted."""
    channel = limited(stage, stocked(stage, 12), 4)
    ways: tuple[Callable[[], None], ...] = (
        lambda: channel.ack(3),
        lambda: channel.nack(2, requeue=False),
        lambda: channel.reject(4, requeue=False),
        lambda: channel.ack(1),
    )
    for settle in ways:
        settle()
        stage.quiesce()
    stage.barrier(channel)
    if shares(stage):
        _for_the_other(stage)
        _of_a_queue_that_is_gone(stage)


def _of_a_queue_that_is_gone(stage: Stage) -> None:
    """Under a channel's limit all is held that a queue had which is deleted then; the settled make room for others."""
    gone = stocked(stage, 2)
    channel = limited(stage, gone, 2, shared=True)
    channel.consume(stocked(stage, 4))
    stage.quiesce()
    stage.backstage(gone).delete(gone)
    stage.quiesce()
    for tag in channel.unacked:
        channel.ack(tag)
        stage.quiesce()
    stage.barrier(channel)


def _for_the_other(stage: Stage) -> None:
    """Under a channel's limit one consumer has all that its queue had, and settles that: another one has room then."""
    channel = limited(stage, stocked(stage, 2), 2, shared=True)
    channel.consume(stocked(stage, 4))
    stage.quiesce()
    for tag in (1, 2):
        channel.ack(tag)
        stage.quiesce()


@rule("QOS-012")
def test_settling_several_frees_as_many(stage: Stage) -> None:
    """A full window of 5: one in the middle, then a multiple over it, then three at once. And a crowd at once."""
    channel = limited(stage, stocked(stage, 20), 5)
    channel.ack(3)
    stage.quiesce()
    channel.ack(5, multiple=True)
    stage.quiesce()
    channel.nack(8, multiple=True, requeue=False)
    stage.quiesce()
    stage.barrier(channel)
    channel = limited(stage, stocked(stage, 2 * CROWD), CROWD)
    channel.ack(outstanding(channel)[-1], multiple=True)
    stage.quiesce()


@rule("QOS-013")
def test_a_slot_goes_back_to_its_own_consumer(stage: Stage) -> None:
    """Windows of 3 and 2 are full; one multiple covers both, named by either consumer's tag. Then a consumer is
    cancelled with two deliveries, and another one with its tag fills its window before they are settled."""
    first, second = stocked(stage, 12), stocked(stage, 12)
    channel = limited(stage, first, 3)
    channel.qos(2)
    channel.consume(second)
    stage.quiesce()
    for _ in range(2):
        channel.ack(outstanding(channel)[-1], multiple=True)
        stage.quiesce()
    stage.barrier(channel)
    _settle_what_a_namesake_had(stage)


def _settle_what_a_namesake_had(stage: Stage) -> None:
    queue = stocked(stage, 8)
    channel = stage.channel()
    channel.qos(2)
    tag = channel.consume(queue)
    stage.quiesce()
    first = outstanding(channel)
    channel.cancel(tag)
    stage.quiesce()
    channel.consume(queue, tag=tag)
    stage.quiesce()
    for one in first:
        channel.ack(one)
        stage.quiesce()
    stage.barrier(channel)


@rule("QOS-015")
@pytest.mark.parametrize("back", ["settled", "recovered"])
def test_gets_take_no_slots(stage: Stage, back: str) -> None:
    """Three gets are out when a limit of 3 is set and a consumer started; then the gets are settled. Or they are
    recovered, before the limit is set and after, and a consumer is started then."""
    ways = (False, True) if shares(stage) else (False,)
    if back == "recovered":
        for first in (False, True):
            _recovered(stage, first, ways[-1])
        return
    for shared in ways:
        queue = stocked(stage, 12)
        channel = stage.channel()
        stage.fetch(channel, queue, 3)
        channel.qos(3, shared)
        channel.consume(queue)
        stage.quiesce()
        for tag in (1, 2, 3):
            channel.ack(tag)
            stage.barrier(channel)


def _recovered(stage: Stage, first: bool, shared: bool) -> None:
    """Another get is out when the limit is reached: what takes no slots is there to be counted."""
    queue = stocked(stage, 10)
    channel = stage.channel()
    if first:
        channel.qos(2, shared)
    stage.fetch(channel, queue, 3)
    with contextlib.suppress(NotOffered):
        channel.recover()
    stage.quiesce()
    stage.fetch(channel, queue, 1)
    if not first:
        channel.qos(2, shared)
    channel.consume(queue)
    stage.quiesce()
    stage.barrier(channel)


@rule("QOS-016")
def test_a_consumers_limit_does_not_bind_automatic_deliveries(stage: Stage) -> None:
    """A limit of 2, ten messages, and a consumer that needs no acknowledgement."""
    queue = stocked(stage, 10)
    channel = stage.channel()
    channel.qos(2)
    channel.consume(queue, no_ack=True)
    stage.quiesce()


@rule("QOS-017", queue_types=("classic",))
def test_automatic_deliveries_under_a_channels_limit(stage: Stage) -> None:
    """A manual consumer reaches the limit, an automatic one has messages waiting; then the manual one settles."""
    channel = limited(stage, stocked(stage, 2), 2, shared=True)
    channel.consume(stocked(stage, 3), no_ack=True)
    stage.quiesce()
    for _ in range(2):
        stage.barrier(channel)
    channel.ack(0, multiple=True)
    stage.quiesce()


@rule("QOS-018")
def test_returning_frees_a_slot(stage: Stage) -> None:
    """A window of 1 over three messages, which come back again and again; and one over some that do not come back. Then
    a window of 2 is recovered as a whole, twice; the channel's, where it has one; and that of a consumer that has a
    priority."""
    channel = limited(stage, stocked(stage, 3), 1)
    for turn in range(5):
        tag = outstanding(channel)[-1]
        if turn % 2:
            channel.reject(tag)
        else:
            channel.nack(tag)
        stage.quiesce()
    if stage.queue_type == "quorum":
        _returned_too_often(stage, stage.queue({"x-delivery-limit": 0}))
    for ranked in (False, True) if stage.offers("x-priority") else (False,):
        channel = limited(stage, stocked(stage, 3), 2, shared=shares(stage) and not ranked, rank=5 if ranked else None)
        for _ in "12":
            with contextlib.suppress(NotOffered):
                channel.recover()
            stage.quiesce()


def _returned_too_often(stage: Stage, queue: str) -> None:
    """Each message is dropped when it is returned; the next one takes its slot, and no other."""
    channel = limited(stage, queue, 1)
    for count in (1, 2, 2):
        restock(stage, queue, count)
        restock(stage, queue, 1)
        for tag in channel.unacked[:1]:
            channel.reject(tag)
        stage.barrier(channel)
    restock(stage, queue, 1)


@rule("QOS-019")
def test_slots_are_never_lost(stage: Stage) -> None:
    """A window of 4 through every way of settling, and a channel's through cancelled consumers; then all is settled."""
    queue = stocked(stage, 40)
    channel = limited(stage, queue, 4)
    ways: tuple[Callable[[list[int]], None], ...] = (
        lambda tags: channel.ack(tags[2]),
        lambda tags: channel.nack(tags[1], multiple=True, requeue=False),
        lambda tags: channel.reject(tags[0]),
        lambda tags: channel.nack(tags[3], multiple=True),
        lambda tags: channel.reject(tags[2], requeue=False),
        lambda tags: channel.ack(tags[3], multiple=True),
        lambda tags: channel.nack(0, multiple=True, requeue=False),
        lambda tags: channel.ack(0, multiple=True),
    )
    for settle in ways:
        settle(outstanding(channel, 4))
        stage.quiesce()
    _many_at_once(stage)
    if shares(stage):
        _outlived(stage, stocked(stage, 12))


def _many_at_once(stage: Stage) -> None:
    """A large window is settled one by one, in one write; twice."""
    channel = limited(stage, stocked(stage, 3 * CROWD), CROWD)
    for _ in "12":
        with stage.batch():
            for tag in outstanding(channel, CROWD):
                channel.ack(tag)
        stage.quiesce()


def _outlived(stage: Stage, queue: str) -> None:
    """Consumers under a channel's limit that are cancelled while their deliveries are out: those are settled, or
    recovered."""
    channel = stage.channel()
    channel.qos(3, global_=True)
    for turn in range(3):
        tag = channel.consume(queue)
        stage.quiesce()
        channel.cancel(tag)
        stage.quiesce()
        channel.ack(outstanding(channel)[0])
        if turn and stage.offers("basic.recover"):
            channel.recover()
            stage.quiesce()
        else:
            channel.ack(0, multiple=True)
    channel.consume(queue)
    stage.quiesce()


@rule("QOS-026")
def test_an_uncommitted_ack_frees_no_slot(stage: Stage) -> None:
    """A window of 2 on a transactional channel: an ack, its commit; another ack, rolled back. And a nack and a reject,
    that return nothing."""
    queue = stocked(stage, 6)
    channel = stage.channel()
    channel.tx_select()
    channel.qos(2)
    channel.consume(queue)
    stage.quiesce()
    for end in (channel.tx_commit, channel.tx_rollback, channel.tx_commit):
        channel.ack(outstanding(channel)[0])
        stage.barrier(channel)
        end()
        stage.quiesce()
    for settle in (channel.reject, channel.nack):
        with contextlib.suppress(NotOffered):
            settle(outstanding(channel)[0], requeue=False)
            stage.barrier(channel)
            channel.tx_commit()
            stage.quiesce()

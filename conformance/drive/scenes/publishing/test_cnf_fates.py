"""CNF: what becomes of a publish is what its confirm says.

Routed to several queues or to none, returned, refused by a full queue, gone before anybody asks, failed: the confirm
comes after all of it, and is an ack or a nack accordingly.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest

from codec import values
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, filled, large, reopen
from conformance.drive.scenes.topology.test_queue import elsewhere
from conformance.drive.stage import Stage

STREAM, FOLLOWING = 200, 70
"""This many publishes are under way when the broker is killed."""
ACKED = 2
"""So many of them are acknowledged before."""
OLD = 3.0
"""Seconds after which a queue is no longer young (see `killed_young.py` among the findings)."""
RECOVERS = 20.0
"""Seconds in which a queue has to give something out, when the broker answers again."""


def _on_to(stage: Stage, exchange: str) -> list[str]:
    """Exchanges that lead to this one alone: as their alternate, and by a binding; and one whose alternate is gone."""
    ways = []
    if stage.offers("alternate-exchange"):
        gone = stage.exchange()
        stage.backstage().delete_exchange(gone)
        stage.quiesce()
        for alternate in (exchange, gone):
            ways.append(stage.exchange(arguments={"alternate-exchange": alternate}))
    if stage.offers("exchange.bind"):
        ways.append(stage.exchange())
        stage.bind_exchange(exchange, ways[-1])
    return ways


@rule("CNF-005")
def test_accepted_and_refused_side_by_side(stage: Stage) -> None:
    """A full queue that rejects, and one with room, in one burst: every second publish is refused."""
    room = stage.queue()
    channel = confirming(stage)
    full = filled(stage, channel)
    for _ in range(2):
        with stage.batch():
            for queue in (room, full, room, full, full, room):
                channel.publish(queue)
        stage.quiesce()
    stage.barrier(channel)


@rule("CNF-008")
def test_what_goes_nowhere_is_confirmed(stage: Stage) -> None:
    """To an exchange without bindings, one whose key differs, and a queue that was deleted; then one without a
    body, behind some that came to a queue."""
    queue, gone = stage.queue(), stage.queue()
    empty, direct = stage.exchange(), stage.exchange(queue, kind="direct", key="key")
    channel = confirming(stage)
    channel.delete(gone)
    stage.quiesce()
    channel.publish("any", exchange=empty)
    channel.publish("other", exchange=direct)
    channel.publish(gone)
    stage.quiesce()
    for key in (queue, queue, gone):
        channel.publish(key, body=b"")
        stage.quiesce()


@rule("CNF-009")
def test_what_is_returned_is_confirmed_after_it(stage: Stage) -> None:
    """Mandatory publishes that go nowhere: alone, behind others that go somewhere, empty, and of several frames. And on
    by a binding, or by an alternate, to an exchange that leads nowhere either, or that is not there; or by one of which
    another connection has deleted both queues. Many others follow, one by one; then one by the name of a queue that is
    gone."""
    queue, empty = stage.queue(), stage.exchange()
    channel, other = confirming(stage), elsewhere(stage)
    former = stage.exchange(*(gone := [stage.queue(), stage.queue()]))
    for one in gone:
        other.delete(one)
        stage.quiesce()
    channel.publish("any", exchange=former, mandatory=True)
    stage.quiesce()
    for way in _on_to(stage, empty):
        channel.publish("any", exchange=way, mandatory=True)
        stage.quiesce()
    channel.publish("any", exchange=empty, mandatory=True)
    stage.quiesce()
    with stage.batch():
        channel.publish(queue, 2, persistent=True)
        channel.publish("any", 2, exchange=empty, mandatory=True)
        channel.publish(queue)
        channel.publish("any", exchange=empty, mandatory=True, body=b"")
        channel.publish("any", exchange=empty, mandatory=True, body=large(channel))
    stage.quiesce()
    for _ in range(FOLLOWING):
        channel.publish(queue)
        stage.confirmed(channel)
    channel.publish(gone[0], mandatory=True)
    stage.quiesce()


@rule("CNF-010")
def test_a_confirm_speaks_for_all_queues(stage: Stage) -> None:
    """Three queues behind one exchange: when the confirm has come, another channel finds the message in each.

    Before that one message goes to one queue: who confirms that twice does so for another reason.
    """
    queues = [stage.queue() for _ in range(3)]
    exchange = stage.exchange(*queues)
    channel, reader = confirming(stage), stage.channel()
    channel.publish(queues[0], persistent=True)
    stage.confirmed(channel)
    stage.fetch(reader, queues[0], no_ack=True)
    for _ in range(3):
        channel.publish("", exchange=exchange, persistent=True)
        stage.confirmed(channel)
        for queue in queues:
            reader.get(queue, no_ack=True)
        stage.quiesce()


@rule("CNF-011")
def test_a_full_queue_refuses(stage: Stage) -> None:
    """More publishes than the queue has room for, with bodies of several frames and of none, also by an exchange of any
    type, and over two; once a message was taken there is room for one again."""
    channel, reader = confirming(stage), stage.channel()
    queue = filled(stage, channel)
    channel.publish(queue, 2)
    stage.quiesce()
    for body in (large(channel), b""):
        channel.publish(queue, body=body)
        stage.quiesce()
    exchange = stage.exchange(queue)
    kinds = (stage.exchange(queue, kind=kind) for kind in ("direct", "topic", "headers"))
    for way in (exchange, *_on_to(stage, exchange), *kinds):
        channel.publish("", exchange=way)
        stage.quiesce()
    stage.fetch(reader, queue, no_ack=True)
    channel.publish(queue)
    stage.quiesce()
    stage.barrier(channel)


@rule("CNF-012")
def test_one_queue_refuses_another_accepts(stage: Stage) -> None:
    """A full queue and one with room behind one exchange, or named as well by CC or BCC; the one with room is looked
    into."""
    channel, reader, room = confirming(stage), stage.channel(), stage.queue()
    full = filled(stage, channel)
    exchange = stage.exchange(full, room)
    channel.publish("", 2, exchange=exchange)
    stage.quiesce()
    more = ("CC", "BCC") if stage.offers("sender-selected distribution") else ()
    for header in more:
        for key, other in ((room, full), (full, room)):
            channel.publish(key, properties={"headers": values.table({header: [other]})})
            stage.quiesce()
    for _ in range(2 + 2 * len(more)):
        reader.get(room, no_ack=True)
    stage.quiesce()


@rule("CNF-017")
def test_messages_that_leave_first(stage: Stage) -> None:
    """Publishes, and in the same write the purge or the deletion of their queue; a consumer that needs no acks; and
    some that expire at once, for nobody is there. What is published on the same channel afterwards is confirmed, too,
    also when the queue went with its last consumer."""
    channel = confirming(stage)
    for leave in (channel.purge, channel.delete):
        queue = stage.queue()
        with stage.batch():
            channel.publish(queue, 5, persistent=True)
            leave(queue)
        stage.quiesce()
    if stage.offers("expiration"):
        channel.publish(stage.queue(), 2, properties={"expiration": "0"})
        stage.confirmed(channel)
    queue, receiver = stage.queue(), stage.channel()
    receiver.consume(queue, no_ack=True)
    stage.quiesce()
    channel.publish(queue, 5, persistent=True)
    stage.quiesce()
    if stage.queue_type == "classic":
        going = stage.queue(auto_delete=True)
        receiver.consume(going, no_ack=True)
        stage.quiesce()
        channel.publish(going)
        stage.confirmed(channel)
        receiver.close()
        stage.quiesce()
        for one in (going, queue):
            channel.publish(one)
            stage.quiesce()


@rule("CNF-018")
def test_confirms_do_not_wait_for_consumers(stage: Stage) -> None:
    """Into a queue without consumers, into one whose consumer never acknowledges, and one with two that are full."""
    lonely, served, busy, receiver = stage.queue(), stage.queue(), stage.queue(), stage.channel()
    receiver.consume(served)
    for consumer in stage.channels(2):
        consumer.qos(1)
        consumer.consume(busy)
    stage.quiesce()
    channel = confirming(stage)
    for queue in (lonely, served, busy):
        channel.publish(queue, 3)
        stage.quiesce()


UNREADABLE = "an expiration that is no number"
MISTAKES: dict[str, Callable[[Channel, str, str], object]] = {
    "an exchange that is gone": lambda channel, queue, gone: channel.publish(queue, exchange=gone),
    UNREADABLE: lambda channel, queue, gone: channel.publish(
        queue,
        properties={"expiration": "soon"},
    ),
}


@rule("CNF-019")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_publish_that_fails_is_not_confirmed(stage: Stage, mistake: str) -> None:
    """In the midst of good ones: what comes after it is discarded, what came before may be confirmed or not. The next
    channel of the number publishes, too. The exchange that is gone has a namesake, but for its case."""
    stage.require(*(("expiration",) if mistake == UNREADABLE else ()))
    queue, gone = stage.queue(), stage.exchange()
    channel, alike = confirming(stage), gone.swapcase()
    stage.belongings.exchanges[alike] = None
    channel.declare_exchange(alike)
    channel.delete_exchange(gone)
    channel.publish(queue)
    stage.quiesce()
    with stage.batch():
        channel.publish(queue)
        MISTAKES[mistake](channel, queue, gone)
        channel.publish(queue, 2)
    reopen(stage, channel)
    stage.barrier(channel)
    if channel.state == "open":
        channel.confirm()
        channel.publish(queue)
        stage.quiesce()


@rule("CNF-021")
def test_a_refusal_whatever_its_requeue_bit(stage: Stage) -> None:
    """The refused message is not in the queue: all that is in there is taken out."""
    channel, reader = confirming(stage), stage.channel()
    queue = filled(stage, channel)
    channel.publish(queue, 2)
    stage.quiesce()
    stage.fetch(reader, queue, 2)


@rule("CNF-025")
@pytest.mark.parametrize("full", [False, True])
def test_what_is_routed_is_not_returned(stage: Stage, full: bool) -> None:
    """Mandatory, to a queue without consumers, by the default exchange, by another that has two queues, and by those
    that lead to that one; one has no time to live at all; all of it in a transaction as well. Or to a queue that is
    full, and refuses it, alone or beside one that takes it; then it has room again."""
    channel = confirming(stage)
    if full:
        queue, reader = filled(stage, channel), stage.channel()
        channel.publish(queue, 2, mandatory=True)
        channel.publish("", 2, exchange=stage.exchange(queue, stage.queue()), mandatory=True)
        stage.quiesce()
        stage.fetch(reader, queue, no_ack=True)
        channel.publish(queue, mandatory=True)
        stage.quiesce()
        return
    queue, other = stage.queue(), stage.queue()
    exchange = stage.exchange(queue, other)
    channel.publish(queue, 2, mandatory=True)
    channel.publish("", 2, mandatory=True, exchange=exchange)
    stage.quiesce()
    if stage.offers("expiration"):
        channel.publish(queue, mandatory=True, properties={"expiration": "0"})
        stage.quiesce()
    _in_a_transaction(stage, queue, [exchange, *_found(stage, channel, exchange)])


def _found(stage: Stage, channel: Channel, exchange: str) -> list[str]:
    """By the exchanges that lead to this one."""
    ways = _on_to(stage, exchange)
    for way in ways:
        channel.publish("", 2, mandatory=True, exchange=way)
        stage.quiesce()
    return ways


def _in_a_transaction(stage: Stage, queue: str, ways: list[str]) -> None:
    """All ways once more, committed together."""
    if not stage.offers("tx.select"):
        return
    channel = stage.channel()
    channel.tx_select()
    stage.quiesce()
    for exchange, key in (("", queue), *((way, "") for way in ways)):
        channel.publish(key, mandatory=True, exchange=exchange)
    channel.tx_commit()
    stage.quiesce()


@rule("CNF-013", last=True)
@pytest.mark.parametrize("old", [False, True])
def test_what_was_confirmed_survives_a_crash(stage: Stage, old: bool) -> None:
    """Persistent messages stream in, and the broker is killed: when half of them are confirmed, to a queue that was
    declared right before; or when a few are, and when half of the next are, to one that has been there for a while.
    Some are acknowledged meanwhile."""
    if stage.around.kill is None:
        return
    queue = stage.queue()
    if old:
        wait(stage, OLD)
    for few in (STREAM // 20, STREAM // 2) if old else (STREAM // 2,):
        channel = stage.channel(connection=stage.living())
        channel.confirm()
        stage.quiesce()
        channel.publish(queue, STREAM, persistent=True)
        stage.waiter.settles(partial(_confirmed, channel, STREAM - few))
        taker = stage.channel(connection=stage.living())
        for _ in range(ACKED):
            tag = stage.get(taker, queue)
            if tag is not None:
                taker.ack(tag)
        stage.barrier(taker)
        stage.around.crash(stage)
        reader = stage.channel(connection=stage.living())
        reader.get(queue)
        if not stage.quiesce(RECOVERS):
            return
        reader.close()


def _confirmed(channel: Channel, left: int) -> bool:
    """Does the client wait for this many confirms at most, or for none any more?"""
    return channel.view is None or channel.state != "open" or len(channel.view.unconfirmed) <= left

"""CNF: publisher confirms.

Every publish in confirm mode is resolved once, in any order and any grouping; what cannot be routed comes back before
it is confirmed if it is mandatory; what a queue rejects is refused. The mode belongs to the channel, lasts as long as
it does, and has nothing to do with what the client acknowledges.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

import codec
from codec import methods as m
from conformance.channel import Channel
from conformance.stage import Stage
from conformance.suite.marks import rule
from conformance.suite.props import reopen, restock, stocked

FILLING = 60
"""So many publishes are tried on a full queue until it says so: a quorum queue's channel learns of it late."""


def confirming(stage: Stage) -> Channel:
    """A channel in confirm mode."""
    channel = stage.channel()
    channel.confirm()
    stage.quiesce()
    return channel


@rule("CNF-001")
def test_select_with_and_without_nowait(stage: Stage) -> None:
    """Both bring confirm mode; only one brings an answer."""
    queue = stage.queue()
    for no_wait in (False, True):
        channel = stage.channel()
        channel.confirm(no_wait)
        channel.publish(queue)
        stage.quiesce()
        stage.barrier(channel)


@rule("CNF-002")
def test_numbers_begin_at_the_first_select(stage: Stage) -> None:
    """Two publishes before the select, two after it; and the same with mandatory ones."""
    queue = stage.queue()
    for mandatory in (False, True):
        channel = stage.channel()
        channel.publish(queue, 2, mandatory=mandatory)
        channel.confirm()
        channel.publish(queue)
        stage.quiesce()
        channel.publish(queue)
        stage.quiesce()


@rule("CNF-003")
def test_a_second_select_changes_nothing(stage: Stage) -> None:
    """Two publishes, a select, one more; then both in one write."""
    queue = stage.queue()
    channel = confirming(stage)
    channel.publish(queue, 2)
    stage.quiesce()
    channel.confirm()
    channel.publish(queue)
    stage.quiesce()
    with stage.batch():
        channel.publish(queue)
        channel.confirm()
        channel.publish(queue)
    stage.quiesce()


@rule("CNF-004")
def test_every_publish_is_resolved_once(stage: Stage) -> None:
    """Bursts that mix queues, persistence, bodies, and messages that go nowhere."""
    queue, other, nowhere = stage.queue(), stage.queue(), stage.exchange()
    channel = confirming(stage)
    for _ in range(3):
        with stage.batch():
            channel.publish(queue, 3, persistent=True)
            channel.publish("none", exchange=nowhere)
            channel.publish(other, 2, persistent=False)
            channel.publish(queue, body=b"")
            channel.publish(queue, mandatory=True)
        stage.quiesce()
    channel.publish(queue)
    stage.quiesce()


def filled(stage: Stage, channel: Channel) -> str:
    """A queue with room for two that is full, and has refused publishes by now."""
    queue = stage.queue({"x-max-length": 2, "x-overflow": "reject-publish"})
    with stage.batch():
        channel.publish(queue, 5)
    stage.quiesce()
    for _ in range(FILLING):
        if any(event.method == "basic.nack" and event.direction == "<" for event in stage.events):
            break
        channel.publish(queue)
        stage.quiesce()
    return queue


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


@rule("CNF-006")
def test_nothing_is_resolved_in_advance(stage: Stage) -> None:
    """Publishes one by one, each answered before the next, then a body that comes late."""
    queue = stage.queue()
    channel = confirming(stage)
    for _ in range(3):
        channel.publish(queue)
        stage.quiesce()
    in_parts(stage, channel, queue)


def in_parts(stage: Stage, channel: Channel, queue: str) -> None:
    """A publish whose body is sent when the broker has answered something else in between."""
    other = stage.channel()
    message, body = stage.next_message(), b"late"
    header = codec.header(channel.number, len(body), message_id=message, delivery_mode=2)
    channel.send(m.BasicPublish(channel.number, routing_key=queue), header.encode())
    stage.barrier(other)
    channel.send(codec.Body(channel.number, body[:2]).encode())
    stage.barrier(other)
    channel.send(codec.Body(channel.number, body[2:]).encode())
    stage.quiesce()


@rule("CNF-007")
def test_a_confirm_for_one(stage: Stage) -> None:
    """One publish at a time, accepted or refused: whether the answer says multiple is open."""
    channel = confirming(stage)
    filled(stage, channel)
    channel.publish(stage.queue())
    stage.quiesce()


@rule("CNF-008")
def test_what_goes_nowhere_is_confirmed(stage: Stage) -> None:
    """To an exchange without bindings, one whose key differs, and a queue that was deleted."""
    queue, gone = stage.queue(), stage.queue()
    empty, direct = stage.exchange(), stage.exchange(queue, kind="direct", key="key")
    channel = confirming(stage)
    channel.delete(gone)
    stage.quiesce()
    channel.publish("any", exchange=empty)
    channel.publish("other", exchange=direct)
    channel.publish(gone)
    stage.quiesce()


@rule("CNF-009")
def test_what_is_returned_is_confirmed_after_it(stage: Stage) -> None:
    """Mandatory publishes that go nowhere: alone, behind others that go somewhere, empty, and of several frames."""
    queue, empty = stage.queue(), stage.exchange()
    channel = confirming(stage)
    channel.publish("any", exchange=empty, mandatory=True)
    stage.quiesce()
    with stage.batch():
        channel.publish(queue, 2, persistent=True)
        channel.publish("any", 2, exchange=empty, mandatory=True)
        channel.publish(queue)
        channel.publish("any", exchange=empty, mandatory=True, body=b"")
        channel.publish("any", exchange=empty, mandatory=True, body=large(channel))
    stage.quiesce()


def large(channel: Channel) -> bytes:
    """A body of three frames."""
    return bytes(2 * channel.connection.tuned.frame_max + 1)


@rule("CNF-010")
def test_a_confirm_speaks_for_all_queues(stage: Stage) -> None:
    """Three queues behind one exchange: when the confirm has come, another channel finds the message in each."""
    queues = [stage.queue() for _ in range(3)]
    exchange = stage.exchange(*queues)
    channel, reader = confirming(stage), stage.channel()
    for _ in range(3):
        channel.publish("", exchange=exchange, persistent=True)
        stage.confirmed(channel)
        for queue in queues:
            reader.get(queue, no_ack=True)
        stage.quiesce()


@rule("CNF-011")
def test_a_full_queue_refuses(stage: Stage) -> None:
    """More publishes than the queue has room for; once a message was taken there is room for one again."""
    channel, reader = confirming(stage), stage.channel()
    queue = filled(stage, channel)
    channel.publish(queue, 2)
    stage.quiesce()
    stage.fetch(reader, queue, no_ack=True)
    channel.publish(queue)
    stage.quiesce()
    stage.barrier(channel)


@rule("CNF-012")
def test_one_queue_refuses_another_accepts(stage: Stage) -> None:
    """A full queue and one with room behind one exchange; the one with room is looked into."""
    channel, reader, room = confirming(stage), stage.channel(), stage.queue()
    exchange = stage.exchange(filled(stage, channel), room)
    channel.publish("", 2, exchange=exchange)
    stage.quiesce()
    for _ in range(2):
        reader.get(room, no_ack=True)
    stage.quiesce()


@rule("CNF-014")
def test_confirms_in_any_order(stage: Stage) -> None:
    """Persistent and transient publishes alternate, and some go nowhere: the share that comes in order is reported."""
    queue, nowhere = stage.queue(), stage.exchange()
    channel = confirming(stage)
    with stage.batch():
        for number in range(20):
            channel.publish(queue, persistent=number % 2 == 0)
            if number % 5 == 4:
                channel.publish("any", exchange=nowhere)
    stage.quiesce()


@rule("CNF-015")
def test_publishes_of_one_kind(stage: Stage) -> None:
    """Twenty of one kind into one queue, persistent, then transient."""
    channel, queue = confirming(stage), stage.queue()
    for persistent in (True, False):
        with stage.batch():
            channel.publish(queue, 20, persistent=persistent)
        stage.quiesce()


@rule("CNF-016")
def test_transactions_and_confirms_exclude_each_other(stage: Stage) -> None:
    """Each after the other."""
    channel = confirming(stage)
    channel.tx_select()
    reopen(stage, channel)
    channel.tx_select()
    stage.quiesce()
    channel.confirm()
    reopen(stage, channel)
    stage.barrier(channel)


@rule("CNF-017")
def test_messages_that_leave_first(stage: Stage) -> None:
    """Publishes, and in the same write the purge or the deletion of their queue; a consumer that needs no acks."""
    channel = confirming(stage)
    for leave in (channel.purge, channel.delete):
        queue = stage.queue()
        with stage.batch():
            channel.publish(queue, 5, persistent=True)
            leave(queue)
        stage.quiesce()
    queue, taker = stage.queue(), stage.channel()
    taker.consume(queue, no_ack=True)
    stage.quiesce()
    channel.publish(queue, 5, persistent=True)
    stage.quiesce()


@rule("CNF-018")
def test_confirms_do_not_wait_for_consumers(stage: Stage) -> None:
    """Into a queue without consumers, and into one whose consumer never acknowledges."""
    lonely, served, taker = stage.queue(), stage.queue(), stage.channel()
    taker.consume(served)
    channel = confirming(stage)
    for queue in (lonely, served):
        channel.publish(queue, 3)
        stage.quiesce()


MISTAKES: dict[str, Callable[[Channel, str, str], object]] = {
    "an exchange that is gone": lambda channel, queue, gone: channel.publish(queue, exchange=gone),
    "an expiration that is no number": lambda channel, queue, gone: channel.publish(
        queue, properties={"expiration": "soon"},
    ),
}


@rule("CNF-019")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_publish_that_fails_is_not_confirmed(stage: Stage, mistake: str) -> None:
    """In the midst of good ones: what comes after it is discarded, what came before may be confirmed or not."""
    queue, gone = stage.queue(), stage.exchange()
    channel = confirming(stage)
    channel.delete_exchange(gone)
    channel.publish(queue)
    stage.quiesce()
    with stage.batch():
        channel.publish(queue)
        MISTAKES[mistake](channel, queue, gone)
        channel.publish(queue, 2)
    reopen(stage, channel)
    stage.barrier(channel)


@rule("CNF-020")
def test_the_last_publish_is_confirmed_too(stage: Stage) -> None:
    """A burst, and one alone; then the client falls silent."""
    channel, queue = confirming(stage), stage.queue()
    channel.publish(queue, 3)
    stage.confirmed(channel)
    channel.publish(queue)
    stage.confirmed(channel)


@rule("CNF-021")
def test_a_refusal_whatever_its_requeue_bit(stage: Stage) -> None:
    """The refused message is not in the queue: all that is in there is taken out."""
    channel, reader = confirming(stage), stage.channel()
    queue = filled(stage, channel)
    channel.publish(queue, 2)
    stage.quiesce()
    stage.fetch(reader, queue, 2)


@rule("CNF-022")
@pytest.mark.parametrize("no_wait", [False, True])
def test_select_and_publish_in_one_write(stage: Stage, no_wait: bool) -> None:
    """Also with the opening of the channel before them."""
    queue = stage.queue()
    channel = stage.channel()
    with stage.batch():
        channel.confirm(no_wait)
        channel.publish(queue)
    stage.quiesce()
    channel.close()
    stage.quiesce()
    with stage.batch():
        channel.open()
        channel.confirm(no_wait)
        channel.publish(queue, 2)
    stage.quiesce()


@rule("CNF-023")
def test_confirms_are_per_channel(stage: Stage) -> None:
    """Two channels in confirm mode and one that is not, publishing by turns."""
    queue = stage.queue()
    first, second, plain = confirming(stage), confirming(stage), stage.channel()
    for _ in range(2):
        for channel in (plain, first, second, plain):
            channel.publish(queue)
            stage.quiesce()
    stage.barrier(plain)


@rule("CNF-024")
def test_no_confirms_in_a_transaction(stage: Stage) -> None:
    """Publishes and acknowledgements, committed twice; another channel in confirm mode publishes beside it."""
    queue = stocked(stage, 2)
    channel = stage.channel()
    channel.tx_select()
    for _ in range(2):
        (tag,) = stage.fetch(channel, queue)
        channel.publish(queue, 2)
        channel.ack(tag)
        channel.tx_commit()
        stage.quiesce()
    restock(stage, queue, 1)
    stage.barrier(channel)


@rule("CNF-025")
def test_what_is_routed_is_not_returned(stage: Stage) -> None:
    """Mandatory, to a queue without consumers, by the default exchange and by another that has two queues."""
    queue, other = stage.queue(), stage.queue()
    exchange = stage.exchange(queue, other)
    channel = confirming(stage)
    channel.publish(queue, 2, mandatory=True)
    channel.publish("", 2, mandatory=True, exchange=exchange)
    stage.quiesce()


@rule("CNF-026")
def test_bodies_of_every_size_count_once(stage: Stage) -> None:
    """Empty, three frames, one frame in two parts, and ordinary ones between them."""
    queue = stage.queue()
    channel = confirming(stage)
    for body in (b"", large(channel), None, b""):
        channel.publish(queue, body=body)
        stage.quiesce()
    in_parts(stage, channel, queue)
    channel.publish(queue)
    stage.quiesce()


@rule("CNF-027")
def test_the_clients_acknowledgements_confirm_nothing(stage: Stage) -> None:
    """Publishes 1 to 3, and in the same write acknowledgements of deliveries 1 to 3."""
    queue, other = stocked(stage, 3), stage.queue()
    channel = stage.channel()
    channel.confirm()
    stage.fetch(channel, queue, 3)
    with stage.batch():
        channel.publish(other, 3)
        channel.ack(1)
        channel.nack(3, multiple=True, requeue=False)
    stage.quiesce()

"""CNF: publisher confirms.

Every publish in confirm mode is resolved once, in any order and any grouping. The mode belongs to the channel, lasts
as long as it does, and has nothing to do with what the client acknowledges. What decides between ack and nack is in
`test_cnf_fates`.
"""

from __future__ import annotations

import pytest

import codec
from codec import methods as m
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, filled, large, reopen, restock, stocked
from conformance.drive.stage import Stage

WIDE, ONE_BY_ONE = (1 << 8) + 2, 66


@rule("CNF-001")
def test_select_with_and_without_nowait(stage: Stage) -> None:
    """Both bring confirm mode; only one brings an answer, also when it is asked for once more."""
    queue = stage.queue()
    for no_wait in (False, True):
        channel = stage.channel()
        for _ in "12":
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
    """Two publishes, a select, one more; then both in one write. Likewise with nowait."""
    queue = stage.queue()
    channel = confirming(stage)
    channel.publish(queue, 2)
    stage.quiesce()
    for no_wait in (False, True):
        channel.confirm(no_wait)
        channel.publish(queue)
        stage.quiesce()
    with stage.batch():
        channel.publish(queue)
        channel.confirm()
        channel.publish(queue)
    stage.quiesce()


@rule("CNF-004")
def test_every_publish_is_resolved_once(stage: Stage) -> None:
    """Bursts that mix queues, persistence, bodies, and messages that go nowhere; and some come back. Then more than an
    octet can count, at once; and many one by one."""
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
    _come_back(stage, channel, queue)
    channel = confirming(stage)
    for count in (WIDE, 3):
        channel.publish(queue, count)
        stage.confirmed(channel)
    channel = confirming(stage)
    for _ in range(ONE_BY_ONE):
        channel.publish(queue)
        stage.confirmed(channel)


def _come_back(stage: Stage, channel: Channel, queue: str) -> None:
    """What was confirmed is given back, one by one, and by the end of a channel."""
    taker = stage.channel()
    for tag in stage.fetch(taker, queue, 2):
        taker.reject(tag)
    stage.barrier(taker)
    stage.fetch(taker, queue, 3)
    taker.close()
    stage.quiesce()
    stage.barrier(channel)


@rule("CNF-006")
def test_nothing_is_resolved_in_advance(stage: Stage) -> None:
    """Publishes one by one, each answered before the next, of which some come back; then a body that comes late."""
    queue = stage.queue()
    channel = confirming(stage)
    for _ in range(3):
        channel.publish(queue)
        stage.quiesce()
        channel.publish(stage.recorder.private_name(), mandatory=True)
        stage.quiesce()
    in_parts(stage, channel, queue)


def in_parts(stage: Stage, channel: Channel, queue: str) -> None:
    """A publish whose body is sent when the broker has answered something else in between."""
    other = stage.channel()
    message, body = stage.payloads.next_message(), b"late"
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


@rule("CNF-020")
def test_the_last_publish_is_confirmed_too(stage: Stage) -> None:
    """Two one by one, a burst, and one alone; then the client falls silent. And into a full queue that drops what it
    has into another full one."""
    channel, queue = confirming(stage), stage.queue()
    for count in (1, 1, 3, 1):
        channel.publish(queue, count)
        stage.confirmed(channel)
    if stage.offers("x-max-length") and stage.offers("x-dead-letter-exchange"):
        room: dict[str, object] = {"x-max-length": 1}
        heir = stage.queue({**room, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": queue})
        full = stage.queue({**room, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
        for _ in "1234":
            channel.publish(full)
            stage.confirmed(channel)


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

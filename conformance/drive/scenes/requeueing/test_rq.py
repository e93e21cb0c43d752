"""RQ: where a requeued message goes, and what its redelivered flag says.

A classic queue puts a returned message back to its place, a quorum queue serves returned ones first, in the order of
their return. Nobody loses a message by it, nobody gets one twice, and from its second delivery on it says so.
"""

from __future__ import annotations

import contextlib
from random import Random

import pytest

from codec import methods as m
from codec import values
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, holding, outstanding, reopen, restock, stocked
from conformance.drive.stage import NotOffered, Stage

OFTEN = 10
"""Returns of one message."""
MANY = 48
"""Messages of a batch: quorum queues of RabbitMQ mix more than 32 that were got."""
FRAME = 1 << 17
"""Octets of a frame, where larger ones are allowed too."""


def requeue_out_of_order(stage: Stage) -> tuple[Channel, str]:
    """Of eight messages five are fetched; the fourth, second and fifth are returned, and all that is ready fetched."""
    channel, queue = holding(stage, 5, of=8)
    channel.nack(4)
    channel.nack(2)
    channel.reject(5)
    stage.fetch(channel, queue, 6)
    return channel, queue


@rule("RQ-001", queue_types=("classic",))
def test_requeue_to_the_original_position(stage: Stage) -> None:
    """Returned as 4, 2, 5 they stand as 2, 4, 5 before the fresh ones. Then all return together, and come in order. One
    returns again and again, before two that wait. And two that were out while their queue was purged return when
    others have come."""
    channel, queue = requeue_out_of_order(stage)
    channel.nack(0, multiple=True)
    stage.fetch(channel, queue, 8)
    channel, queue = holding(stage, 1, of=3)
    for turn in range(OFTEN):
        (channel.nack if turn % 2 else channel.reject)(outstanding(channel)[0])
        stage.barrier(channel)
        stage.fetch(channel, queue)
    if stage.offers("queue.purge"):
        channel, queue = holding(stage, 2, of=4)
        stage.backstage(queue).purge(queue)
        stage.quiesce()
        restock(stage, queue, 3)
        for tag in channel.unacked:
            channel.reject(tag)
        stage.barrier(channel)
        stage.fetch(channel, queue, 5)


@rule("RQ-002")
def test_a_batch_keeps_its_order(stage: Stage) -> None:
    """A multiple nack returns four of six; they are fetched again, and once more by tag 0. A consumer returns many. And
    a transaction returns some."""
    channel, queue = holding(stage, 4, of=6)
    channel.nack(4, multiple=True)
    stage.fetch(channel, queue, 4)
    channel.nack(0, multiple=True)
    stage.fetch(channel, queue, 6)
    consumer = stage.channel()
    tag = consumer.consume(stocked(stage, MANY))
    stage.quiesce()
    consumer.nack(0, multiple=True)
    stage.quiesce()
    consumer.cancel(tag)
    stage.quiesce()
    if stage.offers("tx.select"):
        channel, queue = holding(stage, 4, of=6)
        channel.tx_select()
        stage.quiesce()
        channel.nack(3, multiple=True)
        channel.tx_commit()
        stage.quiesce()
        stage.fetch(channel, queue, 5)


@rule("RQ-003", queue_types=("quorum",))
def test_requeue_in_order_of_return(stage: Stage) -> None:
    """Returned as 4, 2, 5 they are served as 4, 2, 5."""
    requeue_out_of_order(stage)


@rule("RQ-004")
def test_a_returned_message_is_before_the_fresh(stage: Stage) -> None:
    """Returned messages, and messages that were ready all along, fetched together; also what was returned while two
    consumers shared the queue."""
    requeue_out_of_order(stage)
    channel, queue = holding(stage, 1, of=8)
    sharing = {stage.channel(): "" for _ in range(2)}
    for consuming in sharing:
        consuming.qos(2)
        sharing[consuming] = consuming.consume(queue)
        stage.quiesce()
    channel.nack(1)
    stage.barrier(channel)
    for consuming, tag in sharing.items():
        consuming.cancel(tag)
        stage.barrier(consuming)
    stage.fetch(channel, queue, 4)


@rule("RQ-005")
def test_competing_consumers_see_a_lawful_order(stage: Stage) -> None:
    """Two connections return 6, 3 and 2 of eight in turn and get what is ready; then they consume and return."""
    queue = stocked(stage, 8)
    first, second = stage.channel(), stage.channel(connection=stage.connect("other"))
    for channel in (first, second):
        channel.confirm()
        stage.fetch(channel, queue, 3)
    for channel, tags in ((second, (3,)), (first, (3, 2))):
        for tag in tags:
            channel.nack(tag)
        channel.publish(queue)
        stage.quiesce()
    stage.fetch(second, queue, 2)
    stage.fetch(first, queue, 2)
    for channel in (first, second):
        channel.ack(0, multiple=True)
        channel.qos(2)
        channel.consume(queue)
        stage.quiesce()
    for channel in (first, second, first):
        for tag in channel.unacked[:1]:
            channel.reject(tag)
        stage.quiesce()


@rule("RQ-006")
def test_first_in_first_out(stage: Stage) -> None:
    """Persistent and transient messages from one channel, to gets and then to one consumer."""
    queue = stage.queue()
    publisher = stage.channel()
    publisher.confirm()
    for persistent in (True, False, True, False):
        publisher.publish(queue, 2, persistent=persistent)
    stage.quiesce()
    channel = stage.channel()
    stage.fetch(channel, queue, 3)
    channel.consume(queue)
    stage.quiesce()
    publisher.publish(queue, 4)
    stage.quiesce()


@rule("RQ-007")
def test_the_only_consumer_gets_it_back(stage: Stage) -> None:
    """One consumer returns its only message, by nack and by reject: there is nobody else to take it."""
    queue = stocked(stage, 1)
    channel = stage.channel()
    channel.qos(1)
    channel.consume(queue)
    stage.quiesce()
    for settle in (channel.nack, channel.reject):
        for tag in channel.unacked:
            settle(tag)
        stage.quiesce()


@rule("RQ-008")
def test_redelivered_is_said(stage: Stage) -> None:
    """A message that was returned by nack, reject, recover, close, a failure and a lost connection, to gets and to a
    consumer; and by a commit."""
    channel, queue = holding(stage, 1)
    channel.nack(1)
    stage.fetch(channel, queue)
    channel.reject(2)
    stage.fetch(channel, queue)
    channel.recover()
    stage.quiesce()
    stage.fetch(channel, queue)
    channel.close()
    failing, fresh = holding(stage, 1)
    failing.ack(BAD_TAG)
    stage.quiesce()
    stage.fetch(stage.channel(), fresh)
    doomed = stage.connect("doomed")
    stage.fetch(stage.channel(connection=doomed), queue)
    doomed.abort()
    consuming = stage.channel()
    consuming.consume(queue)
    stage.quiesce()
    if stage.offers("tx.select"):
        committing, committed = holding(stage, 2)
        committing.tx_select()
        committing.reject(1)
        with contextlib.suppress(NotOffered):
            committing.nack(2)
        committing.tx_commit()
        stage.quiesce()
        stage.fetch(committing, committed, stage.judge.ready(committed))


@rule("RQ-012", queue_types=("quorum",))
def test_deliveries_are_counted(stage: Stage) -> None:
    """A message returned by nack, reject, recover and the end of a channel, to two getters and a consumer."""
    channel, queue = holding(stage, 1)
    channel.nack(1)
    stage.fetch(channel, queue)
    channel.reject(2)
    other = stage.channel()
    stage.fetch(other, queue)
    other.recover()
    stage.quiesce()
    stage.fetch(other, queue)
    other.close()
    stage.quiesce()
    stage.fetch(channel, queue)
    channel.nack(3)
    channel.consume(queue)
    stage.quiesce()


@rule("RQ-013", queue_types=("quorum",))
@pytest.mark.parametrize("limit", [3, 0])
@pytest.mark.parametrize("how", ["reject", "nack", "recover", "close", "together", "commit"])
def test_a_delivery_limit_ends_the_returns(stage: Stage, how: str, limit: int) -> None:
    """With a limit of 3, or of none, a message is returned for as long as it comes, six times at most; discarded ones
    are kept. Or two are, by one nack; or each time in a transaction, or by basic.recover."""
    heir = stage.queue()
    queue = stage.queue(
        {
            "x-delivery-limit": limit,
            "x-dead-letter-exchange": "",
            "x-dead-letter-routing-key": heir,
        }
    )
    count = 2 if how == "together" else 1
    restock(stage, queue, count)
    channel = stage.channel()
    if how == "commit":
        channel.tx_select()
        stage.quiesce()
    for _ in range(6):
        if not stage.judge.ready(queue):
            break
        tag = stage.fetch(channel, queue, count)[-1]
        if how == "close":
            channel.close()
            reopen(stage, channel)
        elif how == "together":
            channel.nack(tag, multiple=True)
            stage.barrier(channel)
        elif how == "recover":
            channel.recover()
            stage.barrier(channel)
        elif how == "commit":
            channel.reject(tag)
            channel.tx_commit()
            stage.quiesce()
            stage.barrier(channel)
        else:
            getattr(channel, how)(tag)
            stage.barrier(channel)
    channel.get(queue)
    stage.quiesce()


@rule("RQ-014")
def test_recover_requeues_everything(stage: Stage) -> None:
    """A consumer's deliveries and a get's are recovered and come again, twice; the old tags are spent, of either queue;
    asynchronously, too. And those of a consumer that was cancelled, and what is held beside a message of a queue that
    is gone. And many of two queues, while another channel of the connection holds one."""
    for method in (m.BasicRecover, m.BasicRecoverAsync):
        for spent in (1, 3):
            _recover(stage, method, spent)
    if stage.cancels:
        queue, channel = stocked(stage, 2), stage.channel()
        channel.qos(2)
        tag = channel.consume(queue)
        stage.quiesce()
        channel.cancel(tag)
        stage.quiesce()
        channel.recover()
        stage.barrier(channel)
        channel.ack(1)
        stage.quiesce()
    _in_one_write(stage)
    gone, kept, channel = stocked(stage, 1), stocked(stage, 1), stage.channel()
    for queue in (gone, kept):
        stage.fetch(channel, queue)
    stage.backstage(gone).delete(gone)
    stage.quiesce()
    channel.recover()
    stage.barrier(channel)
    stage.fetch(channel, kept)
    _many(stage)


def _many(stage: Stage) -> None:
    queues, channel, other = (stocked(stage, MANY), stocked(stage, MANY)), stage.channel(), stage.channel()
    stage.fetch(other, queues[0])
    for turn in "12":
        for queue in queues:
            stage.fetch(channel, queue, MANY - (queue is queues[0]))
        if turn == "1":
            channel.recover()
            stage.barrier(channel)
    other.ack(1)
    stage.barrier(other)


def _in_one_write(stage: Stage) -> None:
    """What is recovered is acknowledged right behind that, and then looked for."""
    queue, channel = stocked(stage, 2), stage.channel()
    first, _ = stage.fetch(channel, queue, 2)
    with stage.batch():
        channel.recover()
        channel.ack(first)
    reopen(stage, channel)
    stage.fetch(channel, queue, 2)


def _recover(stage: Stage, method: type[m.BasicRecover | m.BasicRecoverAsync], spent: int) -> None:
    consumed, got = stocked(stage, 2), stocked(stage, 1)
    channel = stage.channel(connection=stage.connect(f"{method.__name__}{spent}"))
    channel.qos(2)  # the window is full, so that nothing is under way which recover might return unseen
    channel.consume(consumed)
    stage.quiesce()
    for _ in "12":
        stage.fetch(channel, got)
        channel.send(method(channel.number, True))
        stage.barrier(channel)
        for tag in channel.unacked:
            channel.ack(tag)
        stage.get(stage.channel(), consumed)
    stage.fetch(channel, got)
    channel.ack(spent)
    reopen(stage, channel)


@rule("RQ-015")
def test_a_returned_message_is_available_at_once(stage: Stage) -> None:
    """Two connections consume, one message at a time. Whoever has the only message returns it, in each of the ways. And
    who has got one returns it, while another consumes; in a transaction, too. Or asks for it once more in one write
    with the return, or leaves."""
    queue = stocked(stage, 1)
    channels = [stage.channel(), stage.channel(connection=stage.connect("other"))]
    for channel in channels:
        channel.qos(1)
        channel.consume(queue)
        stage.quiesce()
    for how in ("nack", "reject", "nack", "recover", "recover"):
        for channel in channels:
            tags = channel.unacked
            if tags and how == "recover":
                channel.recover()
            for tag in tags if how != "recover" else ():
                getattr(channel, how)(tag)
        stage.quiesce()
    for how in ("nack", "reject", "recover", "commit"):
        with contextlib.suppress(NotOffered):
            _got_and_returned(stage, how)
    for how in ("nack", "reject"):
        with contextlib.suppress(NotOffered):
            getter, queue = holding(stage, 1)
            with stage.batch():
                getattr(getter, how)(1)
                getter.get(queue)
            stage.quiesce()
            _returned_in_leaving(stage, how)


def _returned_in_leaving(stage: Stage, how: str) -> None:
    """A consumer with room for one gives it back, and is cancelled in the same write."""
    if not stage.cancels:
        return
    queue, channel, other = stocked(stage, 1), stage.channel(), stage.channel()
    channel.qos(1)
    tag = channel.consume(queue)
    stage.quiesce()
    with stage.batch():
        for one in outstanding(channel):
            getattr(channel, how)(one)
        channel.cancel(tag)
    stage.barrier(channel)
    stage.fetch(other, queue, 1)


def _got_and_returned(stage: Stage, how: str) -> None:
    """There is nobody else, and nothing comes for the one who waits, but what the other has. If it does not come, it is
    looked for while the other is still there, which may have kept it."""
    getter, queue = holding(stage, 1)
    waiting = stage.channel(connection=stage.connections["other"])
    if how == "commit":
        getter.tx_select()
    waiting.consume(queue)
    stage.quiesce()
    if how == "recover":
        getter.recover()
    elif how == "commit":
        getter.reject(1)
        getter.tx_commit()
    else:
        getattr(getter, how)(1)
    stage.quiesce()
    stage.get(stage.channel(), queue)


FOREIGN = "cl\u00e9.\u9375.\U0001f511"
ODD = {
    "content_type": "application/octet-stream",
    "content_encoding": "gzip",
    "priority": 3,
    "correlation_id": "c-1",
    "reply_to": "nowhere",
    "timestamp": 1_700_000_000,
    "type": "kind",
    "app_id": "amqp-conformance",
    "headers": values.table({"word": "odd", "count": 3, "yes": True, "list": ["a", 1], "inner": {"key": "value"}}),
}
"""Properties that a broker takes as they are."""
HEADERS = 70


@rule("RQ-016")
def test_contents_come_as_they_were_published(stage: Stage) -> None:
    """Bodies around whole frames, of octets that differ, with properties, and by a key whose characters have several
    octets; one with many headers, and one by the default exchange: by get, returned, and to a consumer."""
    queue = stage.queue()
    exchange = stage.exchange(queue, kind="direct", key="another key")
    publisher = stage.channel()
    room = min(publisher.connection.tuned.frame_max or FRAME, FRAME) - 8
    sizes = (1, room - 1, room, room + 1, 2 * room + 1)
    for size in sizes:
        body = Random(size).randbytes(size)
        publisher.publish("another key", exchange=exchange, body=body, properties=ODD)
        stage.barrier(publisher)
    stage.bind(queue, exchange, FOREIGN)
    for properties in ({}, {"headers": values.table({f"word-{number}": number for number in range(HEADERS)})}):
        publisher.publish(FOREIGN, exchange=exchange, properties=properties)
        stage.barrier(publisher)
    publisher.publish(queue, properties=ODD)
    stage.barrier(publisher)
    count, channel = len(sizes) + 3, stage.channel()
    stage.fetch(channel, queue, count)
    for tag in channel.unacked:
        channel.reject(tag)
    stage.fetch(channel, queue, count)
    channel.close()
    stage.quiesce()
    receiver = stage.channel()
    receiver.consume(queue)
    stage.quiesce()
    for tag in receiver.unacked:
        receiver.ack(tag)
    stage.barrier(receiver)

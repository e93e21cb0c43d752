"""TX: what a commit brings and in which order, and what no transaction covers.

Returns and dead letters wait for the commit, declarations do not. What another channel does is not part of it, and a
rollback leaves alone what was not settled.
"""

from __future__ import annotations

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, filled, large, reopen, restock, stocked
from conformance.drive.scenes.publishing.test_tx import none_there, transactional
from conformance.drive.stage import Stage

CROWD, MANY = 40, (1 << 8) + 2


@rule("TX-009")
def test_returns_wait_for_the_commit(stage: Stage) -> None:
    """By nack and by reject; another channel finds them after the commit alone. So it does dead letters."""
    queue = stocked(stage, 2)
    channel, other = transactional(stage), stage.channel()
    stage.fetch(channel, queue, 2)
    channel.nack(1)
    channel.reject(2)
    stage.barrier(channel)
    stage.get(other, queue, no_ack=True)
    channel.tx_commit()
    stage.quiesce()
    stage.barrier(channel)
    stage.fetch(other, queue, 2, no_ack=True)
    if stage.offers("x-dead-letter-exchange") and stage.offers("x-dead-letter-routing-key"):
        _dead_letters(stage, channel, other)


def _dead_letters(stage: Stage, channel: Channel, other: Channel) -> None:
    """What is rejected is rolled back once, and then committed."""
    heir = stage.queue()
    queue = stage.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir})
    restock(stage, queue, 1)
    tag = stage.fetch(channel, queue)[0]
    for end in (Channel.tx_rollback, Channel.tx_commit):
        channel.reject(tag, requeue=False)
        stage.barrier(channel)
        if stage.get(other, heir, no_ack=True) is not None:
            return
        end(channel)
        stage.quiesce()
    stage.get(other, heir, no_ack=True)


@rule("TX-010")
def test_all_is_there(stage: Stage) -> None:
    """Publishes to three queues, by name, by an exchange, and by one that leads there as another's alternate, or by a
    binding; each is looked into by another channel, at once. Once they come in one write with the commit, and
    once there are many. And if a commit is answered of which a full queue has refused a part, all else is there."""
    queues = [stage.queue() for _ in range(3)]
    exchange, other = stage.exchange(queues[1], queues[2]), stage.channel()
    ways = [exchange, exchange]
    if stage.offers("alternate-exchange"):
        ways.append(stage.exchange(kind="direct", arguments={"alternate-exchange": exchange}))
    if stage.offers("exchange.bind"):
        ways.append(stage.exchange())
        stage.bind_exchange(exchange, ways[-1])
    channel = transactional(stage)
    for queue in (queues[0], queues[1], queues[0], queues[2]):
        channel.publish(queue)
    for body in (b"", large(channel)):
        channel.publish(queues[0], body=body)
    for way in ways:
        channel.publish("", exchange=way)
    channel.tx_commit()
    stage.quiesce()
    for queue in queues:
        stage.fetch(other, queue, stage.judge.ready(queue), no_ack=True)
    with stage.batch():
        channel.publish(queues[0], 2)
        channel.tx_commit()
    stage.quiesce()
    stage.fetch(other, queues[0], 2, no_ack=True)
    channel.publish(queues[1], CROWD)
    channel.tx_commit()
    stage.quiesce()
    stage.fetch(other, queues[1], CROWD, no_ack=True)
    if stage.queue_type == "classic" and stage.offers("x-overflow") and stage.offers("x-max-length"):
        _beside_a_refusal(stage, other)


def _beside_a_refusal(stage: Stage, other: Channel) -> None:
    """Some brokers tell of it by closing the channel."""
    publisher, channel, before, behind = confirming(stage), transactional(stage), stage.queue(), stage.queue()
    full = filled(stage, publisher)
    for queue in (before, full, behind):
        channel.publish(queue)
    channel.tx_commit()
    stage.quiesce()
    if channel.state == "open":
        for queue in (before, behind):
            stage.fetch(other, queue, 1, no_ack=True)


@rule("TX-011")
def test_the_order_of_a_transaction(stage: Stage) -> None:
    """Two queues get messages by turns, in two transactions. One gets more than a number of one octet can count, and
    some by two exchanges and its name, by turns."""
    queues = stage.queue(), stage.queue()
    channel, other = transactional(stage), stage.channel()
    for _ in "12":
        for number in range(6):
            channel.publish(queues[number % 2])
        channel.tx_commit()
        stage.quiesce()
    for queue in queues:
        stage.fetch(other, queue, stage.judge.ready(queue), no_ack=True)
    channel.publish(queues[0], MANY)
    channel.tx_commit()
    stage.quiesce()
    stage.fetch(other, queues[0], MANY, no_ack=True)
    ways = [("", queues[1]), *((stage.exchange(queues[1]), "") for _ in "12")]
    for exchange, key in ways * 2:
        channel.publish(key, exchange=exchange)
    channel.tx_commit()
    stage.quiesce()
    stage.fetch(other, queues[1], stage.judge.ready(queues[1]), no_ack=True)


@rule("TX-012")
def test_when_publishes_are_returned(stage: Stage) -> None:
    """Rolled back, and then committed, before and behind what goes to a queue; the next transactions have one more, or
    nothing, and bring no other back."""
    queue, nowhere, channel = stage.queue(), stage.exchange(), transactional(stage)
    for end, count in (
        (Channel.tx_rollback, 2),
        (Channel.tx_commit, 2),
        (Channel.tx_commit, 1),
        (Channel.tx_commit, 0),
    ):
        channel.publish(queue, min(count, 1))
        channel.publish("any", count, mandatory=True, exchange=nowhere)
        channel.publish(queue, count)
        stage.barrier(channel)
        end(channel)
        stage.quiesce()
        stage.barrier(channel)


@rule("TX-013")
def test_the_transaction_of_another_channel(stage: Stage) -> None:
    """Both publish; one is committed, and a third looks for what the other has published. Then one is rolled back, and
    the other committed. And two channels of one number, on two connections; one more of it, on a third, has no
    transaction."""
    first = transactional(stage)
    _side_by_side(stage, first, transactional(stage))
    far, plain = (stage.channel(first.number, stage.connect(name)) for name in ("far", "plain"))
    queue = stage.queue()
    first.publish(queue)
    stage.barrier(first)
    plain.publish(queue)
    stage.fetch(plain, queue, 1, no_ack=True)
    first.tx_commit()
    stage.quiesce()
    far.tx_select()
    stage.quiesce()
    _side_by_side(stage, first, far)


def _side_by_side(stage: Stage, first: Channel, second: Channel) -> None:
    queues = stage.queue(), stage.queue()
    first.publish(queues[0])
    second.publish(queues[1])
    stage.barrier(first)
    second.tx_commit()
    stage.quiesce()
    none_there(stage, queues[0])
    first.tx_commit()
    stage.quiesce()
    none_there(stage, queues[0])
    first.publish(queues[0])
    second.publish(queues[1])
    stage.barrier(first)
    second.tx_rollback()
    stage.quiesce()
    first.tx_commit()
    stage.quiesce()
    stage.fetch(stage.channel(), queues[0], 1, no_ack=True)


@rule("TX-014")
def test_declarations_that_stay(stage: Stage) -> None:
    """A queue and an exchange are declared and bound, a consumer is started, and something is published; after the
    rollback both are looked for, and a message comes by the binding to the consumer."""
    channel, other = transactional(stage), stage.channel()
    queue, exchange = stage.recorder.private_name(), stage.recorder.private_name()
    stage.belongings.queues[queue] = channel.connection
    stage.belongings.exchanges[exchange] = None
    channel.declare(queue, arguments={"x-queue-type": stage.queue_type} if stage.profile.typed else {})
    channel.declare_exchange(exchange, "direct")
    stage.quiesce()
    channel.bind(queue, exchange, "key")
    channel.consume(queue)
    stage.quiesce()
    channel.publish(queue)
    channel.tx_rollback()
    stage.quiesce()
    other.declare(queue, passive=True)
    other.find_exchange(exchange)
    stage.quiesce()
    confirming(stage).publish("key", exchange=exchange, mandatory=True)
    stage.quiesce()


@rule("TX-015")
def test_a_mistaken_publish_fails_at_once(stage: Stage) -> None:
    """To an exchange that does not exist, after a publish that is none; and one in the name of somebody else."""
    queue, gone, channel = stage.queue(), stage.exchange(), transactional(stage)
    channel.delete_exchange(gone)
    channel.publish(queue)
    stage.quiesce()
    channel.publish("any", exchange=gone)
    reopen(stage, channel)
    channel.tx_select()
    channel.publish(queue, properties={"user_id": f"not {stage.target.user}"})
    stage.quiesce()


@rule("TX-016")
def test_a_rollback_and_what_is_not_settled(stage: Stage) -> None:
    """Of three that are fetched one is settled; after the rollback nobody else gets any, and all are settled. Likewise
    one by one, with a commit after each."""
    queue = stocked(stage, 3)
    channel, other = transactional(stage), stage.channel()
    stage.fetch(channel, queue, 3)
    channel.ack(2)
    channel.tx_rollback()
    stage.quiesce()
    stage.get(other, queue, no_ack=True)
    for tag in (1, 3, 2):
        channel.ack(tag)
    stage.barrier(channel)
    channel.tx_commit()
    stage.quiesce()
    restock(stage, queue, 3)
    for tag in stage.fetch(channel, queue, 3):
        channel.ack(tag)
        stage.barrier(channel)
        channel.tx_commit()
        stage.quiesce()
    _all_that_there_was(stage)


def _all_that_there_was(stage: Stage) -> None:
    """All that is held is settled, and more is fetched before the commit: that is still held after it."""
    queue = stocked(stage, 6)
    for settle in ("ack", "nack") if stage.offers("basic.nack") else ("ack",):
        channel = transactional(stage)
        stage.fetch(channel, queue)
        getattr(channel, settle)(0, multiple=True)
        (later,) = stage.fetch(channel, queue)
        channel.tx_commit()
        stage.quiesce()
        stage.get(stage.channel(), queue, no_ack=True)
        channel.ack(later)
        stage.barrier(channel)
        channel.tx_commit()
        stage.quiesce()


@rule("TX-017")
def test_a_commit_to_a_queue_that_is_gone(stage: Stage) -> None:
    """A transaction settles, and publishes, of two queues. The one that it published to last is deleted and declared
    again; then, as that may cost the connection, the one that it published to first, or last, is deleted."""
    for at, again in ((1, True), (0, False), (1, False)):
        queues = [stocked(stage, 1), stocked(stage, 1)]
        channel, other = transactional(stage), stage.channel()
        held = [tag for queue in queues for tag in stage.fetch(channel, queue)]
        channel.ack(held[-1], multiple=True)
        gone = queues[1]
        for queue in (gone, queues[0]) if at == 0 else queues:
            channel.publish(queue)
        stage.barrier(channel)
        other.delete(gone)
        stage.quiesce()
        if again:
            stage.queue(name=gone)
        channel.tx_commit()
        stage.quiesce()
        stage.fetch(other, queues[0], 1, no_ack=True)

"""ACK: what ack, nack and reject settle.

One tag, or with `multiple` every outstanding tag up to it, over all consumers, queues and gets of the channel and of
no other; tag 0 with `multiple` is all there are. The tag of a multiple must itself be outstanding. Settlements are
silent, come in any order, and are carried out before what follows them.
"""

from __future__ import annotations

import pytest

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, holding, limited, outstanding, reopen, restock, stocked
from conformance.drive.stage import Stage

WIDE = (1 << 8) + 2


@rule("ACK-001")
def test_a_single_ack_settles_one(stage: Stage) -> None:
    """U = {1,2,3,4}: ack one in the middle, then the last; the channel closes with the others."""
    channel, _ = holding(stage, 4)
    channel.ack(2)
    channel.ack(4)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()


def _over_a_queue_that_is_gone(stage: Stage) -> tuple[Channel, list[str]]:
    """A channel holds a message of each of three queues, of which the one in the middle is deleted then; the others."""
    channel, queues = stage.channel(), [stocked(stage, 1) for _ in "123"]
    for queue in queues:
        stage.fetch(channel, queue, 1)
    gone = queues.pop(1)
    stage.backstage(gone).delete(gone)
    stage.quiesce()
    return channel, queues


@rule("ACK-002")
def test_a_multiple_settles_all_up_to_its_tag(stage: Stage) -> None:
    """U = {1..6}: after ack(2), ack(4, multiple) takes 1, 3 and 4; 5 and 6 go back. And where two that it takes had
    come before; of more than an octet can count, by name and by tag 0; and where a queue has been deleted. And where a
    later one has a higher priority, and on a channel that confirms publishes."""
    for tag in (WIDE, 0):
        channel = limited(stage, stocked(stage, WIDE + 2), 0)
        channel.ack(tag, multiple=True)
        stage.barrier(channel)
        channel.close()
        stage.quiesce()
    channel, _ = holding(stage, 6)
    channel.ack(2)
    channel.ack(4, multiple=True)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()
    channel, queue = holding(stage, 4)
    channel.reject(1)
    channel.reject(2)
    stage.barrier(channel)
    stage.fetch(channel, queue, 2)
    channel.ack(6, multiple=True)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()
    channel, _ = _over_a_queue_that_is_gone(stage)
    channel.ack(3, multiple=True)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()
    if stage.offers("confirm.select"):
        queue, channel = stocked(stage, 4), confirming(stage)
        stage.fetch(channel, queue, 4)
        channel.ack(3, multiple=True)
        stage.barrier(channel)
        channel.close()
        stage.quiesce()
    if stage.queue_type == "classic" and stage.offers("x-max-priority"):
        _below_a_higher_priority(stage)


def _below_a_higher_priority(stage: Stage) -> None:
    queue, publisher, channel = stage.queue({"x-max-priority": 5}), confirming(stage), stage.channel()
    for priority in (1, 4, 2):
        publisher.publish(queue, properties={"priority": priority})
        stage.confirmed(publisher)
        stage.fetch(channel, queue)
    channel.ack(outstanding(channel, 3)[1], multiple=True)
    stage.barrier(channel)
    channel.close()
    stage.quiesce()


@rule("ACK-003")
def test_a_multiple_spans_consumers_queues_and_gets(stage: Stage) -> None:
    """Two consumers and two gets over three queues; the multiple's tag is a get's, then a consumer's."""
    for last in ("get", "consumer"):
        first, second, third = (stocked(stage, 2) for _ in range(3))
        channel = stage.channel()
        stage.fetch(channel, third, 1 if last == "get" else 2)
        for queue in (first, second):
            channel.consume(queue)
            stage.quiesce()
        if last == "get":
            stage.fetch(channel, third)
        channel.ack(outstanding(channel)[-1], multiple=True)
        restock(stage, first, 1)
        channel.close()
        stage.quiesce()


@rule("ACK-004")
def test_a_multiple_stays_on_its_channel(stage: Stage) -> None:
    """Two channels hold the same tags; one settles all it has, the other closes, after settling one."""
    queue = stocked(stage, 6)
    settling, keeping = stage.channel(), stage.channel()
    for channel in (settling, keeping, settling, keeping, settling, keeping):
        stage.fetch(channel, queue)
    settling.ack(2, multiple=True)
    settling.ack(0, multiple=True)
    stage.barrier(settling)
    keeping.ack(1)
    stage.barrier(keeping)
    keeping.close()
    stage.quiesce()


@rule("ACK-005")
def test_a_multiple_skips_what_is_settled(stage: Stage) -> None:
    """U = {1..5}: ack(2), ack(4, multiple), ack(5) are fine. Then ack(1) is one too many, or the channel closes."""
    for once_more in (True, False):
        channel, _ = holding(stage, 5)
        channel.ack(2)
        channel.ack(4, multiple=True)
        channel.ack(5)
        stage.barrier(channel)
        if once_more:
            channel.ack(1)
        else:
            channel.close()
        stage.quiesce()


@rule("ACK-006")
def test_tag_0_is_all_there_are(stage: Stage) -> None:
    """U = {1,2,3,4}: ack(0, multiple), with and without a gap, then the channel closes."""
    for spent in ((), (2,)):
        channel, _ = holding(stage, 4)
        for tag in spent:
            channel.ack(tag)
        channel.ack(0, multiple=True)
        stage.barrier(channel)
        channel.close()
        stage.quiesce()


def settle_nothing_in_a_transaction(stage: Stage, settle: str) -> None:
    """Tag 0 with multiple in an empty transaction, on its own connection; a channel beside it shows how that went."""
    connection = stage.connect("provisional")
    channel, beside = stage.channel(connection=connection), stage.channel(connection=connection)
    channel.tx_select()
    stage.quiesce()
    getattr(channel, settle)(0, multiple=True)
    stage.barrier(beside)
    channel.tx_commit()
    stage.quiesce()


@rule("ACK-007")
@pytest.mark.parametrize("mode", ["plain", "transactional"])
def test_acking_all_of_nothing(stage: Stage, mode: str) -> None:
    """ack(0, multiple) on a fresh channel, and when everything is settled; and in an empty transaction."""
    if mode == "transactional":
        settle_nothing_in_a_transaction(stage, "ack")
        return
    channel, _ = holding(stage, 1)
    fresh = stage.channel()
    fresh.ack(0, multiple=True)
    stage.barrier(fresh)
    channel.ack(1)
    channel.ack(0, multiple=True)
    stage.barrier(channel)


@rule("ACK-008")
@pytest.mark.parametrize("mode", ["plain", "transactional"])
def test_nacking_all_of_nothing(stage: Stage, mode: str) -> None:
    """nack(0, multiple) on a fresh channel, and when everything is settled, with and without requeue; and in an empty
    transaction."""
    if mode == "transactional":
        settle_nothing_in_a_transaction(stage, "nack")
        return
    channel, _ = holding(stage, 1)
    channel.ack(1)
    for nacking in (stage.channel(), channel):
        for requeue in (True, False):
            nacking.nack(0, multiple=True, requeue=requeue)
            stage.barrier(nacking)


@rule("ACK-009")
def test_tag_0_alone_is_unknown(stage: Stage) -> None:
    """ack(0), nack(0) and reject(0), each with a delivery outstanding."""
    channel, queue = holding(stage, 1)
    channel.ack(0)
    reopen(stage, channel)
    stage.fetch(channel, queue)
    channel.nack(0, requeue=False)
    reopen(stage, channel)
    stage.fetch(channel, queue)
    channel.reject(0, requeue=False)
    stage.quiesce()


@rule("ACK-010")
@pytest.mark.parametrize("method", ["ack", "nack"])
def test_a_multiple_needs_an_outstanding_tag(stage: Stage, method: str) -> None:
    """U = {1,3,4}: a multiple with the settled tag 2, and with tag 5 above them all, has no target."""
    for tag in (2, 5):
        channel, _ = holding(stage, 4)
        channel.ack(2)
        if method == "ack":
            channel.ack(tag, multiple=True)
        elif stage.offers("basic.nack"):
            channel.nack(tag, multiple=True)
        stage.quiesce()


@rule("ACK-011")
@pytest.mark.parametrize("requeue", [True, False], ids=["requeue", "discard"])
def test_a_multiple_nack_mirrors_a_multiple_ack(stage: Stage, requeue: bool) -> None:
    """Up to a tag over a gap, and all by tag 0: another channel looks what is there, then this one. Of two queues; and
    of three, one of which has been deleted."""
    for tag, count in ((4, 3), (0, 5)):
        channel, queue = holding(stage, 6)
        channel.ack(2)
        channel.nack(tag, multiple=True, requeue=requeue)
        stage.barrier(channel)
        looking = stage.channel()
        stage.fetch(looking, queue, count if requeue else 0)
        looking.get(queue)
        stage.quiesce()
        channel.get(queue)
        stage.quiesce()
    _of_two_queues(stage, requeue)
    for tag in (3, 0):
        channel, queues = _over_a_queue_that_is_gone(stage)
        channel.nack(tag, multiple=True, requeue=requeue)
        stage.barrier(channel)
        for queue in queues:
            stage.fetch(stage.channel(), queue, 1 if requeue else 0)
        channel.close()
        stage.quiesce()


def _of_two_queues(stage: Stage, requeue: bool) -> None:
    """All that a channel holds of two queues."""
    queues, channel = (stocked(stage, 2), stocked(stage, 2)), stage.channel()
    for queue in queues:
        stage.fetch(channel, queue, 2)
    channel.nack(0, multiple=True, requeue=requeue)
    stage.barrier(channel)
    for queue in queues:
        stage.fetch(channel, queue, 2 if requeue else 0)
        channel.get(queue)
        stage.quiesce()


@rule("ACK-012")
def test_a_single_nack_is_a_reject(stage: Stage) -> None:
    """Both requeue, and both remove; what was requeued is fetched again, and what was left alone comes back. Then a get
    follows a nack in one write."""
    channel, queue = holding(stage, 5)
    channel.nack(1, requeue=True)
    channel.reject(2, requeue=True)
    channel.nack(3, requeue=False)
    channel.reject(4, requeue=False)
    stage.fetch(channel, queue, 2)
    with stage.batch():
        channel.nack(channel.unacked[-1], requeue=True)
        channel.get(queue)
    stage.quiesce()
    channel.close()
    stage.quiesce()

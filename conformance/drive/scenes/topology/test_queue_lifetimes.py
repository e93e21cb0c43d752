"""QUEUE: what ends with something else, what stays, and what begins anew."""

from __future__ import annotations

import contextlib

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.endings import ENDS, OF_ANY, ended
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen
from conformance.drive.scenes.topology.test_exch import CLASSIC
from conformance.drive.scenes.topology.test_queue import GONE, delete_if, elsewhere, leave, owned, typed
from conformance.drive.scenes.topology.test_queue_again import SINGLE
from conformance.drive.stage import NotOffered, Stage

PATIENCE = 50
"""How often a name is asked for that a former connection may still have."""
QUIET_TRIPS = 2
"""So many round trips behind a cancel without an answer show that it is done."""
HEIRS, NEVER = 5, 99
"""Connections that have one name after the other; and a tag that no delivery has."""


def look(stage: Stage, queue: str) -> None:
    """A new channel looks for the queue."""
    stage.channel().declare(queue, passive=True)
    stage.quiesce()


@rule("QUEUE-024", queue_types=CLASSIC)
def test_auto_delete_queues_go(stage: Stage) -> None:
    """Two consumers are cancelled, one after the other; one is without an answer; a channel with one is closed; a
    connection with one is, whose queue was to be deleted if it is unused; and a channel with one fails, which was
    exclusive. One that is cancelled holds one of two messages, and of two
    at a queue that serves one alone the one that is served leaves first. When the queues must have gone, they are
    looked for. Then some are declared anew, and go again. The one without an answer was declared without one."""
    cancelled, closed, left, failed = (stage.queue(auto_delete=True) for _ in range(4))
    further = [_holds_and_leaves(stage), *_one_by_one(stage)]
    channel, quietly = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.queues[quietly] = stage.connection
    quiet = stage.offers("nowait")
    channel.declare(quietly, durable=stage.durable, auto_delete=True, no_wait=quiet, arguments=typed(stage))
    stage.barrier(channel)
    tag = channel.consume(quietly)
    stage.quiesce()
    channel.cancel(tag, no_wait=True)
    for _ in range(QUIET_TRIPS):
        stage.barrier(channel)
    consumers = [(channel, channel.consume(cancelled)) for channel in (stage.channel(), elsewhere(stage))]
    stage.quiesce()
    for channel, tag in consumers:
        channel.cancel(tag)
        stage.quiesce()
        if channel is consumers[0][0]:
            look(stage, cancelled)
    for queue in (closed, left):
        channel = elsewhere(stage)
        channel.consume(queue)
        stage.quiesce()
        if queue is left:
            delete_if(refused := stage.channel(), left, unused=True)
            reopen(stage, refused)
        channel.close() if queue is closed else leave(stage, channel.connection)
        stage.quiesce()
    channel = elsewhere(stage)
    channel.consume(failed, exclusive=True)
    stage.quiesce()
    channel.ack(NEVER)
    reopen(stage, channel)
    wait(stage, GONE)
    for queue in (cancelled, closed, left, failed, quietly, *further):
        look(stage, queue)
    for queue in (cancelled, closed):
        stage.queue(name=queue, auto_delete=True)
        channel = elsewhere(stage)
        tag = channel.consume(queue)
        stage.quiesce()
        channel.close() if queue is closed else channel.cancel(tag)
        stage.quiesce()
    wait(stage, GONE)
    for queue in (cancelled, closed):
        look(stage, queue)


def _holds_and_leaves(stage: Stage) -> str:
    queue, channel = stage.queue(auto_delete=True), elsewhere(stage)
    confirming(stage).publish(queue, 2)
    stage.quiesce()
    if stage.offers("basic.qos"):
        channel.qos(1)
    tag = channel.consume(queue)
    stage.quiesce()
    channel.cancel(tag) if stage.cancels else channel.close()
    stage.quiesce()
    return queue


def _one_by_one(stage: Stage) -> list[str]:
    """The first that comes is served; when it has left, the queue is there, until the other has left as well."""
    if not stage.offers(SINGLE):
        return []
    queue = stage.queue({SINGLE: True}, auto_delete=True)
    channels = [elsewhere(stage), elsewhere(stage)]
    for channel in channels:
        channel.consume(queue)
        stage.quiesce()
    for channel in channels:
        look(stage, queue)
        channel.close()
        stage.quiesce()
    return [queue]


@rule("QUEUE-025", queue_types=CLASSIC, last=True)
@pytest.mark.parametrize("ended", ["with its connection", "by deletion", "with its consumer"])
def test_exclusive_queues_have_heirs(stage: Stage, ended: str) -> None:
    """One connection after the other is closed, and the next one declares a queue of the same name and keeps it. Or the
    first of them has lost its queue before, and is closed when another has one of that name."""
    if ended != "with its connection":
        _survives_its_former_owner(stage, deleted=ended == "by deletion")
        return
    queue, owner = owned(stage)
    for _ in range(HEIRS):
        leave(stage, owner.connection)
        owner = elsewhere(stage)
        inherit(stage, owner, queue)
        for _ in range(3):
            owner.declare(queue, passive=True)
            reopen(stage, owner) if owner.state != "open" else stage.barrier(owner)


def _survives_its_former_owner(stage: Stage, *, deleted: bool) -> None:
    former, queue = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.queues[queue] = former.connection
    former.declare(queue, durable=False, exclusive=True, auto_delete=not deleted, arguments=typed(stage))
    tag = former.consume(queue)
    stage.quiesce()
    former.delete(queue) if deleted else former.cancel(tag)
    stage.quiesce()
    heir = elsewhere(stage)
    look(stage, queue)
    inherit(stage, heir, queue)
    leave(stage, former.connection)
    for _ in range(3):
        heir.declare(queue, passive=True)
        reopen(stage, heir) if heir.state != "open" else stage.barrier(heir)


def inherit(stage: Stage, channel: Channel, queue: str) -> None:
    """Asks for the name until it is free."""
    stage.belongings.queues[queue] = channel.connection
    for _ in range(PATIENCE):
        channel.declare(queue, durable=False, exclusive=True, arguments=typed(stage))
        stage.quiesce()
        if channel.state == "open":
            return
        reopen(stage, channel)


@rule("QUEUE-031")
@pytest.mark.parametrize("how", ENDS)
def test_new_queues_are_empty(stage: Stage, how: str) -> None:
    """It ends with messages in it and is declared anew, twice; where it was deleted, the second time with some of them
    out with a client, who settles them then. And it is deleted and declared in one write."""
    if stage.queue_type != "classic" and how not in OF_ANY:
        return
    for held in (0, 2 if how == "deletion" else 0):

        def fill(queue: str, held: int = held) -> None:
            confirming(stage).publish(queue, 3)
            stage.quiesce()
            if held:
                stage.fetch(stage.channel(), queue, held)

        queue = stage.queue(name=ended(stage, how, fill))
        stage.quiesce()
    if how == "deletion":
        _too_late(stage, queue)
        _in_one_write(stage, queue)


def _too_late(stage: Stage, queue: str) -> None:
    """What the former queue has given out is given back, in each of the ways; the new one is looked at."""
    for end in ("settled", "closed", *(["committed"] if stage.offers("tx.select") else [])):
        confirming(stage).publish(queue, 3)
        stage.quiesce()
        channel = stage.channel()
        if end == "committed":
            channel.tx_select()
            stage.quiesce()
        tags = stage.fetch(channel, queue, 3)
        stage.backstage(queue).delete(queue)
        stage.quiesce()
        stage.queue(name=queue)
        if end != "closed":
            channel.reject(tags[0])
            with contextlib.suppress(NotOffered):
                channel.nack(tags[1])
            if end == "committed":
                channel.tx_commit()
            stage.barrier(channel)
        channel.close()
        stage.quiesce()
        look(stage, queue)
        stage.get(stage.channel(), queue, no_ack=True)


def _in_one_write(stage: Stage, queue: str) -> None:
    confirming(stage).publish(queue, 3)
    stage.quiesce()
    channel = stage.backstage(queue)
    with stage.batch():
        channel.delete(queue)
        channel.declare(queue, arguments=typed(stage))
    stage.quiesce()
    stage.get(channel, queue, no_ack=True)


@rule("QUEUE-032")
def test_shared_queues_outlive_their_connection(stage: Stage) -> None:
    """It is closed as agreed, and the queue is looked for twice."""
    channel, queue = elsewhere(stage), stage.recorder.private_name()
    stage.belongings.queues[queue] = stage.connection
    channel.declare(queue, arguments=typed(stage))
    stage.quiesce()
    leave(stage, channel.connection)
    for _ in range(2):
        look(stage, queue)

"""TTL: messages that come back to their queue before their time is over, or after it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_ttl import HALF, LEVELS, OVER, SHORT, TTL, expires, look, mortal
from conformance.drive.scenes.props import confirming, outstanding
from conformance.drive.stage import Stage


@rule("TTL-007")
@pytest.mark.parametrize("how", ["reject", "nack", "close", "lost"])
def test_given_back(stage: Stage, how: str) -> None:
    """Before its time is over, and after it; by its own time and that of its queue, which may have priorities. And by a
    consumer that waited for it, after all its time, which may be none. Or by the end of the channel that held it, or of
    its connection."""
    if not expires(stage):
        return
    channel, queues = confirming(stage), [stage.queue(), stage.queue({TTL: SHORT})]
    if stage.queue_type == "classic" and stage.offers(LEVELS):
        queues += stage.queue({LEVELS: 5}), stage.queue({LEVELS: 5, TTL: SHORT})
    for queue in queues[::2]:
        mortal(channel, queue, SHORT, SHORT)
    for queue in queues[1::2]:
        channel.publish(queue, 2)
    stage.confirmed(channel)
    if how in ("close", "lost"):
        _by_the_end(stage, how, queues)
        return
    holder = stage.channel()
    for queue in queues:
        stage.get(holder, queue)
        stage.get(holder, queue)
    _give_back(holder, how, outstanding(holder, 2 * len(queues))[::2])
    wait(stage, OVER)
    _give_back(holder, how, outstanding(holder, len(queues)))
    stage.barrier(holder)
    look(stage, *queues, gets=3)
    _from_a_consumer(stage, channel, how)


def _by_the_end(stage: Stage, how: str, queues: Sequence[str]) -> None:
    """Of a channel that ends when half the time is over, and of one that ends after all of it."""
    holder, late = (stage.channel(connection=stage.connect(name)) for name in ("holder", "late"))
    for queue in queues:
        for channel in (holder, late):
            stage.get(channel, queue)
    for ends, after in ((holder, HALF), (late, OVER - HALF)):
        wait(stage, after)
        if ends is late:
            look(stage, *queues, gets=2)
        ends.close() if how == "close" else ends.connection.abort()
        stage.quiesce()
    look(stage, *queues, gets=2)


def _from_a_consumer(stage: Stage, publisher: Channel, how: str) -> None:
    """What goes straight to one that waits."""
    taker, own, timed, none = stage.channel(), stage.queue(), stage.queue({TTL: SHORT}), stage.queue({TTL: 0})
    for queue in (own, timed, none):
        taker.consume(queue)
        stage.quiesce()
    mortal(publisher, own, SHORT)
    publisher.publish(timed)
    publisher.publish(none)
    stage.confirmed(publisher)
    wait(stage, OVER)
    _give_back(taker, how, taker.unacked)
    stage.barrier(taker)
    taker.close()
    stage.quiesce()
    look(stage, own, timed, none)


def _give_back(channel: Channel, how: str, tags: Sequence[int]) -> None:
    for tag in tags:
        (channel.reject if how == "reject" else channel.nack)(tag, requeue=True)

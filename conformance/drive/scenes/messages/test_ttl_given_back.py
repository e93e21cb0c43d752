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
@pytest.mark.parametrize("how", ["reject", "nack", "recover", "close", "lost"])
def test_given_back(stage: Stage, how: str) -> None:
    """Before its time is over, and after it; by its own time and that of its queue, which may have priorities. And by a
    consumer that waited for it, after all its time, which may be none. Or by basic.recover, or the end of the channel
    that held it, or of its connection."""
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
    if how not in ("reject", "nack"):
        _together(stage, how, queues)
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


def _together(stage: Stage, how: str, queues: Sequence[str]) -> None:
    """All that a channel holds, when half the time is over, and what another one holds, after all of it."""
    holder, late = (stage.channel(connection=stage.connect(name)) for name in ("holder", "late"))
    for queue in queues:
        for channel in (holder, late):
            stage.get(channel, queue)
    for ends, after in ((holder, HALF), (late, OVER - HALF)):
        wait(stage, after)
        if ends is late:
            look(stage, *queues, gets=2)
        _lets_go(stage, ends, how)
    if how == "recover":
        wait(stage, HALF)
    look(stage, *queues, gets=2)


def _lets_go(stage: Stage, channel: Channel, how: str) -> None:
    """Of all that it holds."""
    if how == "recover":
        stage.require("basic.recover")
        channel.recover()
        stage.barrier(channel)
        return
    channel.close() if how == "close" else channel.connection.abort()
    stage.quiesce()


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

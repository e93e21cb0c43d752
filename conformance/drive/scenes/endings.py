"""Ways in which a queue comes to its end: nothing of it may be left, whichever of them it was.

Whoever looks for the name at last does not find it, so the next to declare it declares another queue.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.drive.around import wait
from conformance.drive.scenes.props import BAD_TAG, reopen
from conformance.drive.scenes.topology.test_queue import elsewhere, leave, owned
from conformance.drive.stage import Stage

ENDS = ("deletion", "last cancel", "last channel", "last mistake", "owner", "time")
OF_ANY = ("deletion", "time")
"""How queues of every type may end."""
LEASE, OVER = 300, 1.5
"""Milliseconds of an x-expires, and seconds after which nobody has used the queue for longer than that."""
LOOKS = 50
"""How often a name is looked for that is about to be free."""


def ended(stage: Stage, how: str, prepare: Callable[[str], object]) -> str:
    """The name of a queue that has ended in this way, after it was prepared, and that was looked for since."""
    if how == "owner":
        queue, owner = owned(stage)
        prepare(queue)
        leave(stage, owner.connection)
    elif how == "deletion":
        queue = stage.queue()
        prepare(queue)
        stage.backstage(queue).delete(queue)
        stage.quiesce()
    elif how == "time":
        queue = stage.queue({"x-expires": LEASE})
        prepare(queue)
        wait(stage, OVER)
    else:
        queue = stage.queue(auto_delete=True)
        prepare(queue)
        _abandon(stage, queue, how)
    if how != "deletion":
        _look_for(stage, queue)
    return queue


def _abandon(stage: Stage, queue: str, how: str) -> None:
    """Its only consumer goes."""
    channel = elsewhere(stage)
    tag = channel.consume(queue)
    stage.quiesce()
    if how == "last cancel":
        channel.cancel(tag)
    elif how == "last channel":
        channel.close()
    else:
        channel.ack(BAD_TAG)
    stage.quiesce()


def _look_for(stage: Stage, queue: str) -> None:
    channel = stage.channel()
    for _ in range(LOOKS):
        channel.declare(queue, passive=True)
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)
            return

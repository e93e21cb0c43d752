"""Who may be taking messages of a queue: receivers, from the sending of consume or get until an answer ends them.

A receiver that ended by an answer to itself has shown all that it took. One that ended with its channel is *blind*: it
may have taken messages that the client never saw. While its channel may have failed it is *lost*: what it takes may be
given back unseen or, where it acknowledges by itself, be gone; then nobody owes what waits. Whatever is not followed
ends the candidate orders of the queue, for these explain deliveries only while every receiver shows what it takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.oracle.model import memory
from conformance.oracle.model.records import WAITING, Copy, PotentialReceiver

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.queues.queue import Queue


def begin(queue: Queue, receiver: PotentialReceiver) -> PotentialReceiver:
    """A consume or a get was sent: it may take messages from now on."""
    queue.disturbed = True
    queue.stirred += 1
    queue.receivers[receiver] = None
    if queue.emptied == queue.purged:  # a purge is under way
        queue.emptied = 0
    if queue.shared() and any(not copy.proof for copy in queue.returned.values()):
        queue.orders.lose()  # where these go is not known any more
    return receiver


def haunt(queue: Queue, at: int) -> None:
    """It has the name of a deleted one whose consumers may still be there: it may take them for its own."""
    lose(queue, begin(queue, PotentialReceiver(at, no_ack=True, get=False)))


def lose(queue: Queue, receiver: PotentialReceiver) -> None:
    """The receiver's channel has ended or failed, by our own doing or not."""
    if receiver not in queue.receivers or receiver.lost:
        return
    receiver.lost = True
    queue.stirred += 1
    queue.lost += 1
    queue.orders.lose()
    if receiver.no_ack:
        queue.swallowing += 1
        queue.doubt()
    memory.lost(queue)


def swallow(queue: Queue, receiver: PotentialReceiver) -> None:
    """What a lost receiver has taken may have been settled although its delivery was never read."""
    if receiver.lost and not receiver.no_ack:
        receiver.no_ack = True
        queue.swallowing += 1
        queue.doubt()


def regain(queue: Queue, receiver: PotentialReceiver, at: int) -> None:
    """The receiver's channel might have failed, and has not."""
    if receiver in queue.receivers and receiver.lost:
        receiver.lost = False
        queue.lost -= 1
        queue.swallowing -= receiver.no_ack
        queue.lost_until = at


def end(queue: Queue, receiver: PotentialReceiver, at: int, *, blind: bool) -> None:
    """The receiver takes nothing more."""
    if receiver not in queue.receivers:
        return
    if queue.shared():
        queue.shared_until = at
    del queue.receivers[receiver]
    if blind or receiver.lost:
        queue.orders.lose()
    else:
        queue.orders.end(receiver)
    if receiver.lost:
        queue.lost -= 1
        queue.swallowing -= receiver.no_ack
    if blind:
        queue.blind_until, queue.blind_last = at, receiver
    if blind or receiver.lost:
        queue.lost_until = at
        if queue.receivers:
            queue.mingled_until = at


def swept(queue: Queue, sweeper: int, at: int) -> None:
    """What might have returned deliveries that the client had not read has been handled."""
    queue.sweepers.pop(sweeper, None)
    queue.stirred += 1
    queue.swept = at


def explains(
    queue: Queue, copy: Copy, receiver: PotentialReceiver | None, channel: ChannelLife, since: int
) -> bool | None:
    """Does any order of what was sent and seen explain this delivery? None: that cannot be told."""
    orders = queue.orders
    if (
        receiver is None
        or receiver not in queue.receivers
        or copy.place != WAITING
        or copy.indeterminate
        or copy.unowed
        or copy.hidden
        or queue.sweepers
        or queue.opaque
        or queue.unordered
        or queue.lossy
    ):
        orders.lose()
    if orders.lost or receiver is None:
        return None
    others = [other for other in queue.receivers if other is not receiver]
    return orders.take(copy.id, receiver, lambda one: queue.there(one, channel, since), others)

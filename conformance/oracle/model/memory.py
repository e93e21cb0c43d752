"""Forgetting: how the memory of an endless history stays bounded.

A channel may acknowledge for months without an answer that proves anything, and new messages keep coming to a queue. So
the oldest of what is over is forgotten; what is open is never forgotten. This also keeps a saved fold small
(`monitors/state.py`). Nothing is claimed about what was forgotten: an unknown message may appear anywhere, and the
settlement of an unknown tag may be accepted or refused.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from conformance.oracle import topology
from conformance.oracle.model.records import GONE, WAITING, Copy, Delivery, PotentialReceiver, Publication, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.consumers.cancelling import Ended
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

REMEMBERED = 128
"""This much is remembered of each kind: unproven settlements and settled deliveries of a channel, messages of a queue
that are gone, consumers of a channel that have ended."""
CONNECTIONS = 256
"""This many connections that have ended."""
LOST = 256
"""This many receivers of a queue of which nobody knows whether they have ended; one stands for all before them."""
DELETED = 64
"""This many queues that were deleted."""
UNCERTAIN = 1024
"""This many messages of a queue that may be in it, or may not."""
STAMPS = 1024
"""The times of this many sends, where consumer timeouts are the subject."""


def delivered(channel: ChannelLife, delivery: Delivery) -> None:
    """The channel has one more delivery."""
    deliveries = channel.deliveries
    if channel.first_tag < 0:
        channel.first_tag = delivery.tag
    deliveries[delivery.tag] = delivery
    if len(deliveries) >= 2 * REMEMBERED + 2 * len(channel.unacked):
        old = list(deliveries)[:-REMEMBERED]
        for tag in old:
            if tag not in channel.unacked:
                del deliveries[tag]
        channel.forgotten = max(channel.forgotten, *old)


def settled(channel: ChannelLife) -> None:
    """One more settlement was sent that no answer has proven yet."""
    if len(channel.unproven) <= REMEMBERED:
        return
    oldest = channel.unproven.popleft()
    for delivery in oldest.covered:
        copy = delivery.copy
        if copy.holder is not delivery:
            continue
        if copy.place == GONE:
            _lapse(oldest, copy.queue)
            _forget(copy)
        elif copy.settlement is oldest:
            copy.queue.unsettle(copy, indeterminate=True)


def sent(channel: ChannelLife, copy: Copy, seq: int) -> None:
    """The channel has sent what brings one more message into its queue; a later answer may prove that it did."""
    entries = channel.unsynced.get(copy.queue.name)
    if entries is None:
        if len(channel.unsynced) > DELETED:
            channel.unsynced = {
                name: own for name, own in channel.unsynced.items() if any(one.place == WAITING for _, one in own)
            }
        entries = channel.unsynced[copy.queue.name] = deque()
    entries.append((seq, copy))
    while len(entries) > REMEMBERED and entries[0][1].place != WAITING:
        entries.popleft()


def refused(channel: ChannelLife, number: int) -> None:
    """One more publish was refused."""
    channel.refused.add(number)
    if len(channel.refused) > 2 * REMEMBERED:
        channel.refused = set(sorted(channel.refused)[REMEMBERED:])


def spread(channel: ChannelLife, publication: Publication) -> None:
    """One more publish was resolved: of one that went to several queues it is kept how many."""
    if len(publication.copies) > 1:
        channel.spread[publication.number] = len(publication.copies) - 1
        if len(channel.spread) > REMEMBERED:
            channel.spread.popitem(last=False)


def gone(queue: Queue, copy: Copy) -> None:
    """One more message of the queue is gone for good. As many more are remembered as it has had at once: a drain
    of them all forgets nothing."""
    queue.most = max(queue.most, len(queue.copies) - len(queue.gone))
    queue.gone.append(copy)
    if len(queue.gone) > REMEMBERED + min(queue.most, UNCERTAIN):
        oldest = queue.gone.popleft()
        if oldest.place == GONE:
            settlement = oldest.holder.settlement if oldest.holder is not None else None
            if settlement is not None and not settlement.accepted:
                _lapse(settlement, queue)
            _forget(oldest)
            _untie(oldest)


def lost(queue: Queue) -> None:
    """One more receiver is lost."""
    if len(queue.receivers) > LOST:
        known = [receiver for receiver in queue.receivers if receiver.lost]
        if len(known) > LOST:
            _merge(queue, known[0], known[1])


def consumer_ended(channel: ChannelLife, ended: Ended) -> None:
    """One more consumer of the channel is no more."""
    channel.ended[ended.tag] = ended
    if len(channel.ended) > REMEMBERED:
        del channel.ended[next(iter(channel.ended))]


def connection_ended(model: Model, connection: Connection) -> None:
    """One more connection is over."""
    model.pauses.forget(connection)
    model.over.append(connection.name)
    if len(model.over) > CONNECTIONS:
        oldest = model.over.popleft()
        if oldest in model.connections and model.connections[oldest].ended:
            del model.connections[oldest]


def queue_deleted(model: Model, queue: Queue) -> None:
    """One more queue is being deleted. Those before it are, unless somebody may still be taking from them."""
    model.deleted.append(queue.name)
    if len(model.deleted) > DELETED:
        oldest = model.queues.get(model.deleted.popleft())
        if oldest is not None and oldest.deletion is not None and oldest.deletion.known and not oldest.receivers:
            del model.queues[oldest.name]
            topology.forget_queue(model.topology, oldest.name)


def uncertain(queue: Queue, copy: Copy) -> None:
    """One more message of the queue may be in it, or may not. When there are too many, no id tells for certain which
    message is meant, there or later."""
    queue.aside[copy.id] = copy
    if len(queue.aside) > UNCERTAIN:
        queue.overrun = True
        oldest = next(iter(queue.aside.values()))
        _forget(oldest)
        oldest.place = GONE


def stamped(stamps: dict[int, int]) -> None:
    """The time of one more send is kept."""
    if len(stamps) > 2 * STAMPS:
        for seq in list(stamps)[:STAMPS]:
            del stamps[seq]


def _merge(queue: Queue, receiver: PotentialReceiver, other: PotentialReceiver) -> None:
    """One that never ends stands for these two, of which both are lost."""
    del queue.receivers[receiver], queue.receivers[other]
    queue.lost -= 1
    queue.swallowing -= receiver.no_ack and other.no_ack
    no_ack = receiver.no_ack or other.no_ack
    both = PotentialReceiver(receiver.start, no_ack=no_ack, get=False, lost=True)
    queue.receivers = {both: None, **queue.receivers}


def _lapse(settlement: Settlement, queue: Queue) -> None:
    """A message is forgotten although nothing proves that it was settled. If that comes to nothing, it is back, and
    its id may be another message's by then."""
    lapsed = settlement.channel.lapsed
    lapsed[queue] = max(settlement.seq, lapsed.get(queue, 0))
    if len(lapsed) > 2 * DELETED:
        for known in [one for one in lapsed if one.deleted]:
            del lapsed[known]


def _untie(copy: Copy) -> None:
    """It lets go of what points back at it, so that its memory is free at once and no collector has to look for it."""
    if copy.holder is not None:
        copy.holder.settlement = None
    copy.holder = copy.publication = copy.settlement = copy.aground = None


def _forget(copy: Copy) -> None:
    queue = copy.queue
    if queue.copies.get(copy.id) is copy:
        del queue.copies[copy.id]
    if queue.aside.get(copy.id) is copy:
        del queue.aside[copy.id]
    if queue.missed.get(copy.id) is copy:
        del queue.missed[copy.id]

"""Forgetting: what keeps the memory of an endless history within bounds.

A channel may acknowledge for months without an answer that would prove anything, and a queue sees message after
message. So the oldest of what is over is forgotten, after so many that no suite gets there. Nothing is claimed of what
is forgotten: a message that nobody knows may turn up anywhere, and a settlement of a tag that nobody knows may be
accepted or refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.model.records import GONE, WAITING, Copy, Delivery

if TYPE_CHECKING:
    from conformance.model.cancelling import Ended
    from conformance.model.channels import Channel
    from conformance.model.connections import Connection
    from conformance.model.model import Model
    from conformance.model.queues import Queue

REMEMBERED = 1024
"""So much is remembered of each kind: unproven settlements and settled deliveries of a channel, messages of a queue
that are gone, consumers of a channel that have ended."""
CONNECTIONS = 256
"""So many connections that have ended."""
LOST = 32
"""So many takers of a queue of which nobody knows whether they have ended. More of them make no difference."""
STAMPS = 65536
"""The times of so many sends, where consumer timeouts are the subject."""


def delivered(channel: Channel, delivery: Delivery) -> None:
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


def settled(channel: Channel) -> None:
    """One more settlement was sent that no answer has proven yet."""
    if len(channel.unproven) <= REMEMBERED:
        return
    oldest = channel.unproven.popleft()
    for delivery in oldest.covered:
        copy = delivery.copy
        if copy.holder is not delivery:
            continue
        if copy.place == GONE:
            _forget(copy)
        elif copy.settlement is oldest:
            copy.queue.unsettle(copy, shaky=True)


def sent(channel: Channel, copy: Copy, seq: int) -> None:
    """The channel has sent what brings one more message into its queue; a later answer may prove that it did."""
    entries = channel.unsynced[copy.queue.name]
    entries.append((seq, copy))
    while len(entries) > REMEMBERED and entries[0][1].place != WAITING:
        entries.popleft()


def gone(queue: Queue, copy: Copy) -> None:
    """One more message of the queue is gone for good."""
    queue.gone.append(copy)
    if len(queue.gone) > REMEMBERED:
        oldest = queue.gone.popleft()
        if oldest.place == GONE:
            _forget(oldest)


def lost(queue: Queue) -> None:
    """One more taker is lost."""
    if len(queue.takers) > LOST:
        known = [taker for taker in queue.takers if taker.lost]
        if len(known) > LOST:
            del queue.takers[known[0]]


def consumer_ended(channel: Channel, ended: Ended) -> None:
    """One more consumer of the channel is no more."""
    channel.ended[ended.tag] = ended
    if len(channel.ended) > REMEMBERED:
        del channel.ended[next(iter(channel.ended))]


def connection_ended(model: Model, connection: Connection) -> None:
    """One more connection is over."""
    model.over.append(connection.name)
    if len(model.over) > CONNECTIONS:
        oldest = model.over.popleft()
        if oldest in model.connections and model.connections[oldest].ended:
            del model.connections[oldest]


def stamped(stamps: dict[int, int]) -> None:
    """The time of one more send is kept."""
    if len(stamps) > STAMPS:
        for seq in list(stamps)[: STAMPS // 2]:
            del stamps[seq]


def _forget(copy: Copy) -> None:
    queue = copy.queue
    if queue.copies.get(copy.id) is copy:
        del queue.copies[copy.id]
    if queue.aside.get(copy.id) is copy:
        del queue.aside[copy.id]

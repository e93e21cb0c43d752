"""What the broker still owes: the predicate that tells lawful silence from a missing answer.

A driver that waits until nothing is owed needs no sleep, and a deadline that passes while something is owed is a
finding. So this must be exact on the safe side: what the broker may leave out is not owed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass

from conformance.oracle.model.connections.channels import (
    CLOSED,
    CLOSING,
    FAILING,
    LIVE,
    NEVER,
    OPEN,
    ChannelLife,
    Consumer,
)
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import windows
from conformance.oracle.model.memory import LOST
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import RELEASED, Copy

REPLY, CLOSE, HARD_CLOSE, CONFIRM, DELIVERY = "reply", "channel.close", "connection.close", "confirm", "delivery"
CLOSE_OK, BLOCKING = "connection.close-ok", "connection.blocked"
NOTICE, HANDSHAKE = "notice", "handshake"
IN_TURN = frozenset({REPLY, CLOSE, HARD_CLOSE})
"""What the broker owes to a method, and sends before it reads on in that channel."""


@dataclass(frozen=True, slots=True)
class Obligation:
    """Something the broker has to send: what, where, and since when."""

    kind: str
    connection: str
    channel: int
    what: str
    since_seq: int


def owed_by(connections: Collection[Connection]) -> Iterator[tuple[Obligation, ChannelLife | None, Consumer | None]]:
    """All that is owed, each with the channel and the consumer that wait for it."""
    for connection in connections:
        if connection.handshake.crossed:
            yield Obligation(HANDSHAKE, connection.name, 0, CLOSE_OK, connection.handshake.crossed), None, None
        if connection.ended:
            continue
        if connection.error and not connection.error.optional:
            yield Obligation(HARD_CLOSE, connection.name, 0, HARD_CLOSE, connection.error.seq), None, None
        elif connection.blocking.owed:
            what = "connection.unblocked" if connection.blocking.blocked else "connection.blocked"
            yield Obligation(BLOCKING, connection.name, 0, what, connection.blocking.owed), None, None
        elif connection.blocking.halted:
            continue
        elif connection.closing:
            yield Obligation(REPLY, connection.name, 0, CLOSE_OK, connection.closing), None, None
        elif connection.handshake.awaited:
            what, since = next(iter(connection.handshake.awaited.items()))
            yield Obligation(HANDSHAKE, connection.name, 0, what, since), None, None
        else:
            for channel in connection.channels.values():
                for obligation, consumer in _of_channel(channel, connection, connections):
                    yield obligation, channel, consumer


def _of_channel(
    channel: ChannelLife, connection: Connection, connections: Collection[Connection]
) -> Iterator[tuple[Obligation, Consumer | None]]:
    name, number = connection.name, channel.number
    if channel.settlement_error and not channel.close_seen:
        yield Obligation(CLOSE, name, number, CLOSE, channel.settlement_error.seq), None
    if channel.method_error and not channel.close_seen:
        yield Obligation(CLOSE, name, number, CLOSE, channel.method_error.seq), None
    if channel.state == CLOSING or channel.close_sent:
        if channel.state != CLOSED or channel.discarding or channel.close_seen:
            yield from _reply_to_close(channel, name)
        return
    if channel.state in (FAILING, CLOSED):
        return
    for request in channel.pending():
        yield Obligation(REPLY, name, number, f"the answer to {request.method}", request.seq), None
    if (
        channel.unconfirmed
        and channel.forgiven < NEVER
        and not channel.indeterminate
        and not connection.blocking.blocked
    ):
        first = next(iter(channel.unconfirmed.values()))
        yield Obligation(CONFIRM, name, number, f"the confirm of publish {first.number}", first.seq), None
    yield from _notices(channel, connection)
    if channel.state == OPEN and not channel.indeterminate and not channel.paused:
        for consumer in channel.consumers.values():
            if consumer.state == LIVE and _starving(channel, consumer) and _alone(consumer, connections):
                yield Obligation(DELIVERY, name, number, f"a delivery to {consumer.tag}", consumer.since), consumer


def _notices(channel: ChannelLife, connection: Connection) -> Iterator[tuple[Obligation, Consumer | None]]:
    """Consumers whose queue is certainly gone, of a client that is to be told."""
    if not (connection.notices and connection.offers) or channel.state != OPEN or channel.indeterminate:
        return
    for consumer in channel.consumers.values():
        deletion = consumer.source.deletion
        if (
            deletion is not None
            and deletion.known
            and consumer.state == LIVE
            and not consumer.noticed
            and 0 < consumer.established < deletion.sent
        ):
            what = f"the notification that {consumer.tag} has ended"
            yield Obligation(NOTICE, connection.name, channel.number, what, deletion.sent), consumer


def _reply_to_close(channel: ChannelLife, name: str) -> Iterator[tuple[Obligation, Consumer | None]]:
    if channel.requests.get(("channel.close", "")):
        yield Obligation(REPLY, name, channel.number, "channel.close-ok", channel.close_sent), None


def _starving(channel: ChannelLife, consumer: Consumer) -> bool:
    """Is there a message that must be given to this consumer or to another one that waits?"""
    queue = consumer.source
    if consumer.limit_moved or queue.deleted or not queue.declared:
        return False
    if not windows.has_room(channel, consumer):
        return False
    return bool(queue.fresh) or any(
        not _kept(copy) and not queue.may_be_spent(copy) for copy in queue.returned.values()
    )


def _alone(consumer: Consumer, connections: Collection[Connection]) -> bool:
    """Is it due, where its queue serves one at a time? Which one that is need not be known: if all have room, so has
    that one. Who has ended with an answer is not waited for. Of quorum queues with priorities it is not clear when
    another one takes over."""
    queue = consumer.source
    if not queue.single_active or len(queue.receivers) == 1:
        return True
    served = [
        (channel, one)
        for connection in connections
        if not (connection.ended or connection.closing or connection.error or connection.blocking.halted)
        for channel in connection.channels.values()
        if channel.state == OPEN and not (channel.indeterminate or channel.paused)
        for one in channel.consumers.values()
        if one.source is queue and one.state == LIVE and one.established and not (one.limit_moved or one.revived)
    ]
    if len(served) < len(queue.receivers) - _gone(queue, connections) or (
        queue.kind != "classic" and any(one.rank for _, one in served)
    ):
        return False
    return all(windows.has_room(channel, one) for channel, one in served)


def _gone(queue: Queue, connections: Collection[Connection]) -> int:
    """How many have ended, with an answer, of those that might still take for a moment."""
    unsure = {
        one.receiver
        for connection in connections
        for channel in connection.channels.values()
        if connection.ended or channel.state != CLOSED
        for one in channel.consumers.values()
    }
    lost = [one for one in queue.receivers if one.lost and not one.no_ack]
    return sum(one not in unsure for one in lost) if len(lost) < LOST else 0


def _kept(copy: Copy) -> bool:
    """Does it belong to a failed channel that the broker has not closed yet, or the end of which the client has not yet
    confirmed?"""
    holder = copy.holder
    return (
        copy.entry == RELEASED and holder is not None and (holder.channel.discarding or holder.channel.state == FAILING)
    )


def forsaken(queue: Queue) -> bool:
    """Does it serve one consumer at a time, and has nobody been served since a client cancelled that?"""
    served = queue.latest.consumer if queue.single_active and queue.latest is not None else None
    return served is not None and served.asked > 0

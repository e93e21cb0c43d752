"""Methods that must have no effect: sent on a channel that is not open, or after a mistake that ends it.

Of a publish that is ignored the model keeps that it must never come (VOID); of a request, that it has no answer. On a
channel that is not open nothing is certain, for a broker may carry the method out all the same: whatever it could take
or remove is doubted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections import requests
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import settling, taking
from conformance.oracle.model.consumers.settling import SETTLING
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.records import VOID, ClientError, Copy, PotentialReceiver
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue


def unopened(model: Model, connection: Connection, channel: ChannelLife | None, event: Event) -> None:
    """A method on a channel that is not open costs the connection, unless the number was in use just before.

    A broker may still be winding up the channel that was closed, and discard what comes for it. One that takes no
    notice of the close carries it out: what becomes of the queue then is no further fault.
    """
    queue = model.queues.get(event.queue or "")
    if queue is not None and event.method in _MAY_HAPPEN:
        _MAY_HAPPEN[event.method](queue, channel or ChannelLife(connection, event.channel, event.seq), event)
    if channel is not None:
        channel.indeterminate = True
        connection.misused = event.seq
    ids = event.class_id, event.method_id
    requests.fail_connection(
        connection,
        ClientError(
            event.seq,
            "ERR-010",
            504,
            *ids,
            f"{event.method} on channel {event.channel}, which is not open",
            optional=channel is not None,
        ),
    )


def ignored(model: Model, channel: ChannelLife, event: Event) -> None:
    """A method on a channel that has failed, or is being closed. Behind the client's own close it is a mistake."""
    if not channel.close_sent:
        channel.spurned[event.class_id, event.method_id] = event.seq
    if event.method == "basic.publish":
        channel.uncounted += channel.confirm
        queue = model.queues.get(event.routing_key or "")
        if not event.exchange and queue is not None and event.message and event.message not in queue.copies:
            copy = Copy(event.message, queue, event.seq, channel, place=VOID, entered=event.seq)
            queue.copies[copy.id] = copy
            queue.voided.append(copy)
            channel.voided.append(copy)
    elif event.method == "channel.close":
        channel.close_sent = event.seq
        requests.request(channel, event)
    elif event.method in SETTLING:
        settling.ignored(channel, event)
    else:
        requests.request(channel, event, ignored=True)


def _may_delete(queue: Queue, channel: ChannelLife, event: Event) -> None:
    queue.doubt()
    dropping.disinherit(queue)
    queue.deleted = event.seq
    queue.deletion = queue.deletion or TopologyChange(channel, event.seq)


def _may_purge(queue: Queue, channel: ChannelLife, event: Event) -> None:
    queue.doubt()
    queue.purged, queue.cleared = event.seq, 0


def _may_take(queue: Queue, channel: ChannelLife, event: Event) -> None:
    receiver = taking.begin(
        queue, PotentialReceiver(event.seq, "no_ack" in event.flags, get=event.method == "basic.get")
    )
    taking.lose(queue, receiver)


_MAY_HAPPEN: dict[str, Callable[[Queue, ChannelLife, Event], None]] = {
    "queue.delete": _may_delete,
    "queue.purge": _may_purge,
    "basic.consume": _may_take,
    "basic.get": _may_take,
}

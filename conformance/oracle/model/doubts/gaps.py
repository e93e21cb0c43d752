"""What a history does not show, and what can therefore not be proven.

A history that the suite made is complete: it has every connection from its TCP open, its queues are private, and no
octet is lost. A capture or a recording by a proxy may be incomplete. Knowledge has three scopes, and each begins at a
certain moment:

    channel      since its channel.open; a channel that was open before is *adopted*, and never known
    connection   since its TCP open, or the broker's connection.start
    world        since the history's beginning: queues, exchanges and policies, if no unseen client can touch them

If a connection began before the history (JOINED), lost octets (GAP) or was cut off (CUT), its channels are forgotten.
It may have done anything unseen, to any queue, at any later time. So such an event also opens the world for good. It
stands before the first event that may be a consequence of what is missing. Earlier findings stay as they are.

It does not matter where on the path the frames were seen: what a client sends is always seen before the broker handles
it, and what the broker sends is seen afterwards. But if clocks differ, connections have no common order. Then each is
judged as if it were alone in an open world.

Queues are known by their names. Where an observer sees one name used in two virtual hosts, it cannot be told any more
which of the two queues is meant, and the world is open from there on, too.

In an open world no queue is known, so nothing is owed. `monitors/standing.py` says which claims need which scope, and
what is judged all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event
from conformance.oracle import topology
from conformance.oracle.model.connections.handshake import Handshake

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

BEFORE, LOST, CUT_OFF = "joined", "gap", "cut"
SHARED, CLOCKS, NAMESAKES = "open world", "clocks", "namesakes"
"""Why a history may be incomplete; `verdicts.REASONS` has the words."""


def observed(model: Model, event: Event) -> None:
    """What the observer says about the world around the history."""
    model.homes = {} if model.homes is None else model.homes
    model.captured = model.captured or event.args.get("by") == "capture"
    if event.args.get("others", True):
        open_world(model, SHARED)
    elif not event.args.get("ordered", True):
        open_world(model, CLOCKS)


def meet(model: Model, channel: ChannelLife, event: Event) -> None:
    """A method names a queue; in an observed history it may be that of another virtual host."""
    homes, vhost = model.homes, channel.connection.vhost
    by_key = event.method == "basic.publish" and not event.exchange
    name = event.routing_key if by_key else event.queue
    if homes is None or model.open or not name:
        return
    home = homes.get(name, vhost) if by_key else homes.setdefault(name, vhost)
    if home != vhost:
        open_world(model, NAMESAKES)


def tear(model: Model, connection: Connection, event: Event, reason: str) -> None:
    """Something of the connection is missing here. Until the broker is seen again, the client may be answering
    something that was not seen."""
    forget(model, connection, reason)
    connection.torn = connection.torn or event.args.get("direction") != TO_BROKER


def forget(model: Model, connection: Connection, reason: str) -> None:
    """Forgets the connection's channels: they may be in any state by now."""
    connection.broken, connection.whole = connection.broken or reason, False
    connection.channels.clear()
    connection.failed.clear()
    connection.error = connection.refused = None
    connection.blocking.forget()
    connection.handshake = Handshake()
    connection.misused = connection.refusals = 0
    open_world(model, reason)


def open_world(model: Model, reason: str) -> None:
    """From now on, an unseen client may do anything to queues and exchanges."""
    if model.open:
        return
    model.open, model.opaque = reason, True
    topology.forget_all(model.topology)
    for queue in model.queues.values():
        queue.forget()

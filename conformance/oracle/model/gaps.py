"""What a history does not show, and what can therefore not be proven.

A suite's history is whole: every connection from its TCP open, queues that nobody else uses, no octet lost. What was
captured, or recorded by a proxy, need not be. Knowledge has three scopes, and each is known from a certain moment on:

    channel      since its channel.open; one that is met in its midst is *adopted*, and never known
    connection   since its TCP open, or the broker's connection.start
    world        since the history's beginning: queues, exchanges and policies, if nobody unseen can touch them

A connection that began before the history (JOINED), lost octets (GAP) or was cut off (CUT) has its channels forgotten:
what it did unseen may be anything, to any queue, at any later time. So such an event also opens the world for good. It
stands before the first event that may be a consequence of what is missing. Findings made before it stay as they are.

Where on the path frames were seen does not matter: what a client sends is always seen before the broker handles it, and
what the broker sends is seen after that. But where clocks differ, connections have no common order, which is as if each
were alone in an open world.

The open world has no known queue, so nothing is owed there; what is judged all the same, and which claims need which
scope, is said by `monitors/standing.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event

if TYPE_CHECKING:
    from conformance.oracle.model.connections import Connection
    from conformance.oracle.model.model import Model

BEFORE, LOST, CUT_OFF, SHARED, CLOCKS = "joined", "gap", "cut", "open world", "clocks"
"""What can be the matter with a history; `verdicts.REASONS` has the words."""


def observed(model: Model, event: Event) -> None:
    """What the observer says of the world around the history."""
    model.captured = model.captured or event.args.get("by") == "capture"
    if event.args.get("others", True):
        open_world(model, SHARED)
    elif not event.args.get("ordered", True):
        open_world(model, CLOCKS)


def tear(model: Model, connection: Connection, event: Event, reason: str) -> None:
    """Something of the connection is missing here. What the client says before the broker is seen again may answer to
    something that was not seen."""
    forget(model, connection, reason)
    connection.torn = connection.torn or event.args.get("direction") != TO_BROKER


def forget(model: Model, connection: Connection, reason: str) -> None:
    """Whatever this connection's channels were, they may be something else by now."""
    connection.broken, connection.whole = connection.broken or reason, False
    connection.channels.clear()
    connection.failed.clear()
    connection.doom = connection.refused = None
    connection.blocked = False
    connection.misused = connection.refusals = 0
    open_world(model, reason)


def open_world(model: Model, reason: str) -> None:
    """Somebody unseen may do what he likes to queues and exchanges, from now on."""
    if model.open:
        return
    model.open, model.opaque = reason, True
    model.exchanges.clear()
    for queue in model.queues.values():
        queue.forget()

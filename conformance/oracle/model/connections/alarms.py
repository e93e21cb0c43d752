"""Resource alarms: who is heard no further, and who has to be told so.

The driver notes four moments, for nobody sees when an alarm begins or ends:

    raising --- raised ============ clearing --- cleared      === it is certainly there, --- it may be

A client that publishes in all this time may be heard no further; then no answer is owed to it. One that wants to be
told must be, after it has published `ENOUGH` times in the middle of it. At the end all that were told must be told that
it is over.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from conformance.history.events import Event
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import cancelling

BLOCKED, CAPABILITY = "connection.blocked", "connection.blocked"
RAISING, RAISED, CLEARING, CLEARED = "raising", "raised", "clearing", "cleared"
ENOUGH = 5
"""A connection may learn of an alarm a moment after it was raised."""


def announce(connection: Connection, event: Event, others: Iterable[Connection]) -> None:
    """The client's start-ok. An alarm that is there already is one for this connection as well."""
    blocking = connection.blocking
    blocking.wanted = cancelling.capability(event.args.get("client_properties"), CAPABILITY)
    amid = [other.blocking for other in others if other.blocking.halting]
    blocking.squeezed = any(other.blocking.squeezed for other in others)
    if amid:
        blocking.halting = True
        blocking.alarmed = event.seq if all(other.alarmed for other in amid) else 0


def changed(connections: Iterable[Connection], event: Event) -> None:
    """The alarm begins, or ends."""
    state = event.args.get("state")
    for connection in connections:
        blocking = connection.blocking
        blocking.alarmed = event.seq if state == RAISED else 0
        blocking.pressed = 0 if state == RAISING else blocking.pressed
        blocking.halting = state != CLEARED
        if state in (CLEARING, CLEARED) and not blocking.blocked:
            blocking.owed = 0
        if state == CLEARED:
            blocking.halted = blocking.blocked
            blocking.owed = event.seq if blocking.blocked and not connection.ended else 0


def published(connection: Connection, event: Event) -> None:
    """basic.publish"""
    blocking = connection.blocking
    blocking.published += 1
    blocking.halted = blocking.halted or blocking.halting or blocking.squeezed
    if blocking.alarmed:
        blocking.pressed += 1
        if blocking.pressed >= ENOUGH and blocking.wanted and not blocking.blocked:
            blocking.owed = blocking.owed or event.seq


def told(connection: Connection, event: Event, connections: Collection[Connection]) -> None:
    """The broker says that the client is blocked, or that it is no more."""
    blocking = connection.blocking
    blocking.blocked = event.method == BLOCKED
    blocking.owed = 0
    if not blocking.blocked:
        blocking.halted, blocking.over = blocking.halting and blocking.halted, event.seq
        _relieve(connections)
        return
    blocking.told = event.seq
    if not blocking.halting:
        blocking.halted = blocking.published > 0
        _squeeze(connections)


def _squeeze(connections: Collection[Connection]) -> None:
    """The broker is short of something by itself: who does not want to be told of it may be heard no further, and from
    now on everybody who publishes."""
    for connection in connections:
        blocking = connection.blocking
        blocking.squeezed = True
        blocking.halted = blocking.halted or (blocking.published > 0 and not blocking.wanted)


def _relieve(connections: Collection[Connection]) -> None:
    """When nobody is blocked any more, nobody is who was not told."""
    if any(connection.blocking.blocked and not connection.ended for connection in connections):
        return
    for connection in connections:
        blocking = connection.blocking
        blocking.squeezed, blocking.halted = False, blocking.halting and blocking.halted

"""Resource alarms: who is heard no further, and who has to be told so.

The driver notes four moments, for nobody sees when an alarm begins or ends:

    raising --- raised ============ clearing --- cleared      === it is certainly there, --- it may be

A client that publishes in all this time may be heard no further; then no answer is owed to it. One that wants to be
told must be, after it has published `ENOUGH` times in the middle of it. At the end all that were told must be told that
it is over.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.events import Event
from conformance.oracle.model import cancelling
from conformance.oracle.model.connections import Connection

BLOCKED, CAPABILITY = "connection.blocked", "connection.blocked"
RAISING, RAISED, CLEARING, CLEARED = "raising", "raised", "clearing", "cleared"
ENOUGH = 5
"""A connection may learn of an alarm a moment after it was raised."""


def announce(connection: Connection, event: Event) -> None:
    """The client's start-ok."""
    connection.wants_blocked = cancelling.capability(event.args.get("client_properties"), CAPABILITY)


def changed(connections: Iterable[Connection], event: Event) -> None:
    """The alarm begins, or ends."""
    state = event.args.get("state")
    for connection in connections:
        connection.alarmed = event.seq if state == RAISED else 0
        connection.pressed = 0 if state == RAISING else connection.pressed
        connection.halting = state != CLEARED
        if state in (CLEARING, CLEARED) and not connection.blocked:
            connection.block_owed = 0
        if state == CLEARED:
            connection.halted = connection.blocked
            connection.block_owed = event.seq if connection.blocked and not connection.ended else 0


def published(connection: Connection, event: Event) -> None:
    """basic.publish"""
    connection.published += 1
    connection.halted = connection.halted or connection.halting
    if connection.alarmed:
        connection.pressed += 1
        if connection.pressed >= ENOUGH and connection.wants_blocked and not connection.blocked:
            connection.block_owed = connection.block_owed or event.seq


def told(connection: Connection, event: Event) -> None:
    """The broker says that the client is blocked, or that it is no more."""
    connection.blocked = event.method == BLOCKED
    connection.block_owed = 0
    if connection.blocked:
        connection.block_at = event.seq
    else:
        connection.halted, connection.unblock_at = connection.halting and connection.halted, event.seq

"""Loose ends: what one file of a ring cannot say about a connection that other files of the ring have as well.

A file that is not the first finds connections in their middle. The octets of a connection up to the first frames that
can be found are a *head*; the way in which they end belongs to it. Content whose method was sent in the file before is
*stray*. At the end of a file, half a frame, half a message and the state of both directions are a *tail*. Together
they are one row for each such connection, JSON with octets in hexadecimal, and `stitch` makes events of them.

A place in a ring is `file << FILE_BITS | packet << PACKET_BITS`. What a file says itself of a packet has LATER added,
so what is stitched comes before it.
"""

from __future__ import annotations

from typing import Any

from reports.capture.streams import Connection

LOOSE = "loose"
PACKET_BITS, FILE_BITS = 20, 52
LATER = 1 << 19


def base(part: int) -> int:
    """The first place of a file."""
    return part << FILE_BITS


def loose_end(connection: Connection) -> dict[str, Any] | None:
    """What must be known of the connection outside of this file; None if all of it was seen here."""
    head = connection.head
    if connection.done or not (connection.begun or (head is not None and head.over)):
        return None
    return {
        "client": list(connection.client),
        "server": list(connection.server),
        "head": _head(connection),
        "strays": [
            [side, seq, packet, time, raw.hex()]
            for side, reader in enumerate(connection.readers)
            for seq, packet, time, raw in reader.strays
        ],
        "begun": connection.begun,
        "tail": _tail(connection),
    }


def _head(connection: Connection) -> dict[str, Any] | None:
    head = connection.head
    if head is None:
        return None
    pieces = [[*where, what if isinstance(what, int) else what.hex()] for *where, what in head.pieces]
    return {
        "position": head.position,
        "pieces": pieces,
        "known": head.known,
        "sure": head.sure,
        "first": head.first,
        "over": head.over,
    }


def _tail(connection: Connection) -> dict[str, Any]:
    cause = connection.cause if connection.head is None else ""
    return {"cause": cause, "sides": [_side(connection, side) for side in (0, 1)]}


def _side(connection: Connection, side: int) -> dict[str, Any] | None:
    """One direction at the end of the file. In its head, if that did not end, there is all that is known."""
    connection.settle(side)
    splitter, reader = connection.splitters[side], connection.readers[side]
    position = connection.flow.upto[side]
    if splitter is None or (connection.head is not None and connection.head.pending(side)):
        return {"position": position, "known": False}
    return {
        "position": position,
        "known": True,
        "blind": splitter.blind,
        "sure": splitter.sure,
        "limit": splitter.limit,
        "skipped": splitter.skipped,
        "bad": splitter.problem is not None,
        "lost": connection.head is None or not reader.late,
        "rest": splitter.rest.hex(),
        "open": [raw.hex() for raw in reader.open],
        "doubtful": reader.doubtful,
    }

"""Opens a raw-frame connection: one that is open and logged in, or an exception that says why not."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.handshake import CAPABILITIES, reach, shake_hands
from conformance.drive.drivers.link import Content, Item, RawConnection, Tuned
from conformance.drive.drivers.target import BadUrl, Target
from conformance.history.recorder import Recorder

__all__ = [
    "CAPABILITIES",
    "BadUrl",
    "ConnectionLost",
    "Content",
    "Item",
    "RawConnection",
    "Target",
    "Tuned",
    "Unreachable",
    "open_connection",
]


def open_connection(
    target: Target,
    recorder: Recorder,
    name: str,
    *,
    capabilities: Mapping[str, object] | None = None,
    heartbeat: int | None = None,
    properties: Mapping[str, object] | None = None,
    channel_max: int = 0,
) -> RawConnection:
    """Connects and logs in, or raises Unreachable. The handshake is part of the history either way.

    Who announces no capabilities sends no table of them. `properties` are further client properties; `channel_max` is
    less than the broker offers, 0 for all of it. `heartbeat`: seconds, None for what the URL says.
    """
    connection = RawConnection(reach(target), recorder, name, target)
    try:
        announced = CAPABILITIES if capabilities is None else capabilities
        said = {"capabilities": dict(announced)} if announced and not (capabilities is None and target.terse) else {}
        beats = target.heartbeat if heartbeat is None else heartbeat
        shake_hands(connection, {**(properties or {}), **said}, beats, channel_max or target.channels)
    except BaseException:
        connection.abort()
        raise
    return connection

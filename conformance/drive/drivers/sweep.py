"""Deleting queues and exchanges from outside, unrecorded: what a scene left behind that could not clean up itself."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from codec import methods as m
from conformance.drive.drivers.raw import ConnectionLost, RawConnection, Target, Unreachable, open_connection
from conformance.history.recorder import Recorder

PATIENCE = 3
"""All deletions together may take this many deadlines."""
OFTEN, BRIEFLY = 3, 0.3
"""So many closes in a row that had no answer, and the seconds that the next ones are waited for."""
_IN_VAIN: Counter[tuple[str, int]] = Counter()
"""Closes in a row that had no answer, by host and port."""


def unrecorded(target: Target) -> RawConnection:
    """A connection whose events go nowhere."""
    return open_connection(target, Recorder("", ""), "unrecorded")


def hasty(target: Target, seconds: float) -> Target:
    """The same target, where each step of the handshake may take only so long."""
    return replace(target, options={**target.options, "connection_timeout": str(max(1, round(seconds * 1000)))})


def sweep(target: Target, queues: Iterable[str], exchanges: Iterable[str], deadline: float) -> None:
    """Deletes these. What is not there, or cannot be deleted, does not keep the others, as long as there is time."""
    until = time.monotonic() + PATIENCE * deadline
    with contextlib.suppress(Unreachable, ConnectionLost):
        connection = unrecorded(hasty(target, min(deadline, target.timeout)))
        deletes = (
            [m.QueueDelete(0, queue=name) for name in queues],
            [m.ExchangeDelete(0, exchange=name) for name in exchanges],
        )
        try:
            for number, delete in enumerate(chain(*deletes), 1):
                delete.channel = number
                connection.send(m.ChannelOpen(number), delete)
                _await(connection, number, min(deadline, until - time.monotonic()))
        finally:
            part(connection, max(0.0, min(deadline, until - time.monotonic())))


def part(connection: RawConnection, seconds: float) -> None:
    """Closes an unrecorded connection. Its broker is not waited for again and again if it never answers that."""
    broker = connection.target.host, connection.target.port
    connection.close(min(seconds, BRIEFLY) if _IN_VAIN[broker] >= OFTEN else seconds)
    _IN_VAIN[broker] = 0 if connection.agreed else _IN_VAIN[broker] + 1


def _await(connection: RawConnection, channel: int, deadline: float) -> None:
    until = time.monotonic() + deadline
    while connection.alive and time.monotonic() < until:
        for event in connection.receive(max(until - time.monotonic(), 0)):
            if event.channel == channel and event.method in ("queue.delete-ok", "exchange.delete-ok", "channel.close"):
                return

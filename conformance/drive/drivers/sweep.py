"""Deleting queues and exchanges from outside, unrecorded: what a scene left behind that could not clean up itself."""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain

from codec import Method
from codec import methods as m
from conformance.drive.drivers.raw import ConnectionLost, RawConnection, Target, Unreachable, open_connection
from conformance.history.recorder import Recorder

PATIENCE = 3
"""All deletions together may take this many deadlines."""
OFTEN, BRIEFLY = 3, 0.3
"""So many requests of one kind in a row that had no answer, and the seconds that the next ones are waited for."""
ANSWERS = ("queue.delete-ok", "exchange.delete-ok", "channel.close")
_IN_VAIN: Counter[tuple[str, int, str]] = Counter()
"""Requests in a row that had no answer, by host, port and method."""


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
                _await(connection, delete, min(deadline, until - time.monotonic()))
        finally:
            part(connection, max(0.0, min(deadline, until - time.monotonic())))


def part(connection: RawConnection, seconds: float) -> None:
    """Closes an unrecorded connection."""
    with _learning(connection, "connection.close", seconds) as (patience, answers):
        connection.close(patience)
        answers.append(connection.agreed)


@contextlib.contextmanager
def _learning(connection: RawConnection, method: str, seconds: float) -> Iterator[tuple[float, list[bool]]]:
    """How long to wait for the answer, which goes into the list. A broker is not waited for again and again if it never
    answers this method."""
    kind, answers = (connection.target.host, connection.target.port, method), list[bool]()
    patience = min(seconds, BRIEFLY) if _IN_VAIN[kind] >= OFTEN else seconds
    yield patience, answers
    if any(answers):
        del _IN_VAIN[kind]
    elif patience >= BRIEFLY:
        _IN_VAIN[kind] += 1


def _await(connection: RawConnection, delete: Method, deadline: float) -> None:
    with _learning(connection, delete.NAME, deadline) as (patience, answers):
        until = time.monotonic() + patience
        while connection.alive and not answers and time.monotonic() < until:
            for event in connection.receive(max(until - time.monotonic(), 0)):
                if event.channel == delete.channel and event.method in ANSWERS:
                    answers.append(True)

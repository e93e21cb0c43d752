"""Deleting queues from outside, unrecorded: for what a scene left behind when it could not clean up itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable

from codec import methods as m
from conformance.drivers.raw import ConnectionLost, RawConnection, Target, Unreachable
from conformance.recorder import Recorder


def unrecorded(target: Target) -> RawConnection:
    """A connection whose events go nowhere."""
    return RawConnection.open(target, Recorder("", ""), "unrecorded")


def delete_queues(target: Target, names: Iterable[str], deadline: float) -> None:
    """Deletes these queues. One that is not there, or that cannot be deleted, does not keep the others."""
    with contextlib.suppress(Unreachable, ConnectionLost):
        connection = unrecorded(target)
        try:
            for number, name in enumerate(names, 1):
                connection.send(m.ChannelOpen(number), m.QueueDelete(number, queue=name))
                _await(connection, number, deadline)
        finally:
            connection.close(deadline)


def _await(connection: RawConnection, channel: int, deadline: float) -> None:
    until = time.monotonic() + deadline
    while connection.alive and time.monotonic() < until:
        for event in connection.receive(max(until - time.monotonic(), 0)):
            if event.channel == channel and event.method in ("queue.delete-ok", "channel.close"):
                return

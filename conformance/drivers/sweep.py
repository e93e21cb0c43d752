"""Deleting queues and exchanges from outside, unrecorded: what a scene left behind that could not clean up itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable
from itertools import chain

from codec import methods as m
from conformance.drivers.raw import ConnectionLost, RawConnection, Target, Unreachable
from conformance.recorder import Recorder


def unrecorded(target: Target) -> RawConnection:
    """A connection whose events go nowhere."""
    return RawConnection.open(target, Recorder("", ""), "unrecorded")


def sweep(target: Target, queues: Iterable[str], exchanges: Iterable[str], deadline: float) -> None:
    """Deletes these. What is not there, or cannot be deleted, does not keep the others."""
    with contextlib.suppress(Unreachable, ConnectionLost):
        connection = unrecorded(target)
        deletes = (
            [m.QueueDelete(0, queue=name) for name in queues],
            [m.ExchangeDelete(0, exchange=name) for name in exchanges],
        )
        try:
            for number, delete in enumerate(chain(*deletes), 1):
                delete.channel = number
                connection.send(m.ChannelOpen(number), delete)
                _await(connection, number, deadline)
        finally:
            connection.close(deadline)


def _await(connection: RawConnection, channel: int, deadline: float) -> None:
    until = time.monotonic() + deadline
    while connection.alive and time.monotonic() < until:
        for event in connection.receive(max(until - time.monotonic(), 0)):
            if event.channel == channel and event.method in ("queue.delete-ok", "exchange.delete-ok", "channel.close"):
                return

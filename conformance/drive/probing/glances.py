"""Consumers that stand in for gets where a broker that is asked what it offers has no basic.get.

A get is answered at once. A consumer is only served: whether a queue is empty shows in that nothing comes for a while.
Each look starts one, takes what comes, and cancels it where consumers can be cancelled, else it stays. What comes
beyond the one message that was looked for is kept for the next looks.
"""

from __future__ import annotations

import time
from collections import deque

from codec import methods as m
from conformance.drive.drivers import effects
from conformance.drive.drivers.raw import RawConnection
from conformance.history.events import Event

CONSUMED, CANCELLED, DELIVERED = "basic.consume-ok", "basic.cancel-ok", "basic.deliver"
LOOK = "look at "
CLOSES = ("channel.close", "connection.close")


class Glances:
    """On one connection. `patience`: seconds for each answer, and for a message that has to be there."""

    def __init__(self, connection: RawConnection, patience: float, *, cancels: bool) -> None:
        self._connection, self._patience, self._cancels = connection, patience, cancels
        self._kept: dict[str, deque[Event]] = {}
        self._staying: set[str] = set()
        """Queues whose consumers are there still."""
        self._refusal: Event | None = None
        self._answered: set[str] = set()
        self.broken = ""
        """What did not come before the connection ended, or within the time for it."""

    @property
    def alive(self) -> bool:
        return self._connection.alive

    def look(self, get: m.BasicGet) -> tuple[Event | None, Event | None]:
        """The message that this get would have brought, and the broker's refusal where there is one."""
        kept = self._kept.setdefault(get.queue, deque())
        if not kept:
            self._consume(get, min(effects.SOON, self._patience) if get.no_ack else self._patience)
        return (kept.popleft() if kept else None), self._refusal

    def _consume(self, get: m.BasicGet, seconds: float) -> None:
        tag, kept = f"{LOOK}{get.queue}", self._kept[get.queue]
        if get.queue not in self._staying:
            self._connection.send(m.BasicConsume(get.channel, queue=get.queue, consumer_tag=tag, no_ack=get.no_ack))
            self._await(CONSUMED)
            self._staying.add(get.queue)
        until = time.monotonic() + seconds
        while not (kept or self._refusal or self.broken) and time.monotonic() < until:
            self._read(until)
        if self._cancels and not (self._refusal or self.broken):
            self._connection.send(m.BasicCancel(get.channel, tag, False))
            self._await(CANCELLED)
            self._staying.discard(get.queue)

    def _await(self, answer: str) -> None:
        until = time.monotonic() + self._patience
        self._answered.discard(answer)
        while not (answer in self._answered or self._refusal or self.broken):
            self._read(until)
            if time.monotonic() > until and answer not in self._answered:
                self.broken = self.broken or f"{answer} does not come within {self._patience:g} s"

    def _read(self, until: float) -> None:
        for event in self._connection.receive(max(0.0, until - time.monotonic())):
            self._answered.add(event.method)
            if event.method == DELIVERED:
                self._kept.setdefault((event.consumer_tag or "").removeprefix(LOOK), deque()).append(event)
            elif event.method in CLOSES:
                self._refusal = event
        if not self._connection.alive and self._refusal is None:
            self.broken = "the broker dropped the connection when a consumer stood in for a get"

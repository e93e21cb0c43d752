"""The stage on which a client library plays a scene of the suite.

Every connection that the scene opens is the library's. Declaring, draining and deleting queues is done backstage by a
raw connection of our own, in the same history, so that a library that has lost its way takes nothing with it. The tap
is turned and the library is heard whenever the stage waits. What is judged is the wire, as ever.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any, cast

from conformance.clients.libraries.link import LibraryLink
from conformance.clients.libraries.process import Library, NotExpressible, Stuck
from conformance.clients.libraries.wiretap import Wiretap
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection, Target, open_connection
from conformance.drive.run.bench import Bench
from conformance.drive.stage import SceneOver, Stage
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement

CREW = "backstage"
SLICE = 0.02
"""Seconds that a library is left to itself between two looks at the wire."""


def unique(bench: Bench) -> Bench:
    """The bench for one history whose private names nobody else has: several libraries, and others, share a broker."""
    return replace(bench, run=f"clients-{uuid.uuid4().hex[:12]}")


class LibraryStage(Stage):
    """One history, made by one library."""

    def __init__(self, library: Library, target: Target, *more: Any) -> None:
        super().__init__(target, *more)
        self.client = library
        self.client.shown.clear()
        self.client.now = lambda: self.events[-1].seq if self.events else 0
        self.tap = Wiretap(target, self.recorder.builder, self.recorder.emit)
        self.links: dict[str, LibraryLink] = {}

    def connect(
        self,
        name: str,
        capabilities: Mapping[str, object] | None = None,
        *,
        heartbeat: int | None = None,
        properties: Mapping[str, object] | None = None,
        login: tuple[str, str] | None = None,
        vhost: str | None = None,
        channel_max: int = 0,
    ) -> RawConnection:
        """A connection of the library. Raises Cannot where it cannot be one like this."""
        if channel_max:
            raise NotExpressible("connection.tune-ok", "agrees to as many channels as it likes")
        link = LibraryLink(name, self.target_of(login, vhost), self.client, self.tap, self._turn, self.events)
        connection = cast(RawConnection, link)
        self.links[name] = link
        self.connections[name] = connection
        link.open(heartbeat or 0, capabilities, properties or {})
        return connection

    def read(self, timeout: float) -> list[Event]:
        """Until something new has happened on the wire or is shown, or the time is over."""
        seen, shown, until = len(self.events), len(self.client.shown), time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            self.client.do(self._turn, self.deadline + timeout, do="wait", seconds=min(left, SLICE))
            self._turn(0)
            if (len(self.events), len(self.client.shown)) > (seen, shown) or left <= 0:
                self._catch_up()
                return self.events[seen:]

    def _catch_up(self) -> None:
        """The library has read what has come."""
        before = -1, -1
        while before != (before := (len(self.events), len(self.client.shown))):
            self.client.do(self._turn, self.deadline, do="wait", seconds=0)
            self._turn(0)

    def rounds(self) -> None:
        """A round trip on each connection of the library."""
        for link in self.links.values():
            if link.alive:
                with suppress(SceneOver):
                    super()._hand(cast(RawConnection, link)).flow()
        self.quiesce()

    def finish(self, *, give_back: bool = False) -> Judgement:
        """Whatever the library has read it has shown, before the end and after it."""
        self.listen()
        super().finish(give_back=give_back)
        self.listen()
        return self.judgement

    def cleanup(self) -> None:
        """Also has the library forget its connections; what it says on the way out is no part of the history."""
        super().cleanup()
        with suppress(Stuck):
            if self.client.running and self.tap.listening:
                self.client.do(self._turn, self.deadline, do="end")
        self.tap.close()

    def listen(self) -> None:
        """The library shows what it has read and not yet shown."""
        self.waiter.pump(SLICE)

    def _hand(self, connection: RawConnection) -> Channel:
        return super()._hand(self._crew())

    def _home(self, queue: str) -> RawConnection:
        return self._crew()

    def _crew(self) -> RawConnection:
        """Our own connection."""
        if CREW not in self.connections:
            self.connections[CREW] = open_connection(self.target, self.recorder, CREW)
        return self.connections[CREW]

    def _turn(self, seconds: float) -> None:
        """Whatever can go on goes on, after waiting for at most this many seconds for something to happen."""
        others: list[Any] = [self.client]
        crew = self.connections.get(CREW)
        if crew is not None and crew.alive:
            crew.flush()
            others.append(crew.wire)
        self.tap.wait(seconds, *others)
        if crew is not None and crew.alive:
            crew.receive()
        while self.tap.turn():
            pass

"""A tap between a client library and the broker, turned by hand: whoever waits for the library turns it.

Octets of the library become events before they go on to the broker, octets of the broker before they go on to the
library. So there is one order, that of the raw driver: what is sent is logged before it can be acted upon, and what the
library shows comes after the event that it shows. Nothing happens between two turns. Each connection has the name for
which it was awaited; one that nobody awaited gets a number. The library speaks plain TCP to this machine, whatever the
broker wants.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Callable, Iterable
from typing import Protocol

from conformance.drive.drivers.handshake import reach
from conformance.drive.drivers.tap import Tap
from conformance.drive.drivers.target import Target
from conformance.drive.drivers.wire import Wire
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, EventBuilder


class Readable(Protocol):
    def fileno(self) -> int: ...


class Pair:
    """One connection: the library's side and the broker's."""

    def __init__(self, client: Wire, broker: Wire, tap: Tap) -> None:
        self.client, self.broker, self.tap = client, broker, tap
        self.over = False

    def turn(self) -> bool:
        """Passes on what is there. Has anything passed?"""
        sides = ((self.client, self.broker, TO_BROKER), (self.broker, self.client, TO_CLIENT))
        passed = False
        for source, sink, direction in sides:
            data = source.read()
            if data:
                self.tap.octets(direction, data)
                sink.write(data)
                passed = True
        return self._ended() or passed

    def part(self, client: str, broker: str) -> None:
        """Ends it from here: each side by this method of its wire, and the cause is the client's."""
        if not self.over:
            self.over = True
            getattr(self.client, client)()
            getattr(self.broker, broker)()
            self.tap.end("aborted" if broker == "abort" else "closed")

    def _ended(self) -> bool:
        """The end of one side is passed on to the other."""
        if self.over:
            return False
        client, broker = self.client.ended, self.broker.ended
        if client is None and broker is None:
            return False
        self.over = True
        if broker is not None:
            self.client.abort() if broker == "reset" else self.client.close()
            self.tap.end(broker)
        else:
            self.broker.abort() if client == "reset" else self.broker.close()
            self.tap.end("aborted" if client == "reset" else "closed")
        return True


class Wiretap:
    """Listens for a library, and taps each of its connections. `builder` makes events under a connection's name."""

    def __init__(
        self,
        target: Target,
        builder: Callable[[str], EventBuilder],
        emit: Callable[[Event], None],
    ) -> None:
        self._target, self._builder, self._emit = target, builder, emit
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._awaited = ""
        self.pairs: dict[str, Pair] = {}
        self.port: int = self._listener.getsockname()[1]

    @property
    def listening(self) -> bool:
        return self._listener.fileno() >= 0

    def expect(self, name: str) -> None:
        """The next connection is this one."""
        self._awaited = name

    def turn(self) -> bool:
        """Accepts who waits and passes on what is there. Has anything happened? Raises Unreachable."""
        happened = self._accept()
        for pair in list(self.pairs.values()):
            if not pair.over:
                happened = pair.turn() or happened
        return happened

    def wait(self, seconds: float, *others: Readable) -> None:
        """Until something can be read: here, or from one of these."""
        poll = select.poll()
        wires = list(self._wires())
        if any(wire.waiting for wire in wires):
            return
        readable: list[Readable] = [self._listener, *wires, *others]
        for one in readable:
            poll.register(one.fileno(), select.POLLIN)
        poll.poll(max(0.0, seconds) * 1000)

    def close(self) -> None:
        self._listener.close()
        for pair in self.pairs.values():
            pair.part("abort", "abort")

    def _wires(self) -> Iterable[Wire]:
        for pair in self.pairs.values():
            if not pair.over:
                yield from (pair.client, pair.broker)

    def _accept(self) -> bool:
        try:
            sock, address = self._listener.accept()
        except BlockingIOError:
            return False
        name, self._awaited = self._awaited or f"unasked{len(self.pairs) + 1}", ""
        client = Wire(sock)
        try:
            broker = reach(self._target)
        except BaseException:
            client.abort()
            raise
        tap = Tap(self._builder(name), self._emit)
        self.pairs[name] = Pair(client, broker, tap)
        tap.open(self._target, f"{address[0]}:{address[1]}")
        return True

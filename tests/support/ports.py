"""Ports that are hardly brokers, and doors in front of a broker that close: each a server on loopback in a thread."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

Serve = Callable[[socket.socket], None]
Cue = Callable[[bytes, bool], bool]
"""Of octets, and whether they come from the broker: is this the moment?"""


@contextlib.contextmanager
def port(serve: Serve) -> Iterator[int]:
    """A port where every connection is served like this."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_accept, args=(listener, serve), daemon=True).start()
        yield listener.getsockname()[1]


def _accept(listener: socket.socket, serve: Serve) -> None:
    with contextlib.suppress(OSError):
        while True:
            threading.Thread(target=_served, args=(listener.accept()[0], serve), daemon=True).start()


def _served(client: socket.socket, serve: Serve) -> None:
    with contextlib.suppress(OSError), client:
        serve(client)


def silent(client: socket.socket) -> None:
    """Says nothing, whatever it hears."""
    while client.recv(4096):
        pass


def echo(client: socket.socket) -> None:
    """Sends back what it is sent."""
    while heard := client.recv(4096):
        client.sendall(heard)


def http(client: socket.socket) -> None:
    """Knows only HTTP."""
    client.recv(4096)
    client.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")


class Door:
    """Connections to a broker, until the door is closed: after so many, or by hand. Then those that are open end, and
    nobody accepts new ones. At each `cue` they end as well, before those octets are passed on, and new ones are let
    in."""

    def __init__(self, broker: int, closes_after: int = 1 << 30, cue: Cue = lambda data, answers: False) -> None:
        self._broker, self._left, self._cue = broker, closes_after, cue
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.drop()

    def drop(self) -> None:
        for one in list(self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def reopen(self) -> None:
        """The same port lets in again."""
        self._left = 1 << 30
        self._listener = socket.create_server(("127.0.0.1", self.port))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                if not self._left:
                    client.close()
                    self.close()
                    return
                self._left -= 1
                inside = socket.create_connection(("127.0.0.1", self._broker))
                self._open += [client, inside]
                for ends in ((client, inside, False), (inside, client, True)):
                    threading.Thread(target=self._pump, args=ends, daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket, answers: bool) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self._cue(data, answers):
                    self.drop()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

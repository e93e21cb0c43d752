"""A scripted server: whatever a test wants to hear from a port."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator

import pytest

from codec import FrameReader, Method, values
from codec import methods as m
from codec.errors import MalformedFrame
from conformance.drive.drivers.raw import Target
from conformance.history.events import Event
from conformance.history.recorder import Recorder


class Peer:
    """The server's side of one connection."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock, self.reader = sock, FrameReader()
        self.inbox: list[object] = []

    def header(self) -> bytes:
        return self.sock.recv(8)

    def send(self, *methods: Method) -> None:
        self.sock.sendall(b"".join(method.encode() for method in methods))

    def expect(self, kind: type[Method]) -> Method:
        while True:
            while self.inbox:
                frame = self.inbox.pop(0)
                if isinstance(frame, kind):
                    return frame
            data = self.sock.recv(65536)
            assert data, f"the client left before {kind.__name__}"
            self.inbox += self.reader.feed(data)

    def start(self, mechanisms: bytes = b"PLAIN AMQPLAIN") -> None:
        self.header()
        self.send(
            m.ConnectionStart(
                0,
                0,
                9,
                values.table({"product": "Scripted", "version": "1.2"}),
                mechanisms,
                b"en_US",
            )
        )

    def login(self) -> m.ConnectionStartOk:
        self.start()
        answer = self.expect(m.ConnectionStartOk)
        assert isinstance(answer, m.ConnectionStartOk)
        return answer

    def tune(self) -> None:
        self.login()
        self.send(m.ConnectionTune(0, 7, 8192, 60))
        self.expect(m.ConnectionOpen)

    def welcome(self) -> None:
        """The whole handshake."""
        self.tune()
        self.send(m.ConnectionOpenOk(0))


Script = Callable[[Peer], None]
Serve = Callable[[Script], Target]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Starts a server that plays the script on each connection; its port closes with the test."""
    listeners: list[socket.socket] = []

    def start(script: Script) -> Target:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)
        threading.Thread(target=_accept, args=(listener, script), daemon=True).start()
        return Target("127.0.0.1", listener.getsockname()[1])

    yield start
    for listener in listeners:
        listener.close()


def _accept(listener: socket.socket, script: Script) -> None:
    while True:
        try:
            sock, _ = listener.accept()
        except OSError:
            return
        sock.settimeout(60)
        threading.Thread(target=_play, args=(sock, script), daemon=True).start()


def _play(sock: socket.socket, script: Script) -> None:
    with sock:
        try:
            script(Peer(sock))
        except (OSError, AssertionError, MalformedFrame):
            return


@pytest.fixture
def log() -> list[Event]:
    return []


@pytest.fixture
def recorder(log: list[Event]) -> Recorder:
    return Recorder("run", "scripted", log.append, history="h")

"""RabbitMQ as an oracle: it reads every letter that we write, and gives it back; and it refuses what we refuse."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import pytest

import codec
from codec import methods as m
from codec import wire
from codec.values import FieldTable
from tests.support.octets import broken

URL = os.environ.get("AMQP_RABBITMQ_URL", "")
pytestmark = [pytest.mark.rabbitmq, pytest.mark.skipif(not URL, reason="AMQP_RABBITMQ_URL is not set")]

EVERY_LETTER: FieldTable = [
    ("S", "S", b"\xff\0"),
    ("I", "I", -5),
    ("t", "t", True),
    ("l", "l", -(2**63)),
    ("T", "T", 1700000000),
    ("F", "F", [("n", "V", None)]),
    ("A", "A", [("I", 1), ("F", [])]),
    ("x", "x", b"\0\xff"),
    ("d", "d", 1.5),
    ("V", "V", None),
    ("b", "b", -3),
    ("B", "B", 200),
    ("s", "s", -9),
    ("u", "u", 65535),
    ("i", "i", 2**32 - 1),
    ("L", "L", -8),
    ("f", "f", 0.5),
    ("D", "D", (1, 15)),
]


class Connection:
    """One connection with one channel, and what comes in on it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.socket = socket.create_connection((parts.hostname, parts.port or 5672), timeout=60)
        self.reader, self.frames = codec.FrameReader(), list[codec.Frame]()
        user, password = unquote(parts.username or "guest"), unquote(parts.password or "guest")
        self.socket.sendall(codec.ProtocolHeader().encode())
        assert isinstance(self.read(), m.ConnectionStart)
        self.send(m.ConnectionStartOk(0, [], "PLAIN", f"\0{user}\0{password}".encode(), "en_US"))
        tune = self.read()
        assert isinstance(tune, m.ConnectionTune)
        self.send(m.ConnectionTuneOk(0, tune.channel_max, tune.frame_max, 0))
        self.send(m.ConnectionOpen(0, unquote(parts.path[1:]) or "/"))
        assert isinstance(self.read(), m.ConnectionOpenOk)
        self.send(m.ChannelOpen(1))
        assert isinstance(self.read(), m.ChannelOpenOk)

    def send(self, frame: codec.Frame) -> None:
        self.socket.sendall(frame.encode())

    def read(self) -> codec.Frame:
        while not self.frames:
            octets = self.socket.recv(65536)
            assert octets, "the broker closed the connection"
            self.frames += self.reader.feed(octets)
        return self.frames.pop(0)


@pytest.fixture
def connection() -> Iterator[Connection]:
    made = Connection(URL)
    yield made
    made.socket.close()


def test_every_letter_travels_through_a_queue(connection: Connection) -> None:
    """Version 4 keeps headers in a form of its own: sorted, and 'L' is 'l'."""
    assert {letter for _, letter, _ in EVERY_LETTER} == {key.decode() for key in wire.LETTERS}
    connection.send(m.QueueDeclare(1, exclusive=True))
    declared = connection.read()
    assert isinstance(declared, m.QueueDeclareOk)
    connection.socket.sendall(
        codec.content(
            m.BasicPublish(1, routing_key=declared.queue), b"body", headers=EVERY_LETTER, timestamp=2**40, priority=0
        )
    )
    connection.send(m.BasicGet(1, queue=declared.queue, no_ack=True))
    got, header, body = connection.read(), connection.read(), connection.read()
    assert isinstance(got, m.BasicGetOk)
    assert isinstance(header, codec.Header)
    assert (body, header.timestamp, header.priority) == (codec.Body(1, b"body"), 2**40, 0)
    assert header.headers is not None
    kept = [("L", "L", -8) if field == ("L", "l", -8) else field for field in header.headers]
    assert kept in (EVERY_LETTER, sorted(EVERY_LETTER))


@pytest.mark.parametrize("defect", ["trailing octets", "payload ends early"])
def test_it_refuses_what_we_refuse(defect: str, connection: Connection) -> None:
    connection.socket.sendall(broken.defect(defect, m.BasicAck(1, 1).encode()))
    refusal = connection.read()
    assert isinstance(refusal, m.ConnectionClose)
    assert codec.ReplyCode(refusal.reply_code).hard


def test_an_unknown_method_ends_the_connection(connection: Connection) -> None:
    """With a close or without one."""
    connection.socket.sendall(broken.defect("unknown method", m.BasicAck(1, 1).encode()))
    octets = None
    with contextlib.suppress(ConnectionResetError):
        while octets != b"":
            octets = connection.socket.recv(65536)
            connection.frames += connection.reader.feed(octets)
    assert all(isinstance(frame, m.ConnectionClose) for frame in connection.frames)

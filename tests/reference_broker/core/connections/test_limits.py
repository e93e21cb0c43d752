"""What a hostile peer can cost: its own connection."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

import codec
from codec import methods as m
from reference_broker import ReferenceBroker, peer
from reference_broker.core.connections.limits import UNSAID, Limits
from tests.support.octets import broken

DEADLINE = 30.0
HELLO = b"".join(
    item.encode()
    for item in (
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 5, 8192),
        m.ConnectionOpen(0, "/"),
        m.ChannelOpen(1),
        m.QueueDeclare(1, 0, "q"),
    )
)


def closed(connection: socket.socket) -> bool:
    """Does the broker end this connection in time?"""
    connection.settimeout(DEADLINE)
    try:
        while connection.recv(1 << 16):
            pass
    except TimeoutError:
        return False
    except OSError:
        pass
    return True


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[ReferenceBroker]:
    monkeypatch.setattr(peer, "STALL", 0.3)
    with ReferenceBroker(limits=Limits(handshake=0.5), http_port=0) as broker:
        yield broker


def connected(broker: ReferenceBroker, said: bytes = b"") -> socket.socket:
    connection = socket.create_connection((broker.host, broker.port), timeout=DEADLINE)
    connection.sendall(said)
    return connection


@pytest.mark.parametrize("said", [b"", b"AM", codec.ProtocolHeader().encode(), HELLO[:40]])
def test_who_does_not_come_in_is_sent_away(impatient: ReferenceBroker, said: bytes) -> None:
    with connected(impatient, said) as connection:
        assert closed(connection)


def test_who_asks_and_reads_nothing_is_cut_off(impatient: ReferenceBroker) -> None:
    message = codec.content(m.BasicPublish(1, 0, "", "q"), bytes(60_000), frame_max=8192)
    again = (m.BasicGet(1, 0, "q").encode() + m.BasicNack(1, 0, True, True).encode()) * 200
    until = time.monotonic() + DEADLINE
    with connected(impatient, HELLO + message) as connection:
        connection.settimeout(1.0)
        cut_off = False
        while not cut_off and time.monotonic() < until:
            try:
                connection.sendall(again)
            except TimeoutError:
                continue
            except OSError:
                cut_off = True
    assert cut_off


def test_answers_wait_for_nobody_without_bound(core, connect) -> None:
    """A thousand large answers asked for at once are given as they are taken."""
    client = connect().open()
    client.queue()
    client.publish("x" * 100_000)
    again = m.BasicGet(1, 0, "q").encode() + m.BasicNack(1, 0, True, True).encode()
    client.feed(again * 1000)
    connection = client.connection
    assert len(connection.outbox.items) < 50
    connection.unread = 1 << 30
    connection.take()
    assert (connection.take(), bool(connection.intake.waiting)) == (b"", True)
    connection.stall(False)
    connection.take()
    assert sum(isinstance(frame, m.BasicGetOk) for frame in client.read()) > 900
    assert not connection.intake.waiting


def test_small_answers_are_bounded_too(connect) -> None:
    client = connect().open()
    client.feed(m.QueueDeclare(1, 0, "q").encode() * 5000)
    assert len(client.connection.outbox.items) <= UNSAID + 1
    assert len(client.read()) == 5000


@pytest.mark.parametrize(
    ("frame", "code"),
    [
        (broken.frame(1, 1, bytes(9000)), 501),
        (broken.frame(3, 1, bytes(20), size=1 << 30), 501),
        (broken.too_deep(), 501),
        (m.ChannelOpen(2).encode() * 2, 504),
        (codec.Body(1, b"x").encode(), 505),
    ],
)
def test_what_no_client_sends_costs_the_connection(connect, frame: bytes, code: int) -> None:
    client = connect(log_in=False)
    client.send(HELLO)
    assert [one.reply_code for one in client.send(frame) if isinstance(one, m.ConnectionClose)] == [code]


def test_channels_are_as_many_as_agreed(connect) -> None:
    client = connect(log_in=False)
    client.send(HELLO)
    answers = client.send(*[m.ChannelOpen(number) for number in range(2, 7)])
    assert [type(one) for one in answers] == [m.ChannelOpenOk] * 4 + [m.ConnectionClose]
    assert answers[-1].reply_text == (
        "NOT_ALLOWED - number of channels opened (5) has reached the negotiated channel_max (5)"
    )


def test_http_is_not_read_without_end(impatient: ReferenceBroker) -> None:
    with socket.create_connection((impatient.host, impatient.http_port), timeout=DEADLINE) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n" + b"X-More: x\r\n" * 20_000)
        assert connection.recv(100).startswith(b"HTTP/1.1 431 ")
    with socket.create_connection((impatient.host, impatient.http_port), timeout=DEADLINE) as connection:
        connection.sendall(b"PUT /api/queues/%2F/q HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999\r\n\r\n")
        assert connection.recv(100).startswith(b"HTTP/1.1 413 ")


@pytest.fixture
def small() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(limits=Limits(memory=400_000), http_port=0) as broker:
        yield broker


def test_publishers_wait_while_memory_is_low(small: ReferenceBroker) -> None:
    with connected(small, HELLO) as publisher, connected(small, HELLO) as half:
        half.sendall(m.BasicPublish(1, 0, "", "q").encode() + codec.header(1, 10_000_000).encode())
        publisher.sendall(codec.content(m.BasicPublish(1, 0, "", "q"), bytes(30_000), frame_max=8192) * 20)
        publisher.sendall(m.ConfirmSelect(1).encode())
        half.sendall(codec.Body(1, bytes(8000)).encode() * 5)
        assert 400_000 < until(lambda: inside(small, lambda core: core.alarm and core.memory.used())) < 500_000
        until(lambda: inside(small, lambda core: sum(one.blocked for one in core.connections) == 2))
        with connected(small, HELLO + m.QueuePurge(1, 0, "q").encode()):
            until(lambda: inside(small, lambda core: not any(one.blocked for one in core.connections)))
            until(lambda: inside(small, lambda core: core.vhost.queues["q"].count() > 0))


def inside(broker: ReferenceBroker, look) -> object:
    """What `look` gives of the core, in the thread of the core."""
    found = []
    broker._inside(lambda server: found.append(look(server.broker)))
    return found[0]


def until(true) -> object:
    """What it gives, once that is true."""
    deadline = time.monotonic() + DEADLINE
    while not (found := true()):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return found

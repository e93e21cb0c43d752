"""What the tests of captures share: talks between clients and a broker, and what they must come to as events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

import codec
from benchmarks import packets
from benchmarks.packets import Seg, Talk
from codec import methods as m
from conformance.history.events import Event
from reports.capture.capture import Capture

Heard = list[tuple[str, str, bytes]]
Read = Callable[..., list[Event]]

TUNE = 2047, 131072, 60


def start(talk: Talk) -> Talk:
    """TCP and AMQP handshakes, and one channel with confirms."""
    talk.open().client(codec.ProtocolHeader().encode())
    talk.broker(m.ConnectionStart(0, 0, 9, [("product", "S", b"Birch")], b"PLAIN", b"en_US").encode())
    talk.client(m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US").encode())
    talk.broker(m.ConnectionTune(0, *TUNE).encode())
    talk.client(m.ConnectionTuneOk(0, *TUNE).encode(), m.ConnectionOpen(0, "/").encode())
    talk.broker(m.ConnectionOpenOk(0).encode())
    talk.client(m.ChannelOpen(1).encode()).broker(m.ChannelOpenOk(1, b"").encode())
    return talk.client(m.ConfirmSelect(1, False).encode()).broker(m.ConfirmSelectOk(1).encode())


def work(talk: Talk, count: int = 6, first: int = 1) -> Talk:
    """Messages of many sizes are published, confirmed, delivered and acknowledged, one after the other."""
    for n in range(first, first + count):
        body = bytes(n % 251 for _ in range(n * 397 % 5000))
        talk.client(codec.content(m.BasicPublish(1, 0, "x", f"k{n % 3}", False, False), body, message_id=f"m{n}"))
        talk.broker(m.BasicAck(1, n, n % 4 == 0).encode())
        talk.broker(codec.content(m.BasicDeliver(1, "tag", n, n % 2 == 0, "x", f"k{n % 3}"), body, message_id=f"m{n}"))
        talk.client(m.BasicAck(1, n, False).encode())
    return talk


def leave(talk: Talk) -> Talk:
    talk.client(m.ConnectionClose(0, 200, "done", 0, 0).encode()).broker(m.ConnectionCloseOk(0).encode())
    return talk.close()


def many() -> list[Seg]:
    """Three connections at a time that take turns; one leaves, and its port is used again."""
    segments: list[Seg] = []
    pool = [
        start(Talk(segments, client=("10.0.0.7", 40000 + n), numbers=((1 << 32) - 3000 * n, (1 << 32) - 20000)))
        for n in range(3)
    ]
    for n in range(1, 25):
        for talk in pool:
            work(talk, 1, n)
        if n == 12:
            leave(pool[0])
            pool[0] = start(Talk(segments, client=("10.0.0.7", 40000), numbers=(123, 456)))
    for talk in pool:
        leave(talk)
    return segments


def whole(**how: Any) -> list[Seg]:
    """One connection from its first segment to its last."""
    segments: list[Seg] = []
    leave(work(start(Talk(segments, **how))))
    return segments


def heard(events: Iterable[Event], connection: str | None = None) -> Heard:
    """What passed: direction, method, octets."""
    return [
        (event.direction, event.method or event.kind, event.raw)
        for event in events
        if event.direction != "-" and connection in (None, event.connection)
    ]


def local(events: Iterable[Event]) -> list[str]:
    """What the observer says of itself and the connections."""
    return [event.kind for event in events if event.direction == "-"]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Writes packets to a file, and reads the events of it."""

    def read(segments: Sequence[Seg], link: str = "ethernet", **how: Any) -> list[Event]:
        path = tmp_path / "test.pcap"
        path.write_bytes(packets.pcap(packets.packets(segments, link), packets.LINKS[link][0], **how))
        return list(Capture([path]).events())

    return read


@pytest.fixture
def talks() -> Any:
    """The makers above, for tests that put talks together."""
    import types

    return types.SimpleNamespace(start=start, work=work, leave=leave, whole=whole, many=many, heard=heard, local=local)

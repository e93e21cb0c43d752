"""Wrong on the wire: a proxy that makes of a right broker one that errs, by rewriting single frames.

The broker behind it may be any, so what the suite is worth is measured where no source can be changed. A wrong
behaviour is a function from a *piece* to the pieces that go on in its place. A piece is a method together with its
content, so that no frame is torn from its company; all else passes as it is. What a behaviour has to remember it keeps
per connection.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any, Self

import codec
from codec import methods as m
from conformance.drive.drivers.proxy import Proxy
from conformance.drive.drivers.target import Target
from conformance.history.events import TO_BROKER, TO_CLIENT

HEADER = 8


@dataclass(slots=True)
class Piece:
    """A method, and the octets of its content."""

    direction: str
    method: codec.Method
    content: bytes = b""

    def octets(self) -> bytes:
        return self.method.encode() + self.content


@dataclass(slots=True)
class Memory:
    """What a behaviour knows of one connection: counts and held pieces, by whatever key."""

    counts: dict[Any, int] = field(default_factory=dict)
    held: dict[int, Piece] = field(default_factory=dict)

    def count(self, *key: Any) -> int:
        """How often this was asked, this time included."""
        self.counts[key] = self.counts.get(key, 0) + 1
        return self.counts[key]


Wrong = Callable[[Piece, Memory], list[Piece]]


@dataclass(frozen=True, slots=True)
class WireMutant:
    """`says` completes "a broker that ..."; `rules` are those that must catch it."""

    name: str
    says: str
    rules: tuple[str, ...]
    rewrite: Wrong


MUTANTS: dict[str, WireMutant] = {}


def _wrong(direction: str, method: type[codec.Method], name: str, says: str, *rules: str) -> Callable[[Wrong], Wrong]:
    """The decorated function is asked about these methods in this direction; others pass."""

    def add(wrong: Wrong) -> Wrong:
        def rewrite(piece: Piece, memory: Memory) -> list[Piece]:
            meant = piece.direction == direction and isinstance(piece.method, method)
            return wrong(piece, memory) if meant else [piece]

        MUTANTS[name] = WireMutant(name, says, rules, rewrite)
        return wrong

    return add


@_wrong(
    TO_CLIENT,
    m.BasicDeliver,
    "wire.drops-deliver",
    "drops the second delivery of each channel",
    "RQ-006",
    "RQ-011",
    "QOS-002",
)
def drops_deliver(piece: Piece, memory: Memory) -> list[Piece]:
    return [] if memory.count(piece.method.channel) == 2 else [piece]


@_wrong(TO_CLIENT, m.BasicDeliver, "wire.doubles-deliver", "sends each delivery twice", "TAG-003")
def doubles_deliver(piece: Piece, memory: Memory) -> list[Piece]:
    return [piece, piece]


@_wrong(TO_CLIENT, m.BasicDeliver, "wire.reorders-delivers", "swaps deliveries of a channel in pairs", "TAG-003")
def reorders_delivers(piece: Piece, memory: Memory) -> list[Piece]:
    earlier = memory.held.pop(piece.method.channel, None)
    if earlier is not None:
        return [piece, earlier]
    memory.held[piece.method.channel] = piece
    return []


@_wrong(
    TO_CLIENT,
    m.BasicDeliver,
    "wire.flips-redelivered",
    "says redelivered of what is new, and only of that",
    "RQ-008",
    "RQ-009",
)
def flips_redelivered(piece: Piece, memory: Memory) -> list[Piece]:
    assert isinstance(piece.method, m.BasicDeliver)
    piece.method.redelivered = not piece.method.redelivered
    return [piece]


@_wrong(TO_CLIENT, m.BasicDeliver, "wire.shifts-tags", "numbers the deliveries of consumers one too high", "TAG-001")
def shifts_tags(piece: Piece, memory: Memory) -> list[Piece]:
    assert isinstance(piece.method, m.BasicDeliver)
    piece.method.delivery_tag += 1
    return [piece]


@_wrong(TO_CLIENT, m.ChannelClose, "wire.swallows-close", "closes channels without a word", "ERR-001", "ERR-002")
def swallows_close(piece: Piece, memory: Memory) -> list[Piece]:
    return []


@_wrong(TO_CLIENT, m.ChannelCloseOk, "wire.swallows-close-ok", "leaves channel.close unanswered", "ERR-008", "AUTO-001")
def swallows_close_ok(piece: Piece, memory: Memory) -> list[Piece]:
    return []


@_wrong(TO_BROKER, m.BasicAck, "wire.acks-multiple", "takes every ack for a multiple", "ACK-001")
def acks_multiple(piece: Piece, memory: Memory) -> list[Piece]:
    assert isinstance(piece.method, m.BasicAck)
    piece.method.multiple = True
    return [piece]


@_wrong(
    TO_CLIENT,
    m.BasicAck,
    "wire.holds-confirm",
    "sends a confirm only with the next one of its channel",
    "CNF-004",
    "CNF-020",
)
def holds_confirm(piece: Piece, memory: Memory) -> list[Piece]:
    earlier = memory.held.get(piece.method.channel)
    memory.held[piece.method.channel] = piece
    return [earlier] if earlier is not None else []


@_wrong(TO_CLIENT, m.BasicAck, "wire.nacks-for-acks", "refuses what it should confirm", "CNF-008")
def nacks_for_acks(piece: Piece, memory: Memory) -> list[Piece]:
    assert isinstance(piece.method, m.BasicAck)
    nack = m.BasicNack(piece.method.channel, piece.method.delivery_tag, piece.method.multiple, False)
    return [Piece(piece.direction, nack)]


@_wrong(TO_CLIENT, m.BasicReturn, "wire.swallows-return", "returns nothing", "CNF-009")
def swallows_return(piece: Piece, memory: Memory) -> list[Piece]:
    return []


@_wrong(TO_CLIENT, m.BasicCancel, "wire.swallows-notice", "tells no client that its consumer has ended", "CAN-003")
def swallows_notice(piece: Piece, memory: Memory) -> list[Piece]:
    return []


class Stream:
    """One direction of a connection: octets in, whole pieces out, changed or not."""

    def __init__(self, direction: str, rewrite: Wrong, memory: Memory) -> None:
        self._direction, self._rewrite, self._memory = direction, rewrite, memory
        self._waiting = b""
        self._early = HEADER if direction == TO_BROKER else 0
        self._open: dict[int, tuple[Piece, int]] = {}
        """By channel: a piece whose content is not complete, and how much of its body is missing (-1: the header)."""

    def pass_on(self, data: bytes) -> bytes:
        """The octets that leave for these that came."""
        early, data = data[: self._early], data[self._early :]
        self._early -= len(early)
        self._waiting += data
        return early + b"".join(self._frame(raw) for raw in iter(self._next, b""))

    def _next(self) -> bytes:
        """The next whole frame; nothing while there is none."""
        size = 8 + int.from_bytes(self._waiting[3:7], "big")
        if len(self._waiting) < size:
            return b""
        raw, self._waiting = self._waiting[:size], self._waiting[size:]
        return raw

    def _frame(self, raw: bytes) -> bytes:
        try:
            frame = codec.decode(raw)
        except codec.MalformedFrame:
            return raw
        if isinstance(frame, codec.Method):
            piece = Piece(self._direction, frame)
            if not frame.HAS_CONTENT:
                return self._done(piece)
            self._open[frame.channel] = piece, -1
            return b""
        if isinstance(frame, codec.Heartbeat) or frame.channel not in self._open:
            return raw
        piece, missing = self._open.pop(frame.channel)
        missing = frame.body_size if isinstance(frame, codec.Header) else missing - (len(raw) - 8)
        piece.content += raw
        if missing > 0:
            self._open[frame.channel] = piece, missing
            return b""
        return self._done(piece)

    def _done(self, piece: Piece) -> bytes:
        return b"".join(after.octets() for after in self._rewrite(piece, self._memory))


class RewritingProxy:
    """A wrong broker in front of a right one: `with RewritingProxy(target, mutant) as proxy: connect(proxy.target)`."""

    def __init__(self, target: Target, mutant: WireMutant) -> None:
        self._behind, self._mutant = target, mutant
        self._streams: dict[tuple[int, str], Stream] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="rewriting-proxy", daemon=True)
        self._listening: Future[int] = Future()
        self.target = target

    def __enter__(self) -> Self:
        self._thread.start()
        self.target = replace(self._behind, host="127.0.0.1", port=self._listening.result(), tls=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def change(self, number: int, direction: str, data: bytes) -> bytes:
        if (number, direction) not in self._streams:
            memory = Memory()
            for way in (TO_BROKER, TO_CLIENT):
                self._streams[number, way] = Stream(way, self._mutant.rewrite, memory)
        return self._streams[number, direction].pass_on(data)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        proxy = Proxy(self._behind, lambda *told: None, lambda words: None, self.change)
        try:
            server = self._loop.run_until_complete(proxy.listen("127.0.0.1", 0))
        except OSError as problem:
            self._listening.set_exception(problem)
            return
        self._listening.set_result(server.sockets[0].getsockname()[1])
        self._loop.run_forever()
        server.close()
        for task in (tasks := asyncio.all_tasks(self._loop)):
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self._loop.close()

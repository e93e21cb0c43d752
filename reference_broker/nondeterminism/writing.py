"""How a broker may lawfully write: when frames leave, in which order those of different channels, in which pieces.

Each works on the octets that the honest broker would write, and holds back some of them. A connection that has ended
is not closed before everything has left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import codec
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.core.queues.message import FRAME_OVERHEAD
from reference_broker.nondeterminism.kinds import SHARES, Free, variation

if TYPE_CHECKING:
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.connections.outbox import Outbound, Outbox

SPECIFICATION = "AMQP 0-9-1 specification"
HEADER = b"AMQP"

WINDOW = 64
"""Only so many frames change places with each other."""
SMALL = 0.5
"""So often a piece is small. Another is as long as it likes, or there would be no end to it."""

Cut = Callable[[bytes], tuple[bytes, bytes]]
"""What of the octets leaves now, and the rest."""


def frames(data: bytes, most: int) -> list[bytes]:
    """The first whole frames; a protocol header counts as one."""
    found: list[bytes] = []
    at = 0
    while at < len(data) and len(found) < most:
        header = data.startswith(HEADER, at)
        size = FRAME_OVERHEAD if header else FRAME_OVERHEAD + int.from_bytes(data[at + 3 : at + 7], "big")
        found.append(data[at : at + size])
        at += size
    return found


def channel_of(frame: bytes) -> int:
    return 0 if frame.startswith(HEADER) else int.from_bytes(frame[1:3], "big")


def holds_back(free: Free, cut: Cut) -> None:
    """Of all that is to be written only a part leaves at a time."""
    honest = free.parts.connection
    unsaid: dict[Connection, bytes] = {}
    parting: set[Connection] = set()

    def take(self: Connection) -> bytes:
        self.finished = self.finished or self in parting
        data, rest = cut(unsaid.pop(self, b"") + honest.take(self))
        if rest:
            unsaid[self] = rest
            self.broker.dirty[self] = None
            if self.finished:
                parting.add(self)
                self.finished = False
        return data

    def lost(self: Connection) -> None:
        unsaid.pop(self, None)
        parting.discard(self)
        honest.lost(self)

    free.parts.override("connection", take=take, lost=lost)


@variation(
    "bodies.split",
    "send a body in more frames than its size asks for",
    f'{SPECIFICATION}, 4.2.6.2 "The Content Body": it "can be split into as many frames as needed"',
    share=SHARES,
)
def split(free: Free) -> None:
    honest = free.parts.outbox.pieces

    def pieces(self: Outbox, item: Outbound) -> Sequence[bytes]:
        if not isinstance(item, tuple) or len(item[1].body) < 2 or not free.luck():
            return honest(self, item)
        method, message = item
        longest = min(len(message.body) - 1, self.frame_max - FRAME_OVERHEAD)
        room = free.chance.randint(max(1, longest // 20), longest)
        return method.encode(), *message.frames(method.channel, FRAME_OVERHEAD + room)

    free.parts.override("outbox", pieces=pieces)


@variation(
    "heartbeats.interspersed",
    "send a heartbeat when none is due, to a client that agreed to heartbeats",
    f'{SPECIFICATION}, 4.2.7 "Heartbeat Frames": they "can be sent at any time"',
    share=SHARES,
)
def interspersed(free: Free) -> None:
    honest = free.parts.connection.take
    beat = codec.Heartbeat().encode()

    def take(self: Connection) -> bytes:
        data = honest(self)
        agreed = data and self.heartbeat and self.phase is Phase.RUNNING
        return beat + data if agreed and free.luck() else data

    free.parts.override("connection", take=take)


@variation(
    "channels.interleave",
    "send the frames of different channels in any order, even amid a content",
    f'{SPECIFICATION}, 4.2.6 "Content Framing": contents "may be mixed with frames for other channels", and 4.3 '
    '"Channel Multiplexing": peers balance channels, if they like "on a per-frame basis"',
    share=SHARES,
)
def interleave(free: Free) -> None:
    def cut(data: bytes) -> tuple[bytes, bytes]:
        near = frames(data, WINDOW)
        lanes, far = Lanes(near), data[sum(map(len, near)) :]
        out: list[bytes] = []
        while lanes.numbers:
            number = free.chance.choice(lanes.numbers)
            if out and free.luck() and free.chance.random() < 0.2:
                break
            out.append(lanes.next(number))
        return b"".join(out), lanes.rest() + far

    holds_back(free, cut)


class Lanes:
    """Frames by channel. What is said on channel 0 is said of the whole connection, and nothing passes it."""

    def __init__(self, found: list[bytes]) -> None:
        barrier = next((place for place, frame in enumerate(found) if channel_of(frame) == 0), len(found))
        self.behind = found[barrier:]
        self.by_channel: dict[int, list[bytes]] = {}
        for frame in found[:barrier]:
            self.by_channel.setdefault(channel_of(frame), []).append(frame)
        if not self.by_channel and self.behind:
            self.by_channel, self.behind = {0: [self.behind[0]]}, self.behind[1:]

    @property
    def numbers(self) -> list[int]:
        return list(self.by_channel)

    def next(self, number: int) -> bytes:
        lane = self.by_channel[number]
        frame = lane.pop(0)
        if not lane:
            del self.by_channel[number]
        return frame

    def rest(self) -> bytes:
        """Lane after lane: their order among each other is free."""
        return b"".join([*(frame for lane in self.by_channel.values() for frame in lane), *self.behind])


@variation(
    "flush.piecemeal",
    "write some of the frames that are ready now, and the others a little later",
    f'{SPECIFICATION}, 4.7 "Content Ordering Guarantees": the order of frames is promised; when each leaves is not',
    share=SHARES,
)
def piecemeal(free: Free) -> None:
    def cut(data: bytes) -> tuple[bytes, bytes]:
        if not data or not free.luck():
            return data, b""
        now = b"".join(frames(data, free.chance.randint(1, 4)))
        return now, data[len(now) :]

    holds_back(free, cut)


@variation(
    "tcp.segments",
    "cut what it writes anywhere, down to single octets",
    f'{SPECIFICATION}, 4.2.3 "General Frame Format": the end of a frame is where its size field says; TCP keeps no '
    "boundaries of writes",
    largest=(1, 3, 16, 200),
)
def segments(free: Free) -> None:
    def cut(data: bytes) -> tuple[bytes, bytes]:
        small = free.chance.random() < SMALL
        longest = min(free.given["largest"], len(data)) if small else len(data)
        octets = free.chance.randint(1, max(longest, 1))
        return data[:octets], data[octets:]

    holds_back(free, cut)

"""From the TCP segments of one connection, as captured, to the octets of both directions, in a reliable order.

Segments may come twice, overlapping, late, out of order, or not at all; sequence numbers wrap around. The octets of
each direction are handed on without holes, or a hole is announced first. If acknowledgements contradict the order of
the capture, the acknowledgements count: whoever acknowledges octets had them. So a segment is held until the octets
that it acknowledges have been handed on. This also repairs a capture whose packets were shuffled.

A hole is given up, by its own direction, when too much waits behind it. It is given up sooner if the receiver has
acknowledged it: then nobody will send it again, and the capture lost it. At the end of a capture every hole is given
up.

Positions are sequence numbers without the wrap-around. A SYN and a FIN count as one octet each.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import NamedTuple, Protocol

from reports.capture.links import ACK, FIN, RST, SYN

HELD_SEGMENTS = 4096
HELD_OCTETS = 1 << 24
PATIENCE = 64
STRANGE = 1 << 24
"""So far back no retransmission reaches."""

_MASK, _HALF = (1 << 32) - 1, 1 << 31


class Receiver(Protocol):
    """Who is told. A direction is 0 for the client's octets, 1 for the broker's."""

    def octets(self, direction: int, data: bytes, packet: int, time_ns: int) -> None:
        """The next octets, complete with this packet."""

    def gap(self, direction: int, missing: int, packet: int, time_ns: int) -> None:
        """This many octets are missing before the next."""

    def over(self, direction: int, reset: bool, packet: int, time_ns: int) -> None:
        """This side has said all it will say."""


class _Held(NamedTuple):
    """A segment that waits, for octets before it or for what it acknowledges."""

    position: int
    packet: int
    acknowledged: int
    data: bytes
    fin: bool
    time_ns: int


class Flow:
    """One connection. `upto` is where each direction's next octet will be; None where nothing is known of it."""

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        self.upto: list[int | None] = [None, None]
        self.whole = [False, False]
        """Was the beginning of this direction seen?"""
        self.first: list[int | None] = [None, None]
        self.ended = False
        self._held: tuple[list[_Held], list[_Held]] = ([], [])
        self._waiting = self._octets = self._acknowledged = 0

    def segment(
        self,
        direction: int,
        seq: int,
        ack: int,
        flags: int,
        data: bytes,
        packet: int,
        time_ns: int,
    ) -> bool:
        """One captured segment. False: it cannot be of this connection, but of a later one between the same ports."""
        upto, other = self.upto[direction], self.upto[1 - direction]
        if data and not self._waiting and not flags & (SYN | FIN | RST) and upto is not None and other is not None:
            behind = (ack - other) & _MASK
            if seq == upto & _MASK and (not behind or behind >= _HALF):
                self.upto[direction] = upto + len(data)
                self.receiver.octets(direction, data, packet, time_ns)
                return True
        if upto is not None and signed(seq - upto) < -STRANGE:
            return False
        if flags & SYN and not flags & ACK and upto is not None and self.first[direction] != seq:
            return False
        if not self.ended:
            self._any(direction, seq, ack, flags, data, packet, time_ns)
        return True

    def _any(
        self,
        direction: int,
        seq: int,
        ack: int,
        flags: int,
        data: bytes,
        packet: int,
        time_ns: int,
    ) -> None:
        if flags & SYN:
            seq = self._begin(direction, seq, flags)
        upto = self.upto[direction]
        if upto is None:
            upto = self.upto[direction] = seq
        if flags & ACK and self.upto[1 - direction] is None:
            self.upto[1 - direction] = ack
        other = self.upto[1 - direction]
        if flags & RST:
            self._reset(direction, packet, time_ns)
        elif data or flags & FIN:
            known = other + signed(ack - other) if flags & ACK and other is not None else 0
            self._hold(
                direction,
                _Held(
                    upto + signed(seq - upto),
                    packet,
                    known,
                    data,
                    bool(flags & FIN),
                    time_ns,
                ),
            )

    def _begin(self, direction: int, seq: int, flags: int) -> int:
        """A SYN says where its direction begins, and where the other does if it acknowledges that one's SYN."""
        if self.first[direction] is None:
            self.first[direction] = seq
        for side in (direction, 1 - direction) if flags & ACK else (direction,):
            self.whole[side] = self.whole[side] or self.upto[side] is None
        return seq + 1

    def finish(self, packet: int, time_ns: int) -> None:
        """Nothing more comes: what waits is handed on, holes and all."""
        while self._waiting:
            self._give_up(packet, time_ns)

    def _reset(self, direction: int, packet: int, time_ns: int) -> None:
        self.finish(packet, time_ns)
        self.ended = True
        self.receiver.over(direction, True, packet, time_ns)

    def _hold(self, direction: int, held: _Held) -> None:
        heappush(self._held[direction], held)
        self._waiting += 1
        self._octets += len(held.data)
        self._drain(held.packet, held.time_ns)
        other = self.upto[1 - direction]
        if self._waiting and other is not None and held.acknowledged > other:
            self._acknowledged += 1
        while self._acknowledged > PATIENCE or self._waiting > HELD_SEGMENTS or self._octets > HELD_OCTETS:
            self._give_up(held.packet, held.time_ns)

    def _drain(self, packet: int, time_ns: int) -> None:
        """Hands on whatever nothing is missing for."""
        progress = True
        while progress and self._waiting:
            progress = False
            for direction in (0, 1):
                while self._released(direction):
                    self._hand_on(direction, packet, time_ns)
                    progress = True
        if not self._waiting:
            self._acknowledged = 0

    def _released(self, direction: int) -> bool:
        held, other = self._held[direction], self.upto[1 - direction]
        return self._contiguous(direction) and (other is None or held[0].acknowledged <= other)

    def _contiguous(self, direction: int) -> bool:
        held, upto = self._held[direction], self.upto[direction]
        return bool(held) and upto is not None and held[0].position <= upto

    def _hand_on(self, direction: int, packet: int, time_ns: int) -> None:
        held, upto = heappop(self._held[direction]), self.upto[direction]
        assert upto is not None
        self._waiting -= 1
        self._octets -= len(held.data)
        end = held.position + len(held.data)
        if end > upto:
            self.upto[direction] = end
            self.receiver.octets(direction, held.data[upto - held.position :], packet, time_ns)
        if held.fin and end >= upto:
            self.upto[direction] = end + 1
            self.receiver.over(direction, False, packet, time_ns)

    def _give_up(self, packet: int, time_ns: int) -> None:
        """Whatever blocks most: the earliest segment that waits gets its way."""
        self._acknowledged = 0
        if self._contiguous(0) and self._contiguous(1):  # each acknowledges the other: the later one was sent again
            self._hand_on(0 if self._held[0][0].packet > self._held[1][0].packet else 1, packet, time_ns)
        else:
            direction = min((d for d in (0, 1) if self._held[d]), key=lambda d: self._held[d][0].packet)
            held = self._held[direction][0]
            if self._contiguous(direction):
                self._skip(1 - direction, held.acknowledged, packet, time_ns)
            else:
                self._skip(direction, held.position, packet, time_ns)
        self._drain(packet, time_ns)

    def _skip(self, direction: int, until: int, packet: int, time_ns: int) -> None:
        """The octets of this direction before `until` are missing, as far as they do not wait here themselves."""
        held, upto = self._held[direction], self.upto[direction]
        assert upto is not None
        end = min(until, held[0].position) if held else until
        if end > upto:
            self.upto[direction] = end
            self.receiver.gap(direction, end - upto, packet, time_ns)


def signed(difference: int) -> int:
    """The difference of two sequence numbers, the short way round."""
    difference &= _MASK
    return difference - (1 << 32) if difference >= _HALF else difference

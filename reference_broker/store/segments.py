"""Which segments of the log are still needed, counted and not searched.

A segment is needed as long as a message that it records lives, or an older one is: what settles the messages of a
segment stands in it or behind it, so segments go from the oldest on, never out of turn. `weight` is about what a live
message takes; the log is bloated when it is much larger than all of them.
"""

from __future__ import annotations

from collections import deque

from reference_broker.core.queues.message import Message, Segment

SEGMENT_OCTETS = 32 << 20
OVERHEAD = 100
SPARE_SEGMENTS = 4


class Segments:
    """`current` is written to; `live_octets` weighs all that live in any."""

    def __init__(self, first: int, octets: int) -> None:
        self.limit = octets
        self.current = Segment(first)
        self.all = deque([self.current])
        self.octets = 0
        self.live_octets = 0

    def older(self, segments: deque[Segment]) -> None:
        """What a recovery found before the current one."""
        self.all.extendleft(reversed(segments))
        self.octets += sum(segment.octets for segment in segments)

    def came(self, message: Message, segment: Segment) -> None:
        segment.live += 1
        self.live_octets += len(message.body) + OVERHEAD

    def left(self, message: Message, segment: Segment) -> None:
        segment.live -= 1
        self.live_octets -= len(message.body) + OVERHEAD

    def wrote(self, octets: int) -> None:
        self.current.octets += octets
        self.octets += octets

    def full(self) -> bool:
        return self.current.octets >= self.limit

    def begin(self) -> None:
        self.current = Segment(self.current.number + 1)
        self.all.append(self.current)

    def oldest_needed(self) -> int:
        """All with a smaller number can be deleted, and are forgotten here."""
        while self.all[0].live == 0 and self.all[0] is not self.current:
            self.octets -= self.all.popleft().octets
        return self.all[0].number

    def bloated(self) -> bool:
        """Is more than half of the log dead, apart from a few segments, or is it in many small pieces?"""
        spare = SPARE_SEGMENTS * self.limit
        return self.octets > 2 * self.live_octets + spare or (
            len(self.all) > 2 * (self.live_octets // self.limit) + 4 * SPARE_SEGMENTS
        )


def weight(message: Message) -> int:
    return len(message.body) + OVERHEAD

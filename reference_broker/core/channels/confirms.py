"""Publisher confirms of one channel.

Publishes are numbered from 1 at the first confirm.select. A number is resolved by `accept` or
`refuse`; what was resolved leaves at the end of the tick in as few frames as the truth allows: every
number below which nothing is unresolved or of the other verdict goes into one multiple, the rest one
by one. A basic.return is sent when the message is routed, hence always before its confirm.
"""

from __future__ import annotations

from codec import methods as m


class Confirms:
    __slots__ = ("accepted", "pending", "published", "refused")

    def __init__(self) -> None:
        self.published = 0
        self.pending: dict[int, None] = {}
        self.accepted: list[int] = []
        self.refused: list[int] = []

    def next(self) -> int:
        self.published += 1
        self.pending[self.published] = None
        return self.published

    def accept(self, number: int) -> None:
        del self.pending[number]
        self.accepted.append(number)

    def refuse(self, number: int) -> None:
        del self.pending[number]
        self.refused.append(number)

    def wait(self, number: int) -> bool:
        """The number accepted last is not resolved yet after all; False if that is another one."""
        if not self.accepted or self.accepted[-1] != number:
            return False
        self.pending[self.accepted.pop()] = None
        return True

    def flush(self, channel: int) -> list[m.BasicAck | m.BasicNack]:
        accepted, refused = sorted(self.accepted), sorted(self.refused)
        self.accepted, self.refused = [], []
        open_from = next(iter(self.pending), self.published + 1)
        out: list[m.BasicAck | m.BasicNack] = []
        for tag, multiple in coalesce(accepted, min([open_from, *refused[:1]])):
            out.append(m.BasicAck(channel, tag, multiple))
        for tag, multiple in coalesce(refused, min([open_from, *accepted[:1]])):
            out.append(m.BasicNack(channel, tag, multiple, False))
        return out


def coalesce(numbers: list[int], limit: int) -> list[tuple[int, bool]]:
    """Sorted numbers as (tag, multiple): all below `limit` in one, the others singly."""
    below = [number for number in numbers if number < limit]
    shapes = [(below[-1], len(below) > 1)] if below else []
    return shapes + [(number, False) for number in numbers[len(below) :]]

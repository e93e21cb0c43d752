"""Time as the core sees it: a number it is told, and calls due at certain numbers.

Nothing in the core asks the operating system for the time. Whoever drives the core moves the clock
before each input; calls that are due by then are made first, in the order of their time, each with
the clock standing at exactly its own moment. So a test that lets thirty minutes pass takes no longer
than one that does not.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count


class Clock:
    __slots__ = ("_due", "_order", "now")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._order = count()

    def at(self, when: float, call: Callable[[], None]) -> None:
        heappush(self._due, (when, next(self._order), call))

    def next_due(self) -> float | None:
        return self._due[0][0] if self._due else None

    def move_to(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            when, _, call = heappop(self._due)
            self.now = max(self.now, when)
            call()
        self.now = max(self.now, now)

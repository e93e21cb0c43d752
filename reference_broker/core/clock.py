"""Time as the core sees it: a number it is told, and calls due at certain numbers.

Nothing in the core asks the operating system for the time. Whoever drives the core moves the clock
before each input; calls that are due by then are made first, in the order of their time, each with
the clock standing at exactly its own moment. So a test that lets thirty minutes pass takes no longer
than one that does not.

A broker has two of them: one for what messages, queues and consumers live through, and one for its peers, who have to
say something now and then. They are the same, unless whoever drives the core lets the first leap: nobody can send a
heartbeat in half an hour that takes a millisecond.

A call does not keep alive what it is about: with any of that gone it is not made, and in time it is forgotten. So who
comes and goes many times within a long interval leaves nothing behind.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from itertools import count
from typing import Any
from weakref import ref

FEW = 1024
"""This many calls are kept before anybody looks which of them are about nothing any more."""


class Clock:
    __slots__ = ("_due", "_many", "_order", "flows", "now")

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self.flows = False
        """Does whoever drives the core move it on when nothing happens?"""
        self._due: list[tuple[float, int, Callable[..., None], tuple[ref[Any], ...]]] = []
        self._many = FEW
        self._order = count()

    def at(self, when: float, call: Callable[..., None], *about: object) -> None:
        """Make the call then, with these things, if they are all still there."""
        heappush(self._due, (when, next(self._order), call, tuple(ref(one) for one in about)))
        if len(self._due) > self._many:
            self._due = [entry for entry in self._due if all(one() is not None for one in entry[3])]
            heapify(self._due)
            self._many = max(FEW, 2 * len(self._due))

    def next_due(self) -> float | None:
        return self._due[0][0] if self._due else None

    def move_to(self, now: float) -> None:
        while self._due and self._due[0][0] <= now:
            when, _, call, about = heappop(self._due)
            things = [one() for one in about]
            if None not in things:
                self.now = max(self.now, when)
                call(*things)
        self.now = max(self.now, now)

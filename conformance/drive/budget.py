"""The time that a process may spend on evidence: to shrink findings, play them again, and write their reproducers.

A broker that is wrong in many ways must not make a run endless. Time spent on one finding is missing for the next. So
each finding gets a quarter of what is left, and never more than `EACH`. When half of the time is spent, only findings
of rules that have no reproducer yet get any. When almost nothing is left, findings are kept as they were first seen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

EACH, ALTOGETHER = 40.0, 180.0
"""Seconds."""
PART = 1 / 5
"""The share of a run's time that evidence may take at most."""
LEAST = 4.0
"""With less than this many seconds nothing is begun."""


@dataclass
class TimeBudget:
    """`left` in seconds. A finding is looked into from `begin` to `done`, of which it may take its `share`."""

    left: float = ALTOGETHER
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _began: float | None = None
    _until: float = 0.0
    _half: float = 0.0

    def __post_init__(self) -> None:
        self._half = self.left / 2

    @property
    def scarce(self) -> bool:
        """Is half of it spent? Then a second reproducer of one rule must wait for the first ones of others."""
        return self._began is None and self.left < self._half

    @property
    def share(self) -> float:
        """Seconds that the next finding may take, or the one that is looked into still may."""
        return min(EACH, self.left / 4) if self._began is None else max(0.0, self._until - self.clock())

    @property
    def empty(self) -> bool:
        """Is there too little left to begin with a finding?"""
        return self._began is None and self.share < LEAST

    def begin(self) -> None:
        """A finding is looked into; the same still is, if one was."""
        if self._began is None:
            share, self._began = self.share, self.clock()
            self._until = self._began + share

    def done(self) -> None:
        """No longer."""
        if self._began is not None:
            self.left, self._began = self.left - (self.clock() - self._began), None

    @contextmanager
    def spending(self) -> Iterator[float]:
        """One finding is looked into, in this many seconds; inside `begin` and `done` it is the same one."""
        inside = self._began is not None
        self.begin()
        try:
            yield self.share
        finally:
            if not inside:
                self.done()

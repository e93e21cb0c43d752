"""What guards every history of a process: the broker's pulse, patience that learns, and the end of the run.

All histories that one process plays on one broker share a guard. A stage without a guard takes silence for silence and
has no time limit: it behaves as the judge alone wants it.
"""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar

from conformance.drive.deeds import Deeds
from conformance.drive.drivers.sweep import sweep
from conformance.drive.drivers.target import Target
from conformance.drive.patience import Patience
from conformance.drive.pulse import Pulse
from conformance.drive.vhosts import Vhosts
from conformance.drive.watchdog import standing_still

HASTE = 1.0
"""Seconds for cleaning up where somebody waits."""
CHECK = 120.0
"""Seconds that one check may take."""
MACHINE = 1 / 6
"""The share of what the run has left that a machine may take: there are ten, and checks after them."""


@dataclass
class Guard:
    """`ends`: when the run must be over, by the clock that nobody can set."""

    GRACE: ClassVar[float] = 30.0
    """Seconds beyond its time after which a check is broken off by force."""
    CONCLUDES: ClassVar[float] = 240.0
    """Seconds that judging a check, and telling what it found, may take."""
    pulse: Pulse | None = None
    vhosts: Vhosts = field(default_factory=Vhosts)
    """Where to go on when the vhost is wedged."""
    patience: Patience = field(default_factory=Patience)
    deeds: Deeds = field(default_factory=Deeds)
    """What is known to break the broker down."""
    ends: float = float("inf")
    check_ends: float = float("inf")
    hasty: bool = False
    """Somebody waits for this process to end: clean up what can be cleaned up at once."""
    _left: list[tuple[Target, tuple[str, ...], tuple[str, ...], float]] = field(default_factory=list, repr=False)

    @property
    def left(self) -> float:
        """Seconds until the run must be over."""
        return self.ends - time.monotonic()

    @property
    def over(self) -> bool:
        """Is the time of this check, or of the run, over?"""
        return time.monotonic() > min(self.ends, self.check_ends)

    def at(self, target: Target) -> Target:
        """The target, in the vhost that is examined by now."""
        return target if self.pulse is None else replace(target, vhost=self.pulse.target.vhost)

    def sweep(self, target: Target, queues: Iterable[str], exchanges: Iterable[str], deadline: float) -> None:
        """Deletes these from outside; later, where the broker is down."""
        if self.pulse is not None and self.pulse.down:
            self._left.append((target, tuple(queues), tuple(exchanges), deadline))
        else:
            hasty = self.hasty or isinstance(sys.exception(), KeyboardInterrupt)
            sweep(target, queues, exchanges, min(deadline, HASTE) if hasty else deadline)

    def sweep_up(self) -> None:
        """The broker is back: what could not be deleted is deleted now; what lies in a vhost that was left stays."""
        left, self._left = self._left, []
        for target, queues, exchanges, deadline in left:
            if target == self.at(target):
                sweep(target, queues, exchanges, deadline)

    def let_go(self) -> None:
        """The run is over."""
        if self.pulse is not None:
            if self._left and not self.hasty and self.pulse.beats():
                self.sweep_up()
            self.pulse.drop()
        self.vhosts.let_go()

    def begin_check(self, *, machine: bool, parts: int = 1) -> float:
        """A check begins, or one of so many parts of a machine; the seconds that it may take."""
        allowed = self.left * MACHINE / parts if machine else min(CHECK, self.left)
        self.check_ends = time.monotonic() + allowed
        return allowed

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Inside, the broker restarts: that has a limit of its own, and takes nothing from the time of the check."""
        begin = time.monotonic()
        try:
            with standing_still():
                yield
        finally:
            self.check_ends += time.monotonic() - begin

"""The last resort against a wait without an end: after this many seconds whatever this process does is broken off.

Our own sockets look at the time themselves; libraries that we play through, and whatever nobody thought of, do not.
The alarm is a signal, so it reaches a blocked call too; where there is none (another thread, another system), nothing
is guarded and nothing changes. Alarms nest: an inner one ends no later than the outer. While they stand
still, their time does not pass.
"""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType


class TimeIsOver(BaseException):
    """Time is over. No Exception, so that nobody takes it for a failure that can be worked around."""


_stood = 0.0
"""Seconds in which the alarms of this process stood still."""


def _clock() -> float:
    """Seconds in which they did not."""
    return time.monotonic() - _stood


def _overdue(number: int, frame: FrameType | None) -> None:
    raise TimeIsOver


@contextlib.contextmanager
def alarm(seconds: float) -> Iterator[None]:
    """Inside, Overdue is raised once after this many seconds, or after what an outer alarm has left."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    begin = _clock()
    handler = signal.signal(signal.SIGALRM, _overdue)
    outer, _ = signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.setitimer(signal.ITIMER_REAL, max(min(seconds, outer or seconds), 0.001))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if outer:
            signal.setitimer(signal.ITIMER_REAL, max(outer - (_clock() - begin), 0.001))


@contextlib.contextmanager
def standing_still() -> Iterator[None]:
    """Inside, no alarm goes off: the caller has a limit of its own. Then the alarm has what it had left before."""
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return
    global _stood
    begin = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0.0)
    try:
        yield
    finally:
        _stood += time.monotonic() - begin
        signal.setitimer(signal.ITIMER_REAL, left)

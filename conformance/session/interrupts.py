"""An interrupt that is heard, whatever Python is doing at that moment.

An exception that is raised inside a finalizer or a callback of the garbage collector is printed and dropped, a
KeyboardInterrupt no less than others; and a run that makes and drops thousands of connections is often there. So what
was dropped is sent once more a moment later, until it arrives somewhere where it counts.

Whoever waits for a lock without end can sleep through a signal that comes just as the wait begins: so `results` wakes
up now and then.

A process that plays runs in others (`Ending`) hears the signal alone, and passes it on: whether it comes from a
terminal or from `kill`, a run hears it once for each time.

A worker hears only the first: from a terminal the interrupt reaches it and its controller alike, who passes it on.
"""

from __future__ import annotations

import _thread
import contextlib
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from types import CodeType, FrameType
from typing import IO, Any, TypeVar

T = TypeVar("T")
_A_MOMENT = 0.02
_WAKES = 0.2
"""Seconds."""


@contextlib.contextmanager
def heard() -> Iterator[None]:
    """Inside, no KeyboardInterrupt is lost in a finalizer."""
    before = sys.unraisablehook

    def hook(dropped: Any) -> None:
        if issubclass(dropped.exc_type, KeyboardInterrupt):
            _thread.start_new_thread(_once_more, (hook.__code__,))
        else:
            before(dropped)

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before


def _once_more(hook: CodeType) -> None:
    """Interrupts the main thread when it has left this hook, in which an interrupt would be dropped for good."""
    main = threading.main_thread().ident
    inside = True
    while inside:
        time.sleep(_A_MOMENT)
        frame = sys._current_frames().get(main or 0)
        inside = any(one.f_code is hook for one, _ in traceback.walk_stack(frame)) if frame else False
    _thread.interrupt_main()


def results(work: Sequence[Future[T]]) -> list[T]:
    """What all of them come to; the exception of the first that fails, without waiting for the others."""
    while True:
        done, left = wait(work, _WAKES, FIRST_EXCEPTION)
        failed = next((one for one in work if one in done and one.exception() is not None), None)
        if failed is not None:
            failed.result()
        if not left:
            return [one.result() for one in work]


@contextlib.contextmanager
def once() -> Iterator[None]:
    """Inside, the first SIGINT is an interrupt and a further one is nothing."""

    def first(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, first)
    yield


class Ending:
    """Has it been told to end? Until then it waits, and plays runs as processes in sessions of their own."""

    def __init__(self) -> None:
        self._told = threading.Event()
        self._child: subprocess.Popen[bytes] | None = None

    @property
    def is_interrupted(self) -> bool:
        return self._told.is_set()

    def pause(self, seconds: float) -> bool:
        """Waits so long; true where it was told to end, before or meanwhile."""
        return self._told.wait(seconds)

    def run(
        self, command: Sequence[str], output: int | IO[bytes] | None = None, errors: int | IO[bytes] | None = None
    ) -> int:
        """The exit code of a process. It has heard of whatever was told while it ran."""
        with subprocess.Popen(command, stdout=output, stderr=errors, start_new_session=True) as child:
            self._child = child
            if self.is_interrupted:
                child.send_signal(signal.SIGINT)
            try:
                return child.wait()
            finally:
                self._child = None

    def hear(self, number: int, _: FrameType | None) -> None:
        """A signal."""
        self._told.set()
        if self._child is not None and self._child.poll() is None:
            self._child.send_signal(number)


@contextlib.contextmanager
def ending() -> Iterator[Ending]:
    """Inside, Ctrl-C and being terminated are no exceptions: what is under way is told, and ends in order."""
    made = Ending()
    before = {number: signal.signal(number, made.hear) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield made
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

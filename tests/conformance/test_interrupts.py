"""An interrupt in a finalizer is heard all the same."""

from __future__ import annotations

import _thread
import gc
import signal
import sys
import time

import pytest

from conformance.front.interrupts import heard, once


class Dying:
    """Is interrupted while it is finalized."""

    def __del__(self) -> None:
        raise KeyboardInterrupt


class Failing:
    def __del__(self) -> None:
        raise ValueError("not ours")


def wait() -> None:
    until = time.monotonic() + 10
    while time.monotonic() < until:
        time.sleep(0.01)


def test_an_interrupt_that_a_finalizer_drops_arrives_later() -> None:
    before = sys.unraisablehook
    with pytest.raises(KeyboardInterrupt), heard():
        Dying()
        gc.collect()
        wait()
    assert sys.unraisablehook is before


def test_other_failures_of_finalizers_go_where_they_went(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: seen.append(dropped.exc_type))
    with heard():
        Failing()
        gc.collect()
    assert seen == [ValueError]


def test_an_ordinary_interrupt_is_not_touched() -> None:
    with pytest.raises(KeyboardInterrupt), heard():
        _thread.interrupt_main()
        wait()


def test_a_worker_hears_the_first_interrupt_only() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with once():
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)

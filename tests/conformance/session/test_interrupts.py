"""An interrupt in a finalizer is heard all the same."""

from __future__ import annotations

import _thread
import gc
import signal
import sys
import time
from concurrent.futures import Future
from typing import Any

import pytest

from conformance.session.interrupts import heard, once, results


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


def test_it_waits_until_the_finalizer_is_done_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a crowded machine whoever sends it again may be faster than who dropped it."""
    start = _thread.start_new_thread

    def slowly(*call: Any) -> None:
        start(*call)
        time.sleep(0.3)

    monkeypatch.setattr(_thread, "start_new_thread", slowly)
    with pytest.raises(KeyboardInterrupt), heard():
        Dying()
        gc.collect()
        wait()


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


def test_results_are_in_order_and_a_failure_waits_for_nobody() -> None:
    one, other = Future[int](), Future[int]()
    other.set_result(2)
    one.set_result(1)
    assert results([one, other]) == [1, 2]
    failed = Future[int]()
    failed.set_exception(ValueError("it failed"))
    with pytest.raises(ValueError, match="it failed"):
        results([Future[int](), one, failed])

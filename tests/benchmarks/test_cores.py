"""Fewer cores for a while."""

from __future__ import annotations

import os
import threading

import pytest

from benchmarks.cores import confined, shares, threads


def test_all_threads_are_confined_and_freed_again() -> None:
    allowed, done = os.sched_getaffinity(0), threading.Event()
    one, later = {min(allowed)}, threading.Thread(target=done.wait)
    sleeper = threading.Thread(target=done.wait)
    sleeper.start()
    try:
        with confined(os.getpid(), one):
            later.start()
            assert sleeper.native_id in threads(os.getpid())
            assert all(os.sched_getaffinity(thread.native_id or 0) == one for thread in (sleeper, later))
        assert all(os.sched_getaffinity(thread.native_id or 0) == allowed for thread in (sleeper, later))
    finally:
        done.set()
        for thread in (sleeper, later):
            thread.join()


def test_somebody_has_to_be_left_for_the_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {4, 5, 6})
    assert shares(1) == ({6}, {4, 5})
    assert shares(2) == ({5, 6}, {4})
    assert shares(3) is None
    assert shares(0) is None

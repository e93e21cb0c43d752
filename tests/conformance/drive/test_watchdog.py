from __future__ import annotations

import contextlib
import select
import signal
import socket
import threading
import time

import pytest

from conformance.drive.watchdog import TimeIsOver, alarm, standing_still


def wait_for_ever() -> None:
    """A blocked call, as a library may make it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.recv(1)


def test_a_blocked_call_is_broken_off() -> None:
    with pytest.raises(TimeIsOver), alarm(0.05):
        wait_for_ever()


def test_in_time_nothing_happens_and_nothing_is_left() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with alarm(60):
        pass
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
    assert signal.getsignal(signal.SIGALRM) is before


def test_an_inner_alarm_leaves_the_outer_one_as_it_was() -> None:
    with alarm(60):
        with pytest.raises(TimeIsOver), alarm(0.05):
            wait_for_ever()
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60


def test_an_inner_alarm_ends_no_later_than_the_outer() -> None:
    begin = time.monotonic()
    with pytest.raises(TimeIsOver), alarm(0.05), alarm(60):
        wait_for_ever()
    assert time.monotonic() - begin < 30


def test_while_it_stands_still_its_time_does_not_pass() -> None:
    with alarm(60):
        with alarm(0.2):
            with standing_still():
                assert signal.getitimer(signal.ITIMER_REAL)[0] == 0.0
                select.select([], [], [], 0.3)  # longer than the alarm had
            assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 0.2
        assert 59.7 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60


def test_after_it_stood_still_it_goes_off() -> None:
    with pytest.raises(TimeIsOver), alarm(0.05):
        with standing_still():
            pass
        wait_for_ever()


def test_nobody_takes_it_for_a_failure() -> None:
    with pytest.raises(TimeIsOver), alarm(0.05), contextlib.suppress(Exception):
        wait_for_ever()


def test_beside_the_main_thread_nothing_is_guarded_and_nothing_breaks() -> None:
    done: list[str] = []

    def work() -> None:
        with alarm(0.001):
            done.append("done")

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert done == ["done"]

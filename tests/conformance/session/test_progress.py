"""Progress in CI: plain lines with counts, failures and the time left."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.session.progress import Follower, describe_seconds


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


CHECK, MACHINE = "scenes/test_ack.py::test_b", "scenes/test_machines.py::test_c"


def run(clock: Clock, checks: int, done: int, seconds: float, failing: tuple[int, ...] = ()) -> list[str]:
    """The lines of a run in which each check takes so many seconds."""
    return play(clock, [CHECK] * checks, [seconds] * done, failing)


def play(clock: Clock, names: list[str], lasting: list[float], failing: tuple[int, ...] = ()) -> list[str]:
    """The lines of a run of these checks, of which the first ones take so many seconds."""
    stream = io.StringIO()
    follower = Follower(["run"], stream, clock)
    follower.pytest_report_collectionfinish([SimpleNamespace(nodeid=name) for name in names])  # type: ignore[misc]
    for number, (name, seconds) in enumerate(zip(names, lasting, strict=False), 1):
        clock.now += seconds
        for when, duration in (("call", seconds), ("teardown", 0.0)):
            failed = when == "call" and number in failing
            report: Any = SimpleNamespace(when=when, failed=failed, nodeid=name, duration=duration)
            follower.pytest_runtest_logreport(report)
    return stream.getvalue().splitlines()


def test_a_line_tells_what_is_done_what_failed_and_how_long_it_will_take(clock: Clock) -> None:
    assert run(clock, 120, 120, 0.5, failing=(60, 70)) == [
        "50 of 120 checks, about 35 s left",
        "100 of 120 checks, 2 failed, about 10 s left",
        "120 of 120 checks, 2 failed",
    ]


def test_a_slow_run_is_not_silent_for_long(clock: Clock) -> None:
    lines = run(clock, 40, 12, 10.0)
    assert lines == ["4 of 40 checks", "8 of 40 checks, about 5 min left", "12 of 40 checks, about 5 min left"]


def test_a_machine_takes_longer_than_another_check(clock: Clock) -> None:
    """At first that is assumed; then it counts how long one took."""
    lines = play(clock, [CHECK] * 50 + [MACHINE] * 10, [1.0] * 50 + [100.0] * 2)
    assert lines == [
        "31 of 60 checks, about 3 min left",
        "50 of 60 checks, about 2 min left",
        "51 of 60 checks, about 15 min left",
        "52 of 60 checks, about 13 min left",
    ]


def test_what_is_broken_is_told_at_once_and_once() -> None:
    stream = io.StringIO()
    report: Any = SimpleNamespace(
        when="call",
        failed=True,
        nodeid=CHECK,
        duration=0.1,
        longreprtext="ERR-004 Mistakes are told\nobserved the answer is 404",
    )
    follower = Follower(["run"], stream)
    for _ in range(2):
        follower.pytest_runtest_logreport(report)
    assert stream.getvalue().splitlines() == ["broken: ERR-004 Mistakes are told"]


def test_nothing_in_a_plain_line_moves_the_cursor(clock: Clock) -> None:
    assert "\x1b" not in "".join(run(clock, 60, 60, 0.1))


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "about 5 s"), (44, "about 45 s"), (100, "about 2 min")])
def test_a_guess_is_as_coarse_as_a_guess_is(seconds: float, words: str) -> None:
    assert describe_seconds(seconds) == words

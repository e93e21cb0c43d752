"""Progress in CI: plain lines with counts, failures and the time left."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.oracle.verdicts import SILENT_END
from conformance.session.progress import Follower, describe_seconds


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run(clock: Clock, checks: int, done: int, seconds: float, failing: tuple[int, ...] = ()) -> list[str]:
    """The lines of a run in which each check takes so many seconds."""
    stream = io.StringIO()
    follower = Follower(["run"], stream, clock)
    follower.pytest_report_collectionfinish([None] * checks)  # type: ignore[list-item]
    for number in range(1, done + 1):
        clock.now += seconds
        for when in ("call", "teardown"):
            report: Any = SimpleNamespace(when=when, failed=when == "call" and number in failing, nodeid="a::test_b")
            follower.pytest_runtest_logreport(report)
    return stream.getvalue().splitlines()


def test_a_line_tells_what_is_done_what_failed_and_how_long_it_will_take(clock: Clock) -> None:
    assert run(clock, 120, 120, 0.5, failing=(60, 70)) == [
        "50 of 120 checks, about 35 s left",
        "100 of 120 checks, 2 failed, about 10 s left",
        "120 of 120 checks, 2 failed",
    ]


def test_checks_that_play_many_histories_are_guessed_apart(clock: Clock) -> None:
    """They come last: ninety scenes of a second tell little of ten machines of twenty."""
    stream = io.StringIO()
    follower = Follower(["run"], stream, clock)
    names = [f"scenes/test_{n}.py::test" for n in range(90)] + [f"test_machines.py::test_{n}" for n in range(10)]
    items: Any = [SimpleNamespace(nodeid=name) for name in names]
    follower.pytest_report_collectionfinish(items)
    for name in names:
        clock.now += 20 if name.startswith("test_machines") else 1
        report: Any = SimpleNamespace(when="teardown", failed=False, nodeid=name)
        follower.pytest_runtest_logreport(report)
    lines = stream.getvalue().splitlines()
    assert "31 of 100 checks, about 3 min left" in lines
    assert "92 of 100 checks, about 3 min left" in lines
    assert "98 of 100 checks, about 40 s left" in lines


def test_a_slow_run_is_not_silent_for_long(clock: Clock) -> None:
    lines = run(clock, 40, 12, 10.0)
    assert lines == ["4 of 40 checks", "8 of 40 checks, about 5 min left", "12 of 40 checks, about 5 min left"]


@pytest.mark.parametrize(
    ("observed", "line"),
    [
        ("the answer is 404", "broken: ERR-004 Mistakes are told"),
        (SILENT_END, "broken if this is a habit: ERR-004 Mistakes are told"),
    ],
)
def test_what_is_broken_is_told_at_once_and_once(observed: str, line: str) -> None:
    stream = io.StringIO()
    report: Any = SimpleNamespace(
        when="call",
        failed=True,
        nodeid="a::test_b",
        longreprtext=f"ERR-004 Mistakes are told\nobserved {observed}",
    )
    follower = Follower(["run"], stream)
    for _ in range(2):
        follower.pytest_runtest_logreport(report)
    assert stream.getvalue().splitlines() == [line]


def test_nothing_in_a_plain_line_moves_the_cursor(clock: Clock) -> None:
    assert "\x1b" not in "".join(run(clock, 60, 60, 0.1))


@pytest.mark.parametrize(("seconds", "words"), [(0.2, "about 5 s"), (44, "about 45 s"), (100, "about 2 min")])
def test_a_guess_is_as_coarse_as_a_guess_is(seconds: float, words: str) -> None:
    assert describe_seconds(seconds) == words

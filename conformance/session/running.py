"""`amqp-conformance run`: pytest over the installed suite, with this plugin and no other's opinion.

The verdicts are those of `pytest --pyargs conformance` because it is that; only output and exit code are ours. The
configuration of whatever project one happens to stand in is not read, so the suite means the same everywhere.
"""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest

from conformance.session.door import SUITE, Door, door_of
from conformance.session.exits import HARNESS_ERROR, INTERRUPTED, UNREACHABLE, WRONG_USE
from conformance.session.progress import Follower

if TYPE_CHECKING:
    from conformance.outcome.results import Results

_TAIL = 40
HUNT = ("-o", "python_files=test_*.py hunting.py")
"""What collects the checks that hunt, too: their file has no test's name."""


class Outcome:
    """What a run came to."""

    def __init__(self, code: int, door: Door | None, output: str) -> None:
        self.code, self.output = code, output
        self.results: Results | None = door.results if door else None
        self.written: list[Path] = door.written if door else []
        self.unwritten = door.unwritten if door else ""
        self.refusal = door.refused.message if door and door.refused else None


def run(
    arguments: Sequence[str],
    words: Sequence[str],
    workers: str | None = None,
    *,
    hunts: bool = False,
) -> Outcome:
    """Run the suite with these options of the plugin, and hunt afterwards."""
    follower = Follower(list(words), sys.stderr)
    output = io.StringIO()
    said = [*_frame(workers), *(HUNT if hunts else ()), *arguments, str(SUITE)]
    with contextlib.redirect_stdout(output), terminable(), _deaf():
        code = int(pytest.main(said, plugins=[follower]))
    door = door_of(follower.config) if follower.config is not None else None
    return Outcome(_ours(code, door, follower), door, output.getvalue())


def _frame(workers: str | None) -> list[str]:
    """Options that make pytest quiet, and load the plugin also where the distribution is not installed. Exceptions that
    nobody can catch are for standard error: pytest would collect garbage five times to find them, and hide them."""
    options = [
        *_plugin(),
        "-c",
        os.devnull,
        "--rootdir",
        str(SUITE.parent.parent),
        "--import-mode",
        "importlib",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:unraisableexception",
        "-q",
        "--no-header",
        "--tb",
        "short",
        "--assert",
        "plain",
    ]
    return [*options, "-n", workers] if workers else options


def _plugin() -> list[str]:
    found = any(point.value == "conformance.plugin" for point in entry_points(group="pytest11"))
    return [] if found else ["-p", "conformance.plugin"]


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """What the environment says to pytest is meant for somebody else's tests."""
    names = ("PYTEST_ADDOPTS", "PYTEST_PLUGINS", "PYTEST_DISABLE_PLUGIN_AUTOLOAD")
    kept = {name: os.environ.pop(name) for name in names if name in os.environ}
    try:
        yield
    finally:
        os.environ.update(kept)


def _ours(code: int, door: Door | None, follower: Follower) -> int:
    """Pytest's code where it says something else than ours."""
    if door is not None and (door.results is not None or door.refused is not None):
        return code
    if follower.interrupted:
        return INTERRUPTED
    known = {int(pytest.ExitCode.NO_TESTS_COLLECTED): WRONG_USE, int(pytest.ExitCode.USAGE_ERROR): WRONG_USE}
    return known.get(code, HARNESS_ERROR)


@contextlib.contextmanager
def terminable() -> Iterator[None]:
    """Being terminated is being interrupted: what is recorded is kept and the broker is left clean."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def grief(outcome: Outcome) -> str:
    """The words for a run without results."""
    if outcome.refusal is not None:
        return outcome.refusal
    if outcome.code == INTERRUPTED:
        return "Interrupted before the first check was done; nothing is known about the broker."
    if outcome.code == UNREACHABLE:
        return "The broker disappeared during the run."
    tail = "\n".join(outcome.output.splitlines()[-_TAIL:])
    if outcome.code == WRONG_USE:
        return f"No check was selected.\n{tail}"
    return f"The suite itself failed, not the broker. Please report it, with this:\n{tail}"

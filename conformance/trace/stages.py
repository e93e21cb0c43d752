"""Progress of a job of several stages, on stderr: a bar for each stage on a terminal, lines now and then elsewhere.

A stage is told how many of its tasks are done and how many are known so far; more may turn up, so the time left is
that of the tasks known. In a log there is a line when a stage begins, one when it is over, and one every ten seconds.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import IO, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

_QUIET = 10.0


class Stages:
    """A context. Call it as the pipeline tells: (stage, tasks done, tasks known)."""

    def __init__(self, names: Sequence[str], stream: IO[str]) -> None:
        self._names, self._stream = names, stream
        lively = stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self._bar = _bar(stream) if lively else None
        self._task: TaskID | None = None
        self._stage, self._began, self._said = "", time.monotonic(), 0.0
        self._done = self._known = 0

    def __call__(self, stage: str, done: int, known: int) -> None:
        if stage != self._stage:
            self._over()
            self._begin(stage)
        self._done, self._known = done, known
        if self._bar is not None and self._task is not None:
            count = f"{done}/{known} tasks" if known else ""
            self._bar.update(self._task, total=known or None, completed=done, count=count)
        elif time.monotonic() - self._said > _QUIET and known:
            self._say(f"{self._named()}: {done} of {known} tasks, {self._left()}")

    def note(self, text: str) -> None:
        """A line that stays."""
        if self._bar is not None:
            self._bar.console.print(text, highlight=False, markup=False)
        else:
            self._say(text)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> None:
        if kind is None:
            self._over()
        if self._bar is not None:
            self._bar.stop()

    def _begin(self, stage: str) -> None:
        self._stage, self._began, self._done, self._known = stage, time.monotonic(), 0, 0
        if self._bar is not None:
            self._task = self._bar.add_task(self._named(), total=None, count="")
        else:
            self._say(f"{self._named()} ...")

    def _over(self) -> None:
        if not self._stage:
            return
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, total=1, completed=1, count="")
        else:
            self._say(f"{self._named()}: {time.monotonic() - self._began:.1f} s")
        self._stage = ""

    def _named(self) -> str:
        number = self._names.index(self._stage) + 1 if self._stage in self._names else len(self._names)
        return f"{number}/{len(self._names)} {self._stage}"

    def _left(self) -> str:
        if not self._done:
            return "time left not known yet"
        gone = time.monotonic() - self._began
        return f"about {gone * (self._known - self._done) / self._done:.0f} s left"

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        self._stream.write(f"{text}\n")
        self._stream.flush()


def _bar(stream: IO[str]) -> Progress:
    console = Console(file=stream, no_color="NO_COLOR" in os.environ)
    return Progress(
        TextColumn("{task.description:<12}"),
        BarColumn(30),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        redirect_stdout=False,
        redirect_stderr=False,
    )

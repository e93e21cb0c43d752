"""The suite's side of the protocol: one library in its process, told what to do, heard in what it shows.

While it is at work the tap is turned, so a call that waits for the broker gets its answer. What it shows is kept in the
order in which it was shown. A library that does not come back within its time is stuck: its process is ended, and begun
anew for the next history.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

STARTS = 20.0
"""Seconds in which an adapter introduces itself."""


class BadAdapter(Exception):
    """This is no adapter: it does not start, or does not keep to the protocol. The message says what came."""


class NotExpressible(Exception):
    """The library cannot say this; `method` is what, the message why: the rest of a sentence 'the library ...'."""

    def __init__(self, method: str, why: str) -> None:
        super().__init__(why)
        self.method, self.why = method, why


class Stuck(Exception):
    """The library did not come back from a call."""


@dataclass(frozen=True, slots=True)
class ShownMethod:
    """What the library showed: under which method, on which channel (None: it did not say), with which fields.

    `at` is the number of the history's last event by then: what it shows came no later.
    """

    on: str
    channel: int | None
    method: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    at: int = 0


class Library:
    """One adapter's process. `turn` keeps everything else going, for at most this many seconds; see `Wiretap.wait`."""

    def __init__(self, command: Sequence[str]) -> None:
        self.command = list(command)
        self.about: Mapping[str, str] = {}
        self.shown: list[ShownMethod] = []
        self.now: Callable[[], int] = int
        """The number of the history's last event."""
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting = b""
        self._stuck = ""

    @property
    def name(self) -> str:
        return " ".join(filter(None, (self.about.get("library"), self.about.get("version"), self.about.get("way"))))

    @property
    def running(self) -> bool:
        return self._process is not None

    def fileno(self) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def start(self) -> None:
        """Begins the process, where there is none. Raises BadAdapter."""
        if self._process is not None:
            return
        try:
            self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        except OSError as problem:
            raise BadAdapter(f"{self.command[0]} cannot be started: {problem.strerror or problem}") from None
        self._waiting = b""
        try:
            about = self._answer(lambda seconds: _await(self, seconds), STARTS)
        except Stuck:
            raise BadAdapter(f"{self.command[-1]} does not say who it is within {STARTS:g} s") from None
        if not {"library", "version"} <= set(about):
            self.stop()
            raise BadAdapter(f"the first line of {self.command[-1]} names no library and version: {about!r:.200}")
        self.about = {key: str(value) for key, value in about.items()}

    def stop(self) -> None:
        """Ends the process, at work or not."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                with suppress(BrokenPipeError):
                    pipe.close()
            process.wait()

    def do(self, turn: Callable[[float], object], patience: float, /, **command: Any) -> str | None:
        """Has the library do this; what it raised, if it refused. Raises Cannot or Stuck."""
        if self._process is None:
            raise Stuck(self._stuck)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(command).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise self._gone() from None
        answer = self._answer(turn, patience, str(command["do"]))
        if "cannot" in answer:
            raise NotExpressible(str(command["do"]), str(answer["cannot"]))
        if "refused" not in answer and "did" not in answer:
            raise BadAdapter(f"to {command['do']} {self.name} answers {answer!r:.200}")
        return str(answer["refused"]) if "refused" in answer else None

    def _answer(self, turn: Callable[[float], object], patience: float, method: str = "") -> dict[str, Any]:
        """The next line that shows nothing."""
        until = time.monotonic() + patience
        while True:
            line = self._line()
            if line is None:
                left = until - time.monotonic()
                if left <= 0:
                    self.stop()
                    self._stuck = f"the library does not come back from {method} within {patience:g} s"
                    raise Stuck(self._stuck)
                turn(left)
            elif "shows" in line:
                fields = {key: value for key, value in line.items() if key not in ("shows", "on", "channel")}
                self.shown.append(
                    ShownMethod(str(line.get("on", "")), line.get("channel"), str(line["shows"]), fields, self.now()),
                )
            else:
                return line

    def _line(self) -> dict[str, Any] | None:
        """A line that has come; None while there is none."""
        while b"\n" not in self._waiting:
            if not select.select([self.fileno()], [], [], 0)[0]:
                return None
            more = os.read(self.fileno(), 1 << 16)
            if not more:
                raise self._gone()
            self._waiting += more
        first, _, self._waiting = self._waiting.partition(b"\n")
        try:
            line = json.loads(first)
        except ValueError:
            line = None
        if not isinstance(line, dict):
            self.stop()
            raise BadAdapter(f"{self.command[-1]} says {first[:200]!r}, which is no line of JSON with an object in it")
        return line

    def _gone(self) -> BadAdapter:
        self.stop()
        return BadAdapter(f"{self.name or ' '.join(self.command)} has ended; what it said on stderr may tell why")


def _await(library: Library, seconds: float) -> None:
    select.select([library.fileno()], [], [], seconds)

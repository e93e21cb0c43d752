"""Progress of a run on the command line, on stderr: a bar on a terminal, a line now and then elsewhere, both with how
many checks are done, how many failed, and how long the rest will take if it goes on like this.

It follows pytest's reports and prints nothing else; pytest's own output is kept aside, and shown only when pytest
itself came to grief.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from typing import IO

import pytest
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from conformance.catalogue.deviations import excuse
from conformance.catalogue.rules import RULE_ID
from conformance.outcome import reach
from conformance.session.door import COMMAND, Door, door_of

_EVERY = 50
_SILENCE = 30.0
"""Seconds after which a line is written even if few checks were done."""
_TOLD = 12
"""This many broken rules are told while the run goes on; all of them at its end."""
_RULE = re.compile(RULE_ID)
TURN = "hunting.py::"
"""In the names of the checks that hunt."""
_FEW = 5
"""Checks after which the time left can be guessed."""
_MACHINES = "test_machines.py::"
"""In the names of the checks that play many histories."""
_LONG = 15.0
"""So many times as long as another check takes one of these, as long as none is done."""


class Follower:
    """A pytest plugin of one run."""

    def __init__(self, words: list[str], stream: IO[str], clock: Callable[[], float] = time.monotonic) -> None:
        self._words, self._stream, self._clock = words, stream, clock
        self._began = self._told = clock()
        self.config: pytest.Config | None = None
        self.interrupted = False
        self._broken: set[str] = set()
        self._failed = 0
        self._done, self._total = Counter[bool](), Counter[bool]()
        """How many checks; True: of those that are machines."""
        self._seconds = {False: 0.0, True: 0.0}
        lively = stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
        self._bar = _bar(stream) if lively else None
        self._task = self._bar.add_task("connecting", total=None, count="") if self._bar else None

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self, config: pytest.Config) -> None:
        self.config = config
        config.stash[COMMAND] = self._words
        if self._bar is not None:
            self._bar.start()

    def pytest_report_collectionfinish(self, items: list[pytest.Item]) -> None:
        self._collected(item.nodeid for item in items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self._collected(ids)

    def _collected(self, names: Iterable[str]) -> None:
        self._total, self._began = Counter(_MACHINES in name for name in names), self._clock()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed += report.failed
        self._seconds[_MACHINES in report.nodeid] += report.duration
        if report.failed and report.when == "call":
            self._tell_broken(report)
        if report.when != "teardown":
            return
        self._done[_MACHINES in report.nodeid] += 1
        done, total = self._done.total(), self._total.total()
        if self.config is not None and TURN in report.nodeid:
            self._tell_turn(self.config)
            return
        if self._bar is not None and self._task is not None:
            text = report.nodeid.rpartition("::")[2].removeprefix("test_")
            count = f"{done}/{total}{self._rest()}"
            self._bar.update(self._task, total=total, completed=done, count=count, description=text[:60])
        elif done == total or done % _EVERY == 0 or self._clock() - self._told > _SILENCE:
            self._told = self._clock()
            self._stream.write(f"{done} of {total} checks{self._rest()}\n")
            self._stream.flush()

    def _tell_broken(self, report: pytest.TestReport) -> None:
        """Which rule is broken, as soon as that is known."""
        said = str(getattr(report, "longreprtext", ""))
        rule, _, title = said.partition("\n")[0].partition(" ")
        if _RULE.fullmatch(rule) and rule not in self._broken and len(self._broken) < _TOLD:
            self._broken.add(rule)
            self._write(f"broken: {rule} {title}")

    def _tell_turn(self, config: pytest.Config) -> None:
        """A turn of a hunt is over: what is covered by now, and found beside known deviations."""
        door = door_of(config)
        known = door.opened().known.entries
        entries = door.ledger.entries
        rows = reach.joined(reach.unpacked(entry.reached) for entry in entries if entry.reached)
        found = sorted(
            {
                one.finding.rule
                for entry in entries
                for one in entry.witnesses
                if one.finding.certain
                and one.round
                and excuse(known, one.finding.rule, one.finding.observed, entry.queue_type, one.finding.where) is None
            }
        )
        self._write(
            f"hunt: {self._since(door)}, {sum(entry.histories for entry in entries)} histories, "
            f"{reach.count(rows)} of {reach.TOTAL} pairs reached; found {', '.join(found) or 'nothing new'}; "
            f"seed {door.options.seed}",
        )

    @staticmethod
    def _since(door: Door) -> str:
        return f"{door.ticket.age() / 60:.1f} of {door.options.hunt:g} min"

    def _write(self, line: str) -> None:
        if self._bar is not None:
            self._bar.console.print(line, markup=False, highlight=False)
        else:
            self._stream.write(f"{line}\n")
            self._stream.flush()

    def _rest(self) -> str:
        """What failed, and the time left."""
        failed = f", {self._failed} failed" if self._failed else ""
        missing = self._total - self._done
        if not missing or self._done.total() < _FEW:
            return failed
        machine = self._longer()
        done, rest = (of[False] + of[True] * machine for of in (self._done, missing))
        return f"{failed}, {describe_seconds((self._clock() - self._began) / done * rest)} left"

    def _longer(self) -> float:
        """How many times as long as another check a machine takes."""
        if not (self._done[True] and self._seconds[False]):
            return _LONG
        return self._seconds[True] / self._done[True] * self._done[False] / self._seconds[False]

    def pytest_keyboard_interrupt(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        self.interrupted = excinfo.type is KeyboardInterrupt

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        if self._bar is not None:
            self._bar.stop()


def describe_seconds(seconds: float) -> str:
    """A guess of a time, as coarse as a guess is: `about 40 s`, `about 3 min`."""
    if seconds < 90:
        return f"about {max(1, round(seconds / 5)) * 5} s"
    return f"about {round(seconds / 60)} min"


def _bar(stream: IO[str]) -> Progress:
    console = Console(file=stream, no_color="NO_COLOR" in os.environ)
    return Progress(
        SpinnerColumn(),
        BarColumn(30),
        TextColumn("{task.fields[count]}"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )

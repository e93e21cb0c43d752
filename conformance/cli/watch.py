"""`watch URL`: a light set of rules on a staging broker, every so many minutes, and a page about all rounds.

    OUT/history.html     rules over time, what is flaky, how long confirms took: all rounds
    OUT/*.json           a round each, without evidence
    OUT/last/            the report of the last round, with its evidence

Each round is a run in a process of its own, with the same seed, so what changes is the broker. Rounds never overlap:
one that takes longer than the interval puts off the next. A broker that is away for a round is told, and asked again.
Ctrl-C while it waits ends it at once; during a round, when that round has been ended in order and is kept.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.evidence.words import SIGNS, SILENT
from conformance.outcome.earlier import PAGE, read
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, UNREACHABLE
from conformance.session.interrupts import Ending, ending

MINUTE = 60.0
LONGEST = 2000
"""Characters of what a failed run has said."""

Kept = dict[str, Any]
Play = Callable[[], int]
"""Plays a round; its exit code."""
Pause = Callable[[float], bool]
"""Waits so many seconds; True where it was told to end meanwhile."""


@dataclass(frozen=True, slots=True)
class Wishes:
    """`every` in minutes; `rounds` 0: without end. `words`: options of `run` that hold for each round."""

    url: str
    out: Path
    every: float
    rounds: int = 0
    rules: str = "*"
    words: Sequence[str] = ()
    format: str = "text"


def watch(wishes: Wishes, play: Play | None = None) -> int:
    """Until interrupted, or so many rounds are over; the exit code: 130, or that of the worst round."""
    worst = GATE_OPEN
    with ending() as end:
        for code in rounds(wishes, play or (lambda: _played(wishes, end)), end.pause, time.monotonic):
            worst = max(worst, code)
            if code not in (GATE_OPEN, GATE_CLOSED, UNREACHABLE):
                break
            _tell(wishes, code)
        if (wishes.out / PAGE).exists():
            print(f"history: {wishes.out / PAGE}", file=sys.stderr)
        return INTERRUPTED if end.told else worst


def rounds(wishes: Wishes, play: Play, pause: Pause, clock: Callable[[], float]) -> Iterator[int]:
    """The exit code of each round, as long as nobody says that it is to end."""
    due, number = clock(), 0
    while not wishes.rounds or number < wishes.rounds:
        if pause(max(0.0, due - clock())):
            return
        due = max(due, clock()) + wishes.every * MINUTE
        number += 1
        yield play()


def _played(wishes: Wishes, end: Ending) -> int:
    """A run. What it says goes into a file, and is shown where it came to no verdicts."""
    wishes.out.mkdir(parents=True, exist_ok=True)
    log = wishes.out / "last.log"
    words = ["run", wishes.url, "--rules", wishes.rules, "--report", str(wishes.out / "last"), "--history",
             str(wishes.out), *wishes.words]
    with log.open("wb") as errors:
        code = end.run([sys.executable, "-m", "conformance.cli", *words], subprocess.DEVNULL, errors)
    if code not in (GATE_OPEN, GATE_CLOSED) and not end.told:
        print(log.read_text("utf-8", "replace").rstrip()[-LONGEST:], file=sys.stderr)
    return code


def _tell(wishes: Wishes, code: int) -> None:
    """A round in a line."""
    if code == UNREACHABLE:
        said: object = {"open": None, "unreachable": True} if wishes.format == "json" else "the broker is not there"
    else:
        *before, now = read(wishes.out)
        said = {**now, "changed": changes(before, now)} if wishes.format == "json" else line(before, now)
    print(json.dumps(said, sort_keys=True, ensure_ascii=False) if wishes.format == "json" else said, flush=True)


def line(before: Sequence[Kept], now: Kept) -> str:
    """`2026-11-23 16:50:39  RabbitMQ 3.10.8: gate open; 60 held, 3 known. Changed: ACK-001 held, now broken`."""
    seen = Counter(now["rules"].values())
    counts = ", ".join(f"{seen[verdict]} {sign.short}" for verdict, sign in SIGNS.items()
                       if seen[verdict] and verdict not in SILENT)
    told = "; ".join(f"{rule} was {SIGNS[was].word}, is {SIGNS[now].word}" for rule, was, now in changes(before, now))
    when = now["started"].replace("T", " ").removesuffix("Z")
    head = f"{when}  {now['broker']['name']}: gate {'open' if now['open'] else 'CLOSED'}; {counts}"
    return f"{head}. Changed: {told}" if told else head


def changes(before: Sequence[Kept], now: Kept) -> list[tuple[str, str, str]]:
    """(rule, before, now) since the last round in which as much was looked at."""
    if not before:
        return []
    was = before[-1]["rules"]
    return [(rule, was[rule], verdict) for rule, verdict in now["rules"].items()
            if was.get(rule, verdict) != verdict and not {was[rule], verdict} & set(SILENT)]

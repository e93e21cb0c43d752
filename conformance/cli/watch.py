"""`watch URL`: a light set of rules on a staging broker, every few minutes, and a page about all rounds.

    OUT/history.html     rules over time, what is flaky, how long confirms took: all rounds
    OUT/*.json           a round each, without evidence
    OUT/last/            the report of the last round, with its evidence

Each round is a run in a process of its own, with the same seed, so what changes is the broker. Rounds never overlap:
one that takes longer than the interval puts off the next. A broker that is away for a round is told, and asked again.
Ctrl-C while it waits ends it at once; during a round, when that round has been ended in order and is kept.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.cli.parsing import printed
from conformance.drive.run.size import DEPTHS
from conformance.evidence.words import SIGNS, SILENT
from conformance.outcome.earlier import PAGE, read
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, INTERRUPTED, UNREACHABLE, WRONG_USE, Refused
from conformance.session.interrupts import Ending, ending
from conformance.session.options import Options
from conformance.session.places import local, writable

MINUTE = 60.0
LONGEST = 2000
"""Characters of what a failed run has said."""

Kept = dict[str, Any]
Play = Callable[[], int]
"""Plays a round; its exit code."""
Pause = Callable[[float], bool]
"""Waits this many seconds; True where it was told to end meanwhile."""


LIGHT = "TAG-*,MODE-*,ACK-*,RQ-00*,CNF-00*,QOS-00*"
"""What most applications lean on: what is looked at where nobody says otherwise."""
EVERY = 15.0
"""Minutes."""


def arguments(added: argparse.ArgumentParser) -> None:
    added.epilog = (
        "exit codes: 130 interrupted, which is how it usually ends; with --rounds: 0 all gates were open, "
        "1 one was closed, 3 the broker was not there; 2 wrong use"
    )
    added.add_argument("url", help="amqp or amqps URL")
    added.add_argument(
        "--every",
        type=float,
        default=EVERY,
        metavar="MIN",
        help="minutes from the beginning of one round to the next (default: %(default)g)",
    )
    added.add_argument(
        "--rounds", type=int, default=0, metavar="N", help="stop after this number of rounds (default: never)"
    )
    added.add_argument("--rules", default=LIGHT, metavar="GLOB", help="play only these rules (default: %(default)s)")
    added.add_argument("--depth", choices=DEPTHS, default="smoke", help="how much is played (default: %(default)s)")
    added.add_argument(
        "--out",
        type=local,
        default=Path("watch"),
        metavar="DIR",
        help="directory for history page, rounds and last report; a later watch continues it (default: %(default)s)",
    )
    for name, metavar, about in (
        ("broker-admin", "URL", "RabbitMQ-style management API"),
        ("profile", "NAME|FILE", "the profile to judge the broker by (default: detected)"),
        ("deviations", "NAME|FILE", "known deviations (default: the profile's own)"),
        ("seed", "N", "seed of all random choices, the same in each round (default: 0)"),
    ):
        added.add_argument(f"--{name}", metavar=metavar, help=about)
    printed(added, "a line for each round, as text or as JSON")


def run(options: argparse.Namespace) -> int:
    if not options.every >= 0 or options.rounds < 0:
        raise Refused(WRONG_USE, "--every and --rounds take numbers of at least 0.")
    said = {
        name: getattr(options, name.replace("-", "_"))
        for name in ("depth", "broker-admin", "profile", "deviations", "seed")
    }
    Options.checked(lambda name: [options.url] if name == "broker-url" else {**said, "rules": options.rules}.get(name))
    words = [word for name, value in said.items() if value is not None for word in (f"--{name}", str(value))]
    out = writable("out", options.out)
    return watch(RoundsOptions(options.url, out, options.every, options.rounds, options.rules, words, options.format))


@dataclass(frozen=True, slots=True)
class RoundsOptions:
    """`every` in minutes; `rounds` 0: without end. `words`: options of `run` that hold for each round."""

    url: str
    out: Path
    every: float
    rounds: int = 0
    rules: str = "*"
    words: Sequence[str] = ()
    format: str = "text"


def watch(wanted: RoundsOptions, play: Play | None = None) -> int:
    """Until interrupted, or so many rounds are over; the exit code: 130, or that of the worst round."""
    worst = GATE_OPEN
    with ending() as end:
        for code in rounds(wanted, play or (lambda: _played(wanted, end)), end.pause, time.monotonic):
            worst = max(worst, code)
            if code not in (GATE_OPEN, GATE_CLOSED, UNREACHABLE):
                break
            _tell(wanted, code)
        if (wanted.out / PAGE).exists():
            print(f"history: {wanted.out / PAGE}", file=sys.stderr)
        return INTERRUPTED if end.is_interrupted else worst


def rounds(wanted: RoundsOptions, play: Play, pause: Pause, clock: Callable[[], float]) -> Iterator[int]:
    """The exit code of each round, as long as nobody says that it is to end."""
    due, number = clock(), 0
    while not wanted.rounds or number < wanted.rounds:
        if pause(max(0.0, due - clock())):
            return
        due = max(due, clock()) + wanted.every * MINUTE
        number += 1
        yield play()


def _played(wanted: RoundsOptions, end: Ending) -> int:
    """A run. What it says goes into a file, and is shown where it came to no verdicts."""
    wanted.out.mkdir(parents=True, exist_ok=True)
    log = wanted.out / "last.log"
    words = [
        "run",
        wanted.url,
        "--rules",
        wanted.rules,
        "--report",
        str(wanted.out / "last"),
        "--history",
        str(wanted.out),
        *wanted.words,
    ]
    with log.open("wb") as errors:
        code = end.run([sys.executable, "-m", "conformance.cli", *words], subprocess.DEVNULL, errors)
    if code not in (GATE_OPEN, GATE_CLOSED) and not end.is_interrupted:
        print(log.read_text("utf-8", "replace").rstrip()[-LONGEST:], file=sys.stderr)
    return code


def _tell(wanted: RoundsOptions, code: int) -> None:
    """A round in a line."""
    if code == UNREACHABLE:
        said: object = {"open": None, "unreachable": True} if wanted.format == "json" else "the broker is not there"
    else:
        *before, now = read(wanted.out)
        said = {**now, "changed": changes(before, now)} if wanted.format == "json" else line(before, now)
    print(json.dumps(said, sort_keys=True, ensure_ascii=False) if wanted.format == "json" else said, flush=True)


def line(before: Sequence[Kept], now: Kept) -> str:
    """`2026-11-23 16:50:39  RabbitMQ 3.10.8: gate open; 60 held, 3 known. Changed: ACK-001 held, now broken`."""
    seen = Counter(now["rules"].values())
    counts = ", ".join(
        f"{seen[verdict]} {sign.short}" for verdict, sign in SIGNS.items() if seen[verdict] and verdict not in SILENT
    )
    told = "; ".join(f"{rule} was {SIGNS[was].word}, is {SIGNS[now].word}" for rule, was, now in changes(before, now))
    when = now["started"].replace("T", " ").removesuffix("Z")
    head = f"{when}  {now['broker']['name']}: gate {'open' if now['open'] else 'CLOSED'}; {counts}"
    return f"{head}. Changed: {told}" if told else head


def changes(before: Sequence[Kept], now: Kept) -> list[tuple[str, str, str]]:
    """(rule, before, now) since the last round in which as much was looked at."""
    if not before:
        return []
    was = before[-1]["rules"]
    return [
        (rule, was[rule], verdict)
        for rule, verdict in now["rules"].items()
        if was.get(rule, verdict) != verdict and not {was[rule], verdict} & set(SILENT)
    ]

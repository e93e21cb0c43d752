"""The reference broker beside a real RabbitMQ under one load: `python -m benchmarks.broker_load [AMQP_URL]`.

The load of `broker_wire`, with 1 KiB bodies: transient, and persistent with an fsync before each confirm. Rounds are
interleaved, and only the ratio within a round is a result: messages a second, and CPU of the broker's process for each.
The reference broker runs as a process of its own, as the other one does. Into build/bench.json.

It is one thread, RabbitMQ as many as there are cores. The goals are for both with all of the machine; beside them stand
the rates with both on the same one or two cores, and the load generator on the others. Beside those stands how many
cores each broker was busy on, and the load generator, which is the same process for both: it must be far from one.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple
from urllib.parse import urlsplit

from benchmarks.broker_wire import Round, listener, name_of, one_round
from benchmarks.codec_bench import RESULTS, Result, merge
from benchmarks.cores import confined, shares

MODES = {"transient": False, "persistent": True}
GOALS = {
    "broker.rate.transient": 2.0,
    "broker.rate.persistent": 2.5,
    "broker.cpu": 0.4,
    "broker.cpu.persistent": 0.4,
}
CONFINED = (1, 2)
"""Cores, in the rounds that have no goal."""


class Setting(NamedTuple):
    """One line of the table. `cores` is 0 for all of them."""

    mode: str
    cores: int

    @property
    def suffix(self) -> str:
        return "" if not self.cores else f".{self.cores}-core{'s' if self.cores > 1 else ''}"


Pair = tuple[Round, Round | None]
"""Of us, and of the peer."""


@contextmanager
def reference(data: Path | None) -> Iterator[tuple[str, int]]:
    """The URL and process of a broker; with a directory, one that keeps what is durable."""
    command = [sys.executable, "-m", "reference_broker", "--port", "0", *(["--data", str(data)] if data else [])]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.terminate()


def settings() -> list[Setting]:
    """All that this machine has cores for."""
    counts = [0, *(cores for cores in CONFINED if shares(cores) is not None)]
    return [Setting(mode, cores) for cores in counts for mode in MODES]


def measure(peer: str | None, rounds: int, seconds: float) -> dict[Setting, list[Pair]]:
    """What each round measured of us, and of the peer; half as many rounds, half as long, where there is no goal."""
    theirs = listener(urlsplit(peer).port or 5672) if peer is not None else 0
    found: dict[Setting, list[Pair]] = {setting: [] for setting in settings()}
    with tempfile.TemporaryDirectory() as folder, reference(None) as transient, reference(Path(folder)) as persistent:
        for number in range(rounds):
            for setting, pairs in found.items():
                if setting.cores and number % 2:
                    continue
                takes = seconds / 2 if setting.cores else seconds
                ours = persistent if MODES[setting.mode] else transient
                turns = {"ours": ours, **({"theirs": (peer, theirs)} if peer is not None else {})}
                names = list(turns) if len(pairs) % 2 else list(reversed(turns))
                pair = {name: turn(*turns[name], setting, takes) for name in names}
                pairs.append((pair["ours"], pair.get("theirs")))
    return found


def turn(url: str, process: int, setting: Setting, seconds: float) -> Round:
    with ExitStack() as stack:
        parts = shares(setting.cores)
        if parts is not None:
            for who, cores in zip((process, os.getpid()), parts, strict=True):
                stack.enter_context(confined(who, cores))
        return one_round(url, process, seconds, MODES[setting.mode])


def results(found: dict[Setting, list[Pair]], peer: str) -> list[Result]:
    rows = []
    for setting, pairs in found.items():
        rows.append(row(f"broker.rate.{setting.mode}{setting.suffix}", peer, pairs, "rate", "higher"))
        if not setting.cores:
            suffix = "" if setting.mode == "transient" else f".{setting.mode}"
            rows.append(row(f"broker.cpu{suffix}", peer, pairs, "cost", "lower"))
    return rows


def row(name: str, peer: str, pairs: Sequence[Pair], what: str, better: str) -> Result:
    ours = median(getattr(one, what) for one, _ in pairs)
    both = [(getattr(one, what), getattr(other, what)) for one, other in pairs if other is not None]
    theirs = median(other for _, other in both) if both else 0.0
    ratio = median(one / other for one, other in both) if both else ours
    return Result(name, peer, ours, theirs, ratio, better)


def show(rows: Sequence[Result]) -> None:
    for row in rows:
        unit, goal = ("messages/s" if row.better == "higher" else "us CPU"), GOALS.get(row.name)
        aim = f" (goal {goal}{'' if meets(row, goal) else ', missed'})" if goal is not None else ""
        peer = f"{row.peer} {row.theirs:,.0f}   x {row.ratio:.2f}{aim}"
        print(f"{row.name:<32} {row.ours:10,.0f} {unit:<11} {peer if row.theirs else '(no RabbitMQ beside it)'}")


def meets(row: Result, goal: float) -> bool:
    return row.ratio >= goal if row.better == "higher" else row.ratio <= goal


def show_cores(found: dict[Setting, list[Pair]], peer: str) -> None:
    """Who was busy on how many cores."""
    for setting, pairs in found.items():
        sides = {"ours": [one for one, _ in pairs], peer: [other for _, other in pairs if other is not None]}
        cells = [
            f"{name} {median(one.cores for one in side):.2f}, the load generator "
            f"{median(one.generator for one in side):.2f}"
            for name, side in sides.items()
            if side
        ]
        print(f"busy cores, {setting.mode + setting.suffix:<20} {';  '.join(cells)}")


def main(arguments: Sequence[str] | None = None, path: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "url",
        nargs="?",
        metavar="AMQP_URL",
        default=os.environ.get("AMQP_RABBITMQ_URL"),
        help="a RabbitMQ on this machine, of this user [AMQP_RABBITMQ_URL]",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(arguments)
    peer = name_of(options.url) if options.url else ""
    found = measure(options.url, options.rounds, options.seconds)
    rows = results(found, peer)
    merge(rows, path)
    show(rows)
    show_cores(found, peer)


if __name__ == "__main__":
    main()

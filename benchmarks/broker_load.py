"""The reference broker beside a real RabbitMQ under one load: `python -m benchmarks.broker_load [AMQP_URL]`.

The load of `broker_wire`, with 1 KiB bodies: transient, and persistent with an fsync before each confirm. Rounds are
interleaved, and only the ratio within a round is a result: messages a second, and CPU of the broker's process for each.
The reference broker runs as a process of its own, as the other one does. Into build/bench.json.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.parse import urlsplit

from benchmarks.broker_wire import listener, name_of, one_round
from benchmarks.codec_bench import RESULTS, Result, merge

MODES = {"transient": False, "persistent": True}
GOALS = {
    "broker.rate.transient": 2.0, "broker.rate.persistent": 2.5, "broker.cpu": 0.4, "broker.cpu.persistent": 0.4,
}

Round = tuple[float, float]


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


def measure(peer: str | None, rounds: int, seconds: float) -> dict[str, list[tuple[Round, Round | None]]]:
    """By mode: what each round measured of us, and of the peer."""
    theirs = listener(urlsplit(peer).port or 5672) if peer is not None else 0
    found: dict[str, list[tuple[Round, Round | None]]] = {mode: [] for mode in MODES}
    with tempfile.TemporaryDirectory() as folder, reference(None) as transient, reference(Path(folder)) as persistent:
        for number in range(rounds):
            for mode, lasting in MODES.items():
                url, process = persistent if lasting else transient
                turns = {"ours": (url, process), **({"theirs": (peer, theirs)} if peer is not None else {})}
                names = list(turns) if number % 2 else list(reversed(turns))
                pair = {name: one_round(*turns[name], seconds, lasting) for name in names}
                found[mode].append((pair["ours"], pair.get("theirs")))
    return found


def results(found: dict[str, list[tuple[Round, Round | None]]], peer: str) -> list[Result]:
    rows = []
    for mode, rounds in found.items():
        suffix = "" if mode == "transient" else f".{mode}"
        for name, which, better in ((f"broker.rate.{mode}", 0, "higher"), (f"broker.cpu{suffix}", 1, "lower")):
            ours = median(one[which] for one, _ in rounds)
            pairs = [(one[which], other[which]) for one, other in rounds if other is not None]
            theirs = median(other for _, other in pairs) if pairs else 0.0
            ratio = median(one / other for one, other in pairs) if pairs else ours
            rows.append(Result(name, peer, ours, theirs, ratio, better))
    return rows


def show(rows: Sequence[Result]) -> None:
    for row in rows:
        unit, goal = ("messages/s" if row.better == "higher" else "us CPU"), GOALS[row.name]
        met = row.ratio >= goal if row.better == "higher" else row.ratio <= goal
        peer = f"{row.peer} {row.theirs:,.0f}   x {row.ratio:.2f} (goal {goal}{'' if met else ', missed'})"
        print(f"{row.name:<24} {row.ours:10,.0f} {unit:<11} {peer if row.theirs else '(no RabbitMQ beside it)'}")


def main(arguments: Sequence[str] | None = None, path: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url", nargs="?", metavar="AMQP_URL", default=os.environ.get("AMQP_RABBITMQ_URL"),
                        help="a RabbitMQ on this machine, of this user [AMQP_RABBITMQ_URL]")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args(arguments)
    rows = results(
        measure(options.url, options.rounds, options.seconds), name_of(options.url) if options.url else ""
    )
    merge(rows, path)
    show(rows)


if __name__ == "__main__":
    main()

"""Our codec beside pika's, pamqp's and py-amqp's: `python -m benchmarks.codec_bench [--check]`.

One corpus, interleaved rounds, CPU time, garbage collection on; a ratio is the median over the rounds. Peers get every
frame cut out already; ours reads the stream in pieces of 64 KiB, as a socket gives it, and cuts for itself.
"""

from __future__ import annotations

import argparse
import gc
import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, NamedTuple

import codec
from benchmarks import corpus
from benchmarks.codec_peers import PEERS

PIECE = 65536
RESULTS = Path("build/bench.json")
GOALS = {
    ("codec.decode", "pika"): 2.5,
    ("codec.decode", "pamqp"): 4.5,
    ("codec.decode", "py-amqp"): 1.7,
    ("codec.encode", "pika"): 2.5,
    ("codec.encode", "pamqp"): 4.5,
}


Run = tuple[Callable[[Any], Any], Any]  # what to do, with what


class Result(NamedTuple):
    name: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    better: str = "higher"


def decode(pieces: list[bytes]) -> None:
    feed = codec.FrameReader().feed
    for piece in pieces:
        feed(piece)


def encode(frames: list[codec.Frame]) -> list[bytes]:
    return [frame.encode() for frame in frames]


def seconds(work: Callable[[Any], Any], argument: Any) -> float:
    gc.collect()
    begin = process_time()
    work(argument)
    return process_time() - begin


def compare(name: str, ours: Run, theirs: dict[str, Run], count: int, rounds: int) -> list[Result]:
    """Each round runs everyone once, every other one in reverse; the first one warms up and does not count."""
    runs = {**theirs, "ours": ours}
    times: dict[str, list[float]] = {who: [] for who in runs}
    for number in range(rounds + 1):
        for who in list(runs) if number % 2 else reversed(runs):
            times[who].append(seconds(*runs[who]))
    for spent in times.values():
        del spent[0]
    return [
        Result(
            name,
            peer,
            count / median(times["ours"]),
            count / median(times[peer]),
            median(t / o for t, o in zip(times[peer], times["ours"], strict=True)),
        )
        for peer in theirs
    ]


def measure(count: int, rounds: int) -> list[Result]:
    frames = corpus.build(count)
    octets = b"".join(frames)
    pieces = [octets[i : i + PIECE] for i in range(0, len(octets), PIECE)]
    decoded = compare("codec.decode", (decode, pieces), {p.name: (p.decode, frames) for p in PEERS}, count, rounds)
    objects = codec.decode_many(octets)[0]
    peers = {p.name: (p.encode, p.objects(frames)) for p in PEERS}
    gc.freeze()
    return decoded + compare("codec.encode", (encode, objects), peers, count, rounds)


def merge(results: list[Result], path: Path) -> None:
    """Into the list that is there, in place of what has the same name and peer."""
    rows = json.loads(path.read_text()) if path.exists() else []
    new = {(r.name, r.peer) for r in results}
    kept = [row for row in rows if (row["name"], row.get("peer")) not in new]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(kept + [r._asdict() for r in results], indent=1) + "\n")


def show(results: list[Result]) -> list[Result]:
    """Prints the table; gives what misses its goal."""
    print(f"{'':14}{'peer':10}{'ours f/s':>12}{'theirs f/s':>12}{'ratio':>8}{'goal':>7}")
    missed = []
    for r in results:
        goal = GOALS.get((r.name, r.peer))
        if goal and r.ratio < goal:
            missed.append(r)
        print(
            f"{r.name:14}{r.peer:10}{r.ours:12,.0f}{r.theirs:12,.0f}{r.ratio:8.2f}{goal or '':>7}"
            f"{'  missed' if r in missed else ''}"
        )
    return missed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=int, default=corpus.FRAMES)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--check", action="store_true", help="fail when a goal is missed")
    options = parser.parse_args()
    results = measure(options.frames, options.rounds)
    missed = show(results)
    merge(results, RESULTS)
    if options.check and missed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()

"""How many steps a second the machines take: `python -m benchmarks.suite_steps`, into build/bench.json.

A step is one command of a machine, on the reference broker in this process, with everything that belongs to it: what
Hypothesis generates, what goes over the wire and back, the judge, and the drains and ends of the histories. Every
machine runs in lockstep on both types of queue, one after the other, in interleaved rounds; the figure is the median of
the rounds. Seconds are CPU time: client and broker take turns in one process, so on an idle machine that is the time
on the wall, and on a crowded one it stays the same. There is no peer: the number is its own ratio.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import process_time

from benchmarks.codec_bench import RESULTS, Result, merge
from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import search
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker

MACHINES = (SETTLEMENT, REQUEUEING, PREFETCH, CONFIRMS, CANCELLATION)
QUEUE_TYPES = ("classic", "quorum")
STEPS = 40
DEADLINE = 5.0
"""Seconds that the broker gets for what it owes."""


def rate(url: str, machines: Sequence[search.Machine], examples: int, seed: int) -> float:
    """Steps a second over all these machines, each on both types of queue. Raises AssertionError where one of them
    finds something: then it would have measured the search for a bug."""
    bench, steps = Bench(Target.parse(url), profiles.load("documented"), deadline=DEADLINE), 0
    begin = process_time()
    for machine in machines:
        for queue_type in QUEUE_TYPES:
            outcome = search.run(
                machine,
                bench,
                queue_type,
                "lockstep",
                examples,
                STEPS,
                seed,
            )
            assert not outcome.broken, f"{machine.name} finds {sorted(outcome.broken)}"
            steps += outcome.steps
    return steps / (process_time() - begin)


def measure(examples: int, rounds: int, machines: Sequence[search.Machine] = MACHINES) -> Result:
    """The row of the results; the first round warms up and does not count."""
    with ReferenceBroker() as broker:
        rates = [rate(broker.url, machines, examples, seed) for seed in range(rounds + 1)][1:]
    figure = median(rates)
    return Result("suite.steps_per_second", "", figure, 0.0, figure)


def main(arguments: Sequence[str] | None = None, path: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=4, help="of each machine on each type of queue, in a round")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args(arguments)
    result = measure(options.examples, options.rounds)
    merge([result], path)
    print(f"{result.name:<36} {result.ours:,.0f} steps/s, drains and ends of histories included")


if __name__ == "__main__":
    main()

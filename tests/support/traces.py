"""Histories that machines play on the reference broker, with the judgement that was made live, as they were played.

A `Trace` is one history. `lawful` traces come from a right broker, `chaotic` ones from one that is right in other ways
each time, `wrong` ones from one that does one thing wrong.
Where something was found is not looked into, so that playing stays cheap.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import search
from conformance.drive.machines.campaign import Scheduler
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.search import Machine
from conformance.drive.machines.settlement import SCHEDULERS, SETTLEMENT
from conformance.drive.run.audience import Listener
from conformance.drive.run.bench import Bench
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS

MACHINES: Sequence[Machine] = (SETTLEMENT, REQUEUEING, PREFETCH, CANCELLATION, CONFIRMS)
PROFILE = "documented"
FAMILIES = (
    "tags",
    "mode",
    "settle",
    "errors",
    "requeue",
    "prefetch",
    "slots",
    "cancel",
    "ends",
    "confirms",
    "routes",
    "returning",
)
"""Mutants that the machines may meet."""
STEPS = 20


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """One history, and what the live Judge made of it."""

    events: list[Event]
    live: Judgement

    def __repr__(self) -> str:
        """What a failing test prints of it: its name, of which it can be played again."""
        return f"<{self.events[0].history}, {len(self.events)} events>"


Plain = tuple[Any, ...]


def plain(judgement: Judgement) -> Plain:
    """A judgement as a value: what was found, exercised, reported and doubted."""
    return (
        sorted(judgement.findings, key=lambda one: (one.at, one.rule, one.observed)),
        {rule: times for rule, times in judgement.exercised.items() if times},
        {rule: {**seen} for rule, seen in judgement.reports.items()},
        {rule: {**reasons} for rule, reasons in judgement.doubts.items()},
    )


def lawful(examples: int, seed: int = 0) -> Iterator[Trace]:
    """So many examples of each machine, queue type and scheduler, on a broker that is right."""
    with ReferenceBroker() as broker:
        for machine, queue_type, scheduler in itertools.product(MACHINES, ("classic", "quorum"), SCHEDULERS):
            yield from play(broker, machine, queue_type, scheduler, examples, seed)


def chaotic(examples: int, seed: int = 0) -> Iterator[Trace]:
    """So many examples of each machine, queue type and scheduler, each on a broker with other variations."""
    cells = itertools.product(MACHINES, ("classic", "quorum"), SCHEDULERS)
    for number, (machine, queue_type, scheduler) in enumerate(cells, seed):
        with ReferenceBroker(nondeterminism=number) as broker:
            yield from play(broker, machine, queue_type, scheduler, examples, number, f"variations {number}")


def wrong(
    mutants: Iterable[str],
    examples: int,
    seed: int = 0,
    machines: Sequence[Machine] = MACHINES,
    schedulers: Sequence[Scheduler] = SCHEDULERS,
) -> Iterator[Trace]:
    """So many examples of each of these machines on each of these mutants, by turns of these schedulers. What is found
    in lockstep is found always; what is pipelined hangs on the interleaving."""
    for number, mutant in enumerate(mutants):
        queue_type, scheduler = ("classic", "quorum")[number % 2], schedulers[number // 2 % len(schedulers)]
        with ReferenceBroker(mutants=(mutant,)) as broker:
            for machine in machines:
                yield from play(broker, machine, queue_type, scheduler, examples, seed + number, mutant, 0.5)


def mutants(share: int = 1) -> list[str]:
    """Every so-manieth mutant that changes what is seen in ordinary traffic."""
    return [name for name in MUTANTS if name.partition(".")[0] in FAMILIES][::share]


def play(
    broker: ReferenceBroker,
    machine: Machine,
    queue_type: str,
    scheduler: Scheduler,
    examples: int,
    seed: int,
    name: str = "right",
    deadline: float = 10.0,
) -> list[Trace]:
    """One campaign. `deadline` in seconds: a right broker misses none, unless the machine is too slow for it."""
    traces: list[Trace] = []

    def keep(judgement: Judgement, history: Sequence[Event]) -> None:
        label = f"{name} {machine.name} {queue_type} {scheduler} {len(traces)}"
        traces.append(Trace([event._replace(run="r", history=label) for event in history], _labelled(judgement, label)))

    search.run(
        machine,
        Bench(Target.parse(broker.url), profiles.load(PROFILE), deadline=deadline, run="r"),
        queue_type,
        scheduler,
        examples,
        STEPS,
        seed,
        Listener(keep),
    )
    return traces


def _labelled(judgement: Judgement, history: str) -> Judgement:
    return replace(judgement, findings=[replace(found, history=history) for found in judgement.findings])

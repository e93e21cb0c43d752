"""The campaign that shows how many wrong brokers the suite finds, and that it takes none for wrong that is right.

Every mutant is hunted with every seed, each time on a broker of its own that listens on a real socket. It counts as
killed where a rule that it names breaks with at least four seeds of five, each time in a play that the honest broker
passes with the same seed. The honest broker's plays also say how often each rule was exercised: a MUST that stays under
its threshold would make a green run worth little, and fails the campaign. What is done is in a journal.
"""

from __future__ import annotations

import math
import os
import random
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from pathlib import Path
from typing import IO, Any, Protocol, TypeVar

from conformance.campaigns.hunt import PATIENCE, control, embedded, held_to, hunt
from conformance.campaigns.journal import Journal
from conformance.catalogue import profiles, rules
from conformance.drive.run.plays import plays, plays_for
from reference_broker.mutants import MUTANTS
from reference_broker.mutants.kinds import Mutant

SEEDS = (0, 1, 2, 3, 4)
SHARE = 0.8
FOLDER = Path("build") / "mutants"
EVERY = 10.0
"""Seconds between two lines about progress."""


@dataclass(frozen=True, slots=True)
class DetectionTask:
    """One hunt, or one play of the control: of this dialect, with this seed."""

    kind: str
    name: str
    dialect: str
    seed: int
    depth: str

    @property
    def key(self) -> str:
        return f"{self.kind} {self.name} {self.dialect} {self.seed}"

    def tell(self, what: str) -> str:
        """What came out, and what is needed to play it again."""
        return f"seed {self.seed}, {self.dialect}, {what}"


def perform(task: DetectionTask) -> dict[str, Any]:
    """In whatever process."""
    if task.kind == "hunt":
        with embedded(task.dialect, task.seed, task.depth, (task.name,)) as bench:
            return hunt(MUTANTS[task.name].rules, bench).plain()
    play = next(play for play in plays() if play.key == task.name)
    with embedded(task.dialect, task.seed, task.depth) as bench:
        seen = control(play, bench)
    if seen.broken:
        with embedded(task.dialect, task.seed, task.depth, deadline=PATIENCE) as bench:
            seen = control(play, bench)
        seen.impatient = not seen.broken
    return seen.plain()


def tasks(mutants: Iterable[Mutant], seeds: Sequence[int], depth: str, whole: bool) -> list[DetectionTask]:
    """Hunts, then their control: what a hunt may play, and with `whole` all that the suite plays."""
    hunts: list[DetectionTask] = []
    checks: dict[tuple[str, str], None] = {}
    for mutant in mutants:
        dialect = held_to(mutant.rules)
        hunts += [DetectionTask("hunt", mutant.name, dialect, seed, depth) for seed in seeds]
        checks |= dict.fromkeys((dialect, play.key) for play in plays_for(mutant.rules, profiles.load(dialect), depth))
    if whole:
        honest = profiles.load("documented")
        checks |= dict.fromkeys(("documented", play.key) for play in plays() if play.suits(honest, depth))
    return hunts + [DetectionTask("control", key, dialect, seed, depth) for dialect, key in checks for seed in seeds]


@dataclass(frozen=True, slots=True)
class ControlSample:
    """So many of the control's plays, drawn, and played with another seed than the hunts."""

    number: int
    seed: int

    def draw(self, wanted: Iterable[DetectionTask]) -> list[DetectionTask]:
        honest = dict.fromkeys(replace(task, seed=self.seed) for task in wanted if task.kind == "control")
        return random.Random(self.seed).sample(list(honest), min(self.number, len(honest)))


def confirming(hunted: Iterable[DetectionTask], journal: Journal) -> list[DetectionTask]:
    """The control that cannot be left out: the plays in which these hunts found something."""
    found = [(task, journal[task.key]) for task in hunted if task.kind == "hunt"]
    plays = [
        DetectionTask("control", trail["play"], task.dialect, task.seed, task.depth)
        for task, trail in found
        if trail["rule"]
    ]
    return list(dict.fromkeys(plays))


@dataclass
class DetectionCampaign:
    """What it plays, and where it tells its progress."""

    mutants: Sequence[Mutant]
    seeds: Sequence[int] = SEEDS
    depth: str = "ci"
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    folder: Path = FOLDER
    stream: IO[str] = field(default_factory=lambda: sys.stderr)
    sample: ControlSample | None = None
    """Beside these, the honest broker plays only that in which a hunt found something."""

    @property
    def whole(self) -> bool:
        return len(self.mutants) == len(MUTANTS)

    def run(self) -> dict[str, Any]:
        """The document of the campaign. An interrupt loses what is being played, and nothing else."""
        begin = time.monotonic()
        journal = Journal(self.folder, self.depth)
        wanted = tasks(self.mutants, self.seeds, self.depth, self.whole)
        if self.sample is not None:
            hunts = [task for task in wanted if task.kind == "hunt"]
            self._play(hunts, journal)
            wanted = list(dict.fromkeys([*hunts, *confirming(hunts, journal), *self.sample.draw(wanted)]))
        self._play(wanted, journal)
        document = self.document(journal, wanted)
        document["wall_seconds"] = round(time.monotonic() - begin, 1)
        return document

    def _play(self, wanted: Sequence[DetectionTask], journal: Journal) -> None:
        left = [task for task in wanted if task.key not in journal]
        played(left, journal, self.workers, Progress(len(wanted), len(wanted) - len(left), self.stream), perform)

    def document(self, journal: Journal, wanted: Sequence[DetectionTask]) -> dict[str, Any]:
        controls = [(task, journal[task.key]) for task in wanted if task.kind == "control"]
        red = {(task.name, task.dialect, task.seed) for task, seen in controls if seen["broken"] or seen["impatient"]}
        rows = [self.row(mutant, journal, red) for mutant in self.mutants]
        examples = [kill["histories"] for row in rows for kill in row["kills"]]
        return {
            "depth": self.depth,
            "seeds": list(self.seeds),
            "whole": self.whole,
            "mutants": rows,
            "killed": sum(row["killed"] for row in rows),
            "survivors": [row["name"] for row in rows if not row["killed"]],
            "examples_median": statistics.median(examples) if examples else None,
            "examples_worst": max(examples, default=None),
            "control": {
                "plays": len(controls),
                "histories": sum(seen["histories"] for _, seen in controls),
                "broken": [task.tell(what) for task, seen in controls for what in seen["broken"]],
                "troubles": [task.tell(seen["trouble"]) for task, seen in controls if seen["trouble"]],
            },
            "vacuous": vacuous(controls, self.seeds[0]) if self.whole else [],
            "seconds": round(sum(journal[task.key]["seconds"] for task in wanted), 1),
        }

    def row(self, mutant: Mutant, journal: Journal, red: set[tuple[str, str, int]]) -> dict[str, Any]:
        """One mutant: its kills, by seed."""
        dialect = held_to(mutant.rules)
        trails = {
            seed: journal[DetectionTask("hunt", mutant.name, dialect, seed, self.depth).key] for seed in self.seeds
        }
        kills = [
            {"seed": seed, **{name: trail[name] for name in ("rule", "play", "observed", "histories", "seconds")}}
            for seed, trail in trails.items()
            if trail["rule"] and (trail["play"], dialect, seed) not in red
        ]
        return {
            "name": mutant.name,
            "says": mutant.says,
            "rules": list(mutant.rules),
            "field": mutant.field,
            "dialect": dialect,
            "killed": len(kills) >= math.ceil(SHARE * len(self.seeds)),
            "kills": kills,
            "by": {
                rule: {"seeds": count, "histories": max(kill["histories"] for kill in kills if kill["rule"] == rule)}
                for rule, count in Counter(kill["rule"] for kill in kills).items()
            },
            "others": sorted({other for trail in trails.values() for other in trail["others"]}),
        }


def vacuous(controls: Iterable[tuple[DetectionTask, Mapping[str, Any]]], seed: int) -> list[str]:
    """The MUST rules that one run of the suite on honest brokers exercises too little, each with its counts."""
    seen: dict[str, Counter[str]] = {}
    for task, result in controls:
        if task.seed == seed:
            seen.setdefault(task.dialect, Counter()).update(result["exercised"])
    found = []
    for rule in rules.CATALOGUE.values():
        if rule.level == "must" and rule.judged:
            most = max((exercised[rule.id] for exercised in seen.values()), default=0)
            if most < rule.needed:
                found.append(f"{rule.id}: exercised {most} times, {rule.needed} needed")
    return found


@dataclass
class Progress:
    """How far it is and how long it takes, now and then."""

    total: int
    done: int
    stream: IO[str]
    _begin: float = field(default_factory=time.monotonic)
    _first: int = 0
    _told: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self._first = self.done
        if self.done:
            print(f"{self.done} of {self.total} were done before", file=self.stream, flush=True)

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self._told < EVERY and self.done < self.total:
            return
        self._told = now
        left = (now - self._begin) / (self.done - self._first) * (self.total - self.done)
        print(f"{self.done} of {self.total}, {describe_seconds(left)} left", file=self.stream, flush=True)


def describe_seconds(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


class Keyed(Protocol):
    """Something to perform once."""

    @property
    def key(self) -> str: ...


K = TypeVar("K", bound=Keyed)


def played(
    left: Sequence[K],
    journal: Journal,
    workers: int,
    progress: Progress,
    perform: Callable[[K], dict[str, Any]],
) -> None:
    """Performs all of them in this many processes, and notes each as it is done."""
    if not left:
        return
    with ProcessPoolExecutor(min(workers, len(left)), mp_context=get_context("spawn")) as pool:
        try:
            running: dict[Future[dict[str, Any]], K] = {pool.submit(perform, task): task for task in left}
            while running:
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    journal.add(running.pop(future).key, future.result())
                    progress.step()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise

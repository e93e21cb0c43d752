"""`amqp-conformance mutants --legal N`: is a right broker ever taken for a wrong one?

At least N histories are played on lawfully chaotic brokers (see `reference_broker.nondeterminism`): a new broker
for each seed, with the variations that this seed draws, in the dialects in turn; on it every machine with every queue
type and scheduler, and some scenes that the seed draws. What the judge is certain of there, and is no known deviation
of the dialect, is a *false alarm*: either it claims what the text does not, or a variation is not lawful. An alarm says
all that it takes to play it again, and its slice is kept as a case.

The tally is merged into build/trust.json.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from sys import stderr
from typing import Any

from conformance.campaigns.detection import Progress, played
from conformance.campaigns.journal import Journal
from conformance.catalogue import profiles, rules
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.target import Target
from conformance.drive.guard import Guard
from conformance.drive.machines import search
from conformance.drive.machines.campaign import SCHEDULERS, Scheduler
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.messages.life import LIFE
from conformance.drive.machines.messages.routes import ROUTES
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.protocol.content import CONTENT
from conformance.drive.machines.protocol.rights import RIGHTS
from conformance.drive.machines.protocol.wire import WIRE
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.settlement import SETTLEMENT
from conformance.drive.machines.timeouts import TIMED_OUT
from conformance.drive.pulse import Pulse
from conformance.drive.run.audience import Listener
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.runner import observe
from conformance.evidence import minimal, transcript
from conformance.history.events import Event
from conformance.history.recorder import Recorder
from conformance.history.recording import to_row
from conformance.oracle.verdicts import Finding, Judgement
from conformance.session.exits import GATE_CLOSED, GATE_OPEN
from reference_broker import ReferenceBroker
from reference_broker.configuration import charter
from reference_broker.dialects import DIALECTS, DOCUMENTED

FOLDER = Path("build") / "legal"
TRUST = Path("build") / "trust.json"
EXAMPLES, STEPS = 2, 20
"""Of each round on each broker. A second history costs half of the first."""
SCENES = 16
"""On each broker."""
DEPTH = "smoke"
TIMED = "TMO-001"
"""Consumers time out where this rule applies."""
DEADLINE = 5.0
"""Seconds that a broker gets for what it owes."""

Round = tuple[search.Machine, str, Scheduler]

ROUNDS: Sequence[Round] = (
    *itertools.product(
        (SETTLEMENT, REQUEUEING, PREFETCH, CANCELLATION, CONFIRMS, CONTENT, LIFE), ("classic", "quorum"), SCHEDULERS
    ),
    *((machine, "classic", "lockstep") for machine in (ROUTES, WIRE, RIGHTS)),
    *((machine, "quorum", "lockstep") for machine in TIMED_OUT),
)


@dataclass(frozen=True, slots=True)
class LegalOptions:
    """At least this many histories, from this seed on, in this many processes."""

    runs: int
    seed: int = 0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    format: str = "text"
    folder: Path = FOLDER
    trust: Path = TRUST


@dataclass(frozen=True, slots=True)
class LegalTask:
    """A few histories of each round on a broker with the variations of this seed, or with those that are named."""

    seed: int
    names: tuple[str, ...] = ()

    @property
    def dialect(self) -> str:
        """Each in turn; what is named is looked at in the dialect that keeps to the texts."""
        return DOCUMENTED.name if self.names else list(DIALECTS)[self.seed % len(DIALECTS)]

    @property
    def rounds(self) -> Sequence[Round]:
        choices = profiles.load(self.dialect).choices
        timed = rules.get(TIMED).ruled_out(choices) is None
        return [one for one in ROUNDS if timed or one[0] not in TIMED_OUT]

    @property
    def histories(self) -> int:
        return EXAMPLES * len(self.rounds) + SCENES

    def scenes(self) -> list[Play]:
        """Some, by chance, of those that this dialect can be asked."""
        profile = profiles.load(self.dialect)
        suited = [play for play in plays() if not play.machine and play.suits(profile, DEPTH)]
        return Random(self.seed).sample(suited, SCENES)

    @property
    def key(self) -> str:
        return " ".join([str(self.seed), *self.names])


def tasks(wanted: LegalOptions) -> Sequence[LegalTask]:
    """As many as it takes."""
    made, histories = list[LegalTask](), 0
    while histories < wanted.runs:
        made.append(LegalTask(wanted.seed + len(made)))
        histories += made[-1].histories
    return made


@dataclass(slots=True)
class LegalTally:
    """What the histories of one broker came to."""

    task: LegalTask
    bench: Bench
    runs: int = 0
    exercised: Counter[str] = field(default_factory=Counter)
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def play(self, one: Round) -> None:
        """The histories of one round. Trouble that is no finding is an alarm, too."""
        machine, queue_type, scheduler = one
        where = f"{machine.name} {queue_type} {scheduler}"
        bench = replace(self.bench, recorder=Recorder("legal", "reference"))
        listener = Listener(lambda judgement, history: self._note(where, queue_type, judgement, history))
        try:
            search.run(machine, bench, queue_type, scheduler, EXAMPLES, STEPS, bench.seed, listener)
        except Exception as trouble:
            self._trouble(where, trouble)

    def perform(self, scene: Play) -> None:
        """The history of one scene."""
        trouble = observe(
            scene,
            self.bench,
            lambda judgement, history: self._note(scene.key, scene.queue_type, judgement, history),
        )
        if trouble is not None:
            self._trouble(scene.key, trouble)

    def _note(self, where: str, queue_type: str, judgement: Judgement, history: Sequence[Event]) -> None:
        self.runs += 1
        self.exercised.update(judgement.exercised)
        self.alarms += [alarm(self.task, where, one, history) for one in self.bench.damning(judgement, queue_type)]

    def _trouble(self, where: str, trouble: BaseException) -> None:
        told = {"rule": "", "observed": repr(trouble), "slice": []}
        self.alarms.append({"seed": self.task.seed, "dialect": self.task.dialect, "where": where, **told})


def perform(task: LegalTask) -> dict[str, Any]:
    """In whatever process: how many histories were played, what they exercised, and the alarms."""
    begin = time.monotonic()
    nondeterminism = task.names or task.seed
    with ReferenceBroker(clock="elastic", http_port=0, nondeterminism=nondeterminism, dialect=task.dialect) as broker:
        around = Around(Admin(broker.admin_url), broker.leap, broker.crash, broker.restart, broker.alarm)
        target, profile = Target.parse(broker.url), profiles.load(task.dialect)
        guard = Guard(Pulse(target))
        tally = LegalTally(task, Bench(target, profile, around, DEADLINE, task.seed, DEPTH, "legal", guard))
        for one in task.rounds:
            tally.play(one)
        for scene in task.scenes():
            tally.perform(scene)
        guard.let_go()
    return {
        "runs": tally.runs,
        "alarms": tally.alarms,
        "exercised": tally.exercised,
        "seconds": time.monotonic() - begin,
    }


def alarm(task: LegalTask, where: str, finding: Finding, history: Sequence[Event]) -> dict[str, Any]:
    """What it takes to see it again, and the exchange that shows it."""
    kept = minimal(history, finding, profiles.load(task.dialect))
    return {
        "seed": task.seed,
        "dialect": task.dialect,
        "where": where,
        "rule": finding.rule,
        "observed": finding.observed,
        "allowed": finding.allowed,
        "transcript": transcript(kept),
        "slice": [to_row(event) for event in kept],
    }


def run(wanted: LegalOptions) -> int:
    """The campaign; closes the gate on a single alarm."""
    journal, every = Journal(wanted.folder, "legal"), tasks(wanted)
    left = [task for task in every if task.key not in journal]
    begin = time.monotonic()
    played(left, journal, wanted.workers, Progress(len(every), len(every) - len(left), stderr), perform)
    document = summary(wanted, [journal[task.key] for task in every])
    document["wall_seconds"] = round(time.monotonic() - begin, 1)
    for number, one in enumerate(document["alarms"], 1):
        path = wanted.folder / f"alarm-{wanted.seed}-{number}.json"
        path.write_text(json.dumps(one, indent=1) + "\n", encoding="utf-8")
        one["case"] = str(path)
    merge(wanted.trust, {"chaos_runs": document["runs"], "false_alarms": len(document["alarms"])})
    print(json.dumps(document, indent=1) if wanted.format == "json" else "\n".join(words(document)))
    return GATE_CLOSED if document["alarms"] else GATE_OPEN


def summary(wanted: LegalOptions, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document: all runs, all alarms, how often each variation was taken and each rule exercised."""
    seeds = [task.seed for task in tasks(wanted)]
    taken = Counter(name for seed in seeds for name in charter(seed).granted)
    exercised: Counter[str] = Counter()
    for one in results:
        exercised.update(one["exercised"])
    return {
        "runs": sum(one["runs"] for one in results),
        "seed": wanted.seed,
        "charters": len(seeds),
        "liberties": dict(sorted(taken.items())),
        "exercised": dict(sorted(exercised.items())),
        "alarms": [alarm for one in results for alarm in one["alarms"]],
        "seconds": round(sum(one["seconds"] for one in results), 1),
    }


def words(document: Mapping[str, Any]) -> list[str]:
    """What a person wants to know."""
    charters = document["charters"]
    lines = [f"{name:<28} in {count} of {charters} charters" for name, count in document["liberties"].items()]
    for one in document["alarms"]:
        lines += [
            "",
            f"FALSE ALARM {one['rule']}: {one['observed']}",
            one.get("transcript", ""),
            f"with the variations of seed {one['seed']} (amqp-conformance broker --dialect {one['dialect']} "
            f"--nondeterminism {one['seed']}):",
            str(charter(one["seed"])),
            f"played {one['where']}, seed {one['seed']}, case {one['case']}",
        ]
    return [
        *lines,
        "",
        f"chaos runs {document['runs']}, false alarms {len(document['alarms'])}, {document['wall_seconds']:.0f} s",
    ]


def merge(path: Path, figures: Mapping[str, Any]) -> None:
    """These figures into the document of all of them, which others write, too."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**known, **figures}, indent=1, sort_keys=True) + "\n", encoding="utf-8")

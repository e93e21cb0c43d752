"""`amqp-conformance mutants --legal N`: is a right broker ever taken for a wrong one?

At least so many histories of all machines are played on brokers that take liberties (see `reference_broker.freedom`):
a new broker for each seed, with the liberties that this seed draws, on every machine, queue type and scheduler.
Whatever the
judge is certain of there is a *false alarm*: either it claims what the text does not, or the liberty is none. An alarm
is told with all that it takes to play it again, and its slice is kept as a case.

The tally is merged into build/trust.json.
"""

from __future__ import annotations

import itertools
import json
import os
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from sys import stderr
from typing import Any

from conformance import profiles
from conformance.around import Around
from conformance.drivers.admin import Admin
from conformance.drivers.target import Target
from conformance.events import Event
from conformance.evidence import minimal, transcript
from conformance.front.detection import Progress, played
from conformance.front.exits import GATE_CLOSED, GATE_OPEN
from conformance.front.journal import Journal
from conformance.machines import search
from conformance.machines.campaign import SCHEDULERS, Scheduler
from conformance.machines.cancellation import CANCELLATION
from conformance.machines.confirms import CONFIRMS
from conformance.machines.prefetch import PREFETCH
from conformance.machines.requeueing import REQUEUEING
from conformance.machines.settlement import SETTLEMENT
from conformance.machines.timeouts import TIMED_OUT
from conformance.recorder import Recorder
from conformance.verdicts import Finding, Judgement
from reference_broker import ReferenceBroker
from reference_broker.embedded import charter
from reports.recording import to_row

FOLDER = Path("build") / "legal"
TRUST = Path("build") / "trust.json"
PROFILE = "documented"
EXAMPLES, STEPS = 2, 20
"""Of each round on each broker. A second history costs half of the first."""
DEADLINE = 5.0
"""Seconds that a broker gets for what it owes."""

Round = tuple[search.Machine, str, Scheduler]

ROUNDS: Sequence[Round] = (
    *itertools.product((SETTLEMENT, REQUEUEING, PREFETCH, CANCELLATION, CONFIRMS), ("classic", "quorum"), SCHEDULERS),
    *((machine, "quorum", "lockstep") for machine in TIMED_OUT),
)


@dataclass(frozen=True, slots=True)
class Wishes:
    """At least so many histories, from this seed on, in so many processes."""

    runs: int
    seed: int = 0
    workers: int = field(default_factory=lambda: os.cpu_count() or 1)
    format: str = "text"
    folder: Path = FOLDER
    trust: Path = TRUST


@dataclass(frozen=True, slots=True)
class Task:
    """A few histories of each round on a broker with the liberties of this seed, or with those that are named."""

    seed: int
    names: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return " ".join([str(self.seed), *self.names])


def tasks(wishes: Wishes) -> Sequence[Task]:
    """As many as it takes."""
    each = EXAMPLES * len(ROUNDS)
    return [Task(wishes.seed + number) for number in range(-(-wishes.runs // each))]


@dataclass(slots=True)
class Tally:
    """What the histories of one broker came to."""

    seed: int
    runs: int = 0
    exercised: Counter[str] = field(default_factory=Counter)
    alarms: list[dict[str, Any]] = field(default_factory=list)

    def play(self, one: Round, target: Target, around: Around) -> None:
        """The histories of one round. Trouble that is no finding is an alarm, too."""
        machine, queue_type, scheduler = one
        where = f"{machine.name} {queue_type} {scheduler}"

        def judged(judgement: Judgement, history: Sequence[Event], *, reproduced: str = "") -> None:
            self.runs += 1
            self.exercised.update(judgement.exercised)
            self.alarms += [alarm(self.seed, where, one, history) for one in judgement.findings if one.certain]

        try:
            search.run(
                machine, target, profiles.load(PROFILE), lambda: Recorder("legal", "reference"), queue_type, scheduler,
                EXAMPLES, STEPS, self.seed, judged, DEADLINE, around, known=lambda finding: True,
            )
        except Exception as trouble:
            self.alarms.append({"seed": self.seed, "where": where, "rule": "", "observed": repr(trouble), "slice": []})


def perform(task: Task) -> dict[str, Any]:
    """In whatever process: how many histories were played, what they exercised, and the alarms."""
    tally, begin = Tally(task.seed), time.monotonic()
    with ReferenceBroker(clock="elastic", http_port=0, liberties=task.names or task.seed) as broker:
        around = Around(Admin(broker.admin_url), broker.advance)
        for one in ROUNDS:
            tally.play(one, Target.parse(broker.url), around)
    return {
        "runs": tally.runs, "alarms": tally.alarms, "exercised": tally.exercised, "seconds": time.monotonic() - begin,
    }


def alarm(seed: int, where: str, finding: Finding, history: Sequence[Event]) -> dict[str, Any]:
    """What it takes to see it again, and the exchange that shows it."""
    kept = minimal(history, finding, profiles.load(PROFILE))
    return {
        "seed": seed, "where": where, "rule": finding.rule, "observed": finding.observed, "allowed": finding.allowed,
        "transcript": transcript(kept), "slice": [to_row(event) for event in kept],
    }


def run(wishes: Wishes) -> int:
    """The campaign; closes the gate on a single alarm."""
    journal, wanted = Journal(wishes.folder, "legal"), tasks(wishes)
    left = [task for task in wanted if task.key not in journal]
    begin = time.monotonic()
    played(left, journal, wishes.workers, Progress(len(wanted), len(wanted) - len(left), stderr), perform)
    document = summary(wishes, [journal[task.key] for task in wanted])
    document["wall_seconds"] = round(time.monotonic() - begin, 1)
    for number, one in enumerate(document["alarms"], 1):
        path = wishes.folder / f"alarm-{wishes.seed}-{number}.json"
        path.write_text(json.dumps(one, indent=1) + "\n", encoding="utf-8")
        one["case"] = str(path)
    merge(wishes.trust, {"chaos_runs": document["runs"], "false_alarms": len(document["alarms"])})
    print(json.dumps(document, indent=1) if wishes.format == "json" else "\n".join(words(document)))
    return GATE_CLOSED if document["alarms"] else GATE_OPEN


def summary(wishes: Wishes, results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The document: all runs, all alarms, how often each liberty was taken and each rule exercised."""
    seeds = [task.seed for task in tasks(wishes)]
    taken = Counter(name for seed in seeds for name in charter(seed).granted)
    exercised: Counter[str] = Counter()
    for one in results:
        exercised.update(one["exercised"])
    return {
        "runs": sum(one["runs"] for one in results), "seed": wishes.seed, "charters": len(seeds),
        "liberties": dict(sorted(taken.items())), "exercised": dict(sorted(exercised.items())),
        "alarms": [alarm for one in results for alarm in one["alarms"]],
        "seconds": round(sum(one["seconds"] for one in results), 1),
    }


def words(document: Mapping[str, Any]) -> list[str]:
    """What a person wants to know."""
    charters = document["charters"]
    lines = [f"{name:<28} in {count} of {charters} charters" for name, count in document["liberties"].items()]
    for one in document["alarms"]:
        lines += [
            "", f"FALSE ALARM {one['rule']}: {one['observed']}", one.get("transcript", ""),
            f"with the liberties of seed {one['seed']} (amqp-conformance broker --liberties {one['seed']}):",
            str(charter(one["seed"])), f"machine {one['where']}, seed {one['seed']}, case {one['case']}",
        ]
    return [*lines, "", f"chaos runs {document['runs']}, false alarms {len(document['alarms'])}, "
                        f"{document['wall_seconds']:.0f} s"]


def merge(path: Path, figures: Mapping[str, Any]) -> None:
    """These figures into the document of all of them, which others write, too."""
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**known, **figures}, indent=1, sort_keys=True) + "\n", encoding="utf-8")

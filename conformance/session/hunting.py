"""The hunt: the machines without end, each round at what was not reached yet.

A round is one machine on one queue type under one scheduler, with a seed, a size and a lean. For each the hunt takes a
pair of a deed and a state that the run has not reached, one of those that were tried least, and leans to both. Sizes
rise. A round is a text as well, and whoever plays that text plays the same commands: what is found can be looked for
again.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance.catalogue.profiles import Profile
from conformance.drive.around import Around
from conformance.drive.machines.before import BEQUEATHING, BOUNDED, FEATURES
from conformance.drive.machines.cancellation import CANCELLATION
from conformance.drive.machines.confirms import CONFIRMS
from conformance.drive.machines.lean import BadLean, Lean
from conformance.drive.machines.messages.life import LIFE
from conformance.drive.machines.prefetch import PREFETCH
from conformance.drive.machines.requeueing import REQUEUEING
from conformance.drive.machines.search import Machine
from conformance.drive.machines.settlement import SCHEDULERS, SETTLEMENT, Scheduler
from conformance.oracle.verdicts import Finding
from conformance.outcome.ledger import gist
from conformance.outcome.reach import missing

MACHINES: Mapping[str, Machine] = {
    machine.name: machine for machine in (SETTLEMENT, CONFIRMS, PREFETCH, REQUEUEING, CANCELLATION, LIFE)
}
COMMANDS: Mapping[str, tuple[str, ...]] = {
    "basic.publish": ("Publish", "Send"),
    "basic.get": ("Get",),
    "basic.cancel": ("Cancel", "Stop", "Restart"),
    "basic.consume": ("Consume", "Start", "ConsumeWithin", "Watch", "Serve"),
    "basic.recover": ("Recover",),
    "basic.ack": ("Settle", "SettleAll"),
    "basic.nack": ("Settle", "SettleEach", "Return"),
    "basic.reject": ("Settle", "SettleEach", "Return"),
    "basic.qos": ("Limit", "Share", "ConsumeWithin", "Consume", "Serve"),
    "confirm.select": ("Confirm", "Select"),
    "tx.select": ("Begin",),
    "tx.commit": ("Begin", "End"),
    "tx.rollback": ("Begin", "End"),
    "queue.declare": ("Interlude", "Look"),
    "exchange.declare": ("Detour", "Look"),
    "queue.bind": ("Detour",),
    "queue.unbind": ("Detour",),
    "exchange.delete": ("Detour",),
    "queue.purge": ("Purge", "Interlude"),
    "queue.delete": ("Delete", "Interlude"),
    "channel.close": ("Reopen", "SettleAndClose", "Leave"),
    "channel.flow": ("Barrier",),
}
"""What makes a machine send each method."""
PASTS = {"reopening": "reopen", "deletion": "", **{name: name for name in FEATURES}}
LEAST, MOST, RISE = 16, 240, 2
"""Commands of a history in the first round and at most, and how many more there are in each."""
EXAMPLES = 4
WINDOWS, STOCKS = 13_000, 1100


class BadRound(ValueError):
    """This is no round's text."""


@dataclass(frozen=True, slots=True)
class Round:
    machine: str
    queue_type: str
    scheduler: Scheduler
    seed: int
    steps: int
    lean: Lean
    examples: int = EXAMPLES

    def __str__(self) -> str:
        size = f"{self.examples}x{self.steps}"
        return f"{self.machine}/{self.queue_type}/{self.scheduler}/{self.seed}/{size}/{self.lean}"

    @classmethod
    def read(cls, text: str) -> Round:
        """The round of which this is the text. Raises BadRound."""
        try:
            machine, queue_type, scheduler, seed, size, lean = text.split("/")
            examples, _, steps = size.partition("x")
            known = next(one for one in SCHEDULERS if one == scheduler)
            found = cls(machine, queue_type, known, int(seed), int(steps), Lean.read(lean), int(examples))
        except (ValueError, StopIteration, BadLean):
            raise BadRound(f"{text!r} is not a round of a hunt") from None
        if machine not in MACHINES or queue_type not in ("classic", "quorum"):
            raise BadRound(f"{text!r} names an unknown machine or queue type")
        return found


@dataclass
class Hunt:
    """What a process knows of its hunt. `turns`: how many checks hunt that have not begun."""

    turns: int = 0
    rounds: int = 0
    tried: Counter[tuple[str, str]] = field(default_factory=Counter)
    shown: set[tuple[str, str, str]] = field(default_factory=set)

    def seconds(self, minutes: float, age: float) -> float:
        """What the next turn may take, of a hunt of this many minutes that is this many seconds old."""
        self.turns = max(self.turns - 1, 0)
        return max(minutes * 60 - age, 0.0) / (self.turns + 1)

    def next(
        self,
        chance: random.Random,
        rows: Sequence[int],
        profile: Profile,
        queue_type: str,
        around: Around,
    ) -> Round:
        """The next round on such queues."""
        lacking = list(missing(rows))
        chance.shuffle(lacking)
        deed, state = min(lacking, key=self.tried.__getitem__) if lacking else ("basic.publish", "")
        self.tried[deed, state] += 1
        wanted = {*COMMANDS[deed.partition(" ")[0]], *_before(state)}
        machine, more = _machine(chance, wanted, profile, queue_type, around)
        steps = min(LEAST + RISE * self.rounds, MOST)
        self.rounds += 1
        return Round(
            machine, queue_type, chance.choice(SCHEDULERS), chance.randrange(2**32), steps, leaning(state, more, chance)
        )

    def seen(self, finding: Finding, queue_type: str) -> bool:
        """Was its like shown already?"""
        return (finding.rule, gist(finding.observed), queue_type) in self.shown

    def show(self, finding: Finding, queue_type: str) -> None:
        self.shown.add((finding.rule, gist(finding.observed), queue_type))


def _before(state: str) -> tuple[str, ...]:
    """The commands whose deed comes just before, where the state is about that."""
    deed = state.removeprefix("after ").partition(" ")[0]
    return COMMANDS[deed] if state.startswith("after ") else ()


def _machine(
    chance: random.Random,
    wanted: set[str],
    profile: Profile,
    queue_type: str,
    around: Around,
) -> tuple[str, tuple[str, ...]]:
    """One of the machines that know most of these commands, and which it knows."""
    known = {
        name: wanted & {choice.name for choice in machine.commands(profile, queue_type)}
        for name, machine in MACHINES.items()
        if machine.suits(profile, around)
    }
    most = max(map(len, known.values()))
    name = chance.choice([name for name, those in known.items() if len(those) == most])
    return name, tuple(sorted(known[name]))


def leaning(state: str, more: tuple[str, ...], chance: random.Random) -> Lean:
    """To this state, and to these commands."""
    what, _, rest = state.partition(" ")
    fixed: list[tuple[str, object]] = []
    if what in ("ready", "unacked", "tag", "unconfirmed"):
        count = min(int(rest) + chance.randrange(int(rest)), STOCKS)
        fixed = [("stock", count)] if what == "ready" or chance.random() < 0.5 else [("wide", max(count // 2, 2))]
        fixed += [("window", WINDOWS)] if what in ("unacked", "tag") else []
    elif what == "window":
        fixed = [("window", min(int(rest), WINDOWS))]
    elif what == "octets":
        fixed = [("octets", int(rest))]
    elif what == "later":
        fixed = [(chance.choice(("behind", "apart")), True)]
    elif rest == "used nowait":
        fixed = [("quiet", True)]
    elif rest.startswith("used ") and PASTS.get(rest.removeprefix("used ")):
        fixed = [("used", frozenset({PASTS[rest.removeprefix("used ")], chance.choice((BOUNDED, BEQUEATHING))}))]
    return Lean(tuple(fixed), more)


def chance_of(seed: int, queue_type: str) -> random.Random:
    """Where a turn's choices come from: another one in each turn, since the clock ends turns."""
    return random.Random(f"{seed} {queue_type} {time.monotonic_ns()}")

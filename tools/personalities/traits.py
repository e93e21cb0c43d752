"""Every trait of the personalities alone: is a rule wrongly accused, or wrongly held? `make traits [TRAIT='settle.*']`.

    python -m tools.personalities.traits [GLOB ...] [--seconds N] [--rules GLOB ...] [--machines] [--known] [--kept DIR]

A stranger of many traits hides much: what one of them breaks excuses what another is accused of. So here a broker has
one trait, and all scenes of the suite are played on it in this process, with all that surrounds a broker of our own:
clock, management, crashes. What was seen goes through the ledger into results, as in a run, and is compared with the
truth. What is played is kept, one file a trait; an interrupted campaign carries on, and a truth that is put right is
told without playing again. `--known` also takes what an earlier suite said; with `--rules` only their scenes are
played, and nothing is kept. The exit code is 1 where one verdict is wrong.

A trait is given so many seconds; scenes come in an order drawn by its name, and what is not played by then is told. A
rule is wrongly held only where all its own scenes were played.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from conformance.catalogue.profiles import Profile
from conformance.drive.guard import Guard
from conformance.drive.pulse import Pulse
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.runner import observe
from conformance.drive.watchdog import TimeIsOver, alarm
from conformance.history.events import Event
from conformance.oracle.verdicts import Judgement
from conformance.outcome import incidents
from conformance.outcome.assemble import Frame, build
from conformance.outcome.gate import Known
from conformance.outcome.ledger import PROPERTY as ENTRY
from conformance.outcome.ledger import Broker, CheckEntry, Incident, Ledger, Witness, encode, gist
from conformance.outcome.results import Selection
from conformance.session import brokers
from conformance.session.session import around, described
from reference_broker import ReferenceBroker
from reference_broker.personalities import TRAITS
from reference_broker.personalities.kinds import Trait, fits
from tools.personalities.__main__ import restored, source
from tools.personalities.truth import CLEARED, Run, Said, Wrong, compare

KEPT = Path("build") / "traits"
SECONDS = 150.0
"""Of all plays on one trait."""
DEADLINE = 1.0
"""The longest wait for what the broker owes, in seconds: what waits in vain waits often. Who is slow is given longer,
as any broker is."""
MEETS, PLAY, MACHINE = 60.0, 30.0, 60.0
"""Seconds that the first questions, one scene, and one machine may take."""
GENERAL = "settle mode tags requeue returning ends losing slots prefetch confirms routes transactions cancel errors"
"""Families of traits that come first: what they decide shows in most scenes."""
DEPTH = "ci"


def main(arguments: Sequence[str] | None = None) -> int:
    options = parse(arguments)
    wanted = [one for one in ordered() if fits(one.name, options.trait or ["*"])]
    wrong = 0
    for number, one in enumerate(wanted, 1):
        run, unplayed = examined(one, options)
        found = [each for each in compare(run, one.truth).wrong if each.what == "accused" or each.rule not in unplayed]
        wrong += len(found)
        print("\n".join(told(f"{number}/{len(wanted)}", one, run, unplayed, found)), flush=True)
    print(f"traits {len(wanted)}, wrong verdicts {wrong}")
    return int(wrong > 0)


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tools.personalities.traits", description="Is each deviation judged rightly?"
    )
    parser.add_argument("trait", nargs="*", metavar="GLOB", help="only those that are called so (default: all)")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of each (default: %(default)s)")
    parser.add_argument("--rules", metavar="GLOB", nargs="+", default=[], help="only their own scenes; keeps nothing")
    parser.add_argument("--machines", action="store_true", help="play machines, too")
    parser.add_argument("--seed", type=int, default=0, help="of machines (default: %(default)s)")
    parser.add_argument("--fresh", action="store_true", help="play again what has been played")
    parser.add_argument("--known", action="store_true", help="take what an earlier suite said")
    parser.add_argument("--kept", type=Path, default=KEPT, metavar="DIR", help="where runs are kept (%(default)s)")
    return parser.parse_args(arguments)


def ordered() -> list[Trait]:
    """The general ones first, and last those after which nothing can be said."""
    families = GENERAL.split()

    def place(one: Trait) -> tuple[bool, int]:
        family = one.name.partition(".")[0]
        return one.breaks_down, families.index(family) if family in families else len(families)

    return sorted(TRAITS.values(), key=place)


def told(where: str, one: Trait, run: Run, unplayed: Sequence[str], wrong: Sequence[Wrong]) -> Iterator[str]:
    """One trait for a person."""
    left = f", own scenes of {len(unplayed)} rules not played" if unplayed else ""
    broken = " ".join(sorted(rule for rule, said in run.said.items() if said.verdict == "broken")) or "none"
    yield f"{where} {one.name}: {run.seconds:.0f} s{left}, broken {broken} {run.last_words}".rstrip()
    for each in wrong:
        yield f"    {each.rule} wrongly {each.what} ({one.truth.of(each.rule)}): {each.observed}"


# -- one trait


def examined(one: Trait, options: argparse.Namespace) -> tuple[Run, list[str]]:
    """As kept from an earlier campaign, or played now; and the rules of whose own scenes some were not played."""
    if options.rules:
        return play(one, options)
    path = options.kept / f"{one.name}.json"
    key = {"suite": source(), "seconds": options.seconds, "machines": options.machines, "seed": options.seed}
    if path.exists() and not options.fresh:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if options.known or kept["key"] == key:
            return restored(kept["run"]), kept["unplayed"]
    run, unplayed = play(one, options)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {"key": key, "run": asdict(run), "unplayed": unplayed}
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    return run, unplayed


def play(one: Trait, options: argparse.Namespace) -> tuple[Run, list[str]]:
    begin = time.monotonic()
    with ReferenceBroker(clock="elastic", http_port=0, personality=one.name, seed=options.seed) as broker:
        try:
            with alarm(MEETS):
                met = brokers.resolve(broker.url)
        except (Exception, TimeIsOver) as failure:
            return Run(one.name, (one.name,), "aborted", None, 0.0, {}, repr(failure)[:200]), []
        met.embedded = broker
        deadline = met.deadline if "slow" in one.about else min(met.deadline, DEADLINE)
        examination = Examination(described(met), bench_of(met, deadline, options.seed), begin + options.seconds)
        unplayed = examination.play(chosen(one.name, met.profile, options), met.capabilities)
        said = examination.said()
    seconds = round(time.monotonic() - begin, 1)
    words = ", ".join(f"{name} {times}" for name, times in examination.failures.items())
    return Run(one.name, (one.name,), "judged", None, seconds, said, words), unplayed


def bench_of(met: brokers.BrokerUnderTest, deadline: float, seed: int) -> Bench:
    """With all that surrounds a broker of our own, and patience that learns."""
    guard = Guard(Pulse(met.target))
    return Bench(met.target, met.profile, around(None, None, met), deadline, seed, DEPTH, guard=guard)


def chosen(name: str, profile: Profile, options: argparse.Namespace) -> list[Play]:
    """The scenes that such a broker is given, then the machines."""
    fitting = [one for one in plays() if one.suits(profile, DEPTH) and (options.machines or not one.machine)]
    if options.rules:
        fitting = [one for one in fitting if any(fits(rule, options.rules) for rule in one.check.rules)]
    random.Random(name).shuffle(fitting)
    return sorted(fitting, key=lambda one: one.machine)


@dataclass
class Examination:
    """All that is seen of one broker."""

    broker: Broker
    bench: Bench
    until: float
    ledger: Ledger = field(default_factory=Ledger)
    failures: Counter[str] = field(default_factory=Counter)

    def play(self, wanted: Sequence[Play], capabilities: Sequence[str]) -> list[str]:
        """Until time is over. The rules of whose own scenes some were left."""
        unplayed = set[str]()
        for each in wanted:
            if time.monotonic() > self.until:
                unplayed.update(each.check.rules)
            elif each.check.missing(capabilities, self.bench.profile.refused) is None:
                self.enter(each)
        if self.bench.guard is not None:
            self.bench.guard.let_go()
        return sorted(unplayed)

    def enter(self, each: Play) -> None:
        """One play, into the ledger. What fails and is no finding is counted."""
        noted = Noted()
        try:
            with alarm(MACHINE if each.machine else PLAY):
                failure = observe(each, self.bench, noted.hear)
        except (Exception, TimeIsOver) as trouble:
            failure = trouble
        if failure is not None:
            self.failures[type(failure).__name__] += 1
        profile = self.bench.profile
        entry = CheckEntry(
            each.name,
            each.queue_type,
            each.check.rules,
            self.broker,
            profile.name,
            profile.queue_types,
            tuple(noted.witnesses.values()),
            dict(noted.total.exercised),
            histories=noted.histories,
            choices=dict(profile.choices),
            refused=dict(profile.refused),
            incidents=incidents.merged(noted.closes(each)),
        )
        self.ledger.take(each.key, [(ENTRY, encode(entry))])

    def said(self) -> dict[str, Said]:
        """What a report would say of each rule."""
        selection = Selection("may", "*", False)
        frame = Frame("traits", "", 0.0, "", "", 0, DEPTH, selection, Known())
        results = build(self.ledger, frame)
        return {rule.id: Said(rule.verdict, self.shown(rule.id, rule.verdict)) for rule in results.rules}

    def shown(self, rule: str, verdict: str) -> str:
        """Where it was seen, what was allowed, and what came."""
        seen = [] if verdict == CLEARED else self.ledger.witnesses().get(rule, [])
        certain = [(entry.scene, witness.finding) for entry, witness in seen if witness.finding.certain]
        return "; ".join(f"{scene}: {one.observed} (allowed: {one.allowed})" for scene, one in certain[:3])


@dataclass
class Noted:
    """What one play showed: its findings by kind, as the ledger keeps them."""

    total: Judgement = field(default_factory=Judgement)
    witnesses: dict[Any, Witness] = field(default_factory=dict)
    histories: int = 0
    closed: list[Sequence[Event]] = field(default_factory=list)

    def hear(self, judgement: Judgement, history: Sequence[Event]) -> None:
        self.total.add(judgement)
        self.histories += 1
        self.closed.append(history)
        for one in judgement.findings:
            self.witnesses.setdefault((one.rule, one.certain, gist(one.observed), one.unless), Witness(one))

    def closes(self, each: Play) -> list[Incident]:
        """The connections that the broker closed by itself."""
        return [one for history in self.closed for one in incidents.closes(history, each.name, each.queue_type)]


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main())

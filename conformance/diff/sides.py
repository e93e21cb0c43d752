"""The two brokers of a comparison: each named by a URL, by a dialect of the reference broker, or by results of a run.

amqp://guest:guest@host/%2F     a broker
rabbitmq-4.3                    the reference broker in this dialect
rabbitmq-4.3+MUTANT             the same, wrong in this way
results.json, or its directory  the broker that the run examined
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.campaigns.hunt import DEADLINE
from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.fields import near
from conformance.diff.files import results_in
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.target import BadUrl, Target
from conformance.drive.run.bench import Bench
from conformance.outcome.results import Results
from conformance.session import brokers
from conformance.session.exits import UNREACHABLE, WRONG_USE, Refused
from conformance.session.session import EMBEDDED
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS
from reference_broker.mutants import MUTANTS

WAIT, IMPATIENCE = 3.0, 0.4


@dataclass(frozen=True, slots=True)
class Named:
    """What was named: a URL, or a dialect with mutants; and the results of a run, if it was named by them."""

    url: str | None = None
    dialect: str = ""
    mutants: tuple[str, ...] = ()
    results: Results | None = None


@dataclass(frozen=True, slots=True)
class Side:
    """A broker that answers: what to call it, and how to play on it."""

    name: str
    bench: Bench
    wait: float
    """Seconds that a reproducer's broker gets for what it owes; scenes are played with less patience, since what they
    find is tried again."""

    @property
    def profile(self) -> Profile:
        return self.bench.profile

    @property
    def target(self) -> Target:
        return self.bench.target

    def held_to(self, profile: Profile) -> Bench:
        """Where a history of its own is played, by this profile."""
        return replace(self.bench, profile=profile, run=uuid.uuid4().hex[:8])


def named(text: str) -> Named:
    """What this names. Raises Refused."""
    dialect, *mutants = text.split("+")
    if "://" in text:
        return Named(url=text)
    if dialect in DIALECTS:
        for mutant in mutants:
            if mutant not in MUTANTS:
                raise Refused(WRONG_USE, f"There is no mutant {mutant!r}{near(mutant, MUTANTS)}.")
        return Named(dialect=dialect, mutants=tuple(mutants))
    if Path(text).exists() or text.endswith(".json"):
        return _examined(results_in(Path(text)))
    raise Refused(
        WRONG_USE,
        f"{text!r} names no broker{near(dialect, DIALECTS)}. Give a URL, results.json of a run, "
        f"or a dialect of the reference broker: {', '.join(sorted(DIALECTS))}.",
    )


def _examined(results: Results) -> Named:
    """The broker that a run examined; where that was the embedded one, the same again."""
    if results.broker.url != EMBEDDED:
        return Named(url=results.broker.url, results=results)
    mutants = tuple(word for word in results.broker.name.split(" with ")[1:] if word in MUTANTS)
    dialect = results.profile if results.profile in DIALECTS else "documented"
    return Named(dialect=dialect, mutants=mutants, results=results)


@contextmanager
def opened(one: Named) -> Iterator[Side]:
    """The broker, reachable. Raises Refused."""
    if one.url is not None:
        yield _met(one.url)
        return
    about = " with ".join([f"reference broker as {one.dialect}", *one.mutants])
    with ReferenceBroker(clock="elastic", http_port=0, dialect=one.dialect, mutants=one.mutants) as broker:
        around = Around(Admin(broker.admin_url), broker.leap, broker.crash, broker.restart, broker.alarm)
        bench = Bench(Target.parse(broker.url), profiles.load(one.dialect), around, DEADLINE, depth="smoke")
        yield Side(about, bench, WAIT)


def _met(url: str) -> Side:
    try:
        broker = brokers.resolve(url)
    except BadUrl as bad:
        raise Refused(WRONG_USE, str(bad)) from None
    except (Unreachable, ConnectionLost) as gone:
        raise Refused(UNREACHABLE, f"The broker at {Target.parse(url)} cannot be used: {gone}") from None
    bench = Bench(broker.target, broker.profile, Around(), broker.deadline * IMPATIENCE, depth="smoke")
    return Side(broker.name, bench, min(broker.deadline, WAIT))

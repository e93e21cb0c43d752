"""Results: what a run found, as the one document that reports, comparisons and gates of other tools read.

Values only, no behaviour beyond JSON. Equal input gives equal octets: keys are sorted, lists keep an order that the
builder fixes by content (never by arrival), and the only times in it, `started` and `seconds`, are inputs. The shape is
published in `schemas/results.json`. Fields that a newer version added are dropped when read, so old readers keep
working; another major version is refused by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from conformance.outcome.ledger import Broker, ExchangeStep, Incident, Trouble

SCHEMA = "amqp-conformance/results/1"


class BadResults(ValueError):
    """This is not a results document that we can read; the message says why."""


@dataclass(frozen=True, slots=True)
class Case:
    """One way in which a rule was contradicted, and the exchange that shows it. `seen` counts findings of the kind."""

    id: str
    rule: str
    history: str
    scene: str
    queue_type: str
    allowed: str
    observed: str
    at: int
    certain: bool
    seen: int
    reproduced: str
    deviation: int | None
    steps: tuple[ExchangeStep, ...]
    rerun: str
    witness: tuple[int, ...] = ()
    story: tuple[Mapping[str, Any], ...] = ()
    untold: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    where: tuple[str, ...] = ()
    times: int = 1
    """How often the circumstances led to it in which it is known."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """The verdict on one rule, what it rests on, and enough of the rule's text to read it alone."""

    id: str
    family: str
    title: str
    level: str
    source: str
    clause: str
    status: str
    verdict: str
    exercised: int
    needed: int
    selected: bool
    reason: str | None
    deviation: Mapping[str, str] | None
    reports: Mapping[str, int]
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Broken rules that are likely one wrong decision: the rule that names it, all that break by it, the case that
    shows it best. `like` completes "it behaves as if", by the wrong brokers that answer alike; empty where none does.
    """

    rule: str
    rules: tuple[str, ...]
    case: str
    like: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()

    @property
    def sentence(self) -> str:
        return f"The broker behaves as if {', or as if '.join(self.like)}." if self.like else ""


@dataclass(frozen=True, slots=True)
class Gate:
    """Open or closed. Reasons close it; warnings are what a reader must know although it stays open. `advice`: what to
    type where the list of deviations is to fit what was seen."""

    open: bool
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    advice: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Selection:
    """Which rules were asked for, and how strictly."""

    level: str
    rules: str
    strict: bool
    min_coverage: int = 0
    """Per cent of the MUST rules that must have been exercised."""
    set: str = ""
    """Names of the sets (`catalogue.sets`) that the rules are of; empty: of none."""


@dataclass(frozen=True, slots=True)
class Results:
    """One run on one broker."""

    suite: str
    started: str
    seconds: float
    command: str
    run: str
    seed: int
    depth: str
    complete: bool
    broker: Broker
    profile: str
    queue_types: tuple[str, ...]
    selection: Selection
    rules: tuple[RuleResult, ...]
    gate: Gate
    totals: Mapping[str, int]
    histories: int
    events: int
    troubles: tuple[Trouble, ...] = ()
    incidents: tuple[Incident, ...] = ()
    """What happened to the broker itself, the gravest first."""
    unplayed: Mapping[str, int] = field(default_factory=dict)
    """How many checks were not played, by the reason."""
    met: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """By queue type: how often each circumstance arose, see `rules.circumstances`."""
    reached: Mapping[str, int] = field(default_factory=dict)
    """`{pairs, of}`: how many pairs of a client's deed and the state in which it was done, see `session.reach`."""
    faults: tuple[Fault, ...] = ()
    """What is broken, grouped by what seems to be its cause."""
    timings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """`{confirm | delivery: {n, quantiles: [[share, milliseconds], ...]}}`, by the observer's clock."""
    schema: str = field(default=SCHEMA)


def to_json(results: Results) -> str:
    """The document, byte-stable for equal results."""
    return json.dumps(asdict(results), sort_keys=True, indent=1, ensure_ascii=False) + "\n"


def from_json(text: str) -> Results:
    """The results of a document."""
    import msgspec  # the plugin loads this file in every pytest, and reads no results

    try:
        document = json.loads(text)
    except ValueError as problem:
        raise BadResults(f"not JSON: {problem}") from None
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        found = document.get("schema") if isinstance(document, dict) else type(document).__name__
        raise BadResults(f"its schema is {found!r}; this version reads {SCHEMA!r}")
    try:
        return msgspec.convert(document, Results)
    except msgspec.ValidationError as problem:
        raise BadResults(f"it does not follow {SCHEMA}: {problem}") from None

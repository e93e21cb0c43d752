"""The ledger: what each check contributed to the run, in a form that survives a trip between processes.

Checks run in one process or in many, and arrive in any order. Each leaves one `CheckEntry` on its test report, as
JSON; the controller adds them here, and nowhere else. An entry that arrives twice counts once (a test's report is seen
at every phase), and everything that is read out is ordered by content, so neither the number of workers nor their
speed shows.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from conformance.oracle.verdicts import Finding

if TYPE_CHECKING:
    from conformance.catalogue.deviations import Deviation

PROPERTY = "conformance"
"""The name of the user property that carries an entry."""


@dataclass(frozen=True, slots=True)
class ExchangeStep:
    """One event of a minimal exchange, in words and in octets (hexadecimal). `seq` is its number in the recording, by
    which a case says where its rule is contradicted; 0 where it is not known."""

    n: int
    direction: str
    connection: str
    channel: int
    text: str
    method: str
    raw: str
    interest: bool
    seq: int = 0
    state: str = ""
    """What the model believes after it: messages that wait in queues, deliveries and publishes that are open."""


@dataclass(frozen=True, slots=True)
class Broker:
    """What was examined. The URL has no password."""

    name: str
    url: str
    product: str
    version: str
    server_properties: Mapping[str, Any]
    negotiated: Mapping[str, int]
    capabilities: tuple[str, ...]
    offers: tuple[str, ...] = ()
    """What it was found to offer and to refuse, line by line."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A check that came to no end: our fault (harness), or the connection was lost on the way."""

    scene: str
    queue_type: str
    kind: str
    message: str

    @property
    def name(self) -> str:
        """The scene, which mostly says for which queues it is."""
        return self.scene if self.queue_type in self.scene else f"{self.scene}[{self.queue_type}]"


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happened to the broker itself: of which kind, what, in which scene, and the last methods before
    it. It breaks no rule by itself."""

    kind: str
    what: str
    scene: str
    queue_type: str
    after: tuple[str, ...] = ()
    times: int = 1


WITNESSED = "witnessed"
"""It was not tried to see it again, or it did not come again."""


@dataclass(frozen=True, slots=True)
class Witness:
    """A finding with the exchange that shows it, and how many of its kind this check saw."""

    finding: Finding
    steps: tuple[ExchangeStep, ...] = ()
    reproduced: str = WITNESSED
    seen: int = 1
    story: tuple[Mapping[str, Any], ...] = ()
    """The exchange so that it can be played again, see `evidence.story`; it may be longer than the steps."""
    untold: str = ""
    absent: Mapping[str, str] = field(default_factory=dict)
    """By library: why no script by it can tell the reproducer."""
    times: int = 1
    """How often the circumstances led to it in which it is known."""
    round: str = ""
    """The round of a hunt in which it came up, as one types it."""

    @property
    def came_again(self) -> bool:
        """Was it seen again when its scene, or its exchange, was played once more?"""
        return self.reproduced != WITNESSED


@dataclass(frozen=True, slots=True)
class CheckEntry:
    """One check on one queue type. `rules` are those it was written for; none: it may exercise any."""

    scene: str
    queue_type: str
    rules: tuple[str, ...]
    broker: Broker
    profile: str
    queue_types: tuple[str, ...]
    witnesses: tuple[Witness, ...] = ()
    exercised: Mapping[str, int] = field(default_factory=dict)
    reports: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    histories: int = 0
    events: int = 0
    trouble: Trouble | None = None
    choices: Mapping[str, str] = field(default_factory=dict)
    """Those of the profile; they decide which rules apply."""
    times: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """What was timed (confirm, delivery) to the number of a bucket to how many times fell into it."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """Features that the broker does not offer, each with its words."""
    incidents: tuple[Incident, ...] = ()
    unplayed: str = ""
    """Why the check was not played at all."""
    lacking: str = ""
    """What the broker refuses, without which the check could not go on."""
    met: Mapping[str, int] = field(default_factory=dict)
    """How often each circumstance arose."""
    reached: str = ""
    """Pairs of a deed and a state, as `session.reach` packs them."""


def encode(entry: CheckEntry) -> str:
    """An entry as one line of JSON."""
    return json.dumps(entry, default=_members, sort_keys=True, separators=(",", ":"))


def _members(value: Any) -> dict[str, object]:
    """A dataclass as JSON wants it; `asdict` would copy whatever is inside."""
    return {member.name: getattr(value, member.name) for member in fields(value)}


def decode(text: str) -> CheckEntry:
    """The entry that `encode` wrote."""
    import msgspec  # the plugin loads this file in every pytest, which is seldom one of ours

    return msgspec.convert(json.loads(text), CheckEntry)


def gist(observed: str) -> str:
    """The words of an observation without its numbers and names."""
    return re.sub(r"#(?:(?:,| and|) #)+", "#", re.sub(r"\S*\d\S*", "#", observed))


class Ledger:
    """All entries of a run."""

    def __init__(self) -> None:
        self._entries: dict[str, CheckEntry] = {}
        self._troubles: dict[str, Trouble] = {}

    def take(self, node: str, properties: Iterable[tuple[str, object]]) -> bool:
        """Does a test report carry an entry? If so, it is taken, once."""
        for name, value in properties:
            if name == PROPERTY and isinstance(value, str):
                if node not in self._entries:
                    self._entries[node] = decode(value)
                return True
        return False

    def packed(self) -> dict[str, str]:
        """All entries by the names of their checks, in the form that `take` takes."""
        return {node: encode(entry) for node, entry in self._entries.items()}

    def note(self, node: str, trouble: Trouble) -> None:
        """Something went wrong around a check, so that it has no say in it itself."""
        self._troubles.setdefault(node, trouble)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> list[CheckEntry]:
        """In the order of the tests' names."""
        return [self._entries[node] for node in sorted(self._entries)]

    @property
    def troubles(self) -> list[Trouble]:
        """What came to no end, in order."""
        found = [entry.trouble for entry in self._entries.values() if entry.trouble] + list(self._troubles.values())
        return sorted(found, key=lambda trouble: (trouble.scene, trouble.queue_type, trouble.kind, trouble.message))

    @property
    def incidents(self) -> list[Incident]:
        """What happened to the broker, in the order of the checks."""
        return [one for entry in self.entries for one in entry.incidents]

    @property
    def unplayed(self) -> dict[str, str]:
        """Checks that were not played, each with the reason."""
        return {f"{entry.scene}[{entry.queue_type}]": entry.unplayed for entry in self.entries if entry.unplayed}

    def unreached(self) -> dict[str, str]:
        """Rules of whose own checks none was played, for lack of time or of a broker, each with the reason."""
        own: dict[str, list[CheckEntry]] = {}
        for entry in self.entries:
            for rule in entry.rules:
                own.setdefault(rule, []).append(entry)
        reasons = {
            rule: next((entry.unplayed for entry in entries if entry.unplayed), "")
            for rule, entries in own.items()
            if not any(entry.histories for entry in entries)
        }
        return {rule: reason for rule, reason in reasons.items() if reason}

    def targets(self) -> set[str] | None:
        """The rules that the checks were written for; None when one of them may exercise any."""
        found: set[str] = set()
        for entry in self._entries.values():
            if not entry.rules:
                return None
            found.update(entry.rules)
        return found

    def exercised(self, queue_types: Iterable[str] | None = None) -> Counter[str]:
        """How often each rule was exercised, on all queue types or on some."""
        wanted = None if queue_types is None else set(queue_types)
        total: Counter[str] = Counter()
        for entry in self.entries:
            if wanted is None or entry.queue_type in wanted:
                total.update(entry.exercised)
        return total

    def met(self, queue_types: Iterable[str]) -> Counter[str]:
        """How often each circumstance arose on these queue types."""
        wanted, total = set(queue_types), Counter[str]()
        for entry in self.entries:
            if entry.queue_type in wanted:
                total.update(entry.met)
        return total

    def arose(self, deviation: Deviation) -> bool:
        """Have the circumstances of this deviation arisen in a check that exercised its rule?"""
        return any(
            entry.met.get(deviation.where) and entry.exercised.get(deviation.rule)
            for entry in self._entries.values()
            if entry.queue_type in deviation.queue_types
        )

    def times(self) -> Counter[tuple[str, int]]:
        """The histograms of all checks, by what was timed and bucket."""
        total: Counter[tuple[str, int]] = Counter()
        for entry in self.entries:
            for what, buckets in entry.times.items():
                total.update({(what, int(bucket)): n for bucket, n in buckets.items()})
        return total

    def reports(self) -> dict[str, Counter[str]]:
        """What was characterised, by rule."""
        total: dict[str, Counter[str]] = {}
        for entry in self.entries:
            for rule, seen in entry.reports.items():
                total.setdefault(rule, Counter()).update(seen)
        return total

    def witnesses(self) -> dict[str, list[tuple[CheckEntry, Witness]]]:
        """What contradicts each rule, with the check in which it came up."""
        found: dict[str, list[tuple[CheckEntry, Witness]]] = {}
        for entry in self.entries:
            for witness in entry.witnesses:
                found.setdefault(witness.finding.rule, []).append((entry, witness))
        return found

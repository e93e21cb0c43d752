"""The capability card: what a broker declares, what was exercised, and what was judged.

*Declared* is what the broker says of itself: server properties, and the limits that it negotiated. *Exercised* is how
often this run exercised rules about the capability. *Judged* is the verdicts on these rules. A capability that no rule
is about is shown as not judged, so that nobody takes a declaration for a proof.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.catalogue import rules as catalogue
from conformance.catalogue.rules import Rule
from conformance.evidence.words import Sign, judged, severity, sign
from reports.html.runs import RunColumn

ABOUT: Mapping[str, tuple[str, str]] = {
    "publisher_confirms": ("CNF", ""),
    "consumer_cancel_notify": ("CAN", ""),
    "per_consumer_qos": ("QOS", ""),
    "basic.nack": ("", "nack"),
    "authentication_failure_close": ("", ""),
    "connection.blocked": ("", ""),
    "consumer_priorities": ("", ""),
    "exchange_exchange_bindings": ("", ""),
}
"""Capability to the family of rules that is about it, or the word in a rule's text that says so."""

LIMITS = {"channel_max": "channels", "frame_max": "octets in a frame", "heartbeat": "seconds between heartbeats"}


@dataclass(frozen=True)
class OfferCell:
    """One capability on one broker. `declared`: yes, no, or None where the broker says nothing of it."""

    declared: bool | None
    exercised: int
    tallies: Sequence[tuple[Sign, int]]

    @property
    def words(self) -> str:
        return {True: "declared", False: "declared absent", None: "not declared"}[self.declared]


@dataclass(frozen=True)
class OfferRow:
    """One capability on all brokers."""

    name: str
    rules: int
    offers: Sequence[OfferCell]


@dataclass(frozen=True)
class Offers:
    """The whole card."""

    rows: Sequence[OfferRow]
    limits: Sequence[tuple[str, Sequence[str]]]
    queues: Sequence[str]


def offers(runs: Sequence[RunColumn]) -> Offers:
    """The card of these runs."""
    names = sorted({*ABOUT, *(name for run in runs for name in _declared(run))})
    rows = [
        OfferRow(name, len(_rules(name)), [_offer(run, name) for run in runs])
        for name in names
        if _rules(name) or any(name in _declared(run) for run in runs)
    ]
    limits = [(words, [_limit(run, name) for run in runs]) for name, words in LIMITS.items()]
    return Offers(rows, limits, [", ".join(run.results.get("queue_types") or ()) for run in runs])


def _declared(run: RunColumn) -> Mapping[str, Any]:
    said = (run.results["broker"].get("server_properties") or {}).get("capabilities")
    return said if isinstance(said, Mapping) else {}


def _offer(run: RunColumn, name: str) -> OfferCell:
    about = [run.rules[rule] for rule in _rules(name) if rule in run.rules and judged(run.rules[rule])]
    verdicts = Counter(str(rule["verdict"]) for rule in about)
    said = _declared(run).get(name)
    tallies = [(sign(verdict), verdicts[verdict]) for verdict in sorted(verdicts, key=severity)]
    return OfferCell(None if said is None else bool(said), sum(int(rule["exercised"]) for rule in about), tallies)


def _rules(name: str) -> list[str]:
    family, word = ABOUT.get(name, ("", ""))
    return [rule.id for rule in catalogue.CATALOGUE.values() if rule.judged and _about(rule, name, family, word)]


def _about(rule: Rule, name: str, family: str, word: str) -> bool:
    return rule.capability == name or rule.family == family or bool(word and word in rule.clause.lower().split())


def _limit(run: RunColumn, name: str) -> str:
    value = (run.results["broker"].get("negotiated") or {}).get(name)
    if not value:
        return "unknown" if value is None else "none" if name == "heartbeat" else "no limit"
    return f"{int(value):,}".replace(",", " ")

"""A broker that has failed inside says so whatever it is asked: that speaks against no single rule. Pure.

A close by 541 that comes in the same words, after the same method, in many scenes is the broker's state: its files are
damaged, or a part of it has died. A finding that rests on such a close stands only where ERR-012 (no lawful use ends in
an internal error) is not broken on the same broker; so nothing is excused by it, for ERR-012 closes the gate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conformance.outcome.incidents import CLOSED
from conformance.outcome.ledger import Entry, Witness

INTERNAL = "ERR-012"
CODE = "541 "
COMMON = 10
"""In so many scenes the same words are the broker's state. RabbitMQ 3.8, whose internal errors all have one text, said
the same after the same method twelve times in a run at depth ci, most of them in one scene."""

Seen = tuple[Entry, Witness]


def weakened(entries: Iterable[Entry], witnesses: Mapping[str, Sequence[Seen]]) -> dict[str, list[Seen]]:
    """The witnesses by rule; those that a failed broker explains say so."""
    said = Counter(words for entry in entries for words in set(_failures(entry)))
    common = {words for words, scenes in said.items() if scenes >= COMMON}

    def weaken(entry: Entry, witness: Witness) -> Witness:
        finding = witness.finding
        if finding.rule == INTERNAL or not any(text in finding.observed for text in _texts(entry, common)):
            return witness
        return replace(witness, finding=replace(finding, unless=(*finding.unless, INTERNAL)))

    return {rule: [(entry, weaken(entry, witness)) for entry, witness in seen] for rule, seen in witnesses.items()}


def _failures(entry: Entry) -> list[str]:
    return [one.what for one in entry.incidents if one.kind == CLOSED and f".close {CODE}" in one.what]


def _texts(entry: Entry, common: set[str]) -> list[str]:
    """Code and text of the common closes of this scene, as a finding has them."""
    return [
        f"close {what.partition('.close ')[2].rpartition(' after ')[0]}" for what in _failures(entry) if what in common
    ]

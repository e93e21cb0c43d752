"""What only all scenes together tell of a broker: it has failed inside, or ends connections by habit. Pure.

A broker that has failed inside says so whatever it is asked, which speaks against no single rule. A close by 541 that
comes in the same words, after the same method, in many scenes is the broker's state: its files are damaged, or a part
of it has died. A finding that rests on such a close stands only where ERR-012 (no lawful use ends in an internal error)
is not broken on the same broker; so nothing is excused by it, for ERR-012 closes the gate.

A connection that ends without a word may have been ended by something between us and the broker. So it speaks against
the broker only if it comes again: when the scene, or the exchange that shows it, is played once more; or in several
scenes. Before that, the scene is lost, which closes the gate as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conformance.outcome.incidents import CLOSED
from conformance.outcome.ledger import CheckEntry, Trouble, Witness

INTERNAL, LOST = "ERR-012", "lost"
CODE = "541 "
COMMON = 10
"""In so many scenes the same words are the broker's state. RabbitMQ 3.8, whose internal errors all have one text, said
the same after the same method twelve times in a run at depth ci, most of them in one scene."""

HABIT = 5
"""In so many scenes it is the broker that ends connections over what they send."""

Seen = tuple[CheckEntry, Witness]


def weakened(entries: Iterable[CheckEntry], witnesses: Mapping[str, Sequence[Seen]]) -> dict[str, list[Seen]]:
    """The witnesses by rule; those that a failed broker explains say so, and no accident is certain."""
    entries = list(entries)
    habit = ends_silently(entries)
    said = Counter(words for entry in entries for words in set(_failures(entry)))
    common = {words for words, scenes in said.items() if scenes >= COMMON}

    def weaken(entry: CheckEntry, witness: Witness) -> Witness:
        finding = witness.finding
        if witness.finding.silent and not (habit or witness.came_again):
            return replace(witness, finding=replace(finding, certain=False))
        if finding.rule == INTERNAL or not any(text in finding.observed for text in _texts(entry, common)):
            return witness
        return replace(witness, finding=replace(finding, unless=(*finding.unless, INTERNAL)))

    return {rule: [(entry, weaken(entry, witness)) for entry, witness in seen] for rule, seen in witnesses.items()}


def ends_silently(entries: Iterable[CheckEntry]) -> bool:
    """Does the broker end connections without a word, again and again?"""
    scenes = {(one.scene, one.queue_type) for one in entries for witness in one.witnesses if witness.finding.silent}
    return len(scenes) >= HABIT


def explained(trouble: Trouble, entries: Iterable[CheckEntry]) -> bool:
    """Is a connection that was lost in this scene a finding, where the broker makes it a habit?"""
    of_scene = (one for one in entries if (one.scene, one.queue_type) == (trouble.scene, trouble.queue_type))
    return trouble.kind == LOST and any(witness.finding.silent for one in of_scene for witness in one.witnesses)


def _failures(entry: CheckEntry) -> list[str]:
    return [one.what for one in entry.incidents if one.kind == CLOSED and f".close {CODE}" in one.what]


def _texts(entry: CheckEntry, common: set[str]) -> list[str]:
    """Code and text of the common closes of this scene, as a finding has them."""
    return [
        f"close {what.partition('.close ')[2].rpartition(' after ')[0]}" for what in _failures(entry) if what in common
    ]

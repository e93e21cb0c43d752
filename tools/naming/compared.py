"""What was said of a mutant beside what it is: values in, values out.

A mutant is one wrong decision, so one group is right. Its first rule should be one that the mutant names, and the
sentence its own, or that of a mutant that is *like* it: one that answers alike whatever the other one was found by.
A group whose first rule the mutant does not name is false: it blames what the mutant does not do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from conformance.catalogue import rules
from conformance.outcome.results import Fault
from reference_broker.mutants.kinds import Mutant

Outcome = Literal["judged", "unseen", "otherwise", "unfinished"]
"""Something is broken; nothing is; nothing is, and its rules close no gate; or the run did not come to its end."""
Sentence = Literal["own", "like", "another", "none"]


@dataclass(frozen=True, slots=True)
class Named:
    """How one mutant was named. `groups` are the first rules of the groups, `said` the mutants of the first one."""

    mutant: str
    outcome: Outcome
    groups: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    """All that break in the first group."""
    said: tuple[str, ...] = ()
    false: tuple[str, ...] = ()
    """First rules of groups that blame what the mutant does not do."""

    @property
    def right(self) -> bool:
        """Does the first group begin with a rule that the mutant names?"""
        return bool(self.groups) and self.groups[0] not in self.false


def named(mutant: Mutant, finished: bool, faults: Sequence[Fault]) -> Named:
    """What the groups say of it."""
    if not finished:
        return Named(mutant.name, "unfinished")
    if not faults:
        observed = all(rules.get(rule).level == "observed" for rule in mutant.rules)
        return Named(mutant.name, "otherwise" if observed else "unseen")
    first, groups = faults[0], tuple(fault.rule for fault in faults)
    false = tuple(rule for rule in groups if rule not in mutant.rules)
    return Named(mutant.name, "judged", groups, first.rules, first.mutants, false)


def sentences(all_named: Iterable[Named]) -> dict[str, Sentence]:
    """By mutant, whose sentence was said first. Two mutants are alike where each was taken for the other, or both were
    named."""
    by_name = {one.mutant: one for one in all_named if one.outcome == "judged"}
    return {name: _sentence(one, by_name) for name, one in by_name.items()}


def _sentence(one: Named, by_name: Mapping[str, Named]) -> Sentence:
    if not one.said:
        return "none"
    if one.mutant in one.said:
        return "own"
    others = [by_name[other] for other in one.said if other in by_name]
    return "like" if any(one.mutant in other.said for other in others) else "another"


def tally(all_named: Sequence[Named]) -> dict[str, Any]:
    """The figures, and all that is wrong, one by one."""
    said, outcomes = sentences(all_named), Counter(one.outcome for one in all_named)
    judged = [one for one in all_named if one.outcome == "judged"]
    counts = Counter(said.values())
    return {
        "mutants": len(all_named),
        "judged": len(judged),
        "unseen": outcomes["unseen"],
        "otherwise": outcomes["otherwise"],
        "unfinished": outcomes["unfinished"],
        "one_group": sum(len(one.groups) == 1 for one in judged),
        "first_right": sum(one.right for one in judged),
        "without_false": sum(not one.false for one in judged),
        "false_groups": sum(len(one.false) for one in judged),
        "own": counts["own"],
        "like": counts["like"],
        "another": counts["another"],
        "none": counts["none"],
        "wrong": [
            {
                "mutant": one.mutant,
                "groups": list(one.groups),
                "false": list(one.false),
                "sentence": said[one.mutant],
                "said": list(one.said),
            }
            for one in judged
            if one.false or said[one.mutant] == "another" or len(one.groups) > 1
        ],
    }

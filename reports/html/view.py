"""From results.json to what the page shows, in the order in which it shows it.

Reads the JSON alone; the catalogue adds what the results do not repeat (open points, mutants, known behaviours). A
rule that one of the two does not know is still shown with what the other one says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from conformance import rules as catalogue
from conformance.rules import Family, Rule
from reports.html.exchange import CaseView, case_view
from reports.html.words import Share, Sign, gravity, headline, judged, severity, share, sign


@dataclass(frozen=True)
class RuleView:
    """One rule: its square, its row and its panel."""

    data: Mapping[str, Any]
    rule: Rule | None
    family: str
    sign: Sign

    @cached_property
    def cases(self) -> list[CaseView]:
        return [case_view(case) for case in self.data.get("cases") or ()]

    @property
    def judged(self) -> bool:
        return judged(self.data)

    @property
    def clause(self) -> str:
        return self.rule.clause if self.rule else str(self.data.get("clause", ""))

    @property
    def group(self) -> str:
        """What the filters see: failing, open (judged, neither held nor failing), held or planned."""
        verdict = self.data["verdict"]
        if verdict in ("broken", "harness-error"):
            return "failing"
        if not self.judged:
            return "planned"
        return "held" if verdict == "held" else "other"


@dataclass(frozen=True)
class FamilyView:
    """One row of the sheet."""

    family: Family
    rules: Sequence[RuleView]

    @property
    def about(self) -> str:
        """What the family is about, in one sentence."""
        first, dot, _ = self.family.about.partition(". ")
        return first + dot.strip()

    @property
    def tallies(self) -> list[tuple[Sign, int]]:
        """How often each verdict occurs, worst first."""
        return tally(self.rules)


@dataclass(frozen=True)
class Page:
    """Everything the template needs."""

    results: Mapping[str, Any]
    families: Sequence[FamilyView]
    headline: tuple[str, str]
    shares: Sequence[Share]

    @property
    def rules(self) -> list[RuleView]:
        return [rule for family in self.families for rule in family.rules]

    @property
    def judged(self) -> int:
        return sum(rule.judged for rule in self.rules)

    @property
    def failing(self) -> list[RuleView]:
        """What is wrong, worst first."""
        return sorted((rule for rule in self.rules if rule.group == "failing"), key=lambda rule: gravity(rule.data))

    @property
    def deviating(self) -> list[RuleView]:
        return [rule for rule in self.rules if rule.data["verdict"] == "deviates"]

    @property
    def unsettled(self) -> list[RuleView]:
        """Judged, without a clear answer."""
        return [rule for rule in self.rules if rule.data["verdict"] in ("under-tested", "inconclusive")]

    @property
    def characterised(self) -> list[RuleView]:
        """Rules that reported what the broker chose to do."""
        return [rule for rule in self.rules if rule.data.get("reports")]

    @property
    def tallies(self) -> list[tuple[Sign, int]]:
        return tally(self.rules)


def page(results: Mapping[str, Any]) -> Page:
    """The view of one run."""
    data = {str(rule["id"]): rule for rule in results["rules"]}
    missing = [_absent(rule) for rule in catalogue.CATALOGUE.values() if rule.id not in data]
    every = [*results["rules"], *missing]
    return Page(results, _families(every), headline(results), _shares(every))


def tally(rules: Sequence[RuleView]) -> list[tuple[Sign, int]]:
    verdicts = [str(rule.data["verdict"]) for rule in rules]
    return [(sign(verdict), verdicts.count(verdict)) for verdict in sorted(set(verdicts), key=severity)]


def _families(every: Sequence[Mapping[str, Any]]) -> list[FamilyView]:
    grouped: dict[str, list[RuleView]] = {}
    order = {name: place for place, name in enumerate(catalogue.CATALOGUE)}
    for data in sorted(every, key=lambda data: (order.get(data["id"], len(order)), data["id"])):
        family = _family(str(data["family"]))
        known = catalogue.CATALOGUE.get(data["id"])
        grouped.setdefault(family.code, []).append(RuleView(data, known, family.title, sign(str(data["verdict"]))))
    return [FamilyView(_family(code), rules) for code, rules in grouped.items()]


def _family(code: str) -> Family:
    return catalogue.FAMILIES.get(code) or Family(code, code, "")


def _absent(rule: Rule) -> dict[str, Any]:
    """A rule of the catalogue that the results do not mention: nothing is claimed about it."""
    return {
        "id": rule.id, "family": rule.family, "title": rule.title, "level": rule.level, "status": rule.status,
        "verdict": "not-run" if rule.judged else rule.status, "exercised": 0, "selected": False,
        "reason": rule.reason or None,
        "cases": [], "reports": {}, "deviation": None,
    }


def _shares(every: Sequence[Mapping[str, Any]]) -> list[Share]:
    return [found for level in ("must", "should", "may") if (found := share(level, every)).of]

"""From results.json to what the page shows, in the order in which it shows it. One run or many, it is the same page.

It reads only the JSON. The catalogue adds what the results do not repeat (open points, mutants, known behaviours). If
only one of the two knows a rule, the rule is still shown. What is the same for all brokers (a rule's text) is said
once; a `Side` is what one broker adds to a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.catalogue import rules as catalogue
from conformance.catalogue.rules import Family, Rule
from conformance.evidence.words import Share, Sign, examined, fault, gravity, judged, severity, share, sign
from reports.html.changes import Change, Since, since
from reports.html.ecdf import Timed, timed
from reports.html.exchange import CaseView
from reports.html.offers import Offers, offers
from reports.html.room import fitted
from reports.html.runs import RunColumn, columns, together, verdict
from reports.html.trend import RuleLine, Trend, trend
from reports.html.wrongs import Wrong, wrongs
from reports.kept import Kept

QUIET = ("absent", "planned", "beyond")
"""Signs of verdicts that say nothing of a broker."""

BRACKET, EARLY = "TMO-020", "TMO-019"
"""The rules that say how late timeouts come, and that none comes early."""


@dataclass(frozen=True)
class Side:
    """One rule on one broker: its square, and what there is to see."""

    run: RunColumn
    data: Mapping[str, Any]
    sign: Sign
    cases: list[CaseView] = field(default_factory=list)
    change: Change | None = None
    """What is different since the previous run."""

    @property
    def judged(self) -> bool:
        return judged(self.data)

    @property
    def group(self) -> str:
        """What the filters see: failing, known to fail, other (judged, and neither of these), held or planned."""
        verdict = self.data["verdict"]
        if verdict in ("broken", "harness-error"):
            return "failing"
        if verdict == "deviates":
            return "known"
        if not self.judged:
            return "planned"
        return "held" if verdict == "held" else "other"


@dataclass(frozen=True)
class RuleView:
    """One rule on all brokers: its row and its panel."""

    id: str
    rule: Rule | None
    family: str
    sides: Sequence[Side]

    @property
    def data(self) -> Mapping[str, Any]:
        """What a run says about the rule itself; the worst one, since its title and level may be needed beside it."""
        return self.worst.data

    @property
    def own(self) -> Sequence[Side]:
        """The sides of brokers that are not wrong on purpose."""
        return [side for side in self.sides if not side.run.mutants] or self.sides

    @property
    def worst(self) -> Side:
        return min(self.own, key=lambda side: severity(str(side.data["verdict"])))

    @property
    def clause(self) -> str:
        return self.rule.clause if self.rule else str(self.data.get("clause", ""))

    @property
    def groups(self) -> list[str]:
        return sorted({side.group for side in self.own})

    @property
    def judged(self) -> bool:
        return any(side.judged for side in self.sides)

    @property
    def differs(self) -> bool:
        """Did the runs that judged it come to different verdicts?"""
        return len({side.data["verdict"] for side in self.own if side.judged}) > 1

    @property
    def changed(self) -> bool:
        """Did a broker do otherwise in its previous run?"""
        return any(side.change for side in self.sides)

    @property
    def tallies(self) -> list[tuple[Sign, int]]:
        return tally(self.own)


@dataclass(frozen=True)
class FamilyView:
    """One row of the sheet."""

    family: Family
    rules: Sequence[RuleView]

    def column(self, place: int) -> list[tuple[RuleView, Side]]:
        """Its cell under one broker."""
        return [(rule, rule.sides[place]) for rule in self.rules]

    def tallies(self, place: int) -> list[tuple[Sign, int]]:
        """How often each verdict occurs in a cell, worst first."""
        return tally(rule.sides[place] for rule in self.rules)

    def telling_tallies(self, place: int) -> list[tuple[Sign, int]]:
        """Without what no broker could show."""
        every = self.tallies(place)
        return [(sign, number) for sign, number in every if sign.symbol != "beyond"] or every

    def short_tallies(self, place: int) -> list[tuple[Sign, int]]:
        """The same where there is little room: what says something of the broker; if nothing does, all of it."""
        every = self.tallies(place)
        return [(sign, number) for sign, number in every if sign.symbol not in QUIET] or every


@dataclass(frozen=True)
class Entry:
    """A rule in a list: the words of each broker it is about. Brokers with the same words stand together."""

    rule: RuleView
    sign: Sign
    lines: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Page:
    """Everything the template needs."""

    runs: Sequence[RunColumn]
    families: Sequence[FamilyView]
    headline: tuple[str, str]
    shares: Sequence[Share]
    compare: Sequence[Mapping[str, Any]]
    since: Sequence[Since] = ()
    trend: Trend | None = None
    """Earlier runs, where there is one broker and some of them are known."""

    @property
    def many(self) -> bool:
        return len(self.runs) > 1

    @property
    def real(self) -> Sequence[RunColumn]:
        """All but those that are wrong on purpose."""
        return [run for run in self.runs if not run.mutants] or self.runs

    @property
    def rules(self) -> list[RuleView]:
        return [rule for family in self.families for rule in family.rules]

    @property
    def areas(self) -> list[tuple[str, list[FamilyView]]]:
        """The families by what they belong to."""
        names = dict.fromkeys(family.family.area for family in self.families)
        return [(name, [family for family in self.families if family.family.area == name]) for name in names]

    @property
    def wrongs(self) -> list[Wrong]:
        """What is wrong with the broker, where there is but one."""
        return [] if self.many else wrongs(self.runs[0].results)

    @property
    def examined(self) -> int:
        return sum(any(examined(side.data) for side in rule.sides) for rule in self.rules)

    def line(self, rule: str) -> RuleLine | None:
        """The rule in earlier runs."""
        return self.trend.lines.get(rule) if self.trend else None

    @property
    def differing(self) -> int:
        return sum(rule.differs for rule in self.rules)

    @property
    def failing(self) -> list[Entry]:
        """What is wrong, worst first."""
        return sorted(self._entries(lambda side: side.group == "failing", _observed), key=_badness)

    @property
    def deviating(self) -> list[Entry]:
        return self._entries(lambda side: side.data["verdict"] == "deviates", _noted)

    @property
    def otherwise(self) -> list[Entry]:
        """What breaks rules that no source asks for."""
        return self._entries(lambda side: side.data["verdict"] == "differs", _observed)

    @property
    def unseen(self) -> list[Entry]:
        """Races that are known, and that the run did not see."""
        return self._entries(lambda side: side.data["verdict"] == "unseen", _noted)

    @property
    def unsettled(self) -> list[Entry]:
        """Judged, without a clear answer."""
        return self._entries(lambda side: side.data["verdict"] in ("under-tested", "inconclusive"), _unclear)

    @property
    def characterised(self) -> list[Entry]:
        """Rules that reported what the broker chose to do. How often is left out where brokers are compared."""
        return self._entries(lambda side: bool(side.data.get("reports")), _listed if self.many else _counted)

    @property
    def tallies(self) -> list[tuple[Sign, int]]:
        """How often each verdict stands on the sheet, worst first."""
        return tally(side for rule in self.rules for side in rule.sides)

    @property
    def excused(self) -> str:
        """The brokers whose gate is open because of the deviations file alone, in words."""
        found = [run for run in self.real if run.excused]
        return together(found, [run for run in self.real if not run.reference]) if found else ""

    @property
    def timed(self) -> list[Timed]:
        return timed(self.real)

    @property
    def offers(self) -> Offers:
        return offers(self.real)

    @property
    def deadlines(self) -> list[tuple[RunColumn, list[tuple[str, int]], Side]]:
        """How exactly each broker kept its deadlines, and whether anything timed out early."""
        found = {rule.id: rule for rule in self.rules if rule.id in (BRACKET, EARLY)}
        if len(found) < 2:
            return []
        rows = zip(found[BRACKET].sides, found[EARLY].sides, strict=True)
        return [
            (late.run, sorted(late.data["reports"].items(), key=lambda row: -row[1]), early)
            for late, early in rows
            if late.data.get("reports")
        ]

    @property
    def incidents(self) -> list[tuple[RunColumn, Mapping[str, Any]]]:
        return [(run, incident) for run in self.runs for incident in run.results.get("incidents") or ()]

    @property
    def faults(self) -> list[tuple[RunColumn, Mapping[str, Any], str]]:
        """What breaks, grouped by what seems to be the cause, where that says more than the rules alone."""
        found = [(run, one, fault(one)) for run in self.runs for one in run.results.get("faults") or ()]
        return [(run, one, words) for run, one, words in found if words]

    @property
    def troubles(self) -> list[tuple[RunColumn, Mapping[str, Any]]]:
        return [(run, trouble) for run in self.runs for trouble in run.results.get("troubles") or ()]

    def title(self, name: str) -> str:
        """The title of the rule of this name, if there is one."""
        return next((str(rule.data["title"]) for rule in self.rules if rule.id == name), "")

    def _entries(self, wanted: Callable[[Side], bool], words: Callable[[Side], str]) -> list[Entry]:
        found = []
        for rule in self.rules:
            sides = [side for side in rule.own if wanted(side)]
            if sides:
                worst = min(sides, key=lambda side: severity(str(side.data["verdict"])))
                found.append(Entry(rule, worst.sign, self._lines(sides, words)))
        return found

    def _lines(self, sides: Sequence[Side], words: Callable[[Side], str]) -> list[tuple[str, str]]:
        said: dict[str, list[RunColumn]] = {}
        for side in sides:
            said.setdefault(words(side), []).append(side.run)
        return [(together(runs, self.real) if self.many else "", text) for text, runs in said.items()]


def page(
    documents: Sequence[Mapping[str, Any]],
    compare: Sequence[Mapping[str, Any]] = (),
    before: Sequence[Mapping[str, Any] | None] = (),
    earlier: Sequence[Kept] = (),
) -> Page:
    """The view of these runs; `before` are those before them, one for each, None where there was none; `earlier` what
    was kept of all earlier ones."""
    runs = columns(documents)
    previous = {id(document): one for document, one in zip(documents, before, strict=False) if one}
    compared = [since(run, previous[id(run.results)]) for run in runs if id(run.results) in previous]
    families = _families(runs, {(one.run.key, change.rule): change for one in compared for change in one.changes})
    sides = [side for family in families for rule in family.rules for side in rule.sides]
    for side, cases in zip(sides, fitted([(side.run, side.data) for side in sides], len(runs)), strict=True):
        side.cases.extend(cases)
    found = trend(runs[0].results, earlier) if len(runs) == 1 else None
    return Page(runs, families, verdict(runs), _shares(runs), compare, compared, found)


def tally(sides: Iterable[Side]) -> list[tuple[Sign, int]]:
    verdicts = [str(side.data["verdict"]) for side in sides]
    return [(sign(verdict), verdicts.count(verdict)) for verdict in sorted(set(verdicts), key=severity)]


def _families(runs: Sequence[RunColumn], changes: Mapping[tuple[str, str], Change]) -> list[FamilyView]:
    known: dict[str, Mapping[str, Any]] = {name: _absent(rule) for name, rule in catalogue.CATALOGUE.items()}
    for run in runs:
        for name in sorted(set(run.rules) - set(known)):
            known[name] = {**run.rules[name], **_SILENT}
    grouped: dict[str, list[RuleView]] = {}
    for name, absent in known.items():
        sides = [_side(run, run.rules.get(name, absent), changes.get((run.key, name))) for run in runs]
        family = _family(str(sides[0].data["family"]))
        grouped.setdefault(family.code, []).append(RuleView(name, catalogue.CATALOGUE.get(name), family.title, sides))
    return [FamilyView(_family(code), rules) for code, rules in grouped.items()]


def _side(run: RunColumn, data: Mapping[str, Any], change: Change | None) -> Side:
    return Side(run, data, sign(str(data["verdict"])), change=change)


def _family(code: str) -> Family:
    return catalogue.FAMILIES.get(code) or Family(code, code, "")


_SILENT = {
    "verdict": "not-run",
    "exercised": 0,
    "selected": False,
    "reason": None,
    "cases": [],
    "reports": {},
    "deviation": None,
}


def _absent(rule: Rule) -> dict[str, Any]:
    """A rule of the catalogue that the results do not mention: nothing is claimed about it."""
    return {
        "id": rule.id,
        "family": rule.family,
        "title": rule.title,
        "level": rule.level,
        "status": rule.status,
        **_SILENT,
        "verdict": "not-run" if rule.judged else rule.status,
        "reason": rule.reason or None,
    }


def _shares(runs: Sequence[RunColumn]) -> list[Share]:
    """The shares that stand on cards of their own where there is one broker."""
    rules = runs[0].results["rules"]
    return [found for level in ("must", "should", "may") if (found := share(level, rules)).of]


def _badness(entry: Entry) -> tuple[int, ...]:
    return min(gravity(side.data) for side in entry.rule.sides if side.group == "failing")


def _observed(side: Side) -> str:
    cases = side.data.get("cases")
    return str(cases[0]["observed"] if cases else side.data.get("reason") or "")


def _noted(side: Side) -> str:
    return str((side.data.get("deviation") or {}).get("note", ""))


def _unclear(side: Side) -> str:
    return str(side.data.get("reason") or side.sign.meaning)


def _listed(side: Side) -> str:
    return ", ".join(sorted(side.data["reports"]))


def _counted(side: Side) -> str:
    return ", ".join(f"{what} × {times}" for what, times in sorted(side.data["reports"].items()))

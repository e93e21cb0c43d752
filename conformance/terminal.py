"""The terminal's page: results as text. The verdict first, then what is wrong, worst first, each with its evidence.

Failures are grouped by cause. Findings of one rule with the same words are one case already; rules that break in the
same words (numbers and names aside) stand together, because one bug usually breaks several. Pure: results in, text
out; colour is ANSI where asked for, and the same words without.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from conformance.ledger import Step, gist
from conformance.results import Case, Fault, Results, RuleResult
from conformance.verdicts import Verdict
from reports.folding import runs, told

WIDTH = 96
_STEPS_SHOWN = 24
_LEVELS = ("must", "should", "may", "observed")
_WORST = (Verdict.BROKEN, Verdict.HARNESS_ERROR, Verdict.INCONCLUSIVE, Verdict.DEVIATES, Verdict.UNSEEN)
_ARROWS = {">": "→ ", "<": " ←"}
_STYLES = {"bad": "1;31", "good": "1;32", "warn": "33", "dim": "2", "strong": "1"}
_VERDICTS = {
    Verdict.HELD: "good", Verdict.BROKEN: "bad", Verdict.DEVIATES: "warn", Verdict.UNSEEN: "dim",
    Verdict.UNDER_TESTED: "warn",
    Verdict.INCONCLUSIVE: "warn", Verdict.HARNESS_ERROR: "bad", Verdict.NOT_OFFERED: "dim",
}


def summary(results: Results, *, color: bool = False, width: int = WIDTH) -> str:
    """Everything a person should read after a run."""
    page = _Page(color, max(width, 60))
    return "\n".join([*page.failures(results), *page.standing(results), *page.verdict(results)]) + "\n"


def headline(results: Results) -> str:
    """The run in one line, without colour."""
    return f"{_broker(results)}: gate {'open' if results.gate.open else 'CLOSED'}, {_counts(results)}"


def _broker(results: Results) -> str:
    where = f" at {results.broker.url}" if results.broker.url else ""
    return f"{results.broker.name}{where} (profile {results.profile})"


def _counts(results: Results) -> str:
    seen = Counter(rule.verdict for rule in results.rules if rule.status == "judged")
    otherwise = sum(_otherwise(rule) for rule in results.rules if rule.status == "judged")
    seen[Verdict.BROKEN] -= otherwise
    said = [f"{seen[verdict]} {verdict}" for verdict in _VERDICTS if seen[verdict]]
    return ", ".join(said + [f"{otherwise} otherwise than usual"] * bool(otherwise)) or "no rule was judged"


def _otherwise(rule: RuleResult) -> bool:
    """Does it break a rule that no source asks for? That is told, closes no gate, and looks different."""
    return rule.verdict == Verdict.BROKEN and rule.level == "observed"


def frames(steps: Sequence[Step], at: int = 0) -> list[str]:
    """The frames of interest of an exchange, one line each, runs of like ones told as one, a cross at the event `at`
    which the rule is contradicted; all of it is in the report."""
    shown = [asdict(step) for step in steps if step.interest or (at and step.seq == at)]
    failing = frozenset(place for place, step in enumerate(shown) if at and step["seq"] == at)
    lines = [
        f"{'✕' if at and group[0]['seq'] == at else ' '} {_place(group[0]):<6} "
        f"{_ARROWS.get(group[0]['direction'], ' ·')} {told(group)}" for group in runs(shown, failing)
    ]
    if len(lines) > _STEPS_SHOWN:
        kept = lines[:_STEPS_SHOWN - 1]
        lines = [*kept, f"  ... and {len(lines) - len(kept) - 1} more, then", lines[-1]]
    return lines


def _place(step: Mapping[str, Any]) -> str:
    return f"{step['connection']}.{step['channel']}" if step["channel"] else str(step["connection"])


def painter(color: bool) -> Callable[[str, str], str]:
    """What puts a text into a style, or leaves it alone."""
    def paint(style: str, text: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if color else text

    return paint


def reached(counts: Mapping[str, int]) -> str:
    """How far generation came."""
    return f"{counts['pairs']} of {counts['of']} pairs of what a client does and the state in which it does it"


class _Page:
    def __init__(self, color: bool, width: int) -> None:
        self.paint, self._width = painter(color), width

    def failures(self, results: Results) -> Iterator[str]:
        """What is wrong, worst first: what happened to the broker, then rules. Deviations are named, not retold."""
        for incident in results.incidents:
            yield ""
            often = f", {incident.times} times" if incident.times > 1 else ""
            yield f"{self.paint('bad', incident.kind.upper())}  {incident.what}{often}"
            where = f"first in {incident.scene or 'no scene'} on {incident.queue_type or 'no'} queues"
            before = f"; before it: {', '.join(incident.after)}" if incident.after else ""
            yield from self._paragraph(f"{where}{before}", "  ")
        for fault, group in _causes(results):
            yield from self._fault(fault, group)
            for rule in group:
                yield from self._rule(rule)
        for trouble in results.troubles:
            yield ""
            yield f"{self.paint('bad', trouble.kind)}  {trouble.scene} on {trouble.queue_type} queues"
            yield from self._paragraph(trouble.message, "  ")

    def _fault(self, fault: Fault | None, group: Sequence[RuleResult]) -> Iterator[str]:
        """What the rules of a group have in common."""
        if fault is not None and (fault.like or len(group) > 1):
            others = _ids(group[1:])
            yield ""
            yield self.paint("strong", f"FAULT  {fault.rule}{f'; with it break {others}' if others else ''}")
            if fault.like:
                yield from self._paragraph(fault.sentence, "  ")
        elif len(group) > 1:
            yield ""
            yield self.paint("strong", f"{len(group)} rules break in the same way: {_ids(group)}")

    def _rule(self, rule: RuleResult) -> Iterator[str]:
        yield ""
        aside = "" if rule.selected else "  (outside the selection)"
        aside += "" if rule.status in ("judged", "characterised") else f"  ({rule.status}: does not count yet)"
        verdict = self.paint(_VERDICTS[Verdict(rule.verdict)], rule.verdict.upper())
        if _otherwise(rule):
            verdict, aside = self.paint("warn", "otherwise"), f"{aside}  (no source asks for it: closes no gate)"
        yield f"{verdict}  {self.paint('strong', rule.id)}  {rule.title}  [{rule.level.upper()}]{aside}"
        if rule.verdict in (Verdict.DEVIATES, Verdict.UNSEEN) and rule.deviation:
            known = f"{rule.deviation['note']} ({rule.deviation['evidence']})"
            yield from self._paragraph(f"{rule.reason or 'known'}: {known}", "  ")
            return
        yield from self._paragraph(rule.clause, "  ")
        for case in rule.cases:
            yield from self._case(case)

    def _case(self, case: Case) -> Iterator[str]:
        yield ""
        often = f", {case.seen} times" if case.seen > 1 else ""
        known = ", a known deviation" if case.deviation is not None else ""
        doubt = "" if case.certain else ", not certain"
        yield f"  {self.paint('strong', case.id)}  {case.queue_type} queue, {case.reproduced}{often}{doubt}{known}"
        yield from self._labelled("allowed", case.allowed)
        yield from self._labelled("observed", case.observed)
        for place, line in enumerate(frames(case.steps, case.at)):
            label = self.paint("dim", "frames") if place == 0 else " " * 6
            yield f"    {label}  {line}"
        yield f"    {self.paint('dim', 'again')}     {case.rerun}"

    def standing(self, results: Results) -> Iterator[str]:
        """How much was judged, and what was not."""
        status = Counter(rule.status for rule in results.rules)
        judged, told = status["judged"], status["characterised"]
        planned, never = status["planned"], status["not-judgeable"]
        yield ""
        yield _broker(results)
        for line in results.broker.offers:
            yield from self._paragraph(line, "  ")
        yield f"{judged} rule{'s' * (judged != 1)} judged: {_counts(results)}"
        rest = [f"{told} characterised"] if told else []
        rest += [f"{planned} planned, not judged yet"] if planned else []
        rest += [f"{never} not judged"] if never else []
        if rest:
            yield f"of this selection also in the catalogue: {', '.join(rest)}"
        size = f"{results.histories} histories, {results.events} events, {results.seconds:.1f} s"
        yield self.paint("dim", f"{size}; depth {results.depth}, seed {results.seed}, run {results.run}")
        if results.reached:
            yield self.paint("dim", f"reached: {reached(results.reached)}")

    def verdict(self, results: Results) -> Iterator[str]:
        for warning in results.gate.warnings:
            yield from self._paragraph(warning, "", self.paint("warn", "warning: "))
        if results.gate.open:
            yield self.paint("good", "GATE OPEN")
            return
        yield self.paint("bad", "GATE CLOSED")
        for reason in results.gate.reasons:
            yield from self._paragraph(reason, "  ", "  · ")

    def _labelled(self, label: str, text: str) -> Iterator[str]:
        yield from self._paragraph(text, " " * 14, f"    {self.paint('dim', f'{label:<8}')}  ")

    def _paragraph(self, text: str, indent: str, first: str | None = None) -> list[str]:
        lines = textwrap.wrap(text, self._width - len(indent), break_long_words=False, break_on_hyphens=False)
        head = indent if first is None else first
        rest = indent if first is None or indent.strip() or len(indent) > 2 else indent + "  "
        return [(head if n == 0 else rest) + line for n, line in enumerate(lines)] or [head]


def _causes(results: Results) -> list[tuple[Fault | None, list[RuleResult]]]:
    """What is wrong, each fault with its rules; then the rest, worst first, where what was observed in the same words
    stands together."""
    by_id = {rule.id: rule for rule in results.rules}
    known = {rule for fault in results.faults for rule in fault.rules}
    rest: dict[str, list[RuleResult]] = {}
    others = (rule for rule in results.rules if rule.verdict in _WORST and rule.id not in known)
    for rule in sorted(others, key=_badness):
        counts = rule.selected and rule.status == "judged" and not _otherwise(rule)
        alike = rule.verdict == Verdict.BROKEN and counts and rule.cases
        rest.setdefault(gist(rule.cases[0].observed) if alike else rule.id, []).append(rule)
    grouped = [(fault, [by_id[rule] for rule in fault.rules]) for fault in results.faults]
    return [*grouped, *((None, group) for group in rest.values())]


def _ids(rules: Sequence[RuleResult]) -> str:
    return ", ".join(rule.id for rule in rules)


def _badness(rule: RuleResult) -> tuple[object, ...]:
    """Broken before doubtful before known, what counts first, MUST first; many findings before few."""
    return (
        not rule.selected or rule.status != "judged", _otherwise(rule), _WORST.index(Verdict(rule.verdict)),
        _LEVELS.index(rule.level), -sum(case.seen for case in rule.cases), rule.id,
    )

"""The terminal's page: results as text. The verdict first, in words, then what is wrong, worst first, a line for each
rule, and last what closes the gate and what to do about it, once.

Failures are grouped by cause. Findings of one rule with the same words are one case already; rules that break in the
same words (numbers and names aside) stand together, because one bug usually breaks several. `verbose` adds to each rule
its clause and the exchanges that show it. Pure: results in, text out; colour is ANSI where asked for, and the same
words without.
"""

from __future__ import annotations

import re
import textwrap
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from conformance.evidence.folding import describe_group, runs
from conformance.evidence.words import count, overheard
from conformance.evidence.words import headline as sentences
from conformance.oracle.verdicts import Verdict, whatever_number
from conformance.outcome.incidents import GRAVE
from conformance.outcome.ledger import ExchangeStep, gist
from conformance.outcome.results import Case, Fault, Results, RuleResult

WIDTH = 96
_STEPS_SHOWN = 24
_CHECKS_SHOWN = 3
_LEVELS = ("must", "should", "may", "observed")
_WORST = (Verdict.BROKEN, Verdict.HARNESS_ERROR, Verdict.DEVIATES, Verdict.UNSEEN)
COUNTED = ("judged", "characterised")
OPEN, CLOSED, NOTHING = "GATE OPEN", "GATE CLOSED", "NOTHING BROKEN"
UNCLEAR = "a lawful order of events also explains what was seen"
BY_WORD = "(--whole if that is not so)"
"""How the reason of a doubt ends that a user can take away."""
_WORD = re.compile(r"\(--whole[^)]*\)")
_BROKEN = re.compile(r"(\S+) \((?:MUST|SHOULD)\) is broken")
_ARROWS = {">": "→ ", "<": " ←"}
_STYLES = {"bad": "1;31", "good": "1;32", "warn": "33", "dim": "2", "strong": "1"}
_VERDICTS = {
    Verdict.HELD: "good",
    Verdict.BROKEN: "bad",
    Verdict.DEVIATES: "warn",
    Verdict.UNSEEN: "dim",
    Verdict.UNDER_TESTED: "warn",
    Verdict.INCONCLUSIVE: "warn",
    Verdict.HARNESS_ERROR: "bad",
    Verdict.NOT_OFFERED: "dim",
}


def summary(results: Results, *, color: bool = False, width: int = WIDTH, verbose: bool = False) -> str:
    """What a person should read after a run; all of it, if `verbose`."""
    page = _Page(color, max(width, 40), verbose)
    blocks = (
        page.incidents(results, grave=True),
        page.head(results),
        page.incidents(results, grave=False),
        page.failures(results),
        page.verdict(results),
    )
    return "\n\n".join("\n".join(lines).strip("\n") for block in blocks if (lines := list(block))) + "\n"


def headline(results: Results) -> str:
    """The run in one line, without colour."""
    return f"{_broker(results)}: gate {'open' if results.gate.open else 'CLOSED'}, {_counts(results)}"


def _broker(results: Results) -> str:
    where = f" at {results.broker.url}" if results.broker.url else ""
    return f"{results.broker.name}{where} (profile {results.profile})"


def _counts(results: Results) -> str:
    rules = _examined(results)
    seen = Counter(rule.verdict for rule in rules)
    otherwise = sum(map(_otherwise, rules))
    seen[Verdict.BROKEN] -= otherwise
    said = [f"{seen[verdict]} {verdict}" for verdict in _VERDICTS if seen[verdict]]
    return ", ".join(said + [f"{otherwise} unusual"] * bool(otherwise)) or "no rule was judged"


def _examined(results: Results) -> list[RuleResult]:
    """The rules that came to a verdict, about what the broker offers: those that the headline counts."""
    return [rule for rule in results.rules if rule.status in COUNTED and rule.verdict != Verdict.NOT_OFFERED]


def _otherwise(rule: RuleResult) -> bool:
    """Does it break a rule that no source asks for? That is told, closes no gate, and looks different."""
    return rule.verdict == Verdict.BROKEN and rule.level == "observed"


def frames(steps: Sequence[ExchangeStep], at: int = 0) -> list[str]:
    """The frames of interest of an exchange, one line each, runs of like ones told as one, a cross at the event `at`
    which the rule is contradicted; all of it is in the report."""
    shown = [asdict(step) for step in steps if step.interest or (at and step.seq == at)]
    failing = frozenset(place for place, step in enumerate(shown) if at and step["seq"] == at)
    lines = [
        f"{'✕' if at and group[0]['seq'] == at else ' '} {_place(group[0]):<6} "
        f"{_ARROWS.get(group[0]['direction'], ' ·')} {describe_group(group)}"
        for group in runs(shown, failing)
    ]
    if len(lines) > _STEPS_SHOWN:
        kept = lines[: _STEPS_SHOWN - 1]
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
    return f"{counts['pairs']} of {counts['of']} pairs of a client's action and a state"


BEFORE_ALL = "before the first history"


class _Page:
    def __init__(self, color: bool, width: int, verbose: bool) -> None:
        self.paint, self._width, self._verbose = painter(color), width, verbose

    def head(self, results: Results) -> Iterator[str]:
        """The verdict in words, how much was judged, and of what."""
        style, gate = _gate(results)
        yield from self._paragraph(f"{gate}  {_broker(results)}", "  ", "", (style, gate))
        verdict, wrong = sentences(asdict(results))
        yield from self._paragraph(wrong or verdict, "  ")
        yield from self._paragraph(_judged(results), "  ")
        for line in results.broker.offers:
            yield from self._paragraph(line, "  ")
        size = (
            f"{count(results.histories, 'history', 'histories')}, {count(results.events, 'event')}, "
            f"{results.seconds:.1f} s; depth {results.depth}, seed {results.seed}, run {results.run}"
        )
        yield from self._paragraph(size, "  ")
        if results.reached:
            yield from self._paragraph(f"reached: {reached(results.reached)}", "  ")

    def incidents(self, results: Results, *, grave: bool) -> Iterator[str]:
        """What happened to the broker. That it broke down comes before all else."""
        for incident in results.incidents:
            if (incident.kind in GRAVE) != grave:
                continue
            yield ""
            often = f", {incident.times} times" if incident.times > 1 else ""
            yield f"{self.paint('bad', incident.kind.upper())}  {incident.what}{often}"
            where = f"first in {incident.scene} on {incident.queue_type} queues" if incident.scene else BEFORE_ALL
            before = f"; before it: {', '.join(incident.after)}" if incident.after else ""
            yield from self._paragraph(f"{where}{before}", "  ")

    def failures(self, results: Results) -> Iterator[str]:
        """Which rules are broken, worst first. Deviations are named, not retold."""
        for fault, group in _causes(results):
            yield from self._fault(fault, group, len(results.faults) > 1)
            for rule in group:
                yield from self._rule(rule)
        yield from self._doubtful(results)
        yield from self._troubles(results)

    def _troubles(self, results: Results) -> Iterator[str]:
        """Which checks came to no end, those to which the same happened together; all their names only if asked."""
        alike: dict[tuple[str, str], list[str]] = {}
        for trouble in results.troubles:
            named = trouble.queue_type in trouble.scene
            where = trouble.scene if named else f"{trouble.scene} on {trouble.queue_type} queues"
            alike.setdefault((trouble.kind, trouble.message), []).append(where)
        for (kind, message), places in alike.items():
            shown = places if self._verbose else places[:_CHECKS_SHOWN]
            more = f"; and {len(places) - len(shown)} more" if len(shown) < len(places) else ""
            yield from self._paragraph(f"{kind}  {'; '.join(shown)}{more}", "  ", "", ("bad", kind))
            yield from self._paragraph(message, "  ")

    def _doubtful(self, results: Results) -> Iterator[str]:
        """What was seen and could not be judged, by the reason; what has an exchange to show has it, if asked."""
        reasons: dict[str, list[RuleResult]] = {}
        for rule in results.rules:
            if rule.verdict == Verdict.INCONCLUSIVE:
                reasons.setdefault(_alike(rule.reason or UNCLEAR), []).append(rule)
        for reason, rules in sorted(reasons.items(), key=lambda one: (-len(one[1]), one[0])):
            line = f"INCONCLUSIVE  {count(len(rules), 'rule')}: {reason}"
            yield from self._paragraph(line, "  ", "", ("warn", "INCONCLUSIVE"))
            if not self._verbose:
                yield from self._paragraph(_ids(rules), "    ")
            for rule in rules if self._verbose else ():
                yield from self._rule(rule)

    def _fault(self, fault: Fault | None, group: Sequence[RuleResult], several: bool) -> Iterator[str]:
        """What the rules of a group have in common. What a single fault looks like has been said."""
        if fault is not None and ((fault.like and several) or len(group) > 1):
            others = f"; it also breaks {_ids(group[1:])}" if group[1:] else ""
            yield from self._paragraph(f"FAULT  {fault.rule}{others}", "  ", "", ("strong", f"FAULT  {fault.rule}"))
            if fault.like and (several or self._verbose):
                yield from self._paragraph(fault.sentence, "  ")
        elif len(group) > 1:
            yield self.paint("strong", f"{len(group)} rules break in the same way: {_ids(group)}")

    def _rule(self, rule: RuleResult) -> Iterator[str]:
        aside = "" if rule.selected else "  (not selected)"
        aside += "" if rule.status in COUNTED else f"  ({rule.status}: does not count yet)"
        style, verdict = _VERDICTS[Verdict(rule.verdict)], rule.verdict.upper()
        if _otherwise(rule):
            style, verdict, aside = "warn", "unusual", f"{aside}  (no source demands it: does not close the gate)"
        room = self._width - len(f"{verdict}  {rule.id}    [{rule.level}]{aside}")
        title = rule.title if self._verbose or len(rule.title) <= room else f"{rule.title[: max(room - 1, 0)]}…"
        line = f"{verdict}  {rule.id}  {title}  [{rule.level.upper()}]{aside}"
        yield from self._paragraph(line, "  ", "", (style, verdict), ("strong", rule.id))
        if self._verbose:
            yield from self._describe_rule(rule)

    def _describe_rule(self, rule: RuleResult) -> Iterator[str]:
        """All there is to say of a rule."""
        if rule.verdict in (Verdict.DEVIATES, Verdict.UNSEEN) and rule.deviation:
            known = f"{rule.deviation['note']} ({rule.deviation['evidence']})"
            yield from self._paragraph(f"{rule.reason or 'known'}: {known}", "  ")
            return
        yield from self._paragraph(rule.clause, "  ")
        for case in rule.cases:
            yield from self._case(case)
        yield ""

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

    def verdict(self, results: Results) -> Iterator[str]:
        """What must be known beside, what closes the gate, and what to do about it."""
        for warning in results.gate.warnings:
            if not _overheard(results) or not warning.startswith("UNDER-TESTED"):
                yield from self._paragraph(f"warning: {warning}", "  ", "", ("warn", "warning: "))
        if results.gate.open:
            return
        yield self.paint("strong", "What closes the gate, and what to do")
        for reason in _reasons(results.gate.reasons):
            yield from self._paragraph(reason, "    ", "  · ")
        for line in self._advice(results):
            yield from self._paragraph(line, "    ", "  → ")

    def _advice(self, results: Results) -> Iterator[str]:
        """What to type, each but once: first what helps to mend, then what helps to live with it."""
        shown = next((case for _, rules in _causes(results) for rule in rules for case in rule.cases), None)
        if shown is not None:
            where = "" if self._verbose else "--verbose shows the exchanges; "
            yield f"{where}{shown.rule} again: {shown.rerun}"
        yield from results.gate.advice

    def _labelled(self, label: str, text: str) -> Iterator[str]:
        yield from self._paragraph(text, " " * 14, f"    {label:<8}  ", ("dim", label))

    def _paragraph(
        self,
        text: str,
        indent: str,
        first: str | None = None,
        *painted: tuple[str, str],
    ) -> list[str]:
        """The text in lines of this width, the first behind `first`; `painted`: (style, word) in that line."""
        lines = textwrap.wrap(
            text,
            self._width,
            initial_indent=indent if first is None else first,
            subsequent_indent=indent,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for style, word in painted if lines else ():
            lines[0] = lines[0].replace(word, self.paint(style, word), 1)
        return lines


def _gate(results: Results) -> tuple[str, str]:
    """Its style and its word. Traffic that nobody provoked may break rules, and opens no gate."""
    if not results.gate.open:
        return "bad", CLOSED
    return "good", NOTHING if _overheard(results) else OPEN


def _overheard(results: Results) -> bool:
    return overheard({"depth": results.depth})


def _judged(results: Results) -> str:
    """How much was judged, and what else the catalogue has. Of traffic that nobody provoked little is."""
    status = Counter(rule.status for rule in results.rules)
    status[Verdict.NOT_OFFERED] = sum(
        rule.status in COUNTED and rule.verdict == Verdict.NOT_OFFERED for rule in results.rules
    )
    rest = {"not-offered": "not offered", "planned": "planned, not judged yet", "not-judgeable": "not judgeable"}
    also = ", ".join(f"{status[name]} {words}" for name, words in rest.items() if status[name])
    of = f" of the set {results.selection.set}" if results.selection.set else ""
    judged = "" if _overheard(results) else " judged"
    rules = count(len(_examined(results)), "rule")
    return f"{rules}{of}{judged}: {_counts(results)}{f'; also {also}' if also else ''}"


def _alike(reason: str) -> str:
    """The reason of a doubt, the same for one history and for several, whatever is said of the user's word."""
    told = _WORD.search(reason)
    if told is None:
        return whatever_number(reason)
    return whatever_number(reason.replace(told[0], BY_WORD)).replace(BY_WORD, told[0])


def _reasons(said: Sequence[str]) -> list[str]:
    """What closes the gate: broken rules, which are named above, in one line."""
    broken = [found for one in said if (found := _BROKEN.match(one))]
    if len(broken) < 2:
        return list(said)
    rest = [one for one in said if not _BROKEN.match(one)]
    return [f"{len(broken)} rules are broken: {', '.join(found[1] for found in broken)}", *rest]


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
        not rule.selected or rule.status != "judged",
        _otherwise(rule),
        _WORST.index(Verdict(rule.verdict)),
        _LEVELS.index(rule.level),
        -sum(case.seen for case in rule.cases),
        rule.id,
    )

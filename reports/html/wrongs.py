"""What is wrong with a broker, one line for each fault: what a reader of the page looks for first.

Broken rules come before known deviations. Rules that seem to break by one wrong decision are one fault, and so are
known deviations with the same note. The line says what the broker does; a click shows what it should do. If there are
only a few faults, each has its exchange in words beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.evidence.folding import exchange
from conformance.evidence.words import Sign, gravity, sign
from reports.html.ladder import shortened

FAILING = ("broken", "harness-error")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z0-9])")
_CLAUSE = re.compile(r"[:;]\s")
LONG = 90
"""A sentence of more characters is cut at its first colon."""

ROOM, LEAST = 26, 6
"""How many lines all exchanges may have, and how many the shortest one that is shown needs."""

Rule = Mapping[str, Any]
Case = Mapping[str, Any]


@dataclass(frozen=True)
class Wrong:
    """One fault: what the broker does, in a sentence, and which rules it breaks. `aside`: what else helps."""

    sign: Sign
    text: str
    aside: str
    rules: Sequence[str]
    level: str
    case: Case | None = None
    exchange: Sequence[str] = ()


def wrongs(results: Mapping[str, Any]) -> list[Wrong]:
    """All of them, worst first."""
    found = [*_failing(results), *_known(results)]
    room = ROOM // max(1, len(found))
    if room < LEAST:
        return found
    return [_with_exchange(one, one.case, room) if one.case and one.case["steps"] else one for one in found]


def gist(text: str) -> str:
    """The beginning of a note that says what is wrong; all of it is a click away."""
    sentence = _SENTENCE.split(text.strip(), maxsplit=1)[0]
    clause = _CLAUSE.split(sentence, maxsplit=1)[0] if len(sentence) > LONG else sentence
    return clause.rstrip(".") + "."


def _failing(results: Mapping[str, Any]) -> Iterator[Wrong]:
    """What breaks together is told where its worst rule would be."""
    broken = sorted((rule for rule in results["rules"] if rule["verdict"] in FAILING), key=gravity)
    grouped = {str(name): one for one in results.get("faults") or () for name in one["rules"]}
    told: set[str] = set()
    for rule in broken:
        if rule["id"] in told:
            continue
        one = grouped.get(rule["id"])
        told.update(one["rules"] if one else ())
        yield _named(one, broken) if one else _single(rule)


def _single(rule: Rule) -> Wrong:
    return Wrong(
        sign(rule["verdict"]), str(rule["title"]), observed(rule), [str(rule["id"])], str(rule["level"]), _case(rule)
    )


def _named(one: Mapping[str, Any], broken: Sequence[Rule]) -> Wrong:
    """Told by what it looks like, if that is known; else by the rule that names it."""
    rule = next((rule for rule in broken if rule["id"] == one["rule"]), broken[0])
    text = f"As if {', or as if '.join(one['like'])}" if one["like"] else str(rule["title"])
    names = dict.fromkeys([str(one["rule"]), *map(str, one["rules"])])
    return Wrong(sign("broken"), text, observed(rule), list(names), str(rule["level"]), _case(rule))


def _known(results: Mapping[str, Any]) -> Iterator[Wrong]:
    notes: dict[str, list[Rule]] = {}
    for rule in sorted((rule for rule in results["rules"] if rule["verdict"] == "deviates"), key=gravity):
        note = str((rule.get("deviation") or {}).get("note", "")) or str(rule["title"])
        notes.setdefault(note, []).append(rule)
    for note, rules in notes.items():
        names = [str(rule["id"]) for rule in rules]
        yield Wrong(sign("deviates"), gist(note), "", names, str(rules[0]["level"]), _case(rules[0]))


def _with_exchange(one: Wrong, case: Case, room: int) -> Wrong:
    return replace(one, exchange=[shortened(line) for line in exchange(case, room)])


def _case(rule: Rule) -> Case | None:
    return next(iter(rule.get("cases") or ()), None)


def observed(rule: Rule) -> str:
    """What was seen of it first."""
    cases = rule.get("cases")
    return str(cases[0]["observed"] if cases else rule.get("reason") or "")

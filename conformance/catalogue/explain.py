"""The catalogue as text for a terminal and as JSON for a program: what `list` and `explain` print.

Pure: rules in, text out. Whether a rule is judged yet is said wherever the rule is shown.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Sequence

from conformance.catalogue.rules import FAMILIES, Rule

WIDTH = 96


def explain(rule: Rule, width: int = WIDTH) -> str:
    """One rule, as one would explain it to a colleague."""
    sections = [
        ("The rule", [rule.clause]),
        ("Left open", [rule.open] if rule.open else []),
        ("Applies", _bullets(rule.conditions)),
        ("Real brokers", _bullets(rule.known)),
        ("A check must catch a broker that ...", _bullets(rule.mutants)),
        ("Decided by", [rule.decided_by]),
        ("Source", _bullets(rule.sources)),
    ]
    head = [f"{rule.id}  {rule.title}", f"{rule.level.upper()} · {FAMILIES[rule.family].title} · {standing(rule)}"]
    blocks = ["\n".join(_wrapped(line, width) for line in head)]
    blocks += [_block(title, lines, width) for title, lines in sections if lines]
    return "\n\n".join(blocks) + "\n"


def listing(rules: Sequence[Rule], width: int = 1 << 16) -> str:
    """One line per rule, under the titles of their families, with a count of what is judged at the end; longer ones
    are wrapped."""
    lines: list[str] = []
    family = ""
    for rule in rules:
        if rule.family != family:
            family = rule.family
            lines += ["", f"{family} · {FAMILIES[family].title}"]
        status = "" if rule.breakable else f"  [{rule.status}]"
        line = f"  {rule.id:<9} {rule.level:<9} {rule.title}{status}"
        lines += textwrap.wrap(line, max(width, 40), subsequent_indent=" " * 22, break_on_hyphens=False)
    return "\n".join([*lines[1:], "", tally(rules)]) + "\n"


def tally(rules: Sequence[Rule]) -> str:
    """How many there are, and how many of them are judged."""
    judged, told = sum(rule.breakable for rule in rules), sum(rule.status == "characterised" for rule in rules)
    never = sum(rule.status == "not-judgeable" for rule in rules)
    planned = len(rules) - judged - told - never
    rest = [f"{told} characterised"] if told else []
    rest += [f"{planned} planned"] if planned else []
    rest += [f"{never} not judged"] if never else []
    return f"{len(rules)} rule{'s' * (len(rules) != 1)}: {', '.join([f'{judged} judged', *rest])}"


def as_json(rules: Iterable[Rule]) -> str:
    """The list for programs; `reason` says why a rule is not judged, and is null where it is."""
    rows = [
        {
            "id": rule.id,
            "family": rule.family,
            "title": rule.title,
            "level": rule.level,
            "status": rule.status,
            "reason": rule.reason or None,
            "applies": list(rule.conditions),
            "scope": rule.scope,
            "mutants": list(rule.mutants),
        }
        for rule in rules
    ]
    return json.dumps(rows, indent=2, ensure_ascii=False) + "\n"


def explain_json(rule: Rule) -> str:
    """Everything we know of one rule, for programs."""
    names = [name for name in Rule.__dataclass_fields__ if name != "reason"]
    row = {name: getattr(rule, name) for name in names} | {"reason": rule.reason or None}
    return json.dumps(row, indent=2, ensure_ascii=False) + "\n"


def standing(rule: Rule) -> str:
    """Is it judged, and if not, why."""
    return rule.status if rule.judged else f"{rule.status}: {rule.reason}"


def _bullets(lines: Iterable[str]) -> list[str]:
    return [f"· {line}" for line in lines]


def _block(title: str, lines: Iterable[str], width: int) -> str:
    return "\n".join([title, *(_wrapped(line, width, "  ") for line in lines)])


def _wrapped(line: str, width: int, indent: str = "") -> str:
    hanging = indent + ("  " if line.startswith("· ") else "")
    return textwrap.fill(line, width, initial_indent=indent, subsequent_indent=hanging, break_long_words=False)

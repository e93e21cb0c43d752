"""The catalogue as a page: `python -m tools.pages.rules` writes docs/rules.md.

The page is committed, so that people can read it without an installation. A test proves that it is fresh.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from conformance.catalogue.rules import CATALOGUE, FAMILIES, LEVELS, Family, Rule

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"

_HEAD = """\
# The rules

The rules by which the suite judges a broker. `python -m tools.pages.rules` writes this page from the files in
`conformance/catalogue/rules/`; change those files, not this page.

| level | meaning |
|---|---|
| **must**, **should** | a text promises it |
| **may** | a text leaves it to the broker; the suite checks only what a client has to handle |
| **observed** | no text promises it; the report shows it, and it never closes a gate |

| status | meaning |
|---|---|
| **judged** | a monitor decides whether the broker keeps the rule |
| **characterised** | a monitor describes what the broker does, and never calls it broken |
| **planned**, **not judgeable** | no monitor decides it; the rule says why |
"""


def page() -> str:
    """The whole page."""
    parts = [_HEAD, _overview()]
    for family in FAMILIES.values():
        parts.append(f"## {family.code} · {family.title}\n\n{family.about}\n")
        parts += [_section(rule) for rule in _of(family)]
    return "\n".join(parts)


def _of(family: Family) -> list[Rule]:
    return [rule for rule in CATALOGUE.values() if rule.family == family.code]


def _overview() -> str:
    rows = [["family", "rules", "judged", "characterised", *LEVELS]]
    for family in FAMILIES.values():
        name = f"[{family.code} · {family.title}](#{_anchor(f'{family.code} · {family.title}')})"
        rows.append([name, *_counts(_of(family))])
    rows.append(["all", *_counts(list(CATALOGUE.values()))])
    rows.insert(1, ["---", *["--:"] * (len(rows[0]) - 1)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _counts(rules: list[Rule]) -> list[str]:
    levels = (sum(rule.level == level for rule in rules) for level in LEVELS)
    statuses = (sum(rule.status == status for rule in rules) for status in ("judged", "characterised"))
    return [str(number) for number in (len(rules), *statuses, *levels)]


def _anchor(heading: str) -> str:
    """The anchor that GitHub gives to a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -")
    return kept.replace(" ", "-")


def _section(rule: Rule) -> str:
    status = rule.status if rule.judged else f"{rule.status}: {rule.reason}"
    lines = [f"### {rule.id} · {rule.title}", f"*{rule.level}, {status}*", rule.clause]
    if rule.open:
        lines.append(f"**Left open.** {rule.open}")
    if rule.conditions:
        lines.append(f"**Applies:** {'; '.join(rule.conditions)}.")
    lines.append("\n".join(_details(rule)))
    return "\n\n".join(lines) + "\n"


def _details(rule: Rule) -> Iterator[str]:
    yield from _listed("Real brokers", rule.known)
    yield from _listed("The suite must catch a broker that", rule.mutants)
    yield f"- To decide it, one needs {rule.decided_by}."
    yield from _listed("Source", rule.sources)


def _listed(title: str, entries: Iterable[str]) -> Iterator[str]:
    entries = list(entries)
    if len(entries) == 1:
        yield f"- {title}{'' if title.endswith(' that') else ':'} {entries[0]}"
    elif entries:
        yield f"- {title}{' ...' if title.endswith(' that') else ':'}"
        yield from (f"  - {entry}" for entry in entries)


def main() -> None:
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()

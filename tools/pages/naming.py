"""The section of docs/trust.md about how faults are named and shown, made of the figures of `make naming`.

Without figures there is no section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.pages.sections import cell

FIGURES = Path("build") / "naming.json"
TITLE = "## Faults by their names"
MADE_BY = "make naming"
LISTED = 60
"""This many of each kind of what is wrong are told one by one."""

_SAYS = """\
A mutant has one wrong decision, but may break several rules. The report groups the broken rules by cause: it plays the
shortest exchange of each rule on all mutants, and rules whose exchanges fit the same mutants form a group. The group
gets the sentence of these mutants ("the broker behaves as if ..."). Here each mutant is tested like
`amqp-conformance run --mutant NAME`, so there should be one group. The first rule of the group should be one that the
mutant names. The sentence should be the mutant's *own*, or that of a mutant *like* it (one that also fits). A group is
*false* when the mutant does not name its first rule. Then the script of every finding is played: on the mutant it
should say STILL BROKEN, on the correct broker NOT SEEN AGAIN. `make naming` repeats the measurement."""
_ON = {1: "still broken", 0: "not seen again", 2: "inconclusive", None: "did not end"}


def section(document: Mapping[str, Any] | None) -> str:
    """Its text, with the title; empty without figures."""
    return "" if not document else "\n".join([TITLE, "", *_lines(document), ""])


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    naming, scripts = document["naming"], document["scripts"]
    judged = naming["judged"]
    yield _SAYS
    yield "\n| measured | |\n|---|--:|"
    yield (
        f"| mutants tested, all mutants; depth, seed | {document['mutants']}, {document['of']}; {document['depth']}, "
        f"{document['seed']} |"
    )
    yield f"| mutants that break a MUST or SHOULD | {judged} |"
    yield (
        f"| nothing broken at this depth; no broken rule closes a gate; the run did not end | {naming['unseen']}, "
        f"{naming['otherwise']}, {naming['unfinished']} |"
    )
    yield f"| one group | {_share(naming['one_group'], judged)} |"
    yield f"| the first rule is one of the mutant's | {_share(naming['first_right'], judged)} |"
    yield f"| without a false group | {_share(naming['without_false'], judged)} |"
    yield f"| the sentence is its own; that of a mutant like it | {naming['own']}, {naming['like']} |"
    yield f"| the sentence is another mutant's; there is none | {naming['another']}, {naming['none']} |"
    yield f"| certain findings; those with a script | {scripts['findings']}, {scripts['scripts']} |"
    yield f"| scripts that say STILL BROKEN on the mutant | {_share(scripts['shown_on_mutant'], scripts['scripts'])} |"
    yield (
        f"| scripts that say NOT SEEN AGAIN on the correct broker | "
        f"{_share(scripts['otherwise_on_honest'], scripts['scripts'])} |"
    )
    yield (
        f"| mutants with findings; those with a script that says both | {scripts['mutants']}, "
        f"{scripts['mutants_with_script']} |"
    )
    yield from _without(scripts["without"])
    yield from _wrong(naming["wrong"])
    yield from _unsound(scripts["unsound"])


def _without(reasons: Mapping[str, int]) -> Iterator[str]:
    if reasons:
        yield "\nWhy findings have no script:\n\n| reason | findings |\n|---|--:|"
        for why, count in reasons.items():
            yield f"| {cell(why)} | {count} |"


def _wrong(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    if rows:
        yield f"\nMore than one group, a false first rule, or the sentence of another mutant{_first(rows)}:\n"
        yield "| mutant | first rule of each group | false ones | the sentence is of |\n|---|---|---|---|"
        for one in rows[:LISTED]:
            yield (
                f"| {one['mutant']} | {', '.join(one['groups'])} | {', '.join(one['false']) or 'none'} | "
                f"{', '.join(one['said']) or 'none'} |"
            )


def _unsound(rows: list[Mapping[str, Any]]) -> Iterator[str]:
    if rows:
        yield f"\nScripts that say something else{_first(rows)}:\n"
        yield "| mutant | case | observed | on the mutant | on the correct broker |\n|---|---|---|---|---|"
        for one in rows[:LISTED]:
            yield (
                f"| {one['mutant']} | {one['case']} | {cell(one['observed'])} | {_ON[one['on_mutant']]} | "
                f"{_ON[one['on_honest']]} |"
            )


def _first(rows: list[Mapping[str, Any]]) -> str:
    return f", the first {LISTED} of {len(rows)}" if len(rows) > LISTED else ""


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.0%})" if whole else str(part)

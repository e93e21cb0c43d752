"""The section of docs/trust.md about machine-made wrong brokers, made of the figures of `make mutation`.

Without figures there is no section.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tools.pages.sections import cell

FIGURES = Path("build") / "mutation.json"
TITLE = "## Machine-made wrong brokers"
MADE_BY = "make mutation"
OUTCOMES = ("found", "unseen", "silent", "unfinished")

_SAYS = """\
A *machine-made* wrong broker is the reference broker with one change in its core and a *trigger* that says when the
change takes effect. A change is another comparison, a boundary on the other side, a constant off by one, a statement
left out, a negated condition, or the other end of a collection. Both are drawn by seed. The suite finds each of these
changes when it always takes effect, so a miss is due to the trigger. A wrong broker is *found* when, after the trigger
held, a MUST or SHOULD breaks or the broker breaks down, in a check that the correct broker passes. Otherwise the
trigger held and nothing was *seen*, or it *never held*. `make mutation SAMPLE=400 SEED=n` repeats the measurement."""
_TRIGGERS = {
    "from": "from the k-th occasion on",
    "every": "on every k-th occasion",
    "second": "only the second time on a channel, queue, consumer, tag or channel number",
    "size": "only from a size on",
    "feature": "only if another feature was used before",
    "connection": "only on another connection than the first",
    "write": "only if two methods came in one write",
    "nature": "only for a queue, message, consumer or channel of one nature",
}


def section(document: Mapping[str, Any] | None) -> str:
    """Its text, with the title; empty without figures."""
    return "" if not document else "\n".join([TITLE, "", *_lines(document), ""])


def _lines(document: Mapping[str, Any]) -> Iterator[str]:
    yield _SAYS
    for of, figures in document.items():
        yield f"\n### At depth {of}\n"
        yield from _depth(figures)


def _depth(figures: Mapping[str, Any]) -> Iterator[str]:
    yield (
        f"Seed {figures['seed']}, {figures['sample']} brokers out of {figures['places']} places; "
        f"{figures['passed_over']} changes were left out: always in effect, they are not found at depth "
        f"{figures['base']} in {figures['shows_in']} checks in which they take effect. Most change nothing.\n"
    )
    yield "| the change takes effect | found | not seen | never held | not done in time | share found |"
    yield "|---|--:|--:|--:|--:|--:|"
    for kind, counts in figures["kinds"].items():
        yield _row(_TRIGGERS[kind], counts)
        for k, each in figures["powers"].get(kind, {}).items():
            yield _row(f"&nbsp; {k}", each)
    yield _row("with k up to 64, or without", figures["near"])
    yield _row("with k beyond 64", figures["far"])
    yield _row("all, except changes that are found by an internal error", figures["quiet"])
    if figures["alarms"]:
        yield "\nCorrect brokers that were accused: " + "; ".join(cell(one) for one in figures["alarms"]) + "."
    if figures["survivors"]:
        yield "\n| not found | changed | trigger | | held | occasions |\n|---|---|---|---|--:|--:|"
        for one in figures["survivors"]:
            yield (
                f"| {one['module']}.{one['function']} | {cell(one['says'])} | {one['trigger']} | "
                f"{_TOLD[one['outcome']]} | {one['fired']} | {one['occasions']} |"
            )


_TOLD = {"unseen": "not seen", "silent": "never held", "unfinished": "not done in time"}


def _row(name: str, counts: Mapping[str, int]) -> str:
    whole = sum(counts.values())
    share = f"{counts['found'] / whole:.0%}" if whole else ""
    return f"| {name} | " + " | ".join(str(counts[outcome]) for outcome in OUTCOMES) + f" | {share} |"

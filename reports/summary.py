"""The results as Markdown, for the summary page of a CI job: the verdict first, then what to do, then the evidence.

What a broker or a file said is quoted, never interpreted: every character with a meaning in Markdown or HTML is
escaped, line breaks become spaces, and exchanges stand in fences longer than any run of backticks inside them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.evidence.folding import exchange
from conformance.evidence.words import (
    LEVELS,
    SIGNS,
    count,
    duration,
    fault,
    gravity,
    headline,
    results_for_display,
    share,
    sign,
)
from reports.html import visible

_MEANS = re.compile(r"([\\`*_\[\]#!|~>$])")


def markdown(results: Mapping[str, Any]) -> str:
    """The summary of one run."""
    document = results_for_display(visible(results))
    return (
        "\n".join(
            [
                *_head(document),
                *_table(document),
                *_gate(document),
                *_broken(document),
                *_known(document),
                *_foot(document),
            ]
        )
        + "\n"
    )


def text(said: object) -> str:
    """The words as Markdown that shows just these words."""
    plain = " ".join(str(said).split()).replace("&", "&amp;").replace("<", "&lt;")
    return _MEANS.sub(r"\\\1", plain)


def fenced(lines: Sequence[str]) -> list[str]:
    """The lines as they are, in a fence that none of them closes."""
    longest = max((len(found) for line in lines for found in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return [fence + "text", *lines, fence]


def _head(results: Mapping[str, Any]) -> Iterator[str]:
    verdict, wrong = headline(results)
    is_open = results["gate"]["open"]
    yield f"## {'✅' if is_open else '❌'} {text(results['broker']['name'])}: gate {'open' if is_open else 'closed'}"
    yield ""
    yield text(f"{verdict} {wrong}".strip())
    if not results.get("complete", True):
        yield ""
        yield "**This run was cut short.** The verdicts use only what was recorded until then."
    for incident in results.get("incidents") or ():
        yield ""
        often = f", {count(incident['times'], 'time')}" if incident["times"] > 1 else ""
        where = f"first in {text(incident['scene'])}" if incident["scene"] else "before the first history"
        yield f"**{text(incident['kind'])}**: {text(incident['what'])}{often} ({where})"
    yield ""


def _table(results: Mapping[str, Any]) -> Iterator[str]:
    """What became of the rules, by level; verdicts that did not occur have no column."""
    rules = results["rules"]
    present = [verdict for verdict in SIGNS if any(rule["verdict"] == verdict for rule in rules)]
    heads = [f"{SIGNS[verdict].glyph} {SIGNS[verdict].word}" for verdict in present]
    yield f"| level | share held | {' | '.join(heads)} |"
    yield "|---|---:|" + "---:|" * len(present)
    for level in LEVELS:
        of_level = [rule for rule in rules if rule["level"] == level]
        numbers = [sum(rule["verdict"] == verdict for rule in of_level) for verdict in present]
        kept = share(level, rules)
        yield f"| {level.upper()} | {f'{kept.percent} %' if kept.of else '–'} | " + " | ".join(map(str, numbers)) + " |"
    yield ""


def _gate(results: Mapping[str, Any]) -> Iterator[str]:
    gate = results["gate"]
    closing = [*gate["reasons"], *(gate.get("advice") or [])]
    for title, said in (("What closes the gate", closing), ("Warnings", gate.get("warnings") or [])):
        if said:
            yield f"### {title}"
            yield ""
            yield from (f"- {text(one)}" for one in said)
            yield ""


def _broken(results: Mapping[str, Any]) -> Iterator[str]:
    broken = sorted((rule for rule in results["rules"] if rule["verdict"] == "broken"), key=gravity)
    if broken:
        yield "### Broken"
        yield ""
    for one in results.get("faults") or ():
        if words := fault(one):
            yield f"**{text(one['rule'])}**: {text(words)}"
            yield ""
    for rule in broken:
        yield f"<details><summary>✕ <b>{rule['id']}</b> {rule['level'].upper()}: {_html(rule['title'])}</summary>"
        yield ""
        for case in rule["cases"]:
            yield from _case(case)
        yield "</details>"
        yield ""


def _case(case: Mapping[str, Any]) -> Iterator[str]:
    yield f"- required: {text(case['allowed'])}"
    yield f"- observed: **{text(case['observed'])}**, {text(case['queue_type'])} queue, {text(case['reproduced'])}"
    yield ""
    yield from fenced([*exchange(case), "", f"again: {case['rerun']}"])
    yield ""


def _known(results: Mapping[str, Any]) -> Iterator[str]:
    lists = (
        ("Known deviations", "deviates"),
        ("No clear answer", "under-tested"),
        ("In doubt", "inconclusive"),
        ("Unusual, but not wrong", "differs"),
        ("Known races, not seen", "unseen"),
    )
    for title, verdict in lists:
        rules = [rule for rule in results["rules"] if rule["verdict"] == verdict]
        if rules:
            yield f"### {title}"
            yield ""
            yield from (f"- **{rule['id']}** {text(rule['title'])}. {text(_words(rule))}".rstrip() for rule in rules)
            yield ""


def _words(rule: Mapping[str, Any]) -> str:
    if rule["verdict"] == "differs":
        return str(rule["cases"][0]["observed"])
    note = (rule.get("deviation") or {}).get("note")
    return str(note or rule.get("reason") or sign(rule["verdict"]).meaning)


def _foot(results: Mapping[str, Any]) -> Iterator[str]:
    size = f"{count(results['histories'], 'history', 'histories')}, {count(results['events'], 'event')}"
    names = results.get("selection", {}).get("set")
    of = f" Rules of the set {names}." if names else ""
    yield text(
        f"Profile {results['profile']}, depth {results['depth']}, seed {results['seed']}; {size}, "
        f"{duration(results['seconds'])}. Suite {results['suite']}.{of}"
    )


def _html(said: str) -> str:
    return said.replace("&", "&amp;").replace("<", "&lt;").replace("\n", " ")

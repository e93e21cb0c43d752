"""What pages made from data have in common: tables, and links to the page of rules."""

from __future__ import annotations

from collections.abc import Iterable

from conformance.catalogue.rules import Rule


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A Markdown table."""
    heads = list(heads)
    lines = [f"| {' | '.join(heads)} |", "|" + "---|" * len(heads)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)]) + "\n"


def link(rule: Rule) -> str:
    """The rule's id, leading to its section in docs/rules.md."""
    return f"[{rule.id}](rules.md#{anchor(f'{rule.id} · {rule.title}')})"


def anchor(heading: str) -> str:
    """The anchor that code hosts give to a heading."""
    kept = "".join(letter for letter in heading.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")

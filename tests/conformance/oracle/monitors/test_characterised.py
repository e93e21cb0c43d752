"""A rule is judged where a finding may be certain of it, and else only characterised: the source says which."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import conformance
from conformance.catalogue import rules
from reference_broker.mutants import MUTANTS

HOME = Path(conformance.__file__).parent
WATCHING = frozenset({"judges", "exercise", "report", "frozenset"})
"""Calls that say which rules are looked at, count what was seen, or tell it, and sets to compare with: none accuses."""


def _called(node: ast.Call) -> str:
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _doubts(node: ast.Call) -> bool:
    """A finding that is never certain."""
    return _called(node) == "find" and any(
        one.arg == "certain" and isinstance(one.value, ast.Constant) and one.value.value is False
        for one in node.keywords
    )


def accused() -> Iterator[str]:
    """Whatever is written in model and monitors beside those calls: what findings are made of."""
    for path in sorted([*(HOME / "oracle" / "monitors").rglob("*.py"), *(HOME / "oracle" / "model").rglob("*.py")]):
        todo: list[ast.AST] = [ast.parse(path.read_text())]
        while todo:
            node = todo.pop()
            if isinstance(node, ast.Call) and (_called(node) in WATCHING or _doubts(node)):
                continue
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield node.value
            todo += ast.iter_child_nodes(node)


def test_what_no_finding_can_name_is_characterised() -> None:
    known = {rule.id: rule.status for rule in rules.CATALOGUE.values()}
    named = set(accused()) & known.keys()
    assert {name for name, status in known.items() if status == "judged"} <= named
    assert {name for name, status in known.items() if status == "characterised"}.isdisjoint(named)


def test_no_mutant_claims_to_break_what_is_characterised() -> None:
    named = {rule for mutant in MUTANTS.values() for rule in mutant.rules}
    assert [name for name in sorted(named) if rules.get(name).status == "characterised"] == []

"""Which checks run: by rule id, level and depth. Pure decisions on what the `rule` mark of a check says."""

from __future__ import annotations

from functools import cache

from conformance.catalogue import rules, sets
from conformance.drive.run.check import Check
from conformance.session.options import Options


def wanted(check: Check, options: Options) -> bool:
    """Does this check run at all?"""
    if not check.within(options.depth):
        return False
    selected = selected_by(options)
    return bool(selected & set(check.rules)) if check.rules else _serves(check, selected)


def _serves(check: Check, names: frozenset[str]) -> bool:
    """Is a judged rule among these that a machine is there for?"""
    chosen = [rules.get(name) for name in names]
    return any(rule.judged and rule.family in (check.for_families or {rule.family}) for rule in chosen)


def selected_by(options: Options) -> frozenset[str]:
    """The ids of the rules that these options ask for."""
    return _selected(options.set, options.rules, options.level)


@cache
def _selected(names: str, patterns: str, level: str) -> frozenset[str]:
    """Looked up once for all checks."""
    return frozenset(rule.id for rule in sets.select(names, patterns, level))

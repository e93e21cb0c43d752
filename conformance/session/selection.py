"""Which checks run: by rule id, level and depth. Pure decisions on what the `rule` mark of a check says."""

from __future__ import annotations

from functools import cache

from conformance.catalogue import rules
from conformance.drive.run.check import Check
from conformance.session.options import Options


def wanted(check: Check, options: Options) -> bool:
    """Does this check run at all?"""
    if not check.within(options.depth):
        return False
    selected = _selected(options.rules, options.level)
    return bool(selected & set(check.rules)) if check.rules else _serves(check, selected)


def _serves(check: Check, names: frozenset[str]) -> bool:
    """Is a judged rule among these that a machine is there for?"""
    chosen = [rules.get(name) for name in names]
    return any(rule.judged and rule.family in (check.for_families or {rule.family}) for rule in chosen)


@cache
def _selected(patterns: str, level: str) -> frozenset[str]:
    """The ids of these rules, looked up once for all checks."""
    return frozenset(rule.id for rule in rules.select(patterns, level))

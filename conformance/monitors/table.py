"""Which function judges which rule.

A judging function takes one kind of fact and the notes to write to; `judges` enters it under every rule id that it may
speak of. `BY_FACT` drives the fold, `BY_RULE` answers where a rule is judged. Most deliveries are the first of their
message, and many functions have something to say of later ones alone: `ON_FIRST` is `BY_FACT` without these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from conformance.monitors.notes import Notes

FactType = TypeVar("FactType")
Function = Callable[[Any, Notes], None]

BY_FACT: dict[type, list[Function]] = {}
ON_FIRST: dict[type, list[Function]] = {}
BY_RULE: dict[str, list[Function]] = {}


def judges(
    fact: type[FactType], *rules: str, again: bool = False,
) -> Callable[[Callable[[FactType, Notes], None]], Callable[[FactType, Notes], None]]:
    """Enters a function as the judge of these rules over facts of this kind. `again`: never of a `first` delivery."""

    def enter(function: Callable[[FactType, Notes], None]) -> Callable[[FactType, Notes], None]:
        BY_FACT.setdefault(fact, []).append(function)
        if not again:
            ON_FIRST.setdefault(fact, []).append(function)
        for rule in rules:
            BY_RULE.setdefault(rule, []).append(function)
        return function

    return enter

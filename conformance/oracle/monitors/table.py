"""Which function judges which rule.

A judging function takes one kind of fact and the notes to write to; `judges` enters it under every rule id that it may
speak of. `BY_FACT` drives the fold, `BY_RULE` answers where a rule is judged. Most deliveries are the first of their
message, a kind of fact by itself: many functions have something to say of later ones alone.

A family may have a memory of its own, which it gets by `Notes.memory` and fills as it `follows` the methods that it
needs; `BY_METHOD` drives these.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from conformance.oracle.model.facts import Delivered, FirstDelivery, Passed
from conformance.oracle.monitors.notes import Notes

FactType = TypeVar("FactType")
Function = Callable[[Any, Notes], None]

BY_FACT: dict[type, list[Function]] = {}
BY_METHOD: dict[str, list[Function]] = {}
BY_RULE: dict[str, list[Function]] = {}


def judges(
    fact: type[FactType],
    *rules: str,
    again: bool = False,
) -> Callable[[Callable[[FactType, Notes], None]], Callable[[FactType, Notes], None]]:
    """Enters a function as the judge of these rules over facts of this kind. `again`: never of a `First` delivery."""
    kinds = (fact, FirstDelivery) if fact is Delivered and not again else (fact,)

    def enter(function: Callable[[FactType, Notes], None]) -> Callable[[FactType, Notes], None]:
        for kind in kinds:
            BY_FACT.setdefault(kind, []).append(function)
        for rule in rules:
            BY_RULE.setdefault(rule, []).append(function)
        return function

    return enter


def follows(
    *methods: str,
    rules: tuple[str, ...] = (),
) -> Callable[[Callable[[Passed, Notes], None]], Callable[[Passed, Notes], None]]:
    """Enters a function that is called for each of these methods, from client and broker alike, before anything else
    reads it; it may speak of `rules`."""

    def enter(function: Callable[[Passed, Notes], None]) -> Callable[[Passed, Notes], None]:
        for method in methods:
            BY_METHOD.setdefault(method, []).append(function)
        for rule in rules:
            BY_RULE.setdefault(rule, []).append(function)
        return function

    return enter

"""What a mutant is, and the decorator that registers one in its family's list."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from reference_broker.parts import Parts

Apply = Callable[[Parts], None]


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    says: str
    rules: tuple[str, ...]
    apply: Apply


def register(family: list[Mutant], name: str, says: str, *rules: str) -> Callable[[Apply], Apply]:
    """Register the decorated function, which changes the parts, as a mutant."""

    def add(apply: Apply) -> Apply:
        family.append(Mutant(name, says, rules, apply))
        return apply

    return add

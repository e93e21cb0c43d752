"""What a mutant is, and the two decorators that make one out of the wrong decision itself.

    @replaces("unacked.up_to", MUTANTS, "settle.multiple-accepts-any-tag", "...", "ACK-010")
    def _(self: Unacked, tag: int) -> list[Delivery] | None: ...

reads: in a broker with this mutant, `Unacked.up_to` is the function below. `changes` is for the few
that need more than one method.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from reference_broker.parts import Parts

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Mutant:
    """`says` completes "a broker in which ..."; `rules` are those that must catch it; `field` links to a bug of a
    real broker that it imitates."""

    name: str
    says: str
    rules: tuple[str, ...]
    apply: Callable[[Parts], None]
    field: str = ""


def changes(
    family: list[Mutant], name: str, says: str, *rules: str, field: str = ""
) -> Callable[[Callable[[Parts], None]], Callable[[Parts], None]]:
    """The decorated function changes the parts."""

    def add(apply: Callable[[Parts], None]) -> Callable[[Parts], None]:
        family.append(Mutant(name, says, rules, apply, field))
        return apply

    return add


def replaces(target: str, family: list[Mutant], name: str, says: str, *rules: str, field: str = "") -> Callable[[F], F]:
    """The decorated function takes the place of one method of one part ("part.method")."""
    part, method = target.split(".")

    def add(wrong: F) -> F:
        def apply(parts: Parts) -> None:
            parts.override(part, **{method: wrong})

        family.append(Mutant(name, says, rules, apply, field))
        return wrong

    return add


def memory(thing: object, name: str, make: Callable[[], Any]) -> Any:
    """What a mutant has to remember, kept on the object whose method it replaces."""
    return vars(thing).setdefault(f"mutant_{name}", make())

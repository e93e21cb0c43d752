"""What a search leans to: fixed shapes of its histories, and commands that are drawn more often.

A lean is data, and has a text, so that a search can be repeated. It never asks for what a machine avoids: what does
not fit a queue type or a scheduler stays as the machine draws it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from conformance.drive.machines.before import FEATURES
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet

LARGE = ("wide", "stock", "often")
"""Of these a history has one."""
NUMBERS = (*LARGE, "window", "octets", "length")
YES = ("behind", "apart", "quiet", "alike")
USED, MORE, AND, GAP = "used", "more", ".", "_"
BOOST = 6


class BadLean(ValueError):
    """This is no lean's text."""


@dataclass(frozen=True, slots=True)
class Lean:
    """`fixed`: fields of the shape, by name. `more`: the commands that are drawn more often."""

    fixed: tuple[tuple[str, Any], ...] = ()
    more: tuple[str, ...] = ()

    def applied(self, shape: Shape) -> Shape:
        fixed = dict(self.fixed)
        if not fixed.keys().isdisjoint(LARGE):
            shape = replace(shape, wide=1, stock=0, often=1, frames=0)
        if fixed.get("behind") or fixed.get("apart"):
            shape = replace(shape, behind=False, apart=False)
        return replace(shape, **fixed)

    def weighed(self, alphabet: Alphabet, factors: Sequence[int]) -> list[int]:
        """These factors, and those commands more often than anything else."""
        return [BOOST if choice.name in self.more else factor for choice, factor in zip(alphabet, factors, strict=True)]

    def without(self, *names: str) -> Lean:
        return replace(self, fixed=tuple(one for one in self.fixed if one[0] not in names))

    def __str__(self) -> str:
        words = [f"{name}={_write_value(name, value)}" for name, value in self.fixed]
        return "+".join([*words, *([f"{MORE}={AND.join(self.more)}"] if self.more else [])])

    @classmethod
    def read(cls, text: str) -> Lean:
        """The lean of which this is the text. Raises BadLean."""
        fixed: dict[str, Any] = {}
        more: tuple[str, ...] = ()
        for word in filter(None, text.split("+")):
            name, _, value = word.partition("=")
            if name == MORE:
                more = tuple(value.split(AND))
            elif name == USED and set(used := value.replace(GAP, " ").split(AND)) <= set(FEATURES):
                fixed[name] = frozenset(used)
            elif name in (*NUMBERS, *YES) and value.isdecimal():
                fixed[name] = bool(int(value)) if name in YES else int(value)
            else:
                raise BadLean(f"{word!r} is nothing that a search can lean to")
        return cls(tuple(fixed.items()), more)


def _write_value(name: str, value: Any) -> str:
    return AND.join(sorted(one.replace(" ", GAP) for one in value)) if name == USED else str(int(value))


PLAIN = Lean()

"""Alphabets: which commands there are, how often each is drawn, and how that differs from history to history.

A history leaves some kinds of commands out and draws others more often. So a rare command becomes frequent, and a
command that undoes the effect of others is sometimes absent. The first command of an alphabet is needed by all others,
and is never left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from conformance.drive.machines.world import Command

FACTORS = (0, 1, 1, 4)


@dataclass(frozen=True, slots=True)
class Choice:
    """This many branches of one choice: a command, by its name."""

    weight: int
    made: st.SearchStrategy[Command]
    name: str = ""


Alphabet = Sequence[Choice]


def weighted(weight: int, kind: type[Command], *arguments: st.SearchStrategy[Any]) -> Choice:
    return Choice(weight, st.builds(kind, *arguments), kind.__name__)


@cache
def factors(count: int) -> st.SearchStrategy[list[int]]:
    """By how much each of so many is drawn more often in a history; in every third one, all the same."""
    drawn = st.lists(st.sampled_from(FACTORS), min_size=count, max_size=count)
    return st.one_of(st.just([1] * count), drawn, drawn.map(lambda those: those))


def mixed(alphabet: Alphabet, by: Sequence[int] = ()) -> st.SearchStrategy[Command]:
    """Any of them, each so often. A number is drawn, because hundreds of strategies for a history cost more than it."""
    weights = [choice.weight * factor for choice, factor in zip(alphabet, by or [1] * len(alphabet), strict=True)]
    weights[0] = weights[0] or alphabet[0].weight
    branches = [choice.made for choice, weight in zip(alphabet, weights, strict=True) for _ in range(weight)]
    return st.sampled_from(range(len(branches))).flatmap(lambda number: branches[number])

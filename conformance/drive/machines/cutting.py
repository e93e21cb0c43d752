"""Cutting a failing list of commands down by leaving parts out, in ever smaller parts.

Commands mean something in every state, so almost any part of a failing list is worth a try. This complements
Hypothesis, which also makes the single commands simpler but is slow to see that whole commands do nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")
Batch = tuple[T, ...]


def cut_down(items: Sequence[T], fails: Callable[[list[T]], bool]) -> list[T]:
    """A part of the items that still fails; leaving out one more would not, as far as each was tried."""
    kept, size = list(items), max(len(items) // 2, 1)
    while size:
        start = 0
        while start < len(kept):
            trial = kept[:start] + kept[start + size :]
            if fails(trial):
                kept = trial
            else:
                start += size
        size //= 2
    return kept


def cut_batches(batches: Sequence[Batch[T]], fails: Callable[[list[Batch[T]]], bool]) -> list[Batch[T]]:
    """The same for batches: whole ones first, then parts of each."""
    kept = cut_down(batches, fails)
    for at, batch in enumerate(kept):
        if len(batch) > 1:
            kept[at] = tuple(cut_down(batch, lambda part: fails([*kept[:at], tuple(part), *kept[at + 1 :]])))  # noqa: B023
    return kept

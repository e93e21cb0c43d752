"""How deep a run goes, and how much the machines do at each depth."""

from __future__ import annotations

DEPTHS = ("smoke", "ci", "deep")
EXAMPLES = {"smoke": 4, "ci": 16, "deep": 240}
STEPS = {"smoke": 20, "ci": 40, "deep": 60}
REVISITS = {"smoke": 0, "ci": 1, "deep": 12}
"""This many times each scene is played once more."""


def examples(depth: str, *, timed: bool) -> int:
    """Of one machine. Those whose subject is time are played where the clock is ours, so waiting costs nothing."""
    return EXAMPLES[depth] * (3 if timed else 1)

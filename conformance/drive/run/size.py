"""How deep a run goes, and how much the machines do at each depth."""

from __future__ import annotations

DEPTHS = ("smoke", "ci", "deep")
EXAMPLES = {"smoke": 4, "ci": 16, "deep": 240}
STEPS = {"smoke": 20, "ci": 40, "deep": 60}
REVISITS = {"smoke": 0, "ci": 1, "deep": 12}
"""This many times each scene is played once more."""
ROUNDS = {"smoke": 0, "ci": 1_100, "deep": 4_400}
"""Of each soak test: more than 2^10, and than 2^12."""
PARTS = 8
"""So many checks share these scenes: processes play them side by side, and none is lost for long with another."""


def examples(depth: str, times: float = 1.0) -> int:
    """Of a machine that has so many times as many histories as others."""
    return max(round(EXAMPLES[depth] * times), 1)

"""What many runs are asked: how verdicts of several runs combine, and which runs are worth comparing."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from conformance.oracle.verdicts import Verdict

ORDER = {
    "matrix": ("broker", "rule"),
    "history": ("broker", "rule", "started", "run"),
    "flakiness": ("broker", "rule"),
    "latency": ("broker", "started", "run", "what"),
    "regressions": ("before", "after", "rule"),
}
"""The marts, and how the rows of each are sorted in the lake."""

WORST = (
    Verdict.BROKEN,
    Verdict.DEVIATES,
    Verdict.HARNESS_ERROR,
    Verdict.INCONCLUSIVE,
    Verdict.UNSEEN,
    Verdict.HELD,
    Verdict.UNDER_TESTED,
    Verdict.NOT_OFFERED,
    Verdict.PLANNED,
    Verdict.NOT_JUDGEABLE,
)
"""Worst first: how verdicts of several runs combine. One that says something outranks one that does not."""

CLEAR = (Verdict.HELD, Verdict.UNSEEN, Verdict.BROKEN, Verdict.DEVIATES)
BAD = [str(Verdict.BROKEN), str(Verdict.DEVIATES)]
PERCENTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}


def pairs(runs: Sequence[tuple[str, str, str, str]]) -> list[tuple[str, str]]:
    """Which runs are worth comparing, of (run, product, version, started): of each product and version the last two,
    and the last of each version with the last of the next one."""
    versions: dict[tuple[str, tuple[object, ...]], list[tuple[str, str]]] = {}
    for run, product, version, started in runs:
        versions.setdefault((product, _version(version)), []).append((started, run))
    last = {key: [run for _, run in sorted(own)[-2:]] for key, own in sorted(versions.items())}
    again = [(own[0], own[1]) for own in last.values() if len(own) == 2]
    keys = list(last)
    next_version = [(last[older][-1], last[newer][-1]) for older, newer in pairwise(keys) if older[0] == newer[0]]
    return next_version + again


def _version(text: str) -> tuple[object, ...]:
    """3.10.8 after 3.8.9; what is no number comes last, as text."""
    return tuple((0, int(part), "") if part.isdecimal() else (1, 0, part) for part in text.split("."))

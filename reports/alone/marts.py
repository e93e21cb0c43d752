"""The marts of `reports.pipeline.marts`, of verdict tables that this process holds.

Rows are plain dictionaries: `table` those of the verdict table, `runs` of marts.RUNS, `buckets` of times.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

from conformance.history.stopwatch import middle
from conformance.oracle.verdicts import Verdict
from reports.judging.trends import BAD, CLEAR, ORDER, PERCENTILES, WORST, pairs

Row = Mapping[str, Any]
Rows = Iterable[Row]


def marts(table: Sequence[Row], runs: Sequence[Row], buckets: Rows) -> dict[str, list[dict[str, Any]]]:
    """Every mart, in the order in which it is kept."""
    lines = list(history(table, runs))
    compared = pairs([(row["run"], row["product"], row["version"], row["started"]) for row in runs])
    made = {
        "matrix": matrix(table),
        "history": lines,
        "flakiness": flakiness(lines),
        "latency": latency(buckets, runs),
        "regressions": regressions(table, compared),
    }
    return {name: sorted(rows, key=_by(ORDER[name])) for name, rows in made.items()}


def matrix(table: Rows) -> Iterator[dict[str, Any]]:
    for (broker, rule, level), rows in _grouped(table, "broker", "rule", "level"):
        yield {
            "broker": broker,
            "rule": rule,
            "level": level,
            "verdict": min((row["verdict"] for row in rows), key=[*map(str, WORST)].index),
            "runs": len({row["run"] for row in rows}),
            **{name: sum(row[name] for row in rows) for name in ("exercised", "findings", "doubtful")},
        }


def history(table: Rows, runs: Rows) -> Iterator[dict[str, Any]]:
    about = {row["run"]: row for row in runs}
    placed = [
        {**row, "broker": about[row["run"]]["broker"], "started": about[row["run"]]["started"]}
        for row in table
        if row["run"] in about
    ]
    for _, rows in _grouped(placed, "broker", "rule"):
        before = None
        for row in sorted(rows, key=_by(("started", "run"))):
            names = ("broker", "rule", "started", "run", "verdict", "exercised", "findings")
            yield {**{name: row[name] for name in names}, "before": before}
            before = row["verdict"]


def flakiness(history: Rows) -> Iterator[dict[str, Any]]:
    for (broker, rule), rows in _grouped(history, "broker", "rule"):
        line = sorted(rows, key=_by(("started", "run")))
        bad = [row["verdict"] in BAD for row in line if row["verdict"] in CLEAR]
        flips = sum(now != was for was, now in pairwise(bad))
        yield {
            "broker": broker,
            "rule": rule,
            "runs": len({row["run"] for row in rows}),
            "clear": len(bad),
            "broken": sum(bad),
            "flips": flips,
            "flaky": flips > 1,
        }


def latency(buckets: Rows, runs: Rows) -> Iterator[dict[str, Any]]:
    counts: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for row in buckets:
        counts[row["run"], row["what"]][row["bucket"]] += row["n"]
    about = {row["run"]: row for row in runs}
    for (run, what), own in counts.items():
        if run in about:
            places = sorted(own)
            below = list(accumulate(own[place] for place in places))
            asked = {
                name: _ms(
                    next(
                        place
                        for place, reached in zip(places, below, strict=True)
                        if reached >= math.ceil(below[-1] * share)
                    )
                )
                for name, share in PERCENTILES.items()
            }
            yield {
                "run": run,
                "broker": about[run]["broker"],
                "started": about[run]["started"],
                "what": what,
                "n": below[-1],
                **asked,
                "worst": _ms(places[-1]),
            }


def regressions(table: Rows, compared: Iterable[tuple[str, str]]) -> Iterator[dict[str, Any]]:
    verdicts: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for row in table:
        verdicts[row["run"]][row["rule"]] = row["verdict"]
    for before, after in compared:
        for rule, was in verdicts[before].items():
            now = verdicts[after].get(rule, was)
            if was != now:
                yield {
                    "before": before,
                    "after": after,
                    "rule": rule,
                    "was": was,
                    "now": now,
                    "change": _change(was, now),
                }


def _change(was: str, now: str) -> str:
    held = (Verdict.HELD, Verdict.UNSEEN)
    if now in BAD and was in held:
        return "broken"
    return "fixed" if was in BAD and now in held else "other"


def _ms(bucket: int) -> float:
    return middle(bucket) / 1e6


def _by(names: Sequence[str]) -> Callable[[Row], tuple[Any, ...]]:
    return lambda row: tuple(row[name] for name in names)


def _grouped(rows: Rows, *names: str) -> Iterable[tuple[tuple[Any, ...], list[Row]]]:
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found.items()

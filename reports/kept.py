"""What is kept of a run so that later runs can be compared with it: verdicts and times, without evidence.

`kept` makes it from results.json; it is a few kilobytes. `summary` of many of them has the form of the pipeline's
marts of a lake. So one history page shows both, and flaky means the same in both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conformance.evidence.words import results_for_display
from reports.alone import marts
from reports.judging.trends import PERCENTILES, pairs

SCHEMA = "amqp-conformance/kept/1"

Kept = Mapping[str, Any]


def kept(results: Mapping[str, Any]) -> dict[str, Any]:
    """The run without its evidence."""
    broker = results["broker"]
    names = ("run", "started", "seconds", "suite", "profile", "depth", "seed", "complete", "events")
    return {
        "schema": SCHEMA,
        **{name: results[name] for name in names},
        "open": results["gate"]["open"],
        "broker": {name: broker[name] for name in ("name", "product", "version")},
        "rules": {rule["id"]: rule["verdict"] for rule in results_for_display(results)["rules"]},
        "times": {what: _times(times) for what, times in sorted((results.get("timings") or {}).items())},
    }


def _times(times: Mapping[str, Any]) -> dict[str, Any]:
    """Percentiles in milliseconds, of a curve of (share, milliseconds)."""
    curve = times["quantiles"]
    asked = {name: next((ms for at, ms in curve if at >= share), curve[-1][1]) for name, share in PERCENTILES.items()}
    return {"n": times["n"], **asked, "worst": curve[-1][1]}


def summary(runs: Sequence[Kept]) -> dict[str, Any]:
    """As `history.json` of a lake."""
    about = [_about(run) for run in runs]
    table = list(_table(runs))
    lines = list(marts.history(table, about))
    compared = pairs([(row["run"], row["product"], row["version"], row["started"]) for row in about])
    return {
        "runs": about,
        "history": lines,
        "flakiness": list(marts.flakiness(lines)),
        "latency": list(_latency(runs)),
        "regressions": list(marts.regressions(table, compared)),
    }


def _about(run: Kept) -> dict[str, Any]:
    return {
        "run": run["run"],
        "started": run["started"],
        "broker": run["broker"]["name"],
        "product": run["broker"]["product"],
        "version": run["broker"]["version"],
        "profile": run["profile"],
        "events": run["events"],
    }


def _table(runs: Sequence[Kept]) -> Iterator[dict[str, Any]]:
    for run in runs:
        for rule, verdict in run["rules"].items():
            yield {"run": run["run"], "rule": rule, "verdict": verdict, "exercised": 0, "findings": 0}


def _latency(runs: Sequence[Kept]) -> Iterator[dict[str, Any]]:
    for run in runs:
        for what, times in run["times"].items():
            yield {"run": run["run"], "broker": run["broker"]["name"], "started": run["started"], "what": what, **times}

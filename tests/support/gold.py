"""Rows of `check` as multisets that can be compared, and the same rows by the plain fold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from conformance.catalogue import profiles
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from reports.pipeline import check


def in_order(events: Iterable[Event]) -> list[Event]:
    return sorted(events, key=lambda event: (event.run, event.history, event.seq))


def gist(rows: Iterable[dict[str, Any]]) -> Counter[str]:
    """Rows of `check` as a multiset that can be compared."""
    return Counter(
        repr(
            (
                row["history"],
                row["what"],
                row["rule"],
                row["times"],
                row.get("at"),
                row.get("observed"),
                row.get("certain"),
                row.get("witness"),
            )
        )
        for row in rows
    )


def folded(events: Iterable[Event]) -> Counter[str]:
    """The same rows by the plain fold, history by history."""
    profile = profiles.load("documented")
    by_history: dict[str, list[Event]] = {}
    for event in in_order(events):
        by_history.setdefault(event.history, []).append(event)
    return gist(row for name, own in by_history.items() for row in check.rows_of("r1", name, judge(own, profile)))

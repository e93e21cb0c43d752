"""docs/client-suites.md: what client libraries' own suites say of the reference broker, beside RabbitMQ, test by test.

A test that RabbitMQ passes and we fail needs a reason in reasons.toml, and a reason needs such a test, unless it is
about a test that races with itself, which a run need not show. What the page is
made of is kept beside it: counts, and the tests in which the two differ.
"""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from typing import Any

from conformance.outcome.markdown import table
from tools.suites.suite import FOLDER, HERE, Library, Tally, libraries, read

PAGE = HERE.parents[1] / "docs" / "client-suites.md"
KEPT = PAGE.with_suffix(".json")
REASONS = HERE / "reasons.toml"

HEAD = """# Client libraries' own test suites

Made by `make clients-suites`: each suite as its library published it, on the reference broker and on a RabbitMQ, test
by test. A failed test is tried twice more; how many passed only then stands in brackets: suites race with themselves,
and some of their limits of time a busy machine passes with either broker.
"""
LEFT_OUT = """What needs TLS is not played on a broker without, nor what looks for other machines. What fails on both
says nothing of either: names that only the library's own network knows, or answers that other versions give. A RabbitMQ
that others use meanwhile may fail tests that list all there is.
"""


@dataclass(frozen=True)
class Compared:
    """One library on both brokers."""

    name: str
    version: str
    brokers: Sequence[str]
    days: Sequence[str]
    ours: str
    """Counts, in words."""
    theirs: str
    worse: Sequence[str]
    """What RabbitMQ passes and we do not."""
    better: Sequence[str]
    """What we pass and RabbitMQ fails."""
    neither: Sequence[str]


def compared(ours: Tally, theirs: Tally) -> Compared:
    outcomes = {
        test: (ours.outcomes.get(test), theirs.outcomes.get(test))
        for test in sorted(ours.outcomes.keys() | theirs.outcomes.keys())
    }
    return Compared(
        ours.name,
        ours.version,
        [ours.broker, theirs.broker],
        [ours.day, theirs.day],
        counted(ours),
        counted(theirs),
        [test for test, (here, there) in outcomes.items() if there == "passed" != here],
        [test for test, (here, there) in outcomes.items() if (here, there) == ("passed", "failed")],
        [test for test, (here, there) in outcomes.items() if (here, there) == ("failed", "failed")],
    )


def line(tally: Tally) -> str:
    """One tally in words."""
    return f"{tally.name} {tally.version} on {tally.broker}: {counted(tally)}, {tally.seconds:.0f} s"


def counted(tally: Tally) -> str:
    counts = Counter(tally.outcomes.values())
    said = ", ".join(f"{counts[kind]} {kind}" for kind in ("passed", "failed", "skipped") if counts[kind])
    return f"{said} ({len(tally.again)})" if tally.again else said


def found() -> list[Compared]:
    """Of every library at its pinned version: as played last here, else as when the page was made."""
    kept = [Compared(**row) for row in json.loads(KEPT.read_text("utf-8"))] if KEPT.exists() else []
    rows = []
    for library in libraries().values():
        rows += [row for row in (latest(library) or kept) if (row.name, row.version) == (library.name, library.version)]
    return rows


def latest(library: Library) -> list[Compared]:
    paths = [FOLDER / f"{library.name}-{broker}.json" for broker in ("reference", "RabbitMQ")]
    if not all(path.exists() for path in paths):
        return []
    ours, theirs = (read(json.loads(path.read_text("utf-8"))) for path in paths)
    return [compared(ours, theirs)] if ours.version == theirs.version else []


def reasons() -> list[dict[str, Any]]:
    """Entries of library, test (a pattern) and why; `race` where a run need not show it."""
    return list(tomllib.loads(REASONS.read_text("utf-8")).get("reason", []))


def reason(row: Compared, test: str) -> str | None:
    return next((str(entry["why"]) for entry in reasons() if applies(entry, row.name, test)), None)


def applies(entry: dict[str, Any], library: str, test: str) -> bool:
    return bool(entry["library"] == library and fnmatchcase(test, entry["test"]))


def problems(rows: Sequence[Compared]) -> list[str]:
    """Each difference without a reason, and each reason without a difference."""
    told = [
        f"{row.name}: {test}: RabbitMQ passes it and we do not, for no reason that is written down"
        for row in rows
        for test in row.worse
        if reason(row, test) is None
    ]
    played = {row.name for row in rows}
    return told + [
        f"{entry['library']}: {entry['test']}: a reason for what does not differ"
        for entry in reasons()
        if entry["library"] in played
        and not entry.get("race")
        and not any(applies(entry, row.name, test) for row in rows for test in row.worse)
    ]


def text(rows: Sequence[Compared]) -> str:
    """The page."""
    brokers = sorted({broker for row in rows for broker in row.brokers}, key=str.lower, reverse=True)
    days = sorted({day for row in rows for day in row.days})
    heads = [
        "library",
        brokers[0] if len(brokers) == 2 else "reference broker",
        brokers[-1] if len(brokers) == 2 else "RabbitMQ",
        "only RabbitMQ passes",
        "only we pass",
    ]
    lines = [
        [f"{row.name} {row.version}", row.ours, row.theirs, str(len(row.worse)), str(len(row.better))] for row in rows
    ]
    unplayed = [library for name, library in libraries().items() if name not in {row.name for row in rows}]
    return "\n".join(
        [
            HEAD,
            f"Played on {' to '.join(dict.fromkeys((days[0], days[-1])))}.\n",
            table(heads, lines),
            LEFT_OUT,
            *(f"{library.name} {library.version} was not played: no figures are at hand.\n" for library in unplayed),
            *section(
                "Only RabbitMQ passes",
                ["library", "test", "why"],
                [[row.name, f"`{test}`", reason(row, test) or "none"] for row in rows for test in row.worse],
            ),
            *section(
                "Only the reference broker passes",
                ["library", "test"],
                [[row.name, f"`{test}`"] for row in rows for test in row.better],
            ),
            *section(
                "Neither passes", ["library", "test"], [[row.name, f"`{test}`"] for row in rows for test in row.neither]
            ),
        ]
    )


def section(title: str, heads: Sequence[str], lines: Sequence[Sequence[str]]) -> Iterator[str]:
    if lines:
        yield f"## {title}\n"
        yield table(heads, lines)


def write() -> list[str]:
    """The page and what it is made of; what is wrong with it."""
    rows = found()
    if rows:
        KEPT.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
        PAGE.write_text(text(rows), encoding="utf-8")
    return problems(rows)

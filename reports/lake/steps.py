"""What a lake knows of its runs, and which steps are done: the same for Spark and for this process.

A step is identified by what decides its result. Silver depends on the files of a run. Gold and verdicts depend on
silver, the profile, and the code and rules that judge. Times depend on silver. This becomes a number in the commit
that names the result. So a step is done or not, and an edited rule is judged again without reading again. What is
known of a run is committed after its silver, so whoever finds the one finds both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from conformance.catalogue import profiles
from reports.judging.runs import digest, judging, line
from reports.lake.columns import RUNS, TABLES
from reports.lake.commits import Lake

SILVER, GOLD, VERDICTS, TIMES = "silver", "gold", "verdicts", "times"


def made_of(fingerprint: str) -> int:
    """A fingerprint as a number that a commit can carry."""
    return int(fingerprint[:15], 16)


def unmade(lake: Lake, table: str, made: Mapping[str, int]) -> dict[str, int]:
    """Those of these runs that the table has not, or has of something else."""
    known = lake.made(table)
    return {run: number for run, number in made.items() if known(run) != number}


def unread(lake: Lake, made: Mapping[str, int]) -> dict[str, int]:
    """Those of these runs that are not read."""
    return unmade(lake, SILVER, made) | unmade(lake, RUNS.name, made)


def judged_as(lake: Lake, headers: Mapping[str, Mapping[str, Any]], *, whole: bool) -> dict[str, int]:
    """What the verdicts on these runs are made of."""
    silver, how = lake.made(SILVER), [judging(), *(["whole"] if whole else [])]
    return {run: made_of(digest(silver(run), header["profile"], *how)) for run, header in headers.items()}


def keep(lake: Lake, known: Mapping[str, Mapping[str, Any]], made: Mapping[str, int]) -> None:
    """Writes down what is known of these runs."""
    rows = [
        {**line(run, about, profiles.spec(about)), "about": json.dumps(about, sort_keys=True, default=str)}
        for run, about in known.items()
    ]

    def changed(table: pa.Table) -> pa.Table:
        others = [row for row in table.to_pylist() if row["run"] not in known]
        return pa.Table.from_pylist(others + rows, schema=TABLES[RUNS.name].arrow)

    lake.change(RUNS.name, changed, made)


def abouts(lake: Lake) -> dict[str, dict[str, Any]]:
    """What is known of every run."""
    return {row["run"]: json.loads(row["about"]) for row in lake.read(RUNS.name).to_pylist()}

"""`trace check` of what fits this process: read, judged and told without Spark, with the same verdicts and pages.

The tables of the lake are written where deltalake is installed. Where it is not, the history page is about the runs
that were given, and that is said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from conformance.outcome.bare import excused
from conformance.trace.results import Checked, GivenOptions
from conformance.trace.results_alone import checked
from conformance.trace.stages import Stages
from reports import objects
from reports.alone.judged import JudgedRun
from reports.alone.judged import judged as judge
from reports.alone.marts import marts
from reports.alone.store import histories
from reports.judging import tables
from reports.judging.runs import line
from reports.pipeline.inputs import Inputs

if TYPE_CHECKING:
    from conformance.trace.options import CheckOptions

NO_TABLES = "No tables: they need pip install 'amqp-conformance[lake]'. The history page is about these runs alone."


def judged(
    inputs: Inputs, wanted: CheckOptions, told: GivenOptions, stages: Stages
) -> tuple[list[Checked], dict[str, Any]]:
    """The runs, and the summary of all that is known of them and others. Raises TooMany."""
    found = histories(inputs)
    stages("judging", 0, 0)
    runs = judge(inputs, found, wanted.profile, whole=wanted.whole)
    stages("evidence", 0, 0)
    results = checked(runs, told, lambda done, known: stages("evidence", done, known))
    known = {one.results.run: excused(one.results) for one in results}
    rows = {run.name: run.table(known[run.name]) for run in runs}
    stages("tables", 0, 0)
    if find_spec("deltalake") is None or find_spec("pyarrow") is None:
        stages.note(NO_TABLES)
        return results, summary(runs, rows)
    from reports.alone import tables as lakes
    from reports.lake.commits import Lake

    lake = Lake(objects.join(wanted.out, "lake"))
    lakes.write(lake, inputs, runs, whole=wanted.whole)
    lakes.excuse(lake, runs, rows)
    return results, lakes.summary(lake, wanted.profile)


def summary(runs: Sequence[JudgedRun], rows: Mapping[str, Sequence[tables.VerdictRow]]) -> dict[str, Any]:
    """What the history page is made of, of these runs."""
    lines = [line(run.name, run.header, str(run.header["profile"])) for run in runs]
    table = [asdict(row) for run in runs for row in rows[run.name]]
    buckets = [
        {"run": run.name, "what": what, "bucket": place, "n": n}
        for run in runs
        for (what, place), n in run.times.items()
    ]
    return {"schema": "amqp-conformance/history/1", "runs": lines, **marts(table, lines, buckets)}

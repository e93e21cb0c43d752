"""Findings and coverage to the verdict table, and its comparison with what was judged live.

Spark counts; the few rows per rule that are left are turned into verdicts by `conformance.verdicts`, so there is one
place that knows what a verdict is. Deviations are not applied here: what is `broken` in a way that is known is made
to deviate by who knows of it (`Job.excuse`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from conformance import profiles, rules
from conformance.rules import Rule
from conformance.verdicts import Finding, Verdict, verdict_of, why_not
from reports.pipeline import check, ingest
from reports.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

DDL = ("run STRING, broker STRING, profile STRING, rule STRING, level STRING, verdict STRING, exercised BIGINT, "
       "findings BIGINT, doubtful BIGINT, reason STRING")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the verdict table."""

    run: str
    broker: str
    profile: str
    rule: str
    level: str
    verdict: str
    exercised: int
    findings: int
    doubtful: int
    reason: str = ""
    """Why it could not be judged, where it could not: `3 histories began mid-way`."""


@dataclass(frozen=True, slots=True)
class Offer:
    """What a broker offers, as far as it decides whether a rule applies."""

    queue_types: frozenset[str]
    capabilities: frozenset[str]
    choices: Mapping[str, str] = field(default_factory=dict)
    refused: frozenset[str] = frozenset()

    def includes(self, rule: Rule) -> bool:
        capable = rule.capability is None or rule.capability in self.capabilities
        capable = capable and self.refused.isdisjoint(rule.needs)
        return capable and bool(self.queue_types & set(rule.queue_types)) and rule.ruled_out(self.choices) is None


def verdicts(spark: SparkSession, recording_dir: Path | str) -> DataFrame:
    """The verdict table of a recording."""
    recording = Recording(recording_dir)
    outcome = check.check(ingest.events(spark, recording), profile_names(recording))
    return frame(spark, table(outcome, headers(recording)))


def headers(recording: Recording) -> dict[str, Mapping[str, Any]]:
    """What the recording says of each of its runs."""
    return {run: recording.header(run) for run in recording.runs}


def profile_names(recording: Recording) -> dict[str, str]:
    """The profile that each run was judged by."""
    return {run: profiles.spec(recording.header(run)) for run in recording.runs}


def frame(spark: SparkSession, rows: Sequence[Row]) -> DataFrame:
    return spark.createDataFrame([tuple(asdict(row).values()) for row in rows], DDL)


def table(outcome: DataFrame, headers: Mapping[str, Mapping[str, Any]]) -> list[Row]:
    """Verdicts on every rule of the catalogue, run by run. A header says which broker it was and what it offers."""
    counts = _counts(outcome)
    return [row for run, header in headers.items() for row in _of_run(run, header, counts.get(run, {}))]


def offer(header: Mapping[str, Any]) -> Offer:
    """What the broker of a recording offered: what the header says, else what profile and server properties imply."""
    profile = profiles.load(profiles.spec(header))
    queue_types = header.get("queue_types") or profile.queue_types
    announced = (header.get("server_properties") or {}).get("capabilities") or {}
    capabilities = header.get("capabilities")
    if capabilities is None:
        capabilities = [name for name, value in announced.items() if value]
    refused = frozenset(header.get("refused") or ())
    return Offer(frozenset(queue_types), frozenset(capabilities), profile.choices, refused)


Counts = Mapping[tuple[str, bool | str | None], int]


def _counts(outcome: DataFrame) -> dict[str, dict[str, Counts]]:
    """Run, rule, (what, certain or why doubtful) -> how often; doubts count histories."""
    from pyspark.sql import functions as f

    why = f.when(f.col("what") == check.DOUBT, f.col("observed")).alias("why")
    summed = outcome.groupBy("run", "rule", "what", "certain", why).agg(f.sum("times")).collect()
    counts: dict[str, dict[str, dict[tuple[str, bool | str | None], int]]] = {}
    for run, rule, what, certain, reason, times in summed:
        counts.setdefault(run, {}).setdefault(rule, {})[what, certain if reason is None else reason] = times
    return {run: dict(of_rule) for run, of_rule in counts.items()}


def _of_run(run: str, header: Mapping[str, Any], counts: Mapping[str, Counts]) -> list[Row]:
    offered = offer(header)
    rows = []
    for rule in rules.CATALOGUE.values():
        seen = counts.get(rule.id, {})
        exercised = seen.get((check.EXERCISED, None), 0)
        certain, doubtful = seen.get((check.FINDING, True), 0), seen.get((check.FINDING, False), 0)
        reasons = {str(why): times for (what, why), times in seen.items() if what == check.DOUBT}
        verdict = _verdict(rule, certain, doubtful, exercised, offered.includes(rule), bool(reasons))
        rows.append(Row(
            run, str(header.get("broker", "")), str(header.get("profile", "")), rule.id, rule.level, verdict.value,
            exercised, certain, doubtful, why_not(reasons) if verdict is Verdict.INCONCLUSIVE else "",
        ))
    return rows


def _verdict(rule: Rule, certain: int, doubtful: int, exercised: int, offered: bool, unknown: bool) -> Verdict:
    if not rule.judged and not certain and not doubtful:
        return Verdict(rule.status)
    kinds = [True] * bool(certain) + [False] * bool(doubtful)
    findings = [Finding(rule.id, "", 0, "", "", certain=kind) for kind in kinds]
    return verdict_of(findings, exercised, needed=rule.needed, offered=offered, doubtful=unknown)


def differences(rows: Sequence[Row], results: Mapping[str, Any]) -> list[str]:
    """What the recording and the live run disagree on, in words. Empty: they agree.

    A known race that the live run did not see is held by its recording. A rule that the live run had no reason to list
    must not be contradicted by it. Where the suite itself
    failed, the recording may only lack what the failure left out.
    """
    live = {str(rule["id"]): rule for rule in results["rules"]}
    offline = {row.rule: row for row in rows}
    found = [f"{rule}: judged live, unknown to the recording's catalogue" for rule in live if rule not in offline]
    for row in rows:
        expected = _expected(live.get(row.rule))
        if row.verdict not in expected:
            found.append(f"{row.rule}: {_or(expected)} live, {row.verdict} from the recording")
        elif row.rule in live and live[row.rule]["exercised"] != row.exercised:
            times = live[row.rule]["exercised"]
            found.append(f"{row.rule}: exercised {times} times live, {row.exercised} times in the recording")
    return found


def _expected(live: Mapping[str, Any] | None) -> tuple[str, ...]:
    clean = (Verdict.HELD, Verdict.UNDER_TESTED, Verdict.NOT_OFFERED)
    if live is None:
        return (*clean, Verdict.PLANNED, Verdict.NOT_JUDGEABLE)
    if live["verdict"] == Verdict.DEVIATES:
        return Verdict.BROKEN, Verdict.DEVIATES
    if live["verdict"] == Verdict.UNSEEN:
        return (Verdict.HELD,)
    return clean if live["verdict"] == Verdict.HARNESS_ERROR else (str(live["verdict"]),)


def _or(expected: Sequence[str]) -> str:
    return "not broken" if len(expected) > 1 and expected[0] == Verdict.HELD else str(expected[0])

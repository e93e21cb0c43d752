"""The tables of the lake, column by column: the one place that says what there is, of which type, and what it means.

Everything else is made of it: what Spark and Arrow call the columns, the comments that a Delta table carries for
others, and docs/lake-tables.md. The columns of an event and what they mean are those of recordings
(`schemas/recording.json`). `parts`: the columns by which files are laid apart; they stand in the paths and in the log
of a table, and not in its files.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import resources

import pyarrow as pa

from reports.pipeline.ingest import ARROW as EVENTS

__all__ = ["GOLD", "JUDGEMENTS", "MARTS", "RUNS", "SILVER", "TABLES", "TIMES", "VERDICTS", "Table"]

_TYPES: Mapping[str, pa.DataType] = {
    "STRING": pa.string(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "BOOLEAN": pa.bool_(),
    "DOUBLE": pa.float64(),
    "BINARY": pa.binary(),
    "DECIMAL(20,0)": pa.decimal128(20, 0),
    "ARRAY<STRING>": pa.list_(pa.string()),
    "ARRAY<BIGINT>": pa.list_(pa.int64()),
}
_WORDS = {kind: word for word, kind in _TYPES.items()}


@dataclass(frozen=True)
class Table:
    """One table. `row`: what a row is; `said`: column to its type and what it means, in one line."""

    name: str
    row: str
    said: Mapping[str, str]
    parts: tuple[str, ...] = ("run",)
    order: tuple[str, ...] = ()

    @cached_property
    def arrow(self) -> pa.Schema:
        return pa.schema([(name, _TYPES[words.split(" ", 1)[0]]) for name, words in self.said.items()])

    @cached_property
    def inside(self) -> pa.Schema:
        """What stands in its files."""
        return pa.schema([one for one in self.arrow if one.name not in self.parts])

    @cached_property
    def commented(self) -> pa.Schema:
        """With what the columns mean, where Delta keeps that."""
        return pa.schema([one.with_metadata({"comment": self.comment(one.name)}) for one in self.arrow])

    @cached_property
    def ddl(self) -> str:
        return self.ddl_of(self.arrow.names)

    def ddl_of(self, columns: Iterable[str]) -> str:
        return ", ".join(f"{name} {self.kind(name)}" for name in columns)

    def kind(self, column: str) -> str:
        """The type, as SQL says it."""
        return _WORDS[self.arrow.field(column).type]

    def comment(self, column: str) -> str:
        return self.said[column].split(" ", 1)[1]


def _event_words() -> dict[str, str]:
    """The columns of an event as recordings describe them."""
    text = (resources.files("conformance") / "schemas" / "recording.json").read_text("utf-8")
    described = json.loads(text)["$defs"]["event"]["properties"]
    known = {name: " ".join(described[name]["description"].split()) for name in EVENTS.names if name in described}
    known |= {
        "raw": "The frames as they were on the wire.",
        "extra": "JSON text of what only the source knows: of a capture the file and the packet.",
    }
    return {one.name: f"{_WORDS[one.type]} {known[one.name]}" for one in EVENTS}


_RUN = {"run": "STRING The run: of a recording as its header names it, of a capture its file and the broker."}
_BROKER = {"broker": "STRING Who was examined."}
_RULE = {"rule": "STRING The rule's id, as in docs/rules.md."}
_STARTED = {"started": "STRING When the run began, UTC, ISO 8601."}
_COUNTS = {"exercised": "BIGINT How often the rule was exercised.", "findings": "BIGINT How often it was broken."}

SILVER = Table(
    "silver",
    "an event on the wire, by run and shard, sorted by history and seq",
    {
        **_event_words(),
        "island": "STRING The part of the history in which it is judged: connections that share queues or exchanges.",
        "shard": "INT The number of the file that holds the whole island.",
    },
    ("run", "shard"),
)

GOLD = Table(
    "gold",
    "what one history says of one rule",
    {
        **_RUN,
        "history": "STRING The history that it was seen in.",
        "what": (
            "STRING finding, exercised, report (what was characterised), doubt (why it could not be judged), or met "
            "(a circumstance that was met)."
        ),
        **_RULE,
        "times": "BIGINT How often.",
        "at": "BIGINT Of a finding: the seq of the event that shows it.",
        "allowed": "STRING Of a finding: what the rule allows.",
        "observed": "STRING What was seen instead; of a report, doubt or circumstance its words.",
        "certain": "BOOLEAN Of a finding: is it proven by what was seen?",
        "witness": "ARRAY<BIGINT> Of a finding: the seq of the events that it stands on.",
        "amid": "ARRAY<STRING> Of a finding: the circumstances in which it was made.",
    },
)

VERDICTS = Table(
    "verdicts",
    "the verdict on a rule in a run",
    {
        **_RUN,
        **_BROKER,
        "profile": "STRING What the broker was held to.",
        **_RULE,
        "level": "STRING must, should, may or observed.",
        "verdict": "STRING held, broken, deviates (broken as it is known of this broker), inconclusive, under-tested, "
        "unseen, not-offered, harness-error, planned or not-judgeable.",
        **_COUNTS,
        "doubtful": "BIGINT How many findings were not certain.",
        "reason": "STRING Why it could not be judged, where it could not.",
    },
)

TIMES = Table(
    "times",
    "a bucket of a histogram of times",
    {
        **_RUN,
        "what": "STRING confirm (publish to confirm) or delivery (publish to deliver or get-ok).",
        "bucket": "INT Which bucket; latency has what it stands for.",
        "n": "BIGINT How many times fell into it.",
    },
)

RUNS = Table(
    "runs",
    "a run",
    {
        **_RUN,
        **_BROKER,
        "product": "STRING What the broker calls itself.",
        "version": "STRING And of which version.",
        "profile": "STRING What it is held to, unless somebody asked for something else.",
        **_STARTED,
        "kind": "STRING recording or capture.",
        "suite": "STRING The version of the suite that took it down.",
        "events": "BIGINT How many events it has.",
        "histories": "BIGINT How many histories.",
        "connections": "BIGINT How many connections.",
        "about": "STRING JSON text of all else, its files among it.",
    },
    (),
    ("started", "run"),
)

_BEFORE = {"before": "STRING The verdict of the run before, of the same broker."}
MARTS: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            "matrix",
            "a rule on a broker, over all its runs",
            {
                **_BROKER,
                **_RULE,
                "level": VERDICTS.said["level"],
                "verdict": "STRING The worst verdict of all runs.",
                "runs": "BIGINT How many runs.",
                **_COUNTS,
                "doubtful": VERDICTS.said["doubtful"],
            },
            (),
            ("broker", "rule"),
        ),
        Table(
            "history",
            "a rule in a run, and what the run before said",
            {
                **_BROKER,
                **_RULE,
                **_STARTED,
                **_RUN,
                "verdict": VERDICTS.said["verdict"],
                **_COUNTS,
                **_BEFORE,
            },
            (),
            ("broker", "rule", "started", "run"),
        ),
        Table(
            "flakiness",
            "how often the verdict on a rule turned",
            {
                **_BROKER,
                **_RULE,
                "runs": "BIGINT How many runs.",
                "clear": "BIGINT How many of them said held or broken.",
                "broken": "BIGINT How many said broken.",
                "flips": "BIGINT How often one clear verdict followed a different one.",
                "flaky": "BOOLEAN Did it turn more than once?",
            },
            (),
            ("broker", "rule"),
        ),
        Table(
            "latency",
            "percentiles of times in a run, in milliseconds",
            {
                **_RUN,
                **_BROKER,
                **_STARTED,
                "what": TIMES.said["what"],
                "n": "BIGINT How many times.",
                **{
                    name: f"DOUBLE {share} of them took no longer."
                    for name, share in (("p50", "50 %"), ("p90", "90 %"), ("p99", "99 %"), ("p999", "99.9 %"))
                },
                "worst": "DOUBLE The longest.",
            },
            (),
            ("broker", "started", "run", "what"),
        ),
        Table(
            "regressions",
            "a rule on which two runs disagree, of two versions or of one",
            {
                "before": "STRING The earlier run, or that of the older version.",
                "after": "STRING The later one.",
                **_RULE,
                "was": "STRING The verdict of the earlier.",
                "now": "STRING The verdict of the later.",
                "change": "STRING broken, fixed or other.",
            },
            (),
            ("before", "after", "rule"),
        ),
    )
}

JUDGEMENTS = Table(
    "judgements",
    "what a micro-batch of a watched directory adds to gold",
    {
        "batch": "BIGINT The number of the micro-batch.",
        **GOLD.said,
        "what": GOLD.said["what"].removesuffix(".") + "; of a stream also run, unreadable, missing and late.",
    },
    ("batch",),
)

TABLES: Mapping[str, Table] = {
    table.name: table for table in (RUNS, SILVER, GOLD, VERDICTS, TIMES, *MARTS.values(), JUDGEMENTS)
}

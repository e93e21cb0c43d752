"""The tables of the lake: the only place that defines the columns, their types and their meanings.

The Spark and Arrow schemas, the comments in Delta tables, and docs/lake-tables.md are made from this file. The columns
of an event, and their meanings, are those of recordings (`schemas/recording.json`). `parts` are the partition columns;
they stand in the paths and in the log of a table, and not in its files.
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


_RUN = {"run": "STRING The run: the name in a recording's header; for a capture its file and the broker."}
_BROKER = {"broker": "STRING The broker that was tested."}
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
    "a result that one history gives for one rule",
    {
        **_RUN,
        "history": "STRING The history in which it was seen.",
        "what": (
            "STRING finding, exercised, report (a characterised behaviour), doubt (why it could not be judged), or met "
            "(a circumstance that arose)."
        ),
        **_RULE,
        "times": "BIGINT How often.",
        "at": "BIGINT For a finding: the seq of the event that shows it.",
        "allowed": "STRING For a finding: what the rule allows.",
        "observed": "STRING What was seen instead; for a report, doubt or circumstance its text.",
        "certain": "BOOLEAN For a finding: do the events prove it?",
        "witness": "ARRAY<BIGINT> For a finding: the seq of the events that prove it.",
        "amid": "ARRAY<STRING> For a finding: the circumstances in which it happened.",
        "unless": "ARRAY<STRING> For a finding: rules that explain it as well, where one of them is broken.",
    },
)

VERDICTS = Table(
    "verdicts",
    "the verdict on a rule in a run",
    {
        **_RUN,
        **_BROKER,
        "profile": "STRING The profile by which the broker was judged.",
        **_RULE,
        "level": "STRING must, should, may or observed.",
        "verdict": "STRING held, broken, deviates (broken in a known way), inconclusive, under-tested, "
        "unseen, not-offered, harness-error, planned or not-judgeable.",
        **_COUNTS,
        "doubtful": "BIGINT How many findings were not certain.",
        "reason": "STRING Why the rule could not be judged; empty if it was judged.",
    },
)

TIMES = Table(
    "times",
    "a bucket of a histogram of times",
    {
        **_RUN,
        "what": "STRING confirm (publish to confirm) or delivery (publish to deliver or get-ok).",
        "bucket": "INT The number of the bucket; the table latency has the milliseconds.",
        "n": "BIGINT How many times are in it.",
    },
)

RUNS = Table(
    "runs",
    "a run",
    {
        **_RUN,
        **_BROKER,
        "product": "STRING The product name that the broker gives.",
        "version": "STRING The version that the broker gives.",
        "profile": "STRING The profile by which it is judged, unless an option names another.",
        **_STARTED,
        "kind": "STRING recording or capture.",
        "suite": "STRING The version of the suite that recorded it.",
        "events": "BIGINT How many events it has.",
        "histories": "BIGINT How many histories.",
        "connections": "BIGINT How many connections.",
        "about": "STRING JSON text of everything else, such as its files.",
    },
    (),
    ("started", "run"),
)

_BEFORE = {"before": "STRING The verdict of the previous run on the same broker."}
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
            "a rule in a run, with the verdict of the previous run",
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
            "how often the verdict on a rule changed",
            {
                **_BROKER,
                **_RULE,
                "runs": "BIGINT How many runs.",
                "clear": "BIGINT In how many of them the verdict was held or broken.",
                "broken": "BIGINT In how many it was broken.",
                "flips": "BIGINT How often a held followed a broken, or a broken a held.",
                "flaky": "BOOLEAN Did it change more than once?",
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
                    name: f"DOUBLE {share} of them were not longer than this."
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
                "before": "STRING The earlier run, or the run on the older version.",
                "after": "STRING The later run.",
                **_RULE,
                "was": "STRING The verdict of the earlier run.",
                "now": "STRING The verdict of the later run.",
                "change": "STRING broken, fixed or other.",
            },
            (),
            ("before", "after", "rule"),
        ),
    )
}

JUDGEMENTS = Table(
    "judgements",
    "a row that a micro-batch of a watched directory adds to gold",
    {
        "batch": "BIGINT The number of the micro-batch.",
        **GOLD.said,
        "what": GOLD.said["what"].removesuffix(".") + "; for a stream also run, unreadable, missing and late.",
    },
    ("batch",),
)

TABLES: Mapping[str, Table] = {
    table.name: table for table in (RUNS, SILVER, GOLD, VERDICTS, TIMES, *MARTS.values(), JUDGEMENTS)
}

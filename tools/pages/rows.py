"""Writes docs/160-rows.md, what judges each row of the protocol: `python -m tools.pages.rows`.

RabbitMQ publishes a table of the 160 rules that it finds in AMQP 0-9-1, and says of each whether it follows it. The
rows are data here (`protocol/*.toml`), as are those that the table does not have: each with the rules of ours that
judge it, with a family that is planned to, or with a reason why no rule does. What was measured is never typed: it
comes from the verdicts that `compatibility` keeps. The page is committed, and a test proves that it is fresh.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from conformance.catalogue import rules
from conformance.catalogue.rules.fields import BadData, Fields, parse
from conformance.outcome.markdown import link, table
from tools.pages import compatibility

PAGE = Path(__file__).resolve().parents[2] / "docs" / "160-rows.md"
FOLDER = Path(__file__).with_name("protocol")
PLANNED: tuple[str, ...] = ()
"""Families that somebody is writing. Once one is there, its rows name rules; a test demands it."""
GROWING = ("BIND", "EXCH", "QUEUE")
"""Families that are there, and get more rules."""

KEPT, WRONG, DOUBTFUL, ABSENT, NOT_RUN = "✓", "✕", "?", "–", "not run"
_SIGNS = {
    "held": KEPT,
    "unseen": KEPT,
    "deviates": WRONG,
    "broken": WRONG,
    "inconclusive": DOUBTFUL,
    "under-tested": DOUBTFUL,
    "not-offered": ABSENT,
}
_FIRST = (WRONG, DOUBTFUL, KEPT, ABSENT, NOT_RUN)
"""Which sign a row shows whose rules have several."""

HEAD = f"""# RabbitMQ's 160 rows, executed

RabbitMQ publishes [a table](https://www.rabbitmq.com/docs/specification) of the 160 rules that it finds in AMQP 0-9-1,
and says of each whether it follows it. Here each row has the rules that test it, and what the tests have shown.
`make docs` makes this page from `tools/pages/protocol/` and from the results of `make matrix`; change those, not this
page.

The column *RabbitMQ says* has the words of that table. *does* is an *ok* to a rule that is only recommended or allowed.
Where RabbitMQ does something else than the row says and tells so, our rules hold it to what it tells, and a note says
how it differs. The last columns are versions of RabbitMQ:

| sign | meaning |
|---|---|
| {KEPT} | all rules of the row held that apply |
| {WRONG} | a rule is broken; the sign is followed by its id, and [compatibility](compatibility.md) says how |
| {DOUBTFUL} | a rule was tested too little to say |
| {ABSENT} | no rule of the row applies to this version |
| {NOT_RUN} | one of the rules is newer than the stored run |
"""


class BadRows(BadData):
    """A file of rows says something that it must not."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `rabbitmq`: what RabbitMQ says of itself, empty where its table has no such row."""

    id: str
    level: str
    rabbitmq: str
    says: str
    rules: tuple[str, ...]
    family: str
    reason: str
    note: str


@dataclass(frozen=True, slots=True)
class Run:
    """What one version was found to do: rule to verdict."""

    version: str
    verdicts: Mapping[str, str]


def read(name: str) -> list[Row]:
    """The rows of one file. Each has rules, a planned family or a reason, and none has rules and a reason."""
    whole = Fields(parse(FOLDER / f"{name}.toml", BadRows), f"{name}.toml", BadRows)
    listed = whole.raw("row", [])
    whole.done()
    if not isinstance(listed, list):
        raise whole.fail("'row' must be a list of tables")
    return [_row(Fields(content, f"{name}.toml, row {number}", BadRows)) for number, content in enumerate(listed, 1)]


def _row(fields: Fields) -> Row:
    texts = {key: fields.text(key, "") for key in ("level", "rabbitmq", "says", "family", "reason", "note")}
    row = Row(id=fields.text("id"), rules=fields.texts("rules"), **texts)
    fields.done()
    if bool(row.reason) == bool(row.rules or row.family):
        raise fields.fail(f"{row.id} needs rules or a planned family, or else a reason why there are none")
    return row


def stored() -> list[Run]:
    """The runs on real brokers that were kept."""
    found = json.loads(compatibility.SEEN.read_text(encoding="utf-8")) if compatibility.SEEN.exists() else []
    return [
        Run(run["broker"].rpartition(" ")[2], {rule: name for name, ids in run["verdicts"].items() for rule in ids})
        for run in found
    ]


def page(runs: Sequence[Run]) -> str:
    """The whole page."""
    xml, pdf, methods = map(read, ("xml", "pdf", "methods"))
    table_of_theirs = [row for row in [*xml, *pdf] if row.rabbitmq]
    others = [row for row in [*xml, *pdf] if not row.rabbitmq]
    return "\n".join(
        [
            HEAD,
            _summary(table_of_theirs, runs),
            "## Rows that RabbitMQ follows, and that a version breaks\n\nRabbitMQ says *ok* or *does*, and a rule of "
            "the row is broken. Often it is one corner only, as [compatibility](compatibility.md#in-words) tells.\n",
            _contradicted(table_of_theirs, runs),
            "## The 160 rows\n\nIn the order of RabbitMQ's table: first the XML, then the PDF by its sections.\n",
            _rows(table_of_theirs, runs),
            f"## The other {len(others)} rows\n\nThe XML with RabbitMQ's extensions marks {len(xml)} rules and the PDF "
            f"has {len(pdf)} more, so there are {len(xml) + len(pdf)}. RabbitMQ's table has none of these:\n",
            _rows(others, runs),
            "## Classes and methods\n\nRabbitMQ's page also says which classes and methods it has. A choice of the "
            "rules that test each:\n",
            _methods(methods, runs),
        ]
    )


def _summary(listed: Sequence[Row], runs: Sequence[Run]) -> str:
    """By what RabbitMQ says: how many rows are judged, and what was found on each version."""
    words = sorted({row.rabbitmq for row in listed}, key=lambda said: (", " in said, said != "ok", said))
    lines = [_counted(said, [row for row in listed if row.rabbitmq == said], runs) for said in words]
    lines.append(_counted("all", listed, runs))
    return table(["RabbitMQ says", "rows", "with rules", "planned here", "without a rule", *_versions(runs)], lines)


def _contradicted(listed: Iterable[Row], runs: Sequence[Run]) -> str:
    """Where what RabbitMQ says and what was measured differ."""
    rows = [
        [f"`{row.id}`", row.says, *(" ".join(_culprits(row, run)) for run in runs)]
        for row in listed
        if row.rules and row.rabbitmq in ("ok", "does") and WRONG in {sign(row, run) for run in runs}
    ]
    return table(["rule of the text", "in a few words", *_versions(runs)], rows)


def _counted(said: str, listed: Sequence[Row], runs: Sequence[Run]) -> list[str]:
    counts = [Counter(sign(row, run) for row in listed if row.rules) for run in runs]
    planned = sum(bool(row.family and not row.rules) for row in listed)
    sizes = (len(listed), sum(bool(row.rules) for row in listed), planned, sum(bool(row.reason) for row in listed))
    return [said, *map(str, sizes), *map(_signs, counts)]


def _signs(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[one]} {one}" for one in (KEPT, WRONG, DOUBTFUL, ABSENT, NOT_RUN) if counts[one])


def _rows(listed: Iterable[Row], runs: Sequence[Run]) -> str:
    heads = ["", "rule of the text", "level", "RabbitMQ says", "in a few words", "judged by", *_versions(runs)]
    return table(heads, ([str(number), *_cells(row), *_found(row, runs)] for number, row in enumerate(listed, 1)))


def _methods(listed: Iterable[Row], runs: Sequence[Run]) -> str:
    heads = ["", "RabbitMQ says", "judged by", *_versions(runs)]
    return table(heads, ([f"`{row.id}`", row.rabbitmq, judged_by(row), *_found(row, runs)] for row in listed))


def _versions(runs: Iterable[Run]) -> list[str]:
    return [run.version for run in runs]


def _cells(row: Row) -> Iterator[str]:
    yield f"`{row.id}`"
    yield row.level
    yield row.rabbitmq
    yield row.says
    yield judged_by(row)


def judged_by(row: Row) -> str:
    """The rules, linked; what is planned; why there is none; and the note."""
    parts = [", ".join(link(rules.get(name)) for name in row.rules)] if row.rules else []
    parts += [f"planned: {row.family}"] if row.family else []
    parts += [f"*none: {row.reason}*"] if row.reason else []
    parts += [row.note] if row.note else []
    return "; ".join(parts)


def _found(row: Row, runs: Iterable[Run]) -> Iterator[str]:
    return (" ".join([sign(row, run), *_culprits(row, run)]) if row.rules else "" for run in runs)


def sign(row: Row, run: Run) -> str:
    """What a version was found to do with this row: the gravest of what its rules have."""
    signs = {signed(name, run) for name in row.rules}
    if NOT_RUN in signs and len(signs) > 1 and not signs & {WRONG, DOUBTFUL}:
        return NOT_RUN
    return next(one for one in _FIRST if one in signs)


def _culprits(row: Row, run: Run) -> list[str]:
    """The rules behind a sign that is neither good nor empty."""
    shown = sign(row, run)
    return [name for name in row.rules if signed(name, run) == shown] if shown in (WRONG, DOUBTFUL) else []


def signed(name: str, run: Run) -> str:
    """What a version was found to do with this rule."""
    return _SIGNS.get(run.verdicts.get(name, ""), NOT_RUN)


def main() -> None:
    PAGE.write_text(page(stored()), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Known deviations of real brokers: broken rules that we have seen, understood and written down.

An entry names the rule, a pattern that must be found in what was observed, and the evidence. It excuses exactly that:
a rule that breaks for another reason, or that holds now, is not covered. Entries are reviewed by people, so whatever
is wrong with a file is reported with its line.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from conformance.rules import CATALOGUE, QUEUE_TYPES
from conformance.rules.fields import BadData, Fields, near, parse

_FOLDER = Path(__file__).parent
HEADER = re.compile(r"\s*\[\[\s*deviation\s*]]")
"""How an entry begins, on a line of its own."""
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


class BadDeviations(BadData):
    """A deviations file is unknown or wrong; the message names file, line and rule."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One broken rule that is known: `reason` must be found in the observation, on these queue types.

    `intermittent`: a race, which a run may miss. That it was not seen does not make the entry stale.
    """

    rule: str
    reason: str
    note: str
    evidence: str
    owner: str
    expires: datetime.date | None
    queue_types: tuple[str, ...]
    intermittent: bool = False

    def covers(self, observed: str, queue_type: str | None = None) -> bool:
        """Is this the deviation that was observed? A queue type of None stands for any."""
        return (queue_type is None or queue_type in self.queue_types) and bool(re.search(self.reason, observed))

    def expired(self, today: datetime.date) -> bool:
        return self.expires is not None and self.expires < today


def load(path_or_name: str | Path) -> tuple[Deviation, ...]:
    """The entries of one of our files by name, or of a file that somebody wrote."""
    text = str(path_or_name)
    if text in NAMES:
        return read(_FOLDER / f"{text}.toml")
    path = Path(text)
    if path.suffix == ".toml" or path.exists():
        return read(path)
    hint = f"give a .toml file, or one of {', '.join(NAMES)}"
    raise BadDeviations(f"there are no deviations {text!r}{near(text, NAMES)}; {hint}")


def source(name: str) -> str:
    """The text of one of our files."""
    return (_FOLDER / f"{name}.toml").read_text(encoding="utf-8")


def read(path: Path) -> tuple[Deviation, ...]:
    """The entries of a file, in its order."""
    fields = Fields(parse(path, BadDeviations), path.name, BadDeviations)
    tables = fields.raw("deviation", [])
    fields.done()
    if not isinstance(tables, list):
        raise fields.fail("write entries as [[deviation]]")
    lines = _lines(path)
    return tuple(
        _deviation(Fields(table, f"{path.name}, line {line}", BadDeviations))
        for line, table in zip(lines, tables, strict=True)
    )


def _lines(path: Path) -> list[int]:
    text = path.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(text, 1) if HEADER.match(line)]


def _deviation(fields: Fields) -> Deviation:
    rule = fields.text("rule")
    if rule not in CATALOGUE:
        raise fields.fail(f"there is no rule {rule!r}{near(rule, CATALOGUE)}; amqp-conformance list names them all")
    deviation = Deviation(
        rule=rule, reason=_pattern(fields), note=fields.text("note"), evidence=fields.text("evidence"),
        owner=fields.text("owner"), expires=_date(fields),
        queue_types=_queue_types(fields, CATALOGUE[rule].queue_types), intermittent=fields.flag("intermittent", False),
    )
    fields.done()
    return deviation


def _pattern(fields: Fields) -> str:
    pattern = fields.text("reason")
    try:
        broad = re.search(pattern, "") is not None
    except re.error as problem:
        raise fields.fail(f"'reason' is no pattern: {problem}") from None
    if broad:
        raise fields.fail(f"'reason' {pattern!r} fits every observation; name what is observed")
    return pattern


def _date(fields: Fields) -> datetime.date | None:
    value = fields.raw("expires")
    if value is None or (isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)):
        return value
    raise fields.fail(f"'expires' must be a date like 2027-06-30, not {value!r}")


def _queue_types(fields: Fields, of_rule: Collection[str]) -> tuple[str, ...]:
    named = fields.choices("queue_types", QUEUE_TYPES, tuple(of_rule))
    for name in named:
        if name not in of_rule:
            raise fields.fail(f"the rule does not apply to {name} queues")
    return named

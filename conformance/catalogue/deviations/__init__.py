"""Known deviations of real brokers: rules that a broker is known to break, each with its evidence.

An entry names the rule, a pattern that must be found in what was observed, the circumstances in which it happens
(`where`, of `rules.circumstances`), and the evidence. It excuses exactly that: a rule that breaks for another reason,
or elsewhere, or that holds now, is not covered. What happens now and then has a ceiling, `at_most`: how often it was
seen when it was measured, as a share of the times that these circumstances arose. Entries are reviewed by people, so
whatever is wrong with a file is reported with its line.

A version that nobody could run may take over the entries of a neighbour (`extends`), except for those of some rules
(`without`). Such an entry is not measured: it may or may not happen there, so it is never stale.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules import CATALOGUE, QUEUE_TYPES, circumstances
from conformance.catalogue.rules.fields import BadData, Fields, near, parse

_FOLDER = Path(__file__).parent
HEADER = re.compile(r"\s*\[\[\s*deviation\s*]]")
"""How an entry begins, on a line of its own."""
_BLOCKS = re.compile(r"(?m)^(?=[ \t]*\[\[\s*deviation\s*]])")
NAMES = tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


class BadDeviations(BadData):
    """A deviations file is unknown or wrong; the message names file, line and rule."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """One broken rule that is known: `reason` must be found in the observation, on these queue types, and the
    finding must stand in the circumstances `where`, if these are named.

    `intermittent`: a race, which a run may miss. That it was not seen does not make the entry stale; that it was seen
    in more than the share `at_most` of the times that it could have been is no race any more.
    `measured`: it was seen on this version, and not only on the one from which it was taken over.
    """

    rule: str
    reason: str
    note: str
    evidence: str
    owner: str
    expires: datetime.date | None
    queue_types: tuple[str, ...]
    intermittent: bool = False
    measured: bool = True
    where: str = ""
    at_most: float | None = None

    def covers(self, observed: str, queue_type: str | None = None, where: Collection[str] = ()) -> bool:
        """Is this the deviation that was observed, in these circumstances? A queue type of None stands for any."""
        if self.where and self.where not in circumstances.named(where):
            return False
        return (queue_type is None or queue_type in self.queue_types) and bool(re.search(self.reason, observed))

    def expired(self, today: datetime.date) -> bool:
        return self.expires is not None and self.expires < today


def excuse(
    entries: Sequence[Deviation],
    rule: str,
    observed: str,
    queue_type: str,
    where: Collection[str] = (),
) -> int | None:
    """The place of the first entry that covers this observation, in these circumstances."""
    for place, entry in enumerate(entries):
        if entry.rule == rule and entry.covers(observed, queue_type or None, where):
            return place
    return None


def known_there(entries: Sequence[Deviation], queue_type: str, where: Collection[str]) -> set[str]:
    """The rules that this broker is known to break in just these circumstances, and not by a race alone."""
    names = circumstances.named(where)
    here = (one for one in entries if one.where in names and (not queue_type or queue_type in one.queue_types))
    return {one.rule for one in here if not one.intermittent or one.at_most == 1}


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


def known_to_break(profile: Profile, queue_type: str) -> set[str]:
    """The rules that the deviations of a profile name, and that its broker breaks each time."""
    listed = load(profile.deviations) if profile.deviations else ()
    return {one.rule for one in listed if not one.intermittent and queue_type in one.queue_types}


def source(name: str) -> str:
    """The text of one of our files, where entries that it takes over stand in full, marked as not measured."""
    path = _FOLDER / f"{name}.toml"
    text = path.read_text(encoding="utf-8")
    fields = Fields(parse(path, BadDeviations), path.name, BadDeviations)
    base, without = fields.text("extends", ""), fields.texts("without")
    if not base:
        return text
    own = "\n".join(line for line in text.splitlines() if not re.match(r"(extends|without)\s*=", line))
    head, *blocks = _BLOCKS.split(own)
    under = (block for block in _BLOCKS.split(source(base))[1:] if _rule_of(block) not in without)
    taken = [f"{block.strip()}\nmeasured = false" for block in under]
    return "\n\n".join([head.strip(), *taken, *(block.strip() for block in blocks)]) + "\n"


def _rule_of(block: str) -> str:
    return str(tomllib.loads(block)["deviation"][0]["rule"])


def read(path: Path) -> tuple[Deviation, ...]:
    """The entries of a file, those taken over first, then its own in their order."""
    fields = Fields(parse(path, BadDeviations), path.name, BadDeviations)
    tables = fields.raw("deviation", [])
    under = _taken_over(fields)
    fields.done()
    if not isinstance(tables, list):
        raise fields.fail("write entries as [[deviation]]")
    lines = _lines(path)
    own = (
        _deviation(Fields(table, f"{path.name}, line {line}", BadDeviations))
        for line, table in zip(lines, tables, strict=True)
    )
    return (*under, *own)


def _taken_over(fields: Fields) -> tuple[Deviation, ...]:
    """What another of our files has, as not measured."""
    base, without = fields.text("extends", ""), fields.texts("without")
    if not base:
        if without:
            raise fields.fail("'without' names what is not taken over; it needs 'extends'")
        return ()
    if base not in NAMES:
        raise fields.fail(f"extends {base!r}, which is no file of ours{near(base, NAMES)}")
    entries = read(_FOLDER / f"{base}.toml")
    for rule in without:
        if all(entry.rule != rule for entry in entries):
            raise fields.fail(f"leaves out {rule!r}, which {base} does not name")
    return tuple(replace(entry, measured=False) for entry in entries if entry.rule not in without)


def _lines(path: Path) -> list[int]:
    text = path.read_text(encoding="utf-8").splitlines()
    return [number for number, line in enumerate(text, 1) if HEADER.match(line)]


def _deviation(fields: Fields) -> Deviation:
    rule = fields.text("rule")
    if rule not in CATALOGUE:
        raise fields.fail(f"there is no rule {rule!r}{near(rule, CATALOGUE)}; amqp-conformance list names them all")
    deviation = Deviation(
        rule=rule,
        reason=_pattern(fields),
        note=fields.text("note"),
        evidence=fields.text("evidence"),
        owner=fields.text("owner"),
        expires=_date(fields),
        queue_types=_queue_types(fields, CATALOGUE[rule].queue_types),
        intermittent=fields.flag("intermittent", False),
        measured=fields.flag("measured", True),
        where=_where(fields),
        at_most=_share(fields),
    )
    fields.done()
    if deviation.at_most is not None and not (deviation.intermittent and deviation.where):
        raise fields.fail(
            "'at_most' is the share of the times that the circumstances 'where' arise in which an "
            "intermittent deviation shows: name these, and set 'intermittent'"
        )
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


def _where(fields: Fields) -> str:
    name = fields.text("where", "")
    if name and name not in circumstances.NAMES:
        raise fields.fail(
            f"'where' names no circumstances: {name!r}{near(name, circumstances.NAMES)}; there are "
            f"{', '.join(circumstances.NAMES)}"
        )
    return name


def _share(fields: Fields) -> float | None:
    value = fields.raw("at_most")
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1):
        return None if value is None else float(value)
    raise fields.fail(f"'at_most' must be a share, above 0 and up to 1, not {value!r}")


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

"""Reads the files of the catalogue into `Rule`s, and checks them strictly.

One file per family:

    code, title, about          what the family is about, in sentences
    brief, area                 the same in a few words; which families are shown together
    place                       a number: families are read in the order of their places
    [defaults]                  status, reason, queue_types, scope, needs: for rules that do not say otherwise
    [[rule]]                    one per rule, in the order of their numbers; `where = {choice = "reading"}` ties a
                                rule to profiles that have made this choice, or one of a list

A rule that is not judged gives a reason; a judged rule has none. A rule that demands something names a mutant that
breaks it. A rule that only permits something may have no mutant, because no broker can break it. Numbers have no gaps,
so nobody can drop a rule unnoticed. Every error message names the file and the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from conformance.catalogue.rules.features import FEATURES
from conformance.catalogue.rules.fields import BadData, Fields, near, parse

LEVELS = ("must", "should", "may", "observed")
STATUSES = ("judged", "characterised", "planned", "not-judgeable")
"""Judged: a finding may call the rule broken. Characterised: the report describes what the broker does, and never calls
the rule broken."""
QUEUE_TYPES = ("classic", "quorum")
SCOPES = {
    "C1": "one connection's frames",
    "ALL": "the frames of every connection that touches the queue",
    "CFG": "the broker's version and configuration",
    "CLK": "the times of the frames",
    "-": "what no frame shows",
}
"""What one must see to decide a rule: the codes, and the same in words."""

BRIEF = 40
"""Characters of a family's subtitle, which has one line of a page."""

RULE_ID = r"[A-Z]{2,8}-\d{3}"
"""What an id looks like: the code of its family, and a number. The schemas have the same pattern."""
_ID = re.compile(RULE_ID)


class BadCatalogue(BadData):
    """The catalogue contradicts itself."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule of the catalogue. Text is ours, complete sentences, and stands alone."""

    id: str
    family: str
    title: str
    level: str
    source: str
    clause: str
    open: str
    applies: tuple[str, ...]
    queue_types: tuple[str, ...]
    capability: str | None
    scope: str
    needed: int
    mutants: tuple[str, ...]
    status: str
    reason: str
    known: tuple[str, ...]
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Choices of the profile, each with the reading under which the rule applies."""
    needs: tuple[str, ...] = ()
    """Features of the broker (`features`) without which nobody can ask for it."""
    short_timeout: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Choices of the profile, each with the readings under which the rule can be tested only on a node whose own
    consumer timeout is short in its configuration."""

    def otherwise(self, choices: Mapping[str, str]) -> str | None:
        """The first choice by which the rule does not apply; None: the rule applies."""
        made = (name for name, readings in self.where if name in choices and choices[name] not in readings)
        return next(made, None)

    def ruled_out(self, choices: Mapping[str, str]) -> str | None:
        """The same, in words."""
        name = self.otherwise(choices)
        return None if name is None else f"by the profile {name} is {choices[name]}"

    def takes_a_short_timeout(self, choices: Mapping[str, str]) -> bool:
        """Can it be tested only on a node whose own consumer timeout is short?"""
        return any(choices.get(name) in readings for name, readings in self.short_timeout)

    @property
    def judged(self) -> bool:
        """Do monitors watch it, and does a scene exercise it?"""
        return self.status in ("judged", "characterised")

    @property
    def breakable(self) -> bool:
        """Can it be called broken?"""
        return self.status == "judged"

    @property
    def conditions(self) -> tuple[str, ...]:
        """Where the rule applies, each condition in words; none: everywhere."""
        only = (f"{self.queue_types[0]} queues only",) if len(self.queue_types) == 1 else ()
        offered = (f"brokers that offer {self.capability}",) if self.capability else ()
        where = tuple(
            f"where the profile says that `{name}` is {' or '.join(f'`{one}`' for one in readings)}"
            for name, readings in self.where
        )
        return (*self.applies, *only, *offered, *where)

    @property
    def decided_by(self) -> str:
        """The scope in words."""
        return ", and ".join(SCOPES[part] for part in self.scope.split("+"))

    @property
    def sources(self) -> tuple[str, ...]:
        return tuple(self.source.split("; "))


@dataclass(frozen=True, slots=True)
class Family:
    """A group of rules about one thing; their ids begin with `code`. `brief` says what it is about in a few words,
    `area` groups families that are shown together, `place` gives the order of the families."""

    code: str
    title: str
    about: str
    brief: str = ""
    area: str = "Others"
    place: int = 0


def family_of(path: Path) -> tuple[Family, list[Rule]]:
    """One file of the catalogue."""
    fields = Fields(parse(path, BadCatalogue), path.name, BadCatalogue)
    code, title, about, brief, area = map(fields.text, ("code", "title", "about", "brief", "area"))
    family = Family(code, title, about, brief, area, int(fields.number("place", 0, 1)))
    if len(family.brief) > BRIEF:
        raise fields.fail(f"'brief' has {len(family.brief)} characters; {BRIEF} stand in a line")
    if family.code.lower() != path.stem:
        raise fields.fail(f"holds the family {family.code}; the file must be called {family.code.lower()}.toml")
    defaults = fields.raw("defaults", {})
    tables = fields.raw("rule", [])
    fields.done()
    if not isinstance(tables, list) or not tables:
        raise fields.fail("holds no [[rule]]")
    checked = Fields(defaults, f"{path.name}, [defaults]", BadCatalogue)
    shared = ("status", "reason", "queue_types", "scope", "needs")
    common = {key: value for key in shared if (value := checked.raw(key)) is not None}
    checked.done()
    return family, list(_rules(path, family.code, common, tables))


def _rules(path: Path, code: str, common: dict[str, object], tables: list[object]) -> Iterator[Rule]:
    seen: set[str] = set()
    for number, table in enumerate(tables, 1):
        rule = _rule(Fields(table, f"{path.name}, rule {number}", BadCatalogue), common)
        if rule.id in seen:
            raise BadCatalogue(f"{path.name}, {rule.id}: this id is there twice")
        if rule.id != f"{code}-{number:03}":
            raise BadCatalogue(f"{path.name}, {rule.id}: expected {code}-{number:03} here; ids have no gaps")
        seen.add(rule.id)
        yield rule


def _rule(fields: Fields, common: dict[str, object]) -> Rule:
    name = fields.text("id")
    if not _ID.fullmatch(name):
        raise fields.fail(f"{name!r} is no rule id; ids look like ACK-010")
    fields = Fields(_inherited(fields, common), f"{fields.place.split(',')[0]}, {name}", BadCatalogue)
    rule = Rule(
        id=fields.text("id"),
        family=name[:-4],
        title=fields.text("title"),
        level=fields.choice("level", LEVELS),
        source=fields.text("source"),
        clause=fields.text("clause"),
        open=fields.text("open", ""),
        applies=fields.texts("applies"),
        queue_types=fields.choices("queue_types", QUEUE_TYPES, QUEUE_TYPES),
        capability=fields.text("capability", "") or None,
        scope=_scope(fields),
        needed=int(fields.number("needed", 1, 1)),
        mutants=fields.texts("mutants"),
        status=fields.choice("status", STATUSES),
        reason=fields.text("reason", ""),
        known=fields.texts("known"),
        where=_where(fields),
        needs=_needs(fields),
        short_timeout=_where(fields, "short_timeout"),
    )
    fields.done()
    _check(rule, fields)
    return rule


def _inherited(fields: Fields, common: dict[str, object]) -> dict[str, object]:
    own = {key: fields.raw(key) for key in fields}
    kept = {key: value for key, value in common.items() if key != "reason" or "status" not in own}
    return kept | own


def _where(fields: Fields, key: str = "where") -> tuple[tuple[str, tuple[str, ...]], ...]:
    table = Fields(fields.raw(key, {}), f"{fields.place}, {key}", BadCatalogue)
    return tuple(
        (name, table.texts(name) if isinstance(table.raw(name), list) else (table.text(name),)) for name in table
    )


def _needs(fields: Fields) -> tuple[str, ...]:
    needs = fields.texts("needs")
    for name in needs:
        if name not in FEATURES:
            raise fields.fail(f"needs {name!r}, which is no feature{near(name, FEATURES)}")
    return needs


def _scope(fields: Fields) -> str:
    scope = fields.text("scope")
    for part in scope.split("+"):
        if part not in SCOPES:
            raise fields.fail(f"scope {scope!r}: {part!r} is none of {', '.join(SCOPES)}")
    return scope


def _check(rule: Rule, fields: Fields) -> None:
    if rule.judged and rule.reason:
        raise fields.fail(f"is {rule.status}, so it needs no reason")
    if not rule.judged and not rule.reason:
        raise fields.fail(f"is {rule.status}; say why in 'reason'")
    if not rule.queue_types:
        raise fields.fail("'queue_types' is empty; leave it out for all of them")
    if not rule.clause.endswith("."):
        raise fields.fail("the clause must be whole sentences")
    if not rule.mutants and rule.level in ("must", "should"):
        raise fields.fail("names no mutant; how would we know that its check can fail?")

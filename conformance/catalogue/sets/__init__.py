"""Sets: named lists of rules that stay as they are, so that no gate closes because the catalogue learned something new.

One TOML file for each set. A set that is *frozen* names every rule by its id; nobody edits the list again, and what is
learned later comes in a set of another name. A *draft* names patterns instead, so it still grows with the catalogue.

    name, title, since, about    `name` is the file's name; `since`, a date, is the day of this list
    draft                        true while the list may still change
    rules                        ids; in a draft also patterns such as "ROUTE-*", which may match nothing yet
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from conformance.catalogue import rules
from conformance.catalogue.rules.fields import BadData, Fields, near, parse
from conformance.catalogue.rules.loading import RULE_ID, Rule


class BadSet(BadData):
    """A file of this folder says something that it must not."""


class UnknownSet(KeyError):
    """No set has this name; the message says which there are."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True, slots=True)
class RuleSet:
    """One set. `rules`: ids, of a draft also patterns."""

    name: str
    title: str
    since: datetime.date
    about: str
    draft: bool
    rules: tuple[str, ...]

    def has(self, rule: str) -> bool:
        return any(fnmatchcase(rule, pattern) for pattern in self.rules) if self.draft else rule in self.rules

    @property
    def label(self) -> str:
        return f"{self.name} (a draft)" if self.draft else self.name


def read(path: Path) -> RuleSet:
    """One file, checked."""
    fields = Fields(parse(path, BadSet), path.name, BadSet)
    found = RuleSet(
        name=fields.text("name"),
        title=fields.text("title"),
        since=_day(fields),
        about=fields.text("about"),
        draft=fields.flag("draft", False),
        rules=fields.texts("rules"),
    )
    fields.done()
    if found.name != path.stem:
        raise fields.fail(f"holds the set {found.name}; the file must be called {found.name}.toml")
    if not found.rules or len(set(found.rules)) < len(found.rules):
        raise fields.fail("'rules' must name at least one rule, and none of them twice")
    if not found.draft:
        _frozen(found, fields)
    return found


def _day(fields: Fields) -> datetime.date:
    value = fields.raw("since")
    if not isinstance(value, datetime.date):
        raise fields.fail(f"'since' must be a date, not {value!r}")
    return value


def _frozen(found: RuleSet, fields: Fields) -> None:
    for name in found.rules:
        if not re.fullmatch(RULE_ID, name):
            raise fields.fail(f"names {name!r}; a set that is no draft names every rule by its id")
        if name not in rules.CATALOGUE:
            raise fields.fail(f"names {name}, and there is no such rule{near(name, rules.CATALOGUE)}")


SETS: Mapping[str, RuleSet] = MappingProxyType(
    {found.name: found for found in map(read, sorted(Path(__file__).parent.glob("*.toml")))}
)


def named(names: str) -> list[RuleSet]:
    """The sets with these names, separated by commas."""
    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in SETS:
            known = ", ".join(one.label for one in SETS.values())
            raise UnknownSet(f"there is no set {name!r}{near(name, SETS)}; sets are {known}")
    return [SETS[name] for name in asked]


def select(names: str, glob: str = "*", level: str = "may") -> list[Rule]:
    """The rules of these sets that `rules.select` selects, too; without a name, all of those."""
    chosen = named(names)
    return [rule for rule in rules.select(glob, level) if not chosen or any(one.has(rule.id) for one in chosen)]


def drafts(names: str) -> list[str]:
    """What a reader must know of those that may still change."""
    return [
        f"the set {one.name} is a draft: its rules may still change, and a later version may judge more of them"
        for one in named(names)
        if one.draft
    ]

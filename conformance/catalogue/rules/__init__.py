"""The rules as data, one TOML file for each family.

Everything else in the project points here by rule id and repeats no rule text. Every TOML file is a family. Families of
one area lie in one folder; folders of that name hold their judges, scenes and mutants. `CATALOGUE` keeps the order in
which a person would read it, from a single delivery tag to consumer timeouts: each family says its `place`.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from types import MappingProxyType

from conformance.catalogue.rules.fields import near
from conformance.catalogue.rules.loading import LEVELS, QUEUE_TYPES, RULE_ID, BadCatalogue, Family, Rule, family_of

__all__ = [
    "CATALOGUE",
    "FAMILIES",
    "LEVELS",
    "QUEUE_TYPES",
    "RULE_ID",
    "BadCatalogue",
    "Family",
    "Rule",
    "UnknownRule",
    "get",
    "select",
]


class UnknownRule(KeyError):
    """No rule has this id; the message says which ids come close."""

    def __str__(self) -> str:
        return str(self.args[0])


def read(folder: Path) -> tuple[dict[str, Family], dict[str, Rule]]:
    """All families and rules of a folder, in reading order."""
    found = sorted(map(family_of, folder.rglob("*.toml")), key=lambda one: (one[0].place, one[0].code))
    if not found:
        raise BadCatalogue(f"{folder}: there is no family here")
    families = {family.code: family for family, _ in found}
    return families, {rule.id: rule for _, rules in found for rule in rules}


_families, _catalogue = read(Path(__file__).parent)
FAMILIES: Mapping[str, Family] = MappingProxyType(_families)
CATALOGUE: Mapping[str, Rule] = MappingProxyType(_catalogue)


def get(name: str) -> Rule:
    """The rule with this id, in whatever case it is typed."""
    try:
        return CATALOGUE[name.strip().upper()]
    except KeyError:
        raise UnknownRule(f"there is no rule {name!r}{near(name.strip().upper(), CATALOGUE)}") from None


def select(glob: str = "*", level: str = "may") -> list[Rule]:
    """Rules whose id matches one of the comma-separated patterns and whose level is at least `level`.

    Observed rules are characterisations, and come along with the lowest level, may.
    """
    if level not in LEVELS:
        raise ValueError(f"{level!r} is no level; levels are {', '.join(LEVELS)}")
    patterns = [part.strip().upper() for part in glob.split(",") if part.strip()]
    return [rule for rule in CATALOGUE.values() if _named(rule.id, patterns) and _reaches(rule.level, level)]


def _named(name: str, patterns: list[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _reaches(level: str, least: str) -> bool:
    return least == "may" or LEVELS.index(level) <= LEVELS.index(least)

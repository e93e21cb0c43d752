"""Each judged rule has its rows in the playbook: a history in which it is held, and one that breaks it.

The tables lie in the folders of the areas, a file for each family (`tests.support.tables` says what they are).
"""

from __future__ import annotations

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from conformance.catalogue import rules
from conformance.catalogue.rules import Rule
from tools.rooms import folder_of

FOLDER = Path(__file__).parent
BINDING = ("must", "should")


def rows(name: str) -> set[str]:
    """The rules that have a row in a table of this name."""
    found: set[str] = set()
    for path in sorted(FOLDER.rglob("test_*.py")):
        if f"\n{name} = " not in path.read_text(encoding="utf-8"):
            continue
        spec = spec_from_file_location(f"rows_of_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        table = getattr(module, name)
        found |= set(table) if isinstance(table, dict) else {row[0] for row in table}
    return found


def wanted(rule: Rule, table: str, what: str) -> str:
    """What to do about a row that is not there."""
    folder = folder_of(rules.FAMILIES[rule.family])
    file = f"tests/conformance/oracle/monitors/{folder}/test_{rule.family.lower()}.py"
    return f"{rule.id}: add a row to {table} in {file}, a history {what} (docs/add-a-rule.md, step 3)"


@pytest.mark.parametrize(
    ("table", "what", "rules_of_it"),
    [
        (
            "SOUND",
            "in which the broker keeps the rule, and is seen to",
            [rule for rule in rules.CATALOGUE.values() if rule.breakable],
        ),
        (
            "BROKEN",
            "in which the broker breaks the rule",
            [rule for rule in rules.CATALOGUE.values() if rule.breakable and rule.level in BINDING],
        ),
    ],
    ids=["SOUND", "BROKEN"],
)
def test_every_judged_rule_has_its_row(table: str, what: str, rules_of_it: list[Rule]) -> None:
    there = rows(table)
    missing = [wanted(rule, table, what) for rule in rules_of_it if rule.id not in there]
    assert not missing, "\n".join(missing)

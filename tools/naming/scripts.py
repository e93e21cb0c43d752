"""Every script of a run, played where it should show the fault and where it should not.

A script is what a report hands on: a file that is run, with the URL of a broker. On the mutant it says STILL BROKEN,
on the honest broker of the same dialect NOT SEEN AGAIN. Findings without a script say why there is none.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.evidence.emit import RAW
from conformance.outcome.cases import scripts_of
from conformance.outcome.results import Case, Results, RuleResult
from reference_broker import ReferenceBroker
from reference_broker.dialects import DIALECTS, DOCUMENTED

AT_ONCE = 4
LONGEST = 90.0
"""Seconds that a script may take."""
SHOWN, OTHERWISE = 1, 0
"""Exit codes of a script."""


@dataclass(frozen=True, slots=True)
class Played:
    """One finding, and what its script said: exit codes on the mutant and on the honest broker. `why` there is none."""

    case: str
    observed: str
    on_mutant: int | None = None
    on_honest: int | None = None
    why: str = ""

    @property
    def sound(self) -> bool:
        return (self.on_mutant, self.on_honest) == (SHOWN, OTHERWISE)


def played(mutant: str, results: Results) -> list[Played]:
    """All certain findings of a run that nobody excuses."""
    cases = [(rule, case) for rule in results.rules for case in rule.cases if case.certain and case.deviation is None]
    dialect = results.profile if results.profile in DIALECTS else DOCUMENTED.name
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(lambda one: _played(mutant, dialect, *one), cases))


def _played(mutant: str, dialect: str, rule: RuleResult, case: Case) -> Played:
    made, absent = scripts_of(rule, case)
    if RAW not in made:
        return Played(case.id, case.observed, why=absent[RAW])
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / f"{case.id}.py"
        script.write_text(made[RAW], encoding="utf-8")
        return Played(case.id, case.observed, _exit_code(script, dialect, mutant), _exit_code(script, dialect))


def _exit_code(script: Path, dialect: str, *mutants: str) -> int | None:
    """Its exit code; None where it does not end."""
    with ReferenceBroker(dialect=dialect, mutants=mutants, clock="elastic") as broker:
        command = [sys.executable, "-I", str(script), broker.url]
        try:
            return subprocess.run(command, capture_output=True, check=False, timeout=LONGEST).returncode
        except subprocess.TimeoutExpired:
            return None


def tally(runs: Iterable[tuple[str, list[Played]]]) -> dict[str, Any]:
    """The figures, and each script that is wrong."""
    every = [(mutant, one) for mutant, played in runs for one in played]
    tried = [(mutant, one) for mutant, one in every if not one.why]
    return {
        "findings": len(every),
        "scripts": len(tried),
        "sound": sum(one.sound for _, one in tried),
        "shown_on_mutant": sum(one.on_mutant == SHOWN for _, one in tried),
        "otherwise_on_honest": sum(one.on_honest == OTHERWISE for _, one in tried),
        "without": dict(Counter(_cause(one.why) for _, one in every if one.why).most_common()),
        "unsound": [
            {
                "mutant": mutant,
                "case": one.case,
                "observed": one.observed,
                "on_mutant": one.on_mutant,
                "on_honest": one.on_honest,
            }
            for mutant, one in tried
            if not one.sound
        ],
        "mutants": len({mutant for mutant, _ in every}),
        "mutants_with_script": len({mutant for mutant, one in tried if one.sound}),
    }


def _cause(why: str) -> str:
    """Without what belongs to one run."""
    return why.partition(":")[0].partition(" Ask for")[0]


def plain(one: Played) -> dict[str, Any]:
    return {name: getattr(one, name) for name in one.__slots__}


def restored(rows: Iterable[dict[str, Any]]) -> Iterator[Played]:
    return (Played(**row) for row in rows)

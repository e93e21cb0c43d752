"""Writes the page about repeated runs from their tally, with `python -m tools.repeat --page docs/steadiness.md`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import __version__
from conformance.catalogue import rules

ROOT = Path(__file__).resolve().parent.parent
HEAD = """# Are verdicts repeatable?

`python -m tools.repeat --page docs/steadiness.md` made this page from the tally of
`python -m tools.repeat --depth {depth} NAME=URL ...`. This command repeats the measurement. The suite ran several times
on several brokers at once, always with the same seed. In every second round, each of the machine's {cores} cores also
ran another process. A rule is unsteady when two runs on one broker gave different verdicts. A known race that one run
saw and another did not also makes it unsteady. Rules of level observed may vary.
"""
SAME = ("suite", "depth", "seed", "cores")
"""Tallies must agree in these to be shown together."""


def suite() -> str:
    """The version of the suite, and its commit where it is a checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return __version__
    return f"{__version__}, commit {said.stdout.strip()}" if said.returncode == 0 else __version__


def unsteady(verdicts: Mapping[str, Mapping[str, int]]) -> list[str]:
    """The rules whose verdict changed, except rules of level observed."""
    return sorted(rule for rule, seen in verdicts.items() if len(seen) > 1 and rules.get(rule).level != "observed")


def write(tallies: Sequence[Path], page: Path, note: str = "") -> int:
    """Writes the page from these tallies; 2 when one is missing, or when they do not belong together."""
    missing = [str(tally) for tally in tallies if not tally.exists()]
    if missing:
        print(f"there is no tally {missing[0]}: run the suite first, or give --out", file=sys.stderr)
        return 2
    documents = [json.loads(tally.read_text()) for tally in tallies]
    if len({tuple(document[name] for name in SAME) for document in documents}) > 1:
        print(f"these tallies differ in one of {', '.join(SAME)}, so they cannot be shown together", file=sys.stderr)
        return 2
    page.write_text("\n".join(lines(documents, note)) + "\n")
    return 0


def lines(documents: Sequence[Mapping[str, Any]], note: str = "") -> Iterator[str]:
    """The page, line by line."""
    first, brokers = documents[0], _joined(documents)
    yield HEAD.format(depth=first["depth"], cores=first["cores"])
    yield f"Suite {first['suite']}; depth {first['depth']}, seed {first['seed']}." + (f" {note}" if note else "")
    yield ""
    yield "| broker | runs | crowded | exit codes | events | rules | held | deviates | other verdicts | unsteady |"
    yield "|---|--:|--:|---|--:|--:|--:|--:|---|--:|"
    for broker in brokers:
        yield _row(broker)
    yield ""
    yield from _unsteady(brokers)
    yield ""
    rounds = [one for document in documents for one in document["rounds"]]
    yield f"Seconds for a round: {_seconds(rounds, crowded=False)} calm, {_seconds(rounds, crowded=True)} crowded."


def _joined(documents: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One row for each broker, whatever the number of tallies that know it."""
    rows: dict[str, dict[str, Any]] = {}
    for document in documents:
        crowded = sum(bool(one["crowded"]) for one in document["rounds"])
        for broker in document["brokers"]:
            row = rows.setdefault(
                broker["broker"],
                {
                    "name": broker["version"] or broker["broker"],
                    "exits": Counter(),
                    "events": 0,
                    "crowded": 0,
                    "verdicts": {},
                },
            )
            row["exits"].update(broker["exits"])
            row["events"] += broker["events"]
            row["crowded"] += crowded
            for rule, seen in broker["verdicts"].items():
                row["verdicts"].setdefault(rule, Counter()).update(seen)
    return list(rows.values())


def _row(broker: Mapping[str, Any]) -> str:
    count = Counter(next(iter(seen)) for seen in broker["verdicts"].values() if len(seen) == 1)
    others = (
        ", ".join(
            f"{number} {verdict}" for verdict, number in sorted(count.items()) if verdict not in ("held", "deviates")
        )
        or "none"
    )
    exits = ", ".join(f"{code} in {number}" for code, number in sorted(broker["exits"].items()))
    cells = [
        broker["name"],
        sum(broker["exits"].values()),
        broker["crowded"],
        exits,
        broker["events"],
        len(broker["verdicts"]),
        count["held"],
        count["deviates"],
        others,
        len(unsteady(broker["verdicts"])),
    ]
    return "| " + " | ".join(map(str, cells)) + " |"


def _unsteady(brokers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    found = [(broker, rule) for broker in brokers for rule in unsteady(broker["verdicts"])]
    if not found:
        yield "No rule was unsteady on any of them."
    for broker, rule in found:
        seen = ", ".join(f"{verdict} in {count}" for verdict, count in sorted(broker["verdicts"][rule].items()))
        race = ", a listed race" if set(broker["verdicts"][rule]) == {"deviates", "unseen"} else ""
        yield f"- {broker['name']}, {rule}{race}: {seen}"


def _seconds(rounds: Sequence[Mapping[str, Any]], *, crowded: bool) -> str:
    took = sorted(one["seconds"] for one in rounds if one["crowded"] == crowded)
    if not took:
        return "none"
    return str(took[0]) if took[0] == took[-1] else f"{took[0]} to {took[-1]}"

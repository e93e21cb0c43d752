"""The page of repeated runs: what the tally says, and nothing that it does not say.

Made from the tally by `python -m conformance.front.repeat --page docs/steadiness.md`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance import __version__

ROOT = Path(__file__).resolve().parents[2]
HEAD = """# Are verdicts repeatable?

Made by `python -m conformance.front.repeat --page docs/steadiness.md` from the tally of
`python -m conformance.front.repeat --runs {runs} --depth {depth} NAME=URL ...`, with which everybody can repeat it.
The suite ran {runs} times on each broker, on all of them at once, with one and the same seed; in every other round each
of the machine's {cores} cores had another process to run beside them. A rule is unsteady if two runs on one broker gave
it two verdicts; rules that only report may vary.
"""


def suite() -> str:
    """The version of the suite, and its commit where it is a checkout."""
    command = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return __version__
    return f"{__version__}, commit {said.stdout.strip()}" if said.returncode == 0 else __version__


def write(tally: Path, page: Path) -> int:
    """Makes the page of a tally; 2 where there is none."""
    if not tally.exists():
        print(f"there is no tally {tally}: run the suite first, or say --out", file=sys.stderr)
        return 2
    page.write_text("\n".join(lines(json.loads(tally.read_text()))) + "\n")
    return 0


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    rounds, brokers = document["rounds"], document["brokers"]
    yield HEAD.format(runs=len(rounds), depth=document["depth"], cores=document["cores"])
    yield f"Suite {document['suite']}; depth {document['depth']}, seed {document['seed']}."
    yield ""
    yield "| broker | runs | exit codes | events | rules | held | deviates | other verdicts | unsteady |"
    yield "|---|--:|---|--:|--:|--:|--:|---|--:|"
    for broker in brokers:
        yield _row(broker)
    yield ""
    yield from _unsteady(brokers)
    yield ""
    yield f"Seconds a round took: {_seconds(rounds, crowded=False)} calm, {_seconds(rounds, crowded=True)} crowded."


def _row(broker: Mapping[str, Any]) -> str:
    steady = [next(iter(seen)) for seen in broker["verdicts"].values() if len(seen) == 1]
    count = Counter(steady)
    others = ", ".join(f"{number} {verdict}" for verdict, number in sorted(count.items())
                       if verdict not in ("held", "deviates")) or "none"
    exits = ", ".join(f"{code} in {number}" for code, number in sorted(broker["exits"].items()))
    cells = [broker["version"] or broker["broker"], sum(broker["exits"].values()), exits, broker["events"],
             len(broker["verdicts"]), count["held"], count["deviates"], others, len(broker["unsteady"])]
    return "| " + " | ".join(map(str, cells)) + " |"


def _unsteady(brokers: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    found = [(broker, rule) for broker in brokers for rule in broker["unsteady"]]
    if not found:
        yield "No rule was unsteady on any of them."
    for broker, rule in found:
        seen = ", ".join(f"{verdict} in {count}" for verdict, count in sorted(broker["verdicts"][rule].items()))
        yield f"- {broker['version'] or broker['broker']}, {rule}: {seen}"


def _seconds(rounds: Sequence[Mapping[str, Any]], *, crowded: bool) -> str:
    took = sorted(one["seconds"] for one in rounds if one["crowded"] == crowded)
    if not took:
        return "none"
    return str(took[0]) if took[0] == took[-1] else f"{took[0]} to {took[-1]}"

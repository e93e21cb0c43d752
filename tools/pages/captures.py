"""How much of applications' traffic can be judged, for docs/judge-a-capture.md: `python -m tools.pages.captures`.

Each of `tools.applications` is played through `trace record` on the reference broker, once from its declarations on,
and once without them; the recordings are judged with and without `--whole`. The figures are kept in
docs/judge-a-capture.json, the table is put into the page, and a test proves that it is fresh.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conformance.outcome.markdown import table
from reference_broker import ReferenceBroker
from tools.applications import APPLICATIONS, Application, play

PAGE = Path(__file__).resolve().parents[2] / "docs" / "judge-a-capture.md"
FIGURES = PAGE.with_suffix(".json")
BEGIN, END = "<!-- figures -->\n", "<!-- end of figures -->\n"
JUDGED = frozenset({"held", "unseen", "deviates", "broken"})
DOUBTED = "inconclusive"
SAYS = """\
{all} small applications were played through `trace record`: {whole} of them leave no rule in doubt with `--whole`, and
{open} without it. Each cell has the rules that were judged, and those that stayed in doubt.

"""
HEADS = ("application", "what it does", "`--whole`", "without", "begun after the declarations")


@contextmanager
def recorded(url: str, out: Path) -> Iterator[int]:
    """The port of a `trace record` that writes to this folder."""
    command = [sys.executable, "-m", "conformance.cli", "trace", "record", "--listen", "0", "--out", str(out), url]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        yield int(process.stderr.readline().split("127.0.0.1:")[1].split()[0])
        process.send_signal(signal.SIGINT)


def played(application: Application, out: Path, *, late: bool = False, mutants: Sequence[str] = ()) -> None:
    """Its recording, in this folder, on a broker that errs so; `late`: of what comes after the declarations."""
    with ReferenceBroker(mutants=mutants) as broker, recorded(broker.url, out) as port:
        play(application.declare, broker.port if late else port)
        for step in application.work:
            play(step, port)


def judged(recording: Path, *options: str) -> dict[str, int]:
    """How many rules were judged, and how many stayed in doubt."""
    with tempfile.TemporaryDirectory() as out:
        command = [sys.executable, "-m", "conformance.cli", "trace", "check", str(recording), "--format", "json"]
        told = subprocess.run([*command, "--out", out, *options], capture_output=True, text=True, check=False)
    (run,) = json.loads(told.stdout)["runs"]
    rules = run["rules"]
    return {
        "judged": sum(rule["verdict"] in JUDGED for rule in rules),
        "doubted": sum(rule["verdict"] == DOUBTED for rule in rules),
        "broken": sum(rule["verdict"] == "broken" for rule in rules),
    }


def measured(applications: Sequence[Application] = APPLICATIONS) -> list[dict[str, Any]]:
    """One entry an application."""
    found = []
    for application in applications:
        with tempfile.TemporaryDirectory() as folder:
            early, late = Path(folder, "early"), Path(folder, "late")
            played(application, early)
            played(application, late, late=True)
            found.append(
                {
                    "name": application.name,
                    "says": application.says,
                    "whole": judged(early, "--whole"),
                    "open": judged(early),
                    "late": judged(late),
                }
            )
    return found


def section(figures: Sequence[dict[str, Any]]) -> str:
    """The table and its sentence."""
    clear = {way: sum(not one[way]["doubted"] for one in figures) for way in ("whole", "open")}
    rows = [[one["name"], one["says"], *(_cell(one[way]) for way in ("whole", "open", "late"))] for one in figures]
    return SAYS.format(all=len(figures), **clear) + table(HEADS, rows)


def _cell(counts: dict[str, int]) -> str:
    return f"{counts['judged']} judged, {counts['doubted']} in doubt"


def page(text: str, figures: Sequence[dict[str, Any]]) -> str:
    """The page with this table in it."""
    head, rest = text.split(BEGIN)
    return f"{head}{BEGIN}\n{section(figures)}\n{END}{rest.split(END)[1]}"


def main() -> None:
    figures = measured()
    FIGURES.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), figures), encoding="utf-8")
    print(PAGE)


if __name__ == "__main__":
    main()

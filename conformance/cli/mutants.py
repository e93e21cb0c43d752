"""`amqp-conformance mutants`: the campaign, in words or as a document.

The document is also kept as build/mutants/campaign.json, when all mutants took part, for docs/trust.md is made of it.
"""

from __future__ import annotations

import argparse
import json
import os
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.campaigns.detection import FOLDER, DetectionCampaign
from conformance.cli.parsing import printed, workers
from conformance.drive.run.size import DEPTHS
from conformance.evidence.words import count
from conformance.outcome.screen import line_width
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from reference_broker.mutants import MUTANTS, near
from reference_broker.mutants.kinds import Mutant

DOCUMENT = "campaign.json"


@dataclass(frozen=True, slots=True)
class HuntOptions:
    """What was asked for."""

    glob: str = "*"
    seeds: int = 5
    depth: str = "ci"
    workers: str | None = None
    format: str = "text"


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "mutants",
        nargs="*",
        metavar="[list|hunt] [GLOB]",
        help="list (default), or hunt, only these, e.g. 'settle.*'; --seeds and -n hunt as well",
    )
    added.add_argument("--seeds", type=int, metavar="N", help="hunt with seeds 0 to N-1 (default: 5)")
    added.add_argument("--depth", choices=DEPTHS, default="ci", help="how much is generated (default: %(default)s)")
    added.add_argument(
        "--legal", type=int, metavar="N", help="instead test a correct broker in N lawful ways, and count false alarms"
    )
    added.add_argument("--seed", type=int, default=0, metavar="N", help="with --legal: the first seed (default: 0)")
    added.add_argument("-n", "--workers", metavar="N", help="in N processes (default: as many as cores)")
    printed(added, "text, or the matrix of mutants and rules; the tally, with --legal")


def run(options: argparse.Namespace) -> int:
    if options.legal is not None:
        return _legal(options)
    verb, *globs = options.mutants if options.mutants[:1] in (["list"], ["hunt"]) else ["", *options.mutants]
    glob = ",".join(globs) or "*"
    played = options.seeds is not None or options.workers is not None
    if verb == "list" or not (verb or played):
        print(listing(glob, options.format))
        return GATE_OPEN
    seeds = 5 if options.seeds is None else options.seeds
    if seeds < 1:
        raise Refused(WRONG_USE, f"--seeds {seeds} plays nothing; give at least 1.")
    return hunt(HuntOptions(glob, seeds, options.depth, workers(options.workers), options.format))


def _legal(options: argparse.Namespace) -> int:
    from conformance.campaigns.legal import LegalOptions, run

    if options.legal < 1:
        raise Refused(WRONG_USE, f"--legal {options.legal} plays nothing; give at least 1.")
    said = workers(options.workers)
    count = (os.cpu_count() or 1) if said is None or said == "auto" else int(said)
    return run(LegalOptions(options.legal, options.seed, count, options.format))


def hunt(wanted: HuntOptions) -> int:
    """The campaign; raises Refused where nothing fits."""
    mutants, folder = chosen(wanted.glob), FOLDER
    campaign = DetectionCampaign(mutants, range(wanted.seeds), wanted.depth)
    if wanted.workers not in (None, "auto"):
        campaign.workers = int(wanted.workers or 1)
    document = campaign.run()
    if campaign.whole:
        keep(document, folder)
    print(json.dumps(document, indent=1) if wanted.format == "json" else "\n".join(words(document)))
    return GATE_OPEN if sound(document) else GATE_CLOSED


def listing(glob: str, format: str) -> str:
    """The mutants: what is wrong with each, and the rules that must find it."""
    found = chosen(glob)
    if format == "json":
        rows = [{"name": one.name, "says": one.says, "rules": list(one.rules), "field": one.field} for one in found]
        return json.dumps(rows, indent=1, ensure_ascii=False)
    columns = line_width()
    lines = [line for one in found for line in _row(one, columns)]
    told = f"{count(len(found), 'mutant')}; amqp-conformance mutants hunt [GLOB] measures which are found."
    return "\n".join([*lines, "", *textwrap.wrap(told, columns, break_on_hyphens=False)])


def _row(one: Mutant, columns: int) -> list[str]:
    """Its columns in a line where the terminal is wide enough; else what is wrong with it below its name."""
    line = f"{one.name:<44} {', '.join(one.rules):<24} {one.says}"
    if len(line) <= columns:
        return [line]
    below = textwrap.wrap(
        f"{', '.join(one.rules)}: {one.says}",
        columns,
        initial_indent="    ",
        subsequent_indent="    ",
        break_on_hyphens=False,
    )
    return [one.name, *below]


def keep(document: dict[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DOCUMENT).write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def chosen(glob: str) -> Sequence[Mutant]:
    """The mutants whose name fits one of these comma-separated patterns."""
    patterns = [part.strip() for part in glob.split(",") if part.strip()]
    found = [mutant for name, mutant in MUTANTS.items() if any(fnmatchcase(name, pattern) for pattern in patterns)]
    if not found:
        raise Refused(WRONG_USE, f"No mutant is called {glob!r}; did you mean {' or '.join(near(glob))}?")
    return found


def sound(document: dict[str, Any]) -> bool:
    """All killed, the control green, and no MUST rule too little exercised."""
    control = document["control"]
    return not (document["survivors"] or control["broken"] or control["troubles"] or document["vacuous"])


def words(document: dict[str, Any]) -> list[str]:
    """What a person wants to know."""
    rows, control = document["mutants"], document["control"]
    seeds = len(document["seeds"])
    lines = [
        f"{row['name']:<40} {'killed by ' + ', '.join(row['by']) if row['killed'] else survived(row, seeds)}"
        for row in rows
    ]
    lines += [
        "",
        f"mutants {len(rows)}, killed {document['killed']}, {seeds} seeds each, depth {document['depth']}",
        f"examples until found: median {document['examples_median']}, worst {document['examples_worst']}",
        f"control: {count(control['plays'], 'play')}, {count(control['histories'], 'history', 'histories')}, "
        f"{len(control['broken'])} broken",
    ]
    lines += [f"false alarm: {told}" for told in control["broken"]]
    lines += [f"trouble: {told}" for told in control["troubles"]]
    lines += [f"under its threshold: {told}" for told in document["vacuous"]]
    return [*lines, f"{document['seconds']} s of playing"]


def survived(row: dict[str, Any], seeds: int) -> str:
    instead = f"; broken instead: {', '.join(row['others'])}" if row["others"] else ""
    return f"SURVIVED: {len(row['kills'])} of {seeds} seeds broke {' or '.join(row['rules'])}{instead}"

"""`amqp-conformance mutants`: the campaign, in words or as a document.

The document is also kept as build/mutants/campaign.json, when all mutants took part, for docs/trust.md is made of it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from conformance.campaigns.detection import FOLDER, Campaign
from conformance.evidence.words import count
from conformance.session.exits import GATE_CLOSED, GATE_OPEN, WRONG_USE, Refused
from reference_broker.mutants import MUTANTS, near
from reference_broker.mutants.kinds import Mutant

DOCUMENT = "campaign.json"


@dataclass(frozen=True, slots=True)
class Wishes:
    """What was asked for."""

    glob: str = "*"
    seeds: int = 5
    depth: str = "ci"
    workers: str | None = None
    format: str = "text"


def run(wishes: Wishes) -> int:
    """The campaign; raises Refused where nothing fits."""
    mutants, folder = chosen(wishes.glob), FOLDER
    campaign = Campaign(mutants, range(wishes.seeds), wishes.depth)
    if wishes.workers not in (None, "auto"):
        campaign.workers = int(wishes.workers or 1)
    document = campaign.run()
    if campaign.whole:
        keep(document, folder)
    print(json.dumps(document, indent=1) if wishes.format == "json" else "\n".join(words(document)))
    return GATE_OPEN if sound(document) else GATE_CLOSED


def listing(glob: str, format: str) -> str:
    """The mutants: what is wrong with each, and the rules that must find it."""
    found = chosen(glob)
    if format == "json":
        rows = [{"name": one.name, "says": one.says, "rules": list(one.rules), "field": one.field} for one in found]
        return json.dumps(rows, indent=1, ensure_ascii=False)
    lines = [f"{one.name:<44} {', '.join(one.rules):<24} {one.says}" for one in found]
    return "\n".join([*lines, "", f"{count(len(found), 'mutant')}; amqp-conformance mutants hunt [GLOB] measures which "
                                  "are found."])


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
        "", f"mutants {len(rows)}, killed {document['killed']}, {seeds} seeds each, depth {document['depth']}",
        f"examples to kill: median {document['examples_median']}, worst {document['examples_worst']}",
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

"""The runs before this one, in a directory: what `--history DIR` reads and adds to.

One file a run, DIR/STARTED-RUN.json, without evidence (`reports.kept`), so that a CI job can keep the directory and
throw away old files by their names. A file appears whole or not at all, and what is no such file is left alone.
DIR/history.html is made anew with each run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from reports.html import history
from reports.kept import SCHEMA, kept, summary

PAGE = "history.html"


def read(folder: Path) -> list[dict[str, Any]]:
    """The runs that are there, in order of time."""
    found = filter(None, (_read(path) for path in sorted(folder.glob("*.json"))))
    return sorted(found, key=lambda run: (run["started"], run["run"]))


def keep(results: Mapping[str, Any], folder: Path) -> list[Path]:
    """Adds this run, and makes the page of all; tells what was written."""
    run = kept(results)
    name = f"{run['started'].replace(':', '').replace('-', '')}-{run['run']}.json"
    written = _whole(folder / name, json.dumps(run, sort_keys=True, indent=1, ensure_ascii=False) + "\n")
    page = _whole(folder / PAGE, history.render(summary(read(folder)), lake=False))
    return [written, page]


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("schema") == SCHEMA else None


def _whole(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text(text, encoding="utf-8")
    part.replace(path)
    return path

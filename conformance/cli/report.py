"""`amqp-conformance report PATH...`: pages from what earlier runs left behind.

One results.json gives its whole report again. Several give one page about all of them, in the order in which they are
named. A history.json of the pipeline gives the history page. A directory stands for what lies in it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conformance.outcome.deliver import deliver, trusted
from conformance.outcome.results import BadResults, Results, from_json
from conformance.session.exits import GATE_OPEN, WRONG_USE, Refused, reason
from conformance.session.places import local
from reports import html
from reports.html import history

NAMES = ("results.json", "history.json")


def arguments(added: argparse.ArgumentParser) -> None:
    added.add_argument(
        "paths",
        nargs="+",
        type=Path,
        metavar="PATH",
        help="one or more results.json, or a history.json; or the directories that hold them",
    )
    added.add_argument(
        "--history",
        type=local,
        metavar="DIR",
        help="for one run: the directory that runs kept by --history DIR; this run is added",
    )
    added.add_argument(
        "--out", type=local, help="directory for the report (default: where the results are; for several: report)"
    )


def run(options: argparse.Namespace) -> int:
    print(made(options.paths, options.out, options.history))
    return GATE_OPEN


def made(paths: Sequence[Path], out: Path | None, kept: Path | None = None) -> Path:
    """The page that was made; that of one run with its trend, where `kept` has earlier ones. Raises Refused."""
    found = [_inside(path) for path in paths]
    texts = [_text(path) for path in found]
    summaries = [place for place, text in enumerate(texts) if _is_history(text)]
    if len(found) == 1 and summaries:
        return _written((out or found[0].parent) / "history.html", history.render(json.loads(texts[0])))
    if summaries:
        raise Refused(WRONG_USE, f"{found[summaries[0]]} is a history, which has its own page. Give it alone.")
    every = [_results(path, text) for path, text in zip(found, texts, strict=True)]
    if len(found) == 1:
        return _again(every[0], out or found[0].parent, kept)
    page = html.render_many([json.loads(text) for text in texts], trust=trusted())
    return _written((out or Path("report")) / "index.html", page)


def _again(results: Results, out: Path, kept: Path | None) -> Path:
    try:
        return next(file for file in deliver(results, out, kept) if file.name == "index.html")
    except OSError as problem:
        raise Refused(WRONG_USE, f"{out}: {reason(problem)}.") from None


def _inside(path: Path) -> Path:
    if not path.is_dir():
        return path
    return next((path / name for name in NAMES if (path / name).exists()), path / NAMES[0])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise Refused(WRONG_USE, f"{path}: {reason(problem)}.") from None


def _is_history(text: str) -> bool:
    try:
        document: Any = json.loads(text)
    except ValueError:
        return False
    return isinstance(document, dict) and {"runs", "history", "flakiness"} <= set(document)


def _results(path: Path, text: str) -> Results:
    try:
        return from_json(text)
    except BadResults as bad:
        raise Refused(WRONG_USE, f"{path} is not a results document: {bad}.") from None


def _written(path: Path, page: str) -> Path:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as problem:
        raise Refused(WRONG_USE, f"{path}: {reason(problem)}.") from None
    return path

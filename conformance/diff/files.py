"""Results that are read, and comparisons that are written: to a file, or to whoever reads the terminal."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from conformance.outcome.results import BadResults, Results, from_json
from conformance.outcome.terminal import painter
from conformance.session.exits import WRONG_USE, Refused
from reports import diff as pages
from reports.html.diff import render


def formatted(document: dict[str, Any], form: str, *, color: bool = False) -> str:
    """The comparison in this format."""
    if form == "json":
        return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    if form == "markdown":
        return pages.markdown(document)
    return render(document) if form == "html" else pages.terminal(document, painter(color))


def hand_over(text: str, out: Path | None) -> None:
    """To a file, whose path is said, or to stdout. Raises Refused."""
    if out is None:
        print(text, end="")
    else:
        write(text, out, "--out")


def write(text: str, path: Path, option: str) -> None:
    """To a file that was named by this option. Raises Refused."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise Refused(WRONG_USE, f"{option} {path} cannot be written: {problem.strerror}.") from None
    print(f"written: {path}", file=sys.stderr)


def results_in(path: Path) -> Results:
    """The results in this file, or in this directory. Raises Refused."""
    file = path / "results.json" if path.is_dir() else path
    try:
        return from_json(file.read_text(encoding="utf-8"))
    except BadResults as bad:
        raise Refused(WRONG_USE, f"{file} is not a results document: {bad}.") from None
    except UnicodeDecodeError:
        raise Refused(WRONG_USE, f"{file} is not a results document: it is not text.") from None
    except OSError as problem:
        raise Refused(
            WRONG_USE,
            f"{file} cannot be read: {problem.strerror}. Results are written by amqp-conformance "
            f"run URL --report DIR, to DIR/results.json.",
        ) from None

"""Results to files: `results.json` first, because everything else can be made of it again.

A report that is made where an older one lies keeps the older results in `previous/`, and tells what has changed since.
Where a CI job has a summary page (GITHUB_STEP_SUMMARY), the summary is added to it.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from conformance.outcome import cases, earlier
from conformance.outcome.results import SCHEMA, Results, to_json
from reports import exports, html

TRUST = Path("build") / "trust.json"
"""What was measured of the suite itself, where it was."""
PREVIOUS = "previous"
SUMMARY_ROOM = 900_000
"""Octets of a job's summary page; the service refuses more than a mebibyte."""
FULL = (errno.ENOSPC, errno.EDQUOT)


def deliver(results: Results, directory: Path | None, kept: Path | None = None) -> list[Path]:
    """Write the report, and what is kept of this run beside others; tells what was written."""
    text = to_json(results)
    written = _report(results, text, directory, earlier.read(kept) if kept else ()) if directory else []
    return [*written, *(earlier.keep(json.loads(text), kept) if kept else ())]


def _report(results: Results, text: str, directory: Path, runs: Sequence[Mapping[str, Any]]) -> list[Path]:
    document = json.loads(text)
    before = previous(directory / "results.json", results.run)
    shutil.rmtree(directory / exports.ALLURE, ignore_errors=True)
    files: dict[str, str | bytes] = {
        "results.json": text,
        "index.html": html.render(document, trusted(), before, runs),
        **exports.files(document),
    }
    files.update(cases.files(results))
    written = [_written(directory / name, content) for name, content in files.items()]
    add_to_job_summary(str(files["summary.md"]), os.environ)
    return written


def unwritten(fault: OSError) -> str:
    """Why the report is not whole, in a sentence: the run was not in vain, for its verdict is told all the same."""
    why = "the disk is full" if fault.errno in FULL else fault.strerror or str(fault)
    return f"The report is not complete: {fault.filename or 'it'} could not be written ({why})."


def previous(path: Path, run: str) -> dict[str, Any] | None:
    """The results before those of `run`, kept beside `path` in a folder of their own; None where there are none."""
    kept = path.parent / PREVIOUS / path.name
    found = _results(path)
    if found is not None and found["run"] != run:
        kept.parent.mkdir(exist_ok=True)
        shutil.copyfile(path, kept)
    return _results(kept)


def trusted() -> dict[str, Any] | None:
    """The figures of trust, where they were measured."""
    return json.loads(TRUST.read_text(encoding="utf-8")) if TRUST.exists() else None


def add_to_job_summary(markdown: str, environment: Mapping[str, str]) -> None:
    """Adds the summary to the page of this CI job, if it has one and there is room."""
    path = environment.get("GITHUB_STEP_SUMMARY")
    if path and len(markdown.encode()) < SUMMARY_ROOM:
        with Path(path).open("a", encoding="utf-8") as page:
            page.write(markdown + "\n")


def _results(path: Path) -> dict[str, Any] | None:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) and document.get("schema") == SCHEMA else None


def _written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    except OSError as fault:  # a write that fails does not say to which file
        raise OSError(fault.errno, fault.strerror, str(path)) from None
    return path

"""Results to files: `results.json` first, because everything else can be made of it again."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.front import cases
from conformance.results import Results, to_json
from reports import exports, html

TRUST = Path("build") / "trust.json"
"""What was measured of the suite itself, where it was."""


def deliver(results: Results, directory: Path) -> list[Path]:
    """Write the report; tells what was written."""
    text = to_json(results)
    document = json.loads(text)
    trust = json.loads(TRUST.read_text(encoding="utf-8")) if TRUST.exists() else None
    files: dict[str, str | bytes] = {
        "results.json": text, "index.html": html.render(document, trust), "junit.xml": exports.junit(document),
        "summary.md": exports.markdown(document),
    }
    files.update(cases.files(results))
    return [_written(directory / name, content) for name, content in files.items()]


def _written(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path

"""What a long campaign has done so far, one JSON line each, so that it can be interrupted and carried on.

A journal belongs to the sources that it was made with: its name has their fingerprint, so a campaign over changed
sources begins anew. A line that was cut short is not read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ("codec", "conformance", "reference_broker")
SUFFIXES = (".py", ".toml")


@cache
def fingerprint() -> str:
    """Of everything that can change a verdict."""
    digest = hashlib.sha256()
    for path in _sources():
        digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def _sources() -> Iterator[Path]:
    for room in SOURCES:
        yield from sorted(path for path in (ROOT / room).rglob("*") if path.suffix in SUFFIXES and path.is_file())


class Journal:
    """Results by key, kept in a file of this folder."""

    def __init__(self, folder: Path, name: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{name}-{fingerprint()}.jsonl"
        self._done: dict[str, Any] = {}
        if self.path.exists():
            self._done = dict(_lines(self.path))

    def __contains__(self, key: str) -> bool:
        return key in self._done

    def __getitem__(self, key: str) -> Any:
        return self._done[key]

    def add(self, key: str, result: Any) -> None:
        """Kept before this returns."""
        self._done[key] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps([key, result]) + "\n")


def _lines(path: Path) -> Iterator[tuple[str, Any]]:
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            key, result = json.loads(line)
        except ValueError:
            continue
        yield key, result

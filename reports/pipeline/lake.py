"""The lake: tables of Parquet files that are believed only where the manifest names them.

    ROOT/TABLE/run=RUN/...      data: written aside, moved here, and then named by the manifest
    ROOT/manifest/00000042.json commits, numbered without gaps and never changed

A commit names, for one table and some runs, all files that hold these runs. It comes into being in one step, by a
link that fails where the number is taken, so two writers get two numbers and readers see all of it or nothing. The
latest commit that names a run is the truth about that run: to write a run again replaces it, and a job that dies
leaves files that nobody believes. `sweep` removes such files.

Paths must be the same for all machines that work on the lake: a local disk, or a mounted one.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from pyarrow import parquet

from reports.pipeline.inputs import LAKE as SCHEMA
from reports.pipeline.inputs import BadLake

__all__ = ["SCHEMA", "WHOLE", "BadLake", "Entry", "File", "Lake"]

WHOLE = "*"
"""Stands for the run in tables that are about all runs."""


@dataclass(frozen=True, slots=True)
class File:
    """One Parquet file of a run; the path is relative to the lake."""

    path: str
    rows: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Entry:
    """What the manifest says of one run in one table. `fingerprint` tells what it was made of."""

    run: str
    fingerprint: str
    files: tuple[File, ...]
    about: Mapping[str, Any] = field(default_factory=dict)
    commit: int = 0

    @property
    def rows(self) -> int:
        return sum(file.rows for file in self.files)


class Lake:
    """One lake. Made where there is none."""

    def __init__(self, root: Path | str) -> None:
        self.root = Path(root).resolve()
        self._manifest = self.root / "manifest"
        self._staging = self.root / ".staging"
        self._manifest.mkdir(parents=True, exist_ok=True)

    def aside(self) -> Path:
        """A new place to write to before anything is believed. It does not exist yet."""
        self._staging.mkdir(exist_ok=True)
        return self._staging / secrets.token_hex(8)

    def publish(self, table: str, aside: Path, runs: Mapping[str, Entry]) -> None:
        """Make what was written `aside`, in folders run=RUN, the truth about these runs. A run without a folder is
        empty. The table of all runs has no such folders."""
        found = self._moved(table, aside)
        self._commit(table, {
            run: Entry(run, entry.fingerprint, tuple(found.get(run, ())), entry.about) for run, entry in runs.items()
        })
        shutil.rmtree(aside, ignore_errors=True)

    def entries(self, table: str) -> dict[str, Entry]:
        """The truth about every run of a table."""
        latest: dict[str, Entry] = {}
        for commit in self._commits():
            if commit["table"] == table:
                latest |= {run: _entry(run, said, commit["number"]) for run, said in commit["runs"].items()}
        return latest

    def paths(self, table: str) -> list[str]:
        """The files of a table that are believed."""
        return [str(self.root / file.path) for entry in self.entries(table).values() for file in entry.files]

    def sweep(self) -> int:
        """Remove what no commit believes any more; how many files. Only while nobody else writes."""
        shutil.rmtree(self._staging, ignore_errors=True)
        tables = {commit["table"] for commit in self._commits()}
        believed = {file.path for table in tables for entry in self.entries(table).values() for file in entry.files}
        stale = [path for path in self.root.glob("*/**/*.parquet") if str(path.relative_to(self.root)) not in believed]
        for path in stale:
            path.unlink()
        return len(stale)

    def _moved(self, table: str, aside: Path) -> dict[str, list[File]]:
        found: dict[str, list[File]] = {}
        for path in sorted(aside.glob("**/*.parquet")):
            inside = path.relative_to(aside)
            target = self.root / table / inside.parent / f"{secrets.token_hex(6)}.parquet"
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)
            file = File(str(target.relative_to(self.root)), parquet.read_metadata(target).num_rows,
                        target.stat().st_size)
            found.setdefault(_run(inside), []).append(file)
        return found

    def _commit(self, table: str, runs: Mapping[str, Entry]) -> None:
        number = max((commit["number"] for commit in self._commits()), default=0) + 1
        while not self._linked(number, {"schema": SCHEMA, "number": number, "table": table, "runs": {
            run: {"fingerprint": entry.fingerprint, "about": entry.about, "files": [asdict(f) for f in entry.files]}
            for run, entry in runs.items()
        }}):
            number += 1

    def _linked(self, number: int, content: Mapping[str, Any]) -> bool:
        """Did this commit come into being? Not where another one has the number."""
        draft = self._manifest / f".{secrets.token_hex(8)}"
        with draft.open("w", encoding="utf-8") as file:
            file.write(json.dumps(content, sort_keys=True) + "\n")
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, self._manifest / f"{number:08d}.json")
        except FileExistsError:
            return False
        finally:
            draft.unlink()
        return True

    def _commits(self) -> Iterator[dict[str, Any]]:
        for path in sorted(self._manifest.glob("[0-9]*.json")):
            try:
                commit = json.loads(path.read_text("utf-8"))
            except (OSError, ValueError) as problem:
                raise BadLake(f"{path}: this commit cannot be read: {problem}") from None
            if commit.get("schema") != SCHEMA:
                raise BadLake(f"{path}: written as {commit.get('schema')!r}, and this version reads {SCHEMA!r}")
            yield commit


def _entry(run: str, said: Mapping[str, Any], number: int) -> Entry:
    files = tuple(File(**file) for file in said["files"])
    return Entry(run, said["fingerprint"], files, said["about"], number)


def _run(inside: Path) -> str:
    """The run of a path as Spark lays them out, in which special characters are escaped."""
    for part in inside.parts:
        if part.startswith("run="):
            return unquote(part.removeprefix("run="))
    return WHOLE

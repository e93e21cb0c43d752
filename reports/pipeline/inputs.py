"""What there is to read: recordings and captures, told apart by their first octets, never by their names alone.

Directories are searched to the bottom; what is neither is passed over there, and refused where it was named. A run is
known by the files that hold it: their paths, sizes and times make the *fingerprint* by which a run that was read
before is known again.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reports import recording
from reports.pipeline.lake import SCHEMA as LAKE
from reports.recording import BadRecording

RECORDING, CAPTURE = "recording", "capture"
_PCAP = (b"\xd4\xc3\xb2\xa1", b"\xa1\xb2\xc3\xd4", b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d", b"\x0a\x0d\x0d\x0a")


@dataclass(frozen=True, slots=True)
class Inputs:
    """The files to judge. `headers`: run to the first header of a recording; `held`: run to the files that hold it."""

    recordings: tuple[Path, ...] = ()
    captures: tuple[Path, ...] = ()
    headers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    held: Mapping[str, tuple[Path, ...]] = field(default_factory=dict)
    torn: tuple[str, ...] = ()

    @property
    def bytes(self) -> int:
        return sum(path.stat().st_size for path in (*self.recordings, *self.captures))

    def fingerprint(self, run: str, *also: object) -> str:
        return fingerprint(self.held[run], *also)


def gather(paths: Sequence[Path]) -> Inputs:
    """All recordings and captures among these files and directories. Raises BadRecording."""
    recordings: list[Path] = []
    captures: list[Path] = []
    for path in paths:
        found = list(_sorted(path))
        if not found:
            raise BadRecording(f"{path}: no recording and no capture here (looked for {_WANTED})")
        for file, kind in found:
            (recordings if kind == RECORDING else captures).append(file)
    return _inputs(dict.fromkeys(recordings), dict.fromkeys(captures))


_WANTED = "events-*.jsonl, plain, .gz, .zst or .parquet, and pcap or pcapng"


def _sorted(path: Path) -> Iterator[tuple[Path, str]]:
    if path.is_file():
        kind = kind_of(path)
        if kind is None:
            raise BadRecording(f"{path}: neither a recording nor a capture (its first octets are those of neither)")
        yield path.resolve(), kind
        return
    if not path.exists():
        raise BadRecording(f"{path}: no such file or directory")
    for file in sorted(path.rglob("*")):
        if file.is_file() and "lake" not in file.relative_to(path).parts and (kind := kind_of(file)):
            yield file.resolve(), kind


def kind_of(file: Path) -> str | None:
    """Recording, capture, or neither. A Parquet file by its name, since many things are Parquet."""
    with file.open("rb") as stream:
        start = stream.read(16)
    if start[:2] == b"\x1f\x8b":
        with gzip.open(file) as unpacked:
            start = unpacked.read(16)
    if start.startswith(_PCAP):
        return CAPTURE
    named = file.name.endswith(recording.SUFFIXES) and (start.startswith(b'{"schema":') or file.suffix == ".zst")
    parquet = file.name.startswith("events-") and start.startswith(b"PAR1")
    return RECORDING if named or parquet else None


def _inputs(recordings: Iterable[Path], captures: Iterable[Path]) -> Inputs:
    headers: dict[str, Mapping[str, Any]] = {}
    held: dict[str, list[Path]] = {}
    torn: list[str] = []
    files = tuple(recordings)
    for file in files:
        found = recording.Recording(file)
        torn += found.torn
        for run in found.runs:
            if not run:
                raise BadRecording(f"{file}: a header names no run")
            headers.setdefault(run, found.header(run))
            held.setdefault(run, []).append(file)
    return Inputs(files, tuple(captures), headers, {run: tuple(own) for run, own in held.items()}, tuple(torn))


def fingerprint(files: Iterable[Path], *also: object) -> str:
    """Changes when one of the files does, or the layout of the lake, or something else that the result depends on."""
    said = [LAKE, *also]
    for file in sorted(files):
        known = file.stat()
        said += [str(file), known.st_size, known.st_mtime_ns]
    return hashlib.blake2b(json.dumps(said, default=str).encode(), digest_size=12).hexdigest()

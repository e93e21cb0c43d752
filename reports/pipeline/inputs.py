"""What there is to read: recordings and captures, told apart by their first octets, never by their names alone.

Directories are searched with all their subdirectories. A file that is neither is skipped there, and refused if the
user named it. The paths, sizes and times of its files make the *fingerprint* of a run, by which a run that was read
before is known again.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.history import recording
from conformance.history.recording import BadRecording
from reports import objects
from reports.capture.about import PORTS
from reports.capture.about import headers as capture_headers
from reports.capture.capture import Capture
from reports.capture.files import is_capture, may_be
from reports.capture.rings import rings
from reports.objects import Place

LAKE = "amqp-conformance/lake/2"
"""How the tables are laid out."""

RECORDING, CAPTURE = "recording", "capture"
MARK = b'{"schema":'
_PLAIN = (MARK, b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1")


class BadLake(Exception):
    """This directory is no lake of ours, or a damaged one; the message says which file."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What there is to judge. `headers`: run to what is known of it, and its `kind`; `held`: run to the files that
    hold it; `ports`: of brokers in captures."""

    headers: Mapping[str, Mapping[str, Any]]
    held: Mapping[str, tuple[Path, ...]]
    torn: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()

    def runs(self, kind: str) -> list[str]:
        return [run for run, header in self.headers.items() if header["kind"] == kind]

    @property
    def octets(self) -> int:
        return sum(file.stat().st_size for file in {file for files in self.held.values() for file in files})

    def fingerprint(self, run: str) -> str:
        return fingerprint(self.held[run], self.headers[run]["kind"], *self.ports)


def gather(paths: Sequence[Place], ports: Collection[int] = ()) -> Inputs:
    """All recordings and captures among these files, directories and addresses. Raises BadRecording, Unavailable."""
    recordings: list[Path] = []
    captures: list[Path] = []
    for path in paths:
        found = list(_sorted(path) if isinstance(path, Path) else _fetched(path))
        if not found:
            raise BadRecording(f"{path}: no recording and no capture here (looked for {_WANTED})")
        for file, kind in found:
            (recordings if kind == RECORDING else captures).append(file)
    headers, held, torn = _recorded(dict.fromkeys(recordings))
    for name, files in rings(dict.fromkeys(captures)).items():
        for run, header in _captured(name, files, frozenset(ports) or PORTS).items():
            headers[run], held[run] = {**header, "kind": CAPTURE}, tuple(files)
    return Inputs(headers, held, tuple(torn), tuple(sorted(ports)))


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


def _fetched(address: str) -> Iterator[tuple[Path, str]]:
    """The same of what lies in an object store, by copies."""
    for copy in objects.fetched(address, _may_be_input):
        if kind := kind_of(copy):
            yield copy, kind


def _may_be_input(name: str, begin: bytes) -> bool:
    return "lake" not in name.split("/") and (begin.startswith(_PLAIN) or may_be(begin))


def kind_of(file: Path) -> str | None:
    """Recording, capture, or neither. What is packed or Parquet is a recording by its name, many things being that."""
    with file.open("rb") as stream:
        start = stream.read(16)
    plain = start.startswith(_PLAIN) and file.name.endswith((*recording.SUFFIXES, ".parquet"))
    if plain and (start.startswith(MARK) or _ours(file)):
        return RECORDING
    return CAPTURE if is_capture(file) else None


def _ours(file: Path) -> bool:
    """Does a packed file hold a recording?"""
    try:
        recording.Recording(file)
    except (BadRecording, OSError, EOFError):
        return file.name.startswith("events-")
    return True


Headers = dict[str, Mapping[str, Any]]


def _recorded(files: Iterable[Path]) -> tuple[Headers, dict[str, tuple[Path, ...]], list[str]]:
    headers: Headers = {}
    held: dict[str, tuple[Path, ...]] = {}
    torn: list[str] = []
    for file in files:
        found = recording.Recording(file)
        torn += found.torn
        for run in found.runs:
            if not run:
                raise BadRecording(f"{file}: a header names no run")
            headers.setdefault(run, {**found.header(run), "kind": RECORDING})
            held[run] = (*held.get(run, ()), file)
    return headers, held, torn


def _captured(name: str, files: Sequence[Path], ports: frozenset[int]) -> Mapping[str, Mapping[str, Any]]:
    """The headers of a capture. One without AMQP is read to its end, which raises in the right words."""
    found = capture_headers(name, files, ports)
    if not found:
        deque(Capture(files, ports=ports, name=name).blocks(), maxlen=0)
    return found


def fingerprint(files: Iterable[Path], *also: object) -> str:
    """Changes when one of the files does, or the layout of the lake, or something else that the result depends on."""
    said = [LAKE, *also]
    for file in sorted(files):
        known = file.stat()
        said += [objects.origin(file), known.st_size, known.st_mtime_ns]
    return hashlib.blake2b(json.dumps(said, default=str).encode(), digest_size=12).hexdigest()

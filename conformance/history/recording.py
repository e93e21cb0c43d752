"""Recordings: histories on disk, one JSON row per wire event.

A recording is a directory with one file per worker, `events-<worker>.jsonl`, or a single such file, plain or
compressed (`.gz`, `.zst`), or as Parquet (`reports.parquet`). A JSONL file is made of *sections*: a header row, known
by its first key `schema`, which names the schema version, the run and what it was judged by; then the rows of its
events. Writing to a file that exists appends a section, so nothing that was recorded is ever lost. A row always names
its run and history, so sections, files and workers may be mixed freely.

Columns are the fields of `Event`. A column without a value is left out, `raw` is hexadecimal, `arguments` stays
the JSON text that it is, and delivery tags are exact integers up to 2**64-1. Three promises to readers:
  - a section of an unknown schema version is refused, by name, before any of its rows is believed;
  - columns that we do not know are kept (`rows`), and left out only where an `Event` is made of a row (`events`);
  - a run that was killed leaves at most one torn line, at the end of a section. It is skipped and reported
    (`torn`); a line that is broken anywhere else is an error.
"""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from importlib import import_module
from itertools import chain
from operator import itemgetter
from pathlib import Path
from types import ModuleType
from typing import IO, Any, Self, TypeVar

from conformance.history import typed
from conformance.history.events import Event

SCHEMA = "amqp-conformance/recording/1"
SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst")
PARQUET = "events-*.parquet"
NEEDED = ("run", "history", "connection", "seq", "direction", "kind")

T = TypeVar("T")
Placed = tuple[Event, str | None]
"""An event, and as JSON what only its source knows of it: of a capture file and packet."""

_BLOCK_ROWS = 512
_BLOCK_NS = 1_000_000_000
_ABSENT: Mapping[str, Any] = {
    **dict.fromkeys(Event._fields),
    "broker": "",
    "channel": 0,
    "time_ns": 0,
    "class_id": 0,
    "method_id": 0,
    "method": "",
    "flags": "",
    "arguments": "",
}
_KNOWN = frozenset(Event._fields)
_decoded = json.JSONDecoder().decode
_needed, _columns_of = itemgetter(*NEEDED), itemgetter(*Event._fields)
_HEADER = b'{"schema":'


class BadRecording(Exception):
    """This is no recording that we can read; the message says where and why."""


def to_row(event: Event) -> dict[str, Any]:
    """An event as a JSON object: what has no value is left out."""
    row = {name: value for name, value in zip(Event._fields, event, strict=True) if value is not None}
    row["raw"] = event.raw.hex()
    return row


def to_event(row: Mapping[str, Any]) -> Event:
    """The event of a row; columns that Event does not know are left out."""
    whole = {**_ABSENT, **row}
    if None in _needed(whole):
        missing = next(name for name in NEEDED if whole[name] is None)
        raise BadRecording(f"a row has no {missing!r}: {str(dict(row))[:200]}")
    whole["raw"] = bytes.fromhex(whole["raw"] or "")
    return Event._make(_columns_of(whole))


def extra(row: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a row that Event does not know."""
    return {name: value for name, value in row.items() if name not in _KNOWN}


class RecordingWriter:
    """Appends a section to `directory/events-<worker>.jsonl`: the header at once, events in blocks.

    A block is one write of whole lines. It leaves when it is full, when a second has passed on the events' own
    clock, and on `flush` and `close`.
    """

    def __init__(self, directory: Path | str, header: Mapping[str, Any], worker: str = "main") -> None:
        self.path = Path(directory) / f"events-{worker}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.rows = 0
        self._block: list[str] = []
        self._since = 0
        torn = _ends_torn(self.path)
        self._file = self.path.open("ab", buffering=0)
        lead = "\n" if torn else ""
        self._file.write((lead + _line({"schema": SCHEMA, **header})).encode())

    def write(self, event: Event) -> None:
        """Take down one event."""
        if not self._block:
            self._since = event.time_ns
        self._block.append(_line(to_row(event)))
        if len(self._block) >= _BLOCK_ROWS or event.time_ns - self._since >= _BLOCK_NS:
            self.flush()

    def flush(self) -> None:
        """Everything taken down so far is handed to the operating system."""
        if self._block:
            octets = "".join(self._block).encode()
            while octets:  # a disk that is nearly full takes a part
                octets = octets[self._file.write(octets) :]
            self.rows += len(self._block)
            self._block.clear()

    def abandon(self) -> None:
        """Let go of the file, and of what could not be written to it."""
        self._block.clear()
        self._file.close()

    def close(self) -> None:
        """Flush, and let go of the file. May be called again."""
        if not self._file.closed:
            self.flush()
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Recording:
    """One file or a directory of them, read lazily and as often as wanted.

    `headers` holds the header of every section, checked when the recording is opened; `torn` names the torn lines,
    which are skipped.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.files = files(self.path)
        self.headers: list[dict[str, Any]] = []
        self.torn: list[str] = []
        for file in self.files:
            found, torn = scan(file)
            self.headers += found
            self.torn += torn

    @property
    def runs(self) -> list[str]:
        """The runs recorded here, in order of first appearance."""
        return list(dict.fromkeys(str(header.get("run", "")) for header in self.headers))

    def header(self, run: str) -> Mapping[str, Any]:
        """The first header of a run."""
        for header in self.headers:
            if str(header.get("run", "")) == run:
                return header
        raise BadRecording(f"{self.path}: no run {run!r} here; it holds {', '.join(self.runs)}")

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every event row as it was written, unknown columns and all."""
        for file in self.files:
            yield from rows(file)

    def events(self) -> Iterator[Event]:
        """Every event, in the order of the files."""
        return chain.from_iterable(map(events, self.files))


def files(path: Path) -> list[Path]:
    """The files that make up a recording, in order of their names."""
    if path.is_file():
        return [path]
    if not path.exists():
        raise BadRecording(f"{path}: no such recording")
    found = sorted(file for file in path.iterdir() if file.name.endswith(SUFFIXES) or file.match(PARQUET))
    if not found:
        raise BadRecording(f"{path}: no recording here (looked for events-*.jsonl, plain, .gz, .zst, or .parquet)")
    return found


def scan(file: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The headers of all sections of a file, checked, and its torn lines. Only the ends of sections are parsed."""
    if file.suffix == ".parquet":
        return _columns(file).headers(file), []
    headers: list[dict[str, Any]] = []
    torn: list[str] = []
    last: tuple[int, bytes] | None = None
    with _open(file) as stream:
        for number, line in enumerate(stream, 1):
            if line.startswith(_HEADER):
                headers.append(_header(line, f"{file}:{number}"))
            if number == 1 and not headers:
                break
            if line.startswith(_HEADER) and last and _parsed(last[1]) is None:
                torn.append(f"{file.name}:{last[0]}")
            last = number, line
    if not headers or last is None:
        raise headless(file)
    if _parsed(last[1]) is None:
        torn.append(f"{file.name}:{last[0]}")
    return headers, torn


def headless(file: Path) -> BadRecording:
    """To be raised where a file does not begin with a header."""
    return BadRecording(f'{file}: not a recording, its first row should be {{"schema": "{SCHEMA}", ...}}')


def rows(file: Path) -> Iterator[dict[str, Any]]:
    """The event rows of one file. A line that does not parse may only be the last of its section."""
    if file.suffix == ".parquet":
        yield from _columns(file).rows(file)
    else:
        yield from _lines(file, _parsed)


def events(file: Path) -> Iterator[Event]:
    """The events of one file."""
    if file.suffix == ".parquet":
        found: Iterator[Event] = _columns(file).events(file)
        return found
    return _lines(file, _reader(_event, lean=False))


def at_once(file: Path, headers: list[dict[str, Any]], torn: list[str]) -> Iterator[Event]:
    """The events of one file, of which headers and torn lines are told in the same pass: they are in these lists
    before the events that follow them are given. Frames of others than publishes, which no monitor looks at, may be
    left out."""
    if file.suffix == ".parquet":
        headers += _columns(file).headers(file)
        yield from _columns(file).events(file)
    else:
        yield from _lines(file, _reader(_event, lean=True), headers, torn)


def known(file: Path) -> Iterator[Event | dict[str, Any]]:
    """The rows of one file of lines: as events, or as they are where they are unusual, or Event does not know all."""
    return _lines(file, _reader(_parsed, lean=False))


def placed(file: Path) -> Iterator[Placed]:
    """The events of one file, each with the columns that Event does not know."""
    if file.suffix == ".parquet":
        yield from _columns(file).placed(file)
        return
    for row in known(file):
        if isinstance(row, Event):
            yield row, None
        else:
            unknown = extra(row)
            yield to_event(row), json.dumps(unknown, sort_keys=True) if unknown else None


def _lines(
    file: Path,
    parsed: Callable[[bytes], T | None],
    headers: list[dict[str, Any]] | None = None,
    torn: list[str] | None = None,
) -> Iterator[T]:
    """The lines of events, each as it is parsed; None: it is broken. Headers and torn lines go to the lists."""
    doubtful = 0
    with _open(file) as stream:
        for number, line in enumerate(stream, 1):
            header = line.startswith(_HEADER)
            if doubtful and not header:
                raise BadRecording(f"{file.name}:{doubtful}: broken row in the middle of a recording")
            if doubtful and torn is not None:
                torn.append(f"{file.name}:{doubtful}")
            doubtful = 0
            if header:
                found = _header(line, f"{file}:{number}")
                if headers is not None:
                    headers.append(found)
            elif (row := parsed(line)) is not None:
                yield row
            else:
                doubtful = number
    if doubtful and torn is not None:
        torn.append(f"{file.name}:{doubtful}")


@cache
def _reader(slow: Callable[[bytes], T | None], lean: bool) -> Callable[[bytes], Event | T | None]:
    """What reads a line."""
    return typed.reader(NEEDED, {**_ABSENT, "raw": ""}, slow, lean=lean)


def _event(line: bytes) -> Event | None:
    row = _parsed(line)
    return None if row is None else to_event(row)


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        row = _decoded(line.decode())
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _header(line: bytes, where: str) -> dict[str, Any]:
    header = _parsed(line)
    if header is None:
        raise BadRecording(f"{where}: broken header row")
    check_schema(header, where)
    return header


def check_schema(header: Mapping[str, Any], where: str) -> None:
    """Refuses what another version wrote."""
    if header["schema"] != SCHEMA:
        raise BadRecording(
            f"{where}: this recording is of schema {header['schema']!r}, and this version reads {SCHEMA!r}. "
            "Read it with the amqp-conformance that wrote it, or record again."
        )


def _columns(file: Path) -> ModuleType:
    """What reads Parquet; a recording of lines can do without."""
    try:
        return import_module("reports.parquet")
    except ImportError:
        message = f"{file}: reading Parquet needs pyarrow (pip install 'amqp-conformance[spark]')"
        raise BadRecording(message) from None


def _open(file: Path) -> IO[bytes]:
    if file.name.endswith(".gz"):
        return io.BufferedReader(gzip.open(file))
    if file.name.endswith(".zst"):
        return _open_zstd(file)
    return file.open("rb")


def _open_zstd(file: Path) -> IO[bytes]:
    try:
        import pyarrow
    except ImportError:
        message = f"{file}: reading zstd needs pyarrow (pip install 'amqp-conformance[spark]'); or unpack it first"
        raise BadRecording(message) from None
    return io.BufferedReader(pyarrow.input_stream(str(file), compression="zstd"))


def _ends_torn(path: Path) -> bool:
    """Does the file exist and end in the middle of a line?"""
    if not path.exists() or not path.stat().st_size:
        return False
    with path.open("rb") as file:
        file.seek(-1, 2)
        return file.read(1) != b"\n"


def _line(row: Mapping[str, Any]) -> str:
    return json.dumps(row, separators=(",", ":")) + "\n"


def write(
    directory: Path | str,
    header: Mapping[str, Any],
    events: Iterable[Event],
    worker: str = "main",
) -> Path:
    """Record events that are at hand; the file they went to."""
    with RecordingWriter(directory, header, worker) as writer:
        for event in events:
            writer.write(event)
    return writer.path

"""Recordings as Parquet: the same rows in columns, packed about ten times smaller, read many times faster.

A file is `events-<name>.parquet`. Its columns are those of the pipeline (`ingest.ARROW`); fields that an event does
not know are JSON in `extra`. The headers of its sections are in the file's own metadata, under KEY. A file gets its
name when it is closed, so no file can be incomplete.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import BadRecording
from reports.pipeline import ingest

KEY = b"amqp-conformance"


def headers(file: Path) -> list[dict[str, Any]]:
    """The headers of all sections, checked. Raises BadRecording."""
    try:
        found = (parquet.read_schema(file).metadata or {}).get(KEY)
    except (OSError, pa.ArrowException) as problem:
        raise BadRecording(f"{file} cannot be read as Parquet: {problem}") from None
    if found is None:
        raise BadRecording(f"{file}: Parquet, but no recording (its metadata lack {KEY.decode()!r})")
    listed: list[dict[str, Any]] = json.loads(found)
    for header in listed:
        recording.check_schema(header, str(file))
    return listed


def batches(file: Path) -> Iterator[pa.RecordBatch]:
    """The events as Arrow, in the columns of `ingest`."""
    headers(file)
    with parquet.ParquetFile(file) as source:
        yield from source.iter_batches(ingest.BLOCK, columns=ingest.ARROW.names, use_threads=False)


def events(file: Path) -> Iterator[Event]:
    """The events, without columns that they do not know."""
    for batch in batches(file):
        yield from ingest.to_events(batch)


def placed(file: Path) -> Iterator[tuple[Event, str | None]]:
    """The events, each with the columns that it does not know, as JSON."""
    for batch in batches(file):
        yield from zip(ingest.to_events(batch), batch.column("extra").to_pylist(), strict=True)


def rows(file: Path) -> Iterator[dict[str, Any]]:
    """The event rows as a JSONL recording has them, unknown columns and all."""
    for event, more in placed(file):
        yield {**recording.to_row(event), **(json.loads(more) if more else {})}


def write(path: Path | str, listed: Sequence[Mapping[str, Any]], found: Iterable[Mapping[str, Any]]) -> Path:
    """Writes rows of a recording, with the headers of their sections, as the file of this name."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    aside = target.with_name(f".{target.name}.part")
    known = [{"schema": recording.SCHEMA, **header} for header in listed]
    schema = ingest.ARROW.with_metadata({KEY: json.dumps(known).encode()})
    try:
        with parquet.ParquetWriter(aside, schema, compression="zstd") as writer:
            for batch in ingest.blocks(found):
                writer.write_batch(batch)
        aside.replace(target)
    finally:
        aside.unlink(missing_ok=True)
    return target


def convert(source: Path | str, path: Path | str) -> Path:
    """A recording, whatever it is made of, as one Parquet file."""
    known = recording.Recording(source)
    return write(path, known.headers, known.rows())

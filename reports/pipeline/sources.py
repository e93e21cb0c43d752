"""Recordings and captures as data sources of Spark: `spark.read.format("amqp_recording")` and `"amqp_capture"`.

Both give the columns of `ingest`, one task a file, everything decoded inside the reader, as Arrow batches. Options:

    path     a file, a directory that is searched to the bottom, or a pattern; load() also takes several
    ports    of amqp_capture: TCP ports of brokers, with commas between; others are known by the protocol header

Register them with `register(spark)`; `captures` does that, and gives the events of captures with all loose ends tied.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from reports.capture.about import PORTS
from reports.capture.capture import Capture
from reports.capture.columns import batch
from reports.capture.files import BadCapture
from reports.capture.rings import found, rings
from reports.pipeline import ingest
from reports.recording import BadRecording, Recording

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT_ONCE = 200_000
"""Objects that are made before Python looks for cycles; rows have none."""


def register(spark: SparkSession) -> None:
    """Makes both formats known to the session."""
    for source in (CaptureSource, RecordingSource):
        spark.dataSource.register(source)


def captures(spark: SparkSession, files: Sequence[Path], ports: Collection[int] = PORTS) -> DataFrame:
    """The events of captures, in no particular order."""
    register(spark)
    reader = spark.read.format(CaptureSource.name()).option("ports", ",".join(map(str, ports)))
    return reader.load([str(Path(file).resolve()) for file in files])


class _Ring(NamedTuple):
    """One capture: its name, and its files in order."""

    name: str
    files: tuple[str, ...]


class CaptureSource(DataSource):  # type: ignore[misc]
    """`amqp_capture`."""

    @classmethod
    def name(cls) -> str:
        return "amqp_capture"

    def schema(self) -> str:
        return ingest.DDL

    def reader(self, schema: Any) -> DataSourceReader:
        return CaptureReader(_paths(self.options), _ports(self.options))


class CaptureReader(DataSourceReader):  # type: ignore[misc]
    """One partition a capture."""

    def __init__(self, paths: Sequence[str], ports: Collection[int]) -> None:
        self.paths, self.ports = paths, ports

    def partitions(self) -> list[InputPartition]:
        files = found(self.paths)
        return [InputPartition(_Ring(name, tuple(map(str, ring)))) for name, ring in rings(files).items()]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        ring = partition.value
        with _few_collections():
            for block in Capture(ring.files, ports=self.ports, name=ring.name).blocks():
                yield batch(block)


class RecordingSource(DataSource):  # type: ignore[misc]
    """`amqp_recording`."""

    @classmethod
    def name(cls) -> str:
        return "amqp_recording"

    def schema(self) -> str:
        return ingest.DDL

    def reader(self, schema: Any) -> DataSourceReader:
        return RecordingReader(_paths(self.options))


class RecordingReader(DataSourceReader):  # type: ignore[misc]
    """One partition a file."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def partitions(self) -> list[InputPartition]:
        files = [file for path in self.paths for file in Recording(path).files]
        return [InputPartition(str(file.resolve())) for file in files]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        yield from ingest.batches_of(Path(partition.value))


def _paths(options: Mapping[str, str]) -> list[str]:
    """What load() was given: one path, or several as JSON."""
    several = json.loads(options.get("paths", "[]"))
    one = options.get("path")
    if not several and not one:
        raise BadRecording("name what to read: .load(PATH)")
    return several or [one]


def _ports(options: Mapping[str, str]) -> frozenset[int]:
    said = options.get("ports", "")
    try:
        return frozenset(map(int, filter(None, said.split(",")))) or PORTS
    except ValueError:
        raise BadCapture(f"ports={said}: give TCP ports with commas between, for example 5672,5673.") from None


@contextmanager
def _few_collections() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(AT_ONCE, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)

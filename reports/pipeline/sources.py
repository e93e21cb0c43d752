"""Recordings and captures as data sources of Spark: `spark.read.format("amqp_recording")` and `"amqp_capture"`.

Both give the columns of `ingest`, one task a file, as Arrow batches; the reader decodes everything. Options:

    path     a file, a directory that is searched with all its subdirectories, or a pattern; load() also takes several
    ports    of amqp_capture: TCP ports of brokers, separated by commas; others are known by the protocol header

Register them with `register(spark)`. `captures` does that, and gives the events of captures with all loose ends tied.
The files of a ring are read separately, and what crosses from one to the next comes out of the source as rows of kind
`loose`. `tied` makes events of them in a second stage, which sees little: half a frame here, half a message there.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from conformance.history.events import Labels
from conformance.history.recording import BadRecording, Recording
from reports import objects
from reports.capture.about import PORTS
from reports.capture.capture import Capture
from reports.capture.columns import batch
from reports.capture.files import BadCapture
from reports.capture.loose import LOOSE
from reports.capture.rings import found, rings
from reports.capture.stitch import RENAMED, stitch
from reports.pipeline import blocks, ingest

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
    paths = [Path(file).resolve() for file in files]
    bronze = reader.load([str(path) for path in paths])
    apart = {name: ring for name, ring in rings(paths).items() if len(ring) > 1}
    return tied(bronze, apart) if apart else bronze


def blocks_of(spark: SparkSession, files: Sequence[Path], ports: Collection[int] = PORTS) -> DataFrame:
    """The same events as blocks, each of one connection. What needs no ties is packed where it was decoded; a ring in
    an object store needs none, since one task reads all of it."""
    known = rings(Path(file).resolve() for file in files)
    places = {name: [objects.origin(file) for file in ring] for name, ring in known.items()}
    if any(len(ring) > 1 and not any(map(objects.is_address, ring)) for ring in places.values()):
        return captures(spark, files, ports).mapInArrow(_packed, blocks.DDL)
    wanted = frozenset(ports)

    def read(tasks: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for task in tasks:
            for name, ring in zip(*(column.to_pylist() for column in task.columns), strict=True):
                with ExitStack() as held:
                    found = [held.enter_context(objects.here(place)) for place in json.loads(ring)]
                    yield from _packed(_decoded(name, found, wanted))

    listed = [(name, json.dumps(ring)) for name, ring in places.items()]
    return ingest.tasks(spark, listed).mapInArrow(objects.carried(read), blocks.DDL)


def _packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from blocks.packed(batches, apart=True)


def tied(bronze: DataFrame, apart: Mapping[str, Sequence[Path]]) -> DataFrame:
    """The same events with the loose ends of these rings tied. `bronze` is looked at twice, so it is kept meanwhile."""
    from pyspark.sql import functions as f

    names = {name: [path.name for path in ring] for name, ring in apart.items()}

    def tie(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from _tie(batches, names)

    key = ["run", "history"]
    kept = bronze.persist()
    loose = kept.where(f.col("kind") == LOOSE)
    knots = loose.repartition(*key).sortWithinPartitions(*key, "seq").mapInArrow(tie, ingest.DDL).persist()
    renamed = knots.where(f.col("kind") == RENAMED).select(
        *key,
        "connection",
        f.get_json_object("arguments", "$.to").alias("known"),
    )
    whole = kept.where(f.col("kind") != LOOSE).unionByName(knots.where(f.col("kind") != RENAMED))
    joined = whole.join(f.broadcast(renamed), [*key, "connection"], "left")
    return joined.withColumn("connection", f.coalesce("known", "connection")).select(*ingest.COLUMNS)


def _tie(batches: Iterator[pa.RecordBatch], names: Mapping[str, Sequence[str]]) -> Iterator[pa.RecordBatch]:
    """Histories, one after the other, each as the events that none of its files could tell alone."""
    found = (event for block in batches for event in ingest.to_events(block))
    for (run, broker, history), events in groupby(found, key=lambda event: event[:3]):
        name = max((name for name in names if run.startswith(f"{name} ")), key=len)
        ends = [(event.seq, event.connection, event.args) for event in events]
        for block in stitch(Labels(run, broker, history, ""), dict(enumerate(names[name])), ends):
            if block.rows:
                yield batch(block)


class _Part(NamedTuple):
    """One file of a capture, and which of how many it is; a capture in one file is whole."""

    name: str
    file: str
    place: tuple[int, int] | None


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
    """One partition a file."""

    def __init__(self, paths: Sequence[str], ports: Collection[int]) -> None:
        self.paths, self.ports = paths, ports

    def partitions(self) -> list[InputPartition]:
        return [
            InputPartition(_Part(name, str(file), (number, len(ring)) if len(ring) > 1 else None))
            for name, ring in rings(found(self.paths)).items()
            for number, file in enumerate(ring)
        ]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        part = partition.value
        yield from _decoded(part.name, [part.file], self.ports, part.place)


def _decoded(
    name: str,
    files: Sequence[Path | str],
    ports: Collection[int],
    place: tuple[int, int] | None = None,
) -> Iterator[pa.RecordBatch]:
    with _few_collections():
        for block in Capture(files, ports=ports, name=name, part=place).blocks():
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

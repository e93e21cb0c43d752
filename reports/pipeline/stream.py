"""A directory judged while it fills: Structured Streaming over closed files, by the same Judge.

    files -> pieces     one task per file: the events of one history in it, packed, as one row
    pieces -> rows      by run and history, in transformWithState: `follow` judges what can be judged, the rest waits
    rows -> OUT         the table `judgements` of a lake, a commit for each micro-batch

A file must be complete when it gets its name: write it elsewhere and rename it. Names that begin with a dot or an
underscore are ignored. Which files were read, how far each history is (RocksDB) and what was written belong to one
micro-batch, which Spark's checkpoint remembers. A batch that was interrupted is done again from the same files and
states. Its commit has the name of the checkpoint and the number of the batch, and is made once. So after a kill
nothing is lost or written twice.

Rows are differences whose sum is the judgement (`check.DDL`). Besides, RUN carries the header of a run, UNREADABLE a
file that is not a recording, and `follow` reports what was missing or came too late. `summary` closes what is still
open, on the states of the last batch, without changing them, so watching may continue afterwards.

A decoded state is kept in the worker under the digest of its bytes. So a state that another worker, or a failed
attempt, has changed is never used by mistake.
"""

from __future__ import annotations

import gc
import json
import marshal
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
from pyspark.sql import Row as SparkRow
from pyspark.sql.streaming import StatefulProcessor, StatefulProcessorHandle

from codec.wire import BODY
from conformance.catalogue import profiles
from conformance.history import recording
from conformance.history.recording import BadRecording
from conformance.oracle.model.publishing.publishes import uneven
from conformance.oracle.monitors.state import UnknownState
from reports.capture.files import is_capture
from reports.lake.columns import JUDGEMENTS
from reports.lake.commits import BadLake, Lake
from reports.lake.files import kept, scan
from reports.objects import Place
from reports.pipeline import check, follow, ingest, verdicts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

RUN, UNREADABLE, OPEN = "run", "unreadable", "open"
Known = Callable[[str, str, str, Collection[str]], bool]
"""Of a profile, a rule, what was observed and in which circumstances: is this known of the broker?"""
LATENESS = 600.0
"""Seconds of a history's own time for which its later events wait for earlier ones."""
SETTINGS: Mapping[str, str] = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    "spark.sql.files.openCostInBytes": "65536",
}
"""Set on the session by `start`. How many partitions the states have is fixed by the first batch of a checkpoint."""

_PARTITIONS = "spark.sql.shuffle.partitions"
_FILES = "path STRING, modificationTime TIMESTAMP, length LONG, content BINARY"
_PIECE = pa.schema([("run", pa.string()), ("history", pa.string()), ("about", pa.string()), ("events", pa.binary())])
_PIECES = "run STRING, history STRING, about STRING, events BINARY"
_EMPTY_BODY = bytes([BODY, 0, 0, 0, 0, 0, 0, 0xCE])
_SMALL_BODY = bytes([BODY, 0, 0, 0, 0, 0, 1, 0, 0xCE])
_EVENTS_IN_PIECE, _EVENTS_AT_HAND = 4000, 40_000
_COLUMNS = tuple(check.ARROW.names)
_REST: dict[str, Any] = dict.fromkeys(_COLUMNS)


@dataclass(frozen=True)
class Stream:
    """What is watched, and where things are kept. `files`: at most so many are read in one micro-batch."""

    inbox: Path
    out: Place
    checkpoint: Path
    lateness: float = LATENESS
    files: int = 256

    @cached_property
    def lake(self) -> Lake:
        return Lake(self.out)

    @property
    def name(self) -> str:
        """Of this checkpoint, as Spark drew it when it began."""
        return str(json.loads((self.checkpoint / "metadata").read_text("utf-8"))["id"])


def start(spark: SparkSession, stream: Stream, told: Callable[[int], None], every: str | None = None) -> StreamingQuery:
    """Begins, or goes on where the checkpoint ends: until all that is there is judged, or for ever, looking `every`
    so often ("5 seconds"). `told` is called with the number of each batch that was written."""
    _unlike_before(stream.out)
    for name, value in SETTINGS.items():
        spark.conf.set(name, value)
    spark.conf.set(_PARTITIONS, _states(spark))

    def keep(rows: DataFrame, number: int) -> None:
        numbered = rows.selectExpr(f"{number}L AS batch", "*")
        files = kept(numbered, stream.lake.place(JUDGEMENTS.name), JUDGEMENTS)
        stream.lake.append(JUDGEMENTS.name, files, stream.name, number)
        told(number)

    trigger = {"processingTime": every} if every else {"availableNow": True}
    return (
        rows(spark, stream)
        .writeStream.foreachBatch(keep)
        .outputMode("append")
        .trigger(**trigger)
        .option("checkpointLocation", str(stream.checkpoint.resolve()))
        .start()
    )


def _unlike_before(out: Place) -> None:
    """Raises BadLake where judgements are no Delta table yet."""
    if isinstance(out, Path) and any((out / JUDGEMENTS.name).glob("batch=*/_SUCCESS")):
        raise BadLake(
            f"{out / JUDGEMENTS.name} was written by a version whose judgements were no Delta table: watch "
            "into another directory, with another checkpoint; then everything is judged anew"
        )


def _states(spark: SparkSession) -> int:
    """How many parts the states fall into: one for each core, since every part costs a task in every micro-batch."""
    most = int(spark.conf.get(_PARTITIONS) or 8)
    context = getattr(spark, "sparkContext", None)
    return most if context is None else max(1, min(most, context.defaultParallelism))


def rows(spark: SparkSession, stream: Stream) -> DataFrame:
    """The stream of rows."""
    files = (
        spark.readStream.format("binaryFile")
        .schema(_FILES)
        .option("recursiveFileLookup", "true")
        .option("maxFilesPerTrigger", stream.files)
        .load(str(stream.inbox.resolve()))
        .select("path")
    )
    pieces = files.mapInArrow(_pieces, _PIECES)
    return pieces.groupBy("run", "history").transformWithState(Follow(stream.lateness), check.DDL, "append", "none")


# -- files to pieces


def _pieces(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for url in batch.column(0).to_pylist():
            for piece in pieces(Path(unquote(urlsplit(url).path))):
                yield pa.RecordBatch.from_pylist([piece], schema=_PIECE)


def pieces(file: Path) -> Iterator[dict[str, Any]]:
    """A file in pieces. A piece without events tells of a run, one without a run of a file that cannot be read."""
    headers, torn = list[dict[str, Any]](), list[str]()
    problem = ""
    try:
        yield from _packed(file, headers, torn)
        if torn:
            problem = f"torn: {', '.join(torn)}"
    except (BadRecording, OSError, EOFError) as bad:
        problem = _instead(file) or str(bad)
    for run, header in _abouts(headers).items():
        yield {"run": run, "history": "", "about": json.dumps(header), "events": None}
    if problem:
        yield {"run": "", "history": str(file), "about": problem, "events": None}


def _abouts(headers: list[dict[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """The first header of each run."""
    return {str(header.get("run", "")): header for header in reversed(headers)}


def _instead(file: Path) -> str:
    """What to do with a file that is no recording, where that is known."""
    try:
        if not is_capture(file):
            return ""
    except (OSError, EOFError):
        return ""
    return (
        f"{file} is a capture, and only recordings are watched: judge it by amqp-conformance trace check, or take "
        "the traffic down by amqp-conformance trace record and move what it wrote here"
    )


def _packed(file: Path, headers: list[dict[str, Any]], torn: list[str]) -> Iterator[dict[str, Any]]:
    at_hand: dict[tuple[str, str], list[tuple[Any, ...]]] = {}
    number = 0

    def piece(key: tuple[str, str]) -> dict[str, Any]:
        profile = profiles.spec(_abouts(headers).get(key[0], {}))
        return {"run": key[0], "history": key[1], "about": profile, "events": marshal.dumps(at_hand.pop(key))}

    for event in recording.at_once(file, headers, torn):
        if not headers:
            break
        key = event[0], event[2]
        held = at_hand.get(key)
        if held is None:
            held = at_hand[key] = []
        held.append((*event[:-1], _counted(event.raw) if event.method == "basic.publish" else b""))
        number += 1
        if len(held) >= _EVENTS_IN_PIECE:
            number -= len(held)
            yield piece(key)
        elif number >= _EVENTS_AT_HAND:
            number = 0
            yield from map(piece, list(at_hand))
    if not headers:
        raise recording.headless(file)
    yield from map(piece, list(at_hand))


def _counted(raw: bytes) -> bytes:
    """As many body frames, but empty, where their sizes are even: monitors look at nothing else of any frame."""
    found = at = 0
    while at < len(raw):
        found += raw[at] == BODY
        at += 8 + int.from_bytes(raw[at + 3 : at + 7], "big")
    return _EMPTY_BODY + _SMALL_BODY * (found - 1) if found > 1 and uneven(raw) else _EMPTY_BODY * found


# -- pieces to rows


class Follow(StatefulProcessor):  # type: ignore[misc]
    """Judges one history after the other; what is left of each is its state."""

    def __init__(self, lateness: float) -> None:
        self._lateness = lateness

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._state = handle.getValueState("history", "state BINARY")
        gc.set_threshold(*_PATIENT)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: Any) -> Iterator[SparkRow]:
        run, name = key
        pieces = list(rows)
        if not run or not name:
            yield from map(_row, self._beside(run, name, pieces[0].about))
            return
        kept = self._state.get() if self._state.exists() else None
        history = _taken_up(bytes(kept[0])) if kept else follow.begin(run, name, pieces[0].about)
        events = chain.from_iterable(marshal.loads(piece.events) for piece in pieces)
        yield from map(_row, history.take(map(ingest.event, events), self._lateness))
        self._state.update((_put_aside(history),))

    def _beside(self, run: str, name: str, about: str) -> Iterator[follow.Row]:
        """What is no history: a run, told once, and a file that could not be read."""
        if run and not self._state.exists():
            self._state.update((b"",))
            yield {"run": run, "history": "", "what": RUN, "rule": "", "times": 1, "observed": about}
        elif not run:
            yield {"run": "", "history": name, "what": UNREADABLE, "rule": "", "times": 1, "observed": about}

    def close(self) -> None:
        pass


_DECODED: OrderedDict[bytes, follow.FollowedHistory] = OrderedDict()
_MOST_DECODED = 128
_PATIENT = 20_000, 50, 50
"""States live long: looking for garbage less often saves a tenth of the time."""


def _taken_up(data: bytes) -> follow.FollowedHistory:
    known = _DECODED.pop(_digest(data), None)
    return follow.decode(data) if known is None else known


def _put_aside(history: follow.FollowedHistory) -> bytes:
    data = history.encode()
    _DECODED[_digest(data)] = history
    while len(_DECODED) > _MOST_DECODED:
        _DECODED.popitem(last=False)
    return data


def _digest(data: bytes) -> bytes:
    return blake2b(data, digest_size=16).digest()


def _row(said: follow.Row) -> SparkRow:
    return SparkRow(**{**_REST, **said})


# -- what it comes to


def judged(spark: SparkSession, stream: Stream) -> DataFrame:
    """All rows of finished batches."""
    files = stream.lake.files(JUDGEMENTS.name)
    return scan(spark, stream.lake.place(JUDGEMENTS.name), JUDGEMENTS, files, check.ARROW.names)


def left_open(spark: SparkSession, stream: Stream) -> DataFrame:
    """What closing the histories that the last batch left open would add, and an OPEN row for each."""
    states = spark.read.format("statestore").option("stateVarName", "history").load(str(stream.checkpoint.resolve()))
    return states.selectExpr("value.state AS state").where("length(state) > 0").mapInArrow(_closed, check.DDL)


def _closed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        found = [row for data in batch.column(0).to_pylist() for row in closing(data)]
        yield pa.RecordBatch.from_pylist(found, schema=check.ARROW)


def closing(data: bytes) -> Iterator[follow.Row]:
    history = follow.decode(data)
    if history.complete:
        return
    observed = ", ".join(history.alive) or "events that wait for earlier ones"
    yield from history.close()
    yield {"run": history.run, "history": history.name, "what": OPEN, "rule": "", "times": 1, "observed": observed}


def headers(judged: DataFrame) -> dict[str, Mapping[str, Any]]:
    """Run to its header."""
    return {row.run: json.loads(row.observed) for row in judged.where(f"what = '{RUN}'").orderBy("run").collect()}


def summary(spark: SparkSession, stream: Stream, known: Known | None = None) -> tuple[list[verdicts.VerdictRow], int]:
    """The verdict table of all that was watched so far, and how many histories are open. A rule of which all that was
    found is `known` deviates."""
    told = judged(spark, stream)
    runs = headers(told)
    if not runs:
        return [], 0
    closed = left_open(spark, stream).persist()
    try:
        every = told.unionByName(closed)
        listed = _listed(every, runs, known) if known is not None else None
        return verdicts.table(every, runs, listed), closed.where(f"what = '{OPEN}'").count()
    finally:
        closed.unpersist()


def _listed(every: DataFrame, headers: Mapping[str, Mapping[str, Any]], known: Known) -> dict[str, set[str]]:
    """Run to the rules of which all that was found for certain is known."""
    profile = {run: profiles.spec(header) for run, header in headers.items()}
    certain = every.where(f"what = '{check.FINDING}' AND certain")
    found = certain.select("run", "rule", "observed", "amid").distinct().collect()
    listed: dict[str, set[str]] = {run: set() for run in headers}
    for run, rule, *_ in found:
        listed[run].add(rule)
    for run, rule, observed, amid in found:
        if not known(profile[run], rule, observed, amid or ()):
            listed[run].discard(rule)
    return listed


def why(problem: Exception) -> str | None:
    """What to tell people where the stream ended because a state is of another version."""
    text, mark = str(problem), f"{UnknownState.__name__}: "
    return text[text.index(mark) + len(mark) :].splitlines()[0] if mark in text else None

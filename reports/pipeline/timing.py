"""How long confirms and deliveries take: histograms, which add up exactly whatever the shards.

Both times are between two events of one observer, so no two clocks are compared:
    confirm   from a publish on a confirming channel to the ack or nack of the broker that covers it
    delivery  from a publish to the first delivery of a message with the same identity, the wait in the queue included
A message published twice before it came out says nothing, nor does one whose publish was not seen; of messages that
wait, the youngest `KEPT` of a history are remembered.

A time falls into one of 64 buckets for each power of two nanoseconds, so a percentile is off by less than 1 %. The
histogram of two parts is the sum of theirs, which is why percentiles do not depend on how the work was cut up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from conformance import events as ev
from reports.pipeline.check import read

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

DDL = "run STRING, what STRING, bucket INT, n BIGINT"
ARROW = pa.schema([("run", pa.string()), ("what", pa.string()), ("bucket", pa.int32()), ("n", pa.int64())])
CONFIRM, DELIVERY = "confirm", "delivery"
KEPT = 100_000
FINENESS = 6

_PLACE = ("history", "island")
_ANSWERS = frozenset({"basic.ack", "basic.nack"})
_COMES = frozenset({"basic.deliver", "basic.get-ok"})


class Row(NamedTuple):
    """The columns of an event that tell its time."""

    connection: str
    channel: int
    time_ns: int
    direction: str
    method: str
    delivery_tag: int | None
    multiple: bool | None
    message_id: str | None
    body_hash: str | None


def latencies(shards: DataFrame) -> DataFrame:
    """run, what, bucket, n: one row for each bucket of each shard that is not empty."""

    def fold(places: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for place in places:
            for run, path in zip(*(column.to_pylist() for column in place.columns), strict=True):
                yield from _batch(run, measured(_rows(path, run)))

    return shards.mapInArrow(fold, DDL)


def measured(rows: Iterable[tuple[tuple[str, str], Row]]) -> Counter[tuple[str, int]]:
    """How many times fell into each bucket, over histories that follow each other."""
    total: Counter[tuple[str, int]] = Counter()
    for _, group in groupby(rows, key=lambda placed: placed[0]):
        watch = Stopwatch(total)
        for _, row in group:
            watch.step(row)
    return total


class Stopwatch:
    """The fold over one history."""

    def __init__(self, counts: Counter[tuple[str, int]]) -> None:
        self._counts = counts
        self._unconfirmed: dict[tuple[str, int], dict[int, int]] = {}
        self._published: dict[tuple[str, int], int] = {}
        self._waiting: dict[str, int | None] = {}

    def step(self, row: Row) -> None:
        channel = row.connection, row.channel
        if row.method == "basic.publish":
            self._publish(channel, row)
        elif row.method in _ANSWERS and row.direction == ev.TO_CLIENT:
            self._confirm(channel, row)
        elif row.method in _COMES:
            self._deliver(row)
        elif row.method in ("channel.open", "channel.close"):
            self._unconfirmed.pop(channel, None)
            self._published.pop(channel, None)
        elif row.method == "confirm.select-ok":
            self._unconfirmed.setdefault(channel, {})

    def _publish(self, channel: tuple[str, int], row: Row) -> None:
        pending = self._unconfirmed.get(channel)
        if pending is not None:
            number = self._published[channel] = self._published.get(channel, 0) + 1
            pending[number] = row.time_ns
        name = row.message_id or row.body_hash
        if name:
            self._waiting[name] = None if name in self._waiting else row.time_ns
            if len(self._waiting) > KEPT:
                del self._waiting[next(iter(self._waiting))]

    def _confirm(self, channel: tuple[str, int], row: Row) -> None:
        pending, last = self._unconfirmed.get(channel, {}), row.delivery_tag or 0
        covered = [number for number in pending if number <= last] if row.multiple else [last]
        for number in covered:
            began = pending.pop(number, None)
            if began is not None:
                self._counts[CONFIRM, bucket(row.time_ns - began)] += 1

    def _deliver(self, row: Row) -> None:
        began = self._waiting.pop(row.message_id or row.body_hash or "", None)
        if began is not None:
            self._counts[DELIVERY, bucket(row.time_ns - began)] += 1


def bucket(nanoseconds: int) -> int:
    """The number of the bucket of a time; 0 for none at all."""
    value = max(nanoseconds, 0)
    power = max(value.bit_length() - FINENESS - 1, 0)
    return (power << FINENESS) + (value >> power)


def middle(number: int) -> float:
    """The time in nanoseconds that stands for a bucket."""
    power = max((number >> FINENESS) - 1, 0)
    return (number - (power << FINENESS) + (0.5 if power else 0)) * 2.0**power


def _rows(path: str, run: str) -> Iterator[tuple[tuple[str, str], Row]]:
    names = ("history", *Row._fields)
    for batch in read(path, run, names):
        columns: Mapping[str, pa.Array] = dict(zip(batch.schema.names, batch.columns, strict=True))
        tags = columns["delivery_tag"].cast(pa.uint64())
        values = [tags.to_pylist() if name == "delivery_tag" else columns[name].to_pylist() for name in Row._fields]
        places = zip(*(columns[name].to_pylist() for name in _PLACE), strict=True)
        yield from zip(places, map(Row._make, zip(*values, strict=True)), strict=True)


def _batch(run: str, counts: Mapping[tuple[str, int], int]) -> Iterator[pa.RecordBatch]:
    rows = [{"run": run, "what": what, "bucket": place, "n": n} for (what, place), n in sorted(counts.items())]
    if rows:
        yield pa.RecordBatch.from_pylist(rows, schema=ARROW)

"""From bronze to silver: the one big shuffle, after which no rule needs another.

A shard holds whole *islands* (`reports.judging.islands`), sorted by history and seq, so a monitor can read a file from
its first row to its last. Because a capture falls into islands, many machines can judge one capture.

An exchange can lead from one island to another although the history does not declare it (a binding made before, a
dead-letter policy). Messages that come in this way were published by nobody seen here, as in any capture that begins
late.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from reports import objects
from reports.judging.islands import HOST, MEETS, WHOLE, Link, apart, links
from reports.lake import files
from reports.objects import Place
from reports.pipeline import blocks
from reports.pipeline.ingest import to_events

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["HOST", "MEETS", "WHOLE", "Link", "apart", "islands", "links", "silver"]

ORDER = ("run", "shard", "history", "island", "first")
_KEY = ("run", "history", "connection")
_LINK = (*_KEY, "what", "name")
_LINKS = pa.schema([(name, pa.string()) for name in _LINK])
_ISLANDS = pa.schema([(name, pa.string()) for name in (*_KEY, "island")])


def silver(packed: DataFrame, shards: int, root: Place, islands: DataFrame | None = None) -> DataFrame:
    """Writes blocks of events as shards below `root` (the result tells which, as files.DDL, and its action does it):
    whole islands together, in the order of history, island and seq. Without `islands`, the result of the function of
    that name, each history is one; with it, blocks must be of one connection each."""
    from pyspark.sql import functions as f

    if islands is None:
        placed = packed.withColumn("island", f.lit(""))
    else:
        placed = packed.join(f.broadcast(islands), [*_KEY], "left").fillna("", ["island"])
    key = ["run", "history", "island"]
    spread = placed.repartition(shards, *key).withColumn("shard", f.pmod(f.hash(*key), f.lit(shards)))
    ordered = spread.select(*blocks.Block._fields).sortWithinPartitions(*ORDER)
    return ordered.mapInArrow(objects.carried(partial(blocks.written, root=root)), files.DDL)


def islands(packed: DataFrame) -> DataFrame:
    """run, history, connection, island: one row for each connection of histories that fall apart."""
    names = ", ".join(f"{name} STRING" for name in _LINK)
    found = packed.mapInArrow(_links, names).distinct()
    return found.groupBy("run", "history").applyInArrow(_apart, ", ".join(f"{n} STRING" for n in _ISLANDS.names))


def _links(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        rows = {
            (event.run, event.history, event.connection, what, name)
            for block in blocks.events_of(batch)
            for event in to_events(block)
            for what, name in links(event)
        }
        columns = zip(*sorted(rows), strict=True) if rows else ([] for _ in _LINK)
        yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], schema=_LINKS)


def _apart(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The links of one history to the islands of its connections."""
    found: dict[str, list[Link]] = {}
    place = ("", "")
    for batch in batches:
        for row in batch.to_pylist():
            place = row["run"], row["history"]
            found.setdefault(row["connection"], []).append((row["connection"], row["what"], row["name"]))
    islands = apart(link for links in found.values() for link in links)
    rows = [(*place, connection, island) for connection, island in islands]
    columns = zip(*rows, strict=True) if rows else ([] for _ in _ISLANDS.names)
    yield pa.RecordBatch.from_arrays([pa.array(column, pa.string()) for column in columns], schema=_ISLANDS)

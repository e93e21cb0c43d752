"""Blocks of rows as Arrow batches, in the columns of the pipeline's bronze.

What a template says is converted once and then taken as often as rows point at it; only what differs from row to row is
converted row by row. `extra` tells file and packet.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import repeat
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from conformance.history.events import Event
from reports.capture.rows import HOLE, RowBlock
from reports.pipeline.ingest import ARROW, TAG

_OWN = ("template", "seq", "time_ns", "delivery_tag", "body_size", "body_hash", "message_id", "raw", "packet")
_SHARED = tuple(name for name in Event._fields if name not in (*_OWN, "arguments"))


def batch(block: RowBlock) -> pa.RecordBatch:
    """All rows of the block."""
    own = dict(zip(_OWN, zip(*block.rows, strict=True) if block.rows else repeat(()), strict=False))
    used, place = _numbered(own["template"])
    words = [block.templates[number] for number in used]
    columns: dict[str, Any] = {
        name: pa.array([getattr(event, name) for event in words], ARROW.field(name).type).take(place)
        for name in _SHARED
    }
    for name in ("seq", "time_ns", "body_size", "body_hash", "message_id", "raw"):
        columns[name] = pa.array(own[name], ARROW.field(name).type)
    columns["delivery_tag"] = pa.array(own["delivery_tag"], pa.uint64()).cast(TAG)
    columns["arguments"] = _arguments(words, place, columns["message_id"])
    columns["extra"] = _extra(block.file, own["packet"])
    return pa.RecordBatch.from_arrays([columns[name] for name in ARROW.names], schema=ARROW)


def _numbered(templates: Sequence[int]) -> tuple[list[int], pa.Array]:
    """The templates in use, and for each row which of them is its."""
    packed = pa.array(templates, pa.int32()).dictionary_encode()
    return packed.dictionary.to_pylist(), packed.indices


def _arguments(words: Sequence[Event], place: pa.Array, ids: pa.Array) -> pa.Array:
    """Those of the templates, with the id of each row where they have a hole."""
    before, holes, after = (
        pa.array(column).take(place)
        for column in (zip(*(event.arguments.partition(HOLE) for event in words), strict=True) if words else [[""]] * 3)
    )
    own = pc.if_else(pc.equal(holes, ""), "", pc.fill_null(ids, ""))
    return pc.binary_join_element_wise(before, own, after, "")


def _extra(file: str, packets: Sequence[int]) -> pa.Array:
    """The same JSON that a recording's unknown columns become."""
    head = json.dumps({"file": file})[:-1] + ', "packet": '
    return pc.binary_join_element_wise(head, pa.array(packets, pa.int64()).cast(pa.string()), "}", "")

"""Production-like traffic of any size: lawful to the last rule, the same on every machine, soon written.

An application (`application`) is played once. Its rounds, drawn at random, follow each other for as long as wanted,
with tags, publish numbers, message ids, names and times counted on; `raw` stays as it was in the play, frames of the
right kinds and sizes. Every second `seq` is left free: there, violations are planted, a confirm or a qos-ok too many;
and redeliveries lose their flag. What is planted is known, so that what is found can be compared exactly.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import parquet

from benchmarks.application import BROKER, ROUND, RUN, perform
from conformance.history.events import TO_CLIENT, Event
from reports.pipeline.ingest import ARROW

PROFILE = "documented"
KINDS = ("classic", "shared", "quorum")
ROUNDS, MESSAGES = 8, 150
SPACING, STEP_NS, BEGIN_NS = 2, 20_000, 1_700_000_000_000_000_000
CONFIRM, QOS_OK, FLAG = "CNF-004", "QOS-024", "RQ-008"
MOST = 4
"""Violations of one rule in one history: a judge tells no more than five."""
GROUP = 1 << 16

Counter = tuple[str, int, str]
Ints = NDArray[np.int64]
SILVER = pa.schema([*ARROW, ("island", pa.string()), ("shard", pa.int32())])


class Planted(NamedTuple):
    """One violation: what a judge must find, and nothing else."""

    rule: str
    history: str
    at: int


class History(NamedTuple):
    """What is to be performed: about so many events of an application, and in how many rounds something goes wrong."""

    name: str
    kind: str
    events: int
    plants: int = 0


class Part(NamedTuple):
    """Rows that are performed together, and what to count on in them; arrays have one entry per row."""

    rows: pa.RecordBatch
    tags: Ints
    """Delivery tags and publish numbers, from 1 in each part."""
    tagged: NDArray[np.bool_]
    counter: Ints
    """Whose number it is; the last one stands still."""
    messages: Ints
    """Number of the message in this part; -1: the row carries none."""
    before: pa.Array
    after: pa.Array
    """The arguments around the message's id."""
    advance: Ints
    """By how much each counter goes on."""
    many: int
    plants: dict[str, list[int]]
    """Rule to the rows at which it can be broken."""


class Progress:
    """How far the performance of a history has come."""

    def __init__(self, history: History, counters: int) -> None:
        self.history = history
        self.salt = random.Random(history.name).getrandbits(63)
        self.counters = np.zeros(counters, np.int64)
        self.seq, self.round, self.messages = SPACING, 0, 0
        self.planted: list[Planted] = []


def plan(events: int, *, histories: int = 16, skewed: bool = False, plants: int = 0) -> list[History]:
    """So many events in so many histories; skewed: half of them in the first, on one connection."""
    share = events // 2 // max(histories - 1, 1) if skewed else events // histories
    kinds = islice(cycle(KINDS), histories)
    made = [History(f"h{at:04d}", kind, share, plants) for at, kind in enumerate(kinds)]
    return [History("big", "shared", events // 2, plants), *made[1:]] if skewed else made


def batches(history: History, planted: list[Planted] | None = None) -> Iterator[pa.RecordBatch]:
    """The events of a history, in order; what was planted in them is added to the list."""
    head, rounds, tail = play(history.kind)
    progress, chance = Progress(history, len(head.advance)), random.Random(history.name)
    total = max(1, round(history.events / (sum(part.rows.num_rows for part in rounds) / len(rounds))))
    wrong = set(chance.sample(range(total), min(history.plants, total, 3 * MOST)))
    yield _performed(head, progress, "")
    for at in range(total):
        rule = (CONFIRM, QOS_OK, FLAG)[len(progress.planted) % 3] if at in wrong else ""
        yield _performed(chance.choice(rounds), progress, rule)
    yield _performed(tail, progress, "")
    if planted is not None:
        planted += progress.planted


def write(path: Path, histories: Iterable[History], shard: int = 0) -> tuple[int, list[Planted]]:
    """One shard of silver as Parquet; how many rows, and what was planted."""
    rows, planted = 0, list[Planted]()
    with parquet.ParquetWriter(path, SILVER, compression="zstd") as writer:
        for history in sorted(histories):
            for table in _groups(batches(history, planted)):
                full = table.append_column("island", pa.repeat(pa.scalar(""), table.num_rows))
                number = pa.repeat(pa.scalar(shard, pa.int32()), table.num_rows)
                writer.write_table(full.append_column("shard", number))
                rows += table.num_rows
    return rows, planted


def _groups(found: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    for batch in found:
        held.append(batch)
        if sum(one.num_rows for one in held) >= GROUP:
            yield pa.Table.from_batches(held)
            held = []
    if held:
        yield pa.Table.from_batches(held)


# -- the play


@cache
def play(kind: str) -> tuple[Part, tuple[Part, ...], Part]:
    """An application's beginning, its rounds, and its end."""
    played = perform(kind, 0, ROUNDS, MESSAGES)
    owners = dict.fromkeys(owner for part in played for owner in map(_owner, part) if owner is not None)
    places = {owner: at for at, owner in enumerate(owners)}
    reached = dict.fromkeys(owners, 0)
    head, *rounds, tail = (_part(events, places, reached) for events in played)
    return head, tuple(rounds), tail


def _owner(event: Event) -> Counter | None:
    """Who counts the number in this event: a channel's deliveries, or its publishes."""
    if event.delivery_tag is None or ROUND in event.connection:
        return None
    confirm = event.direction == TO_CLIENT and event.method in ("basic.ack", "basic.nack")
    return event.connection, event.channel, "publishes" if confirm else "deliveries"


def _part(events: Sequence[Event], places: dict[Counter, int], reached: dict[Counter, int]) -> Part:
    start, most = dict(reached), len(events)
    tags, messages = np.zeros(most, np.int64), np.full(most, -1, np.int64)
    counter, known = np.full(most, len(places), np.int64), dict[str, int]()
    for at, event in enumerate(events):
        owner = _owner(event)
        tags[at] = event.delivery_tag or 0
        if owner is not None:
            counter[at] = places[owner]
            tags[at] -= start[owner]
        _count(event, owner, reached)
        if event.message_id:
            messages[at] = known.setdefault(event.message_id, len(known))
    parted = [event.arguments.partition(event.message_id or "\0") for event in events]
    return Part(
        _rows(events),
        tags,
        np.array([event.delivery_tag is not None for event in events]),
        counter,
        messages,
        pa.array([before for before, _, _ in parted]),
        pa.array([after for _, _, after in parted]),
        np.array([*(reached[owner] - start[owner] for owner in places), 0]),
        len(known),
        _breakable(events),
    )


def _count(event: Event, owner: Counter | None, reached: dict[Counter, int]) -> None:
    if event.method in ("basic.deliver", "basic.get-ok") and owner is not None:
        reached[owner] = event.delivery_tag or 0
    publishes = event.connection, event.channel, "publishes"
    if event.method == "basic.publish" and publishes in reached:
        reached[publishes] += 1


def _rows(events: Sequence[Event]) -> pa.RecordBatch:
    rows = [{**event._asdict(), "delivery_tag": None, "extra": None} for event in events]
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)


def _breakable(events: Sequence[Event]) -> dict[str, list[int]]:
    """Where what can go wrong: after single confirms, and at redeliveries of what was delivered in this part."""
    found: dict[str, list[int]] = {CONFIRM: [], QOS_OK: [], FLAG: []}
    seen: set[str] = set()
    for at, event in enumerate(events):
        owner = _owner(event)
        if owner is not None and owner[2] == "publishes" and not event.multiple:
            found[CONFIRM].append(at)
            found[QOS_OK].append(at)
        if event.method == "basic.deliver" and event.message_id:
            if event.message_id in seen and event.has("redelivered"):
                found[FLAG].append(at)
            seen.add(event.message_id)
    return found


# -- the performance


def _performed(part: Part, progress: Progress, rule: str) -> pa.RecordBatch:
    """The next rows of a history."""
    most = part.rows.num_rows
    seqs = progress.seq + SPACING * np.arange(most, dtype=np.int64)
    bases = np.append(progress.counters[:-1], 0)
    ids = _ids(part.messages, progress.salt + progress.messages)
    mine = pc.fill_null(ids, "")
    columns: dict[str, pa.Array] = {
        "run": pa.repeat(pa.scalar(RUN), most),
        "broker": pa.repeat(pa.scalar(BROKER), most),
        "history": pa.repeat(pa.scalar(progress.history.name), most),
        "seq": pa.array(seqs),
        "time_ns": pa.array(BEGIN_NS + STEP_NS * seqs),
        "delivery_tag": pa.array(part.tags + bases[part.counter], mask=~part.tagged).cast(
            ARROW.field("delivery_tag").type
        ),
        "message_id": ids,
        "body_hash": _ids(part.messages, progress.salt - progress.messages - most),
        "arguments": pc.binary_join_element_wise(part.before, mine, part.after, ""),
    }
    for name in ("connection", "consumer_tag"):
        columns[name] = pc.replace_substring(part.rows.column(name), ROUND, str(progress.round))
    made = pa.RecordBatch.from_arrays(
        [columns.get(name, part.rows.column(name)) for name in ARROW.names],
        schema=ARROW,
    )
    if rule:
        made = _broken(made, part, progress, rule)
    progress.seq += SPACING * most
    progress.counters += part.advance
    progress.messages += part.many
    progress.round += 1
    return made


def _ids(messages: Ints, salt: int) -> pa.Array:
    """A text of 16 hex digits for each message, and null for none."""
    mixed = (messages.astype(np.uint64) + np.uint64(salt & (1 << 64) - 1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    digits = mixed.byteswap().tobytes().hex().encode()
    offsets = np.arange(0, len(digits) + 1, 16, dtype=np.int32)
    texts = pa.StringArray.from_buffers(len(messages), pa.py_buffer(offsets), pa.py_buffer(digits))
    return pc.if_else(pa.array(messages >= 0), texts, None)


def _broken(made: pa.RecordBatch, part: Part, progress: Progress, rule: str) -> pa.RecordBatch:
    """The same with one violation of the rule."""
    places = part.plants[rule]
    if not places:
        return made
    at = places[progress.round % len(places)]
    rows: list[dict[str, Any]] = made.to_pylist()
    if rule == FLAG:
        rows[at]["flags"] = ""
    else:
        extra = dict(rows[at], seq=rows[at]["seq"] + 1)
        if rule == QOS_OK:
            extra |= {"method": "basic.qos-ok", "method_id": 11, "delivery_tag": None, "multiple": None, "raw": b""}
        at += 1
        rows.insert(at, extra)
    progress.planted.append(Planted(rule, progress.history.name, rows[at]["seq"]))
    return pa.RecordBatch.from_pylist(rows, schema=ARROW)

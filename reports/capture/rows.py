"""Events in columns: what many events have in common is made once.

Most frames of a busy connection equal an earlier one, except for a delivery tag. So `EventBuilder` makes an event when
its words are first seen, and the event is kept as a *template*. A row is the number of a template and what differs:
seq, time, tag, body, octets, and the packet that completed it. A `Block` of rows gives `Event`s, rows of a recording,
or (through `columns`) Arrow.

Many programs give every message an id. In a template a HOLE stands for the id among the arguments, and the row has the
id. This is done for ids that JSON writes unchanged.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any, NamedTuple

from conformance.history.events import Event
from conformance.history.recording import to_row

MOST_TEMPLATES = 1 << 16
HOLE = "\0"
"""Stands for the message id in the arguments of a template; JSON has none."""

Row = tuple[int, int, int, int | None, int | None, str | None, str | None, bytes, int]
"""(template, seq, time_ns, delivery_tag, body_size, body_hash, message_id, raw, packet)"""


class RowBlock(NamedTuple):
    """Rows of one file, in the order in which they were made."""

    file: str
    templates: list[Event]
    rows: list[Row]

    def events(self) -> Iterator[Event]:
        for number, seq, time_ns, tag, size, digest, name, raw, _ in self.rows:
            template = self.templates[number]
            yield template._replace(
                seq=seq,
                time_ns=time_ns,
                delivery_tag=tag,
                body_size=size,
                body_hash=digest,
                raw=raw,
                message_id=name,
                arguments=template.arguments.replace(HOLE, name or ""),
            )

    def recorded(self) -> Iterator[dict[str, Any]]:
        """Rows as a recording has them, each with its place in the capture."""
        for event, row in zip(self.events(), self.rows, strict=True):
            yield {**to_row(event), "file": self.file, "packet": row[-1]}


class Rows:
    """Collects rows, whatever connection they are of."""

    def __init__(self, file: str = "") -> None:
        self.file = file
        self.templates: list[Event] = []
        self.rows: list[Row] = []
        self._known: dict[int, dict[Hashable, int]] = {}

    def known(self) -> dict[Hashable, int]:
        """A new memory, from octets to templates; emptied when there are too many templates."""
        memory: dict[Hashable, int] = {}
        self._known[id(memory)] = memory
        return memory

    def release(self, memory: dict[Hashable, int]) -> None:
        """Nobody will ask this memory again."""
        self._known.pop(id(memory), None)

    def template(self, event: Event) -> int:
        self.templates.append(event)
        return len(self.templates) - 1

    def add(self, event: Event, seq: int, time_ns: int, packet: int) -> None:
        """An event that is not expected to come again."""
        self.rows.append(
            (
                self.template(event),
                seq,
                time_ns,
                event.delivery_tag,
                event.body_size,
                event.body_hash,
                event.message_id,
                event.raw,
                packet,
            )
        )

    def take(self) -> RowBlock:
        """What was collected since the last time."""
        block = RowBlock(self.file, self.templates, self.rows)
        self.rows = []
        if len(self.templates) > MOST_TEMPLATES:
            self.templates = []
            for memory in self._known.values():
                memory.clear()
        return block


class Place:
    """Where events are put: the packet that is being read, and the order so far."""

    __slots__ = ("packet", "rank", "seq", "time_ns")

    def __init__(self) -> None:
        self.packet = self.time_ns = self.seq = self.rank = 0

    def next(self) -> int:
        """The next seq. In a ring it tells the packet, so that files can be read apart."""
        seq = self.seq + 1
        self.seq = seq = seq if seq > self.rank else self.rank
        return seq

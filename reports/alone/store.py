"""Recordings and captures as histories in memory, each cut into its islands, in the order of seq.

A process holds at most `MOST` events. An input with more is refused with a message, and goes to Spark. Strings that
occur again and again are kept once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from operator import attrgetter
from typing import Any

from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import Placed
from reports.capture.about import PORTS
from reports.capture.capture import Capture
from reports.capture.rings import rings
from reports.judging.islands import apart, links
from reports.pipeline.inputs import CAPTURE, RECORDING, Inputs

MOST = 1_000_000
"""Events. A capture of 882,301 was held and judged in 1,420 MB."""

ALIKE = (
    "run",
    "broker",
    "history",
    "connection",
    "direction",
    "kind",
    "method",
    "consumer_tag",
    "queue",
    "exchange",
    "routing_key",
    "flags",
)
_PLACES = tuple(Event._fields.index(name) for name in ALIKE)


class TooMany(Exception):
    """More events than one process should hold."""


@dataclass
class StoredHistory:
    """One history of a run. `whole` once: all connections of it are one island, as in recordings."""

    run: str
    name: str
    whole: bool
    events: list[Event] = field(default_factory=list)
    extra: dict[int, str] = field(default_factory=dict)
    """What only the source knows of an event, as JSON by seq: of a capture file and packet."""

    @cached_property
    def islands(self) -> dict[str, list[Event]]:
        """By name, in that order, each in the order of seq. What is about no connection is in all of them."""
        self.events.sort(key=attrgetter("seq"))
        said = ((event.connection, what, name) for event in self.events for what, name in links(event))
        places: dict[str, list[str]] = {}
        for connection, island in [] if self.whole else apart(said):
            places.setdefault(connection, []).append(island)
        if not places:
            return {"": self.events}
        found: dict[str, list[Event]] = {}
        for event in self.events:
            for island in places.get(event.connection, [""]):
                found.setdefault(island, []).append(event)
        return dict(sorted(found.items()))

    def island_of(self, seq: int) -> str:
        """Where the event of this number is."""
        return next(name for name, events in self.islands.items() if any(event.seq == seq for event in events))


Histories = dict[str, dict[str, StoredHistory]]
"""By run and name."""


def histories(inputs: Inputs) -> Histories:
    """All there is in these inputs. Raises TooMany, and what reading raises."""
    found: Histories = {run: {} for run in inputs.headers}
    count = 0
    words: dict[str, str] = {}
    for kind, read in ((RECORDING, _recorded), (CAPTURE, _captured)):
        runs = frozenset(inputs.runs(kind))
        for event, extra in read(inputs, runs):
            if event.run not in runs:
                continue
            count += 1
            if count > MOST:
                raise TooMany
            own = found[event.run]
            history = own.get(event.history)
            if history is None:
                history = own[event.history] = StoredHistory(event.run, event.history, whole=kind == RECORDING)
            history.events.append(_shared(event, words) if kind == RECORDING else event)
            if extra:
                history.extra[event.seq] = extra
    return {run: dict(sorted(own.items())) for run, own in found.items()}


def _recorded(inputs: Inputs, runs: frozenset[str]) -> Iterator[Placed]:
    for file in sorted({file for run in runs for file in inputs.held[run]}):
        yield from recording.placed(file)


def _captured(inputs: Inputs, runs: frozenset[str]) -> Iterator[Placed]:
    """The files of a capture are read as one."""
    for name, files in rings({file for run in runs for file in inputs.held[run]}).items():
        for block in Capture(files, ports=frozenset(inputs.ports) or PORTS, name=name).blocks():
            head = json.dumps({"file": block.file})[:-1] + ', "packet": '
            for event, row in zip(block.events(), block.rows, strict=True):
                yield event, f"{head}{row[-1]}}}"


def _shared(event: Event, words: dict[str, str]) -> Event:
    """The event, with words that were seen before."""
    values: list[Any] = list(event)
    for place in _PLACES:
        word = values[place]
        if word is not None:
            values[place] = words.setdefault(word, word)
    return Event._make(values)

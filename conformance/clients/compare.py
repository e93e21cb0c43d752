"""What a library showed of what came, and sent of what it was asked: the difference of two accounts of one history.

The wire is the truth. Each thing that the library showed is laid beside the event that it shows: the first of the same
connection and method that no field contradicts, else the first that is left. What remains on one side is hidden, or
made up; what differs in a field is changed, what the library leaves out of it is a hidden field; and what was shown in
another order than it came is out of order. The same comparison, of what was asked with what was sent, tells what a
library does of its own accord. What no application needs (the handshake, close-ok after a close) is no difference, nor
is what comes on a channel that the application has closed.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import codec
from conformance.clients.libraries.process import ShownMethod
from conformance.history import events
from conformance.history.events import TO_BROKER, TO_CLIENT, Event, body_hash

UPKEEP = frozenset(
    {
        "connection.start",
        "connection.secure",
        "connection.tune",
        "connection.open-ok",
        "connection.close-ok",
        "connection.start-ok",
        "connection.secure-ok",
        "connection.tune-ok",
        "connection.open",
        "channel.close-ok",
    }
)
"""Of what a library sends, and of what it need not show; channel.close-ok only as its answer."""
COLUMNS = frozenset({"delivery_tag", "multiple", "consumer_tag", "queue", "exchange", "routing_key"})
"""Arguments of methods that an event has as its own."""
END = "end"
"""A connection that is lost stands beside the methods under this name."""


@dataclass(frozen=True, slots=True)
class ShownMatch:
    """One thing that was shown, and the event that it shows."""

    event: Event
    shown: ShownMethod
    changed: Mapping[str, tuple[Any, Any]]
    """By field: what came, and what was shown."""
    absent: tuple[str, ...]
    """Fields that came and were not shown."""


@dataclass(frozen=True, slots=True)
class LibraryComparison:
    """`hidden`: came, and was not shown; `invented`: shown, and never came. `matches` are in the order of showing."""

    matches: Sequence[ShownMatch]
    hidden: Sequence[Event]
    invented: Sequence[ShownMethod]

    def disorder(self) -> Iterator[tuple[ShownMatch, ShownMatch]]:
        """Pairs of one channel that came in the other order."""
        last: dict[tuple[str, int], ShownMatch] = {}
        for match in self.matches:
            place = match.event.connection, match.event.channel
            before = last.get(place)
            if before is not None and before.event.seq > match.event.seq:
                yield before, match
            else:
                last[place] = match


def came(history: Sequence[Event], shown: Sequence[ShownMethod], own: Sequence[Event], ours: str) -> LibraryComparison:
    """What the library showed of what came. `own` it said unasked; `ours` is the connection that is not its."""
    unasked = {event.seq for event in own}
    wire = [(event, wanted) for event, wanted in _came(history, unasked) if event.connection != ours]
    compared = compare([event for event, _ in wire], shown, {event.seq for event, wanted in wire if not wanted})
    unread = {event.seq for event in _unread(compared, history)}
    return LibraryComparison(
        compared.matches, [event for event in compared.hidden if event.seq not in unread], compared.invented
    )


def sent(history: Sequence[Event], asked: Sequence[ShownMethod], ours: str) -> LibraryComparison:
    """What the library sent of what it was asked to say: `invented` never left, `hidden` it said by itself."""
    return compare(
        [
            event
            for event in history
            if event.direction == TO_BROKER
            and event.kind == events.METHOD
            and event.method not in UPKEEP
            and event.connection != ours
        ],
        asked,
    )


def compare(wire: Sequence[Event], shown: Sequence[ShownMethod], spare: Set[int] | None = None) -> LibraryComparison:
    """`spare` need not be shown, by their numbers; given, nothing is shown before it came."""
    later = spare is None
    left: dict[tuple[str, str], list[_Left]] = {}
    for event in wire:
        left.setdefault((event.connection, event.method or END), []).append(
            _Left(event, fields_of(event), event.seq in (spare or ())),
        )
    found: dict[int, ShownMatch] = {}
    for strict, spares in ((True, False), (True, True), (False, False), (False, True)):
        for number, one in enumerate(shown):
            group = left.get((one.on, one.method), [])
            if number not in found and (match := _take(group, one, strict=strict, spares=spares, later=later)):
                found[number] = match
    remaining = [one.event for group in left.values() for one in group if not one.spare]
    invented = [one for number, one in enumerate(shown) if number not in found]
    return LibraryComparison(
        [found[number] for number in sorted(found)],
        sorted(remaining, key=lambda event: event.seq),
        invented,
    )


@dataclass(frozen=True, slots=True)
class _Left:
    """An event that nothing was laid beside yet."""

    event: Event
    fields: Mapping[str, Any]
    spare: bool


def _take(group: list[_Left], shown: ShownMethod, *, strict: bool, spares: bool, later: bool) -> ShownMatch | None:
    """The first of these events that can be meant, taken out of them."""
    given = _given(shown)
    for index, one in enumerate(group):
        event, fields = one.event, one.fields
        if one.spare != spares or (event.seq > shown.at and not later):
            continue
        if shown.channel is not None and shown.channel != event.channel:
            continue
        changed = {
            name: (fields[name], value) for name, value in given.items() if name in fields and fields[name] != value
        }
        if not (strict and changed):
            del group[index]
            absent = tuple(name for name in fields if name not in given)
            return ShownMatch(event, shown, changed, (*absent, "channel") if shown.channel is None else absent)
    return None


def _given(shown: ShownMethod) -> dict[str, Any]:
    given = {name: value for name, value in shown.fields.items() if value is not None}
    if "body" in given:
        given["body"] = body_hash(base64.b64decode(given["body"]))
    return given


def fields_of(event: Event) -> dict[str, Any]:
    """All that a method says, by the names of its fields; a content's body as its hash."""
    if event.kind != events.METHOD:
        return {}
    frame = codec.decode(event.raw[: 8 + int.from_bytes(event.raw[3:7], "big")])
    assert isinstance(frame, codec.Method)
    fields: dict[str, Any] = {}
    for name in frame.FIELDS:
        if name in COLUMNS:
            fields[name] = getattr(event, name)
        elif not name.startswith("reserved") and name != "no_wait":
            fields[name] = event.has(name) if name in frame.BITS else event.args.get(name)
    if event.body_hash is not None:
        fields |= {"properties": event.args["properties"], "body": event.body_hash}
    return fields


def _came(history: Iterable[Event], unasked: Set[int]) -> Iterator[tuple[Event, bool]]:
    """What came, and whether an application wants it: not the answer to what it did not ask for, nor what comes on a
    channel or a connection that it has closed."""
    closed: set[tuple[str, int]] = set()
    asked: dict[tuple[str, int, str], list[bool]] = {}
    for event in history:
        place, connection = (event.connection, event.channel), (event.connection, 0)
        over = connection in closed or place in closed
        if event.direction == TO_BROKER:
            if not event.has("no_wait"):
                asked.setdefault((*place, f"{event.method}-ok"), []).append(event.seq not in unasked)
            if event.method in ("channel.close", "connection.close"):
                closed.add(place)
        elif event.kind == events.END:
            yield event, connection not in closed
        elif event.direction == TO_CLIENT and event.method == "channel.close-ok":
            closed.discard(place)
            yield event, _asked(asked, event) and connection not in closed
        elif event.direction == TO_CLIENT and event.kind == events.METHOD and event.method not in UPKEEP:
            yield event, _asked(asked, event) and not over
            if event.method == "connection.close":
                closed.add(connection)


def _asked(asked: Mapping[tuple[str, int, str], list[bool]], event: Event) -> bool:
    """Is it no answer, or the answer to something that was asked for?"""
    waiting = asked.get((event.connection, event.channel, event.method))
    return waiting.pop(0) if waiting else True


def _unread(compared: LibraryComparison, history: Sequence[Event]) -> Iterator[Event]:
    """What a library cannot have read: it came last on a connection that was cut."""
    lost = {event.connection for event in history if event.kind == events.END and event.args.get("cause") != "fin"}
    last: dict[str, int] = {}
    for match in compared.matches:
        if match.event.method:
            last[match.event.connection] = max(match.event.seq, last.get(match.event.connection, 0))
    for event in compared.hidden:
        if event.connection in lost and event.method and event.seq > last.get(event.connection, 0):
            yield event

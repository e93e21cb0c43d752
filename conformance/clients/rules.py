"""What of a rule can an application see through this library? Asked of the same monitors that judge the broker.

The wire's history is judged as it is, and once more for each thing in which the library's account differs: without the
events that it hid, with the values that it changed, in the order in which it showed them, and with another value in
each field that it left out. Where the judgement on a rule stays the same, what is missing does not matter to it, and
the rule is *shown*. Where a library's values or order contradict the rule, it is *changed*: an application would blame
the broker. Where nothing is left by which the rule could be judged, it is *hidden*; where less is left, or the verdict
could be another one, it is *partly* shown. No judgement is made by anybody else.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.catalogue.profiles import Profile
from conformance.clients.compare import COLUMNS, LibraryComparison
from conformance.history.events import Event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import Judgement

SHOWN, PARTLY, HIDDEN, CHANGED = "shown", "partly", "hidden", "changed"
CANNOT, NOT_MET = "cannot be expressed", "not met"
BY_LIBRARY, BY_ABSENCE = "changes", "hides"


@dataclass(frozen=True, slots=True)
class Variant:
    """One thing in which the accounts differ: how, in words, and the history as it would have been."""

    kind: str
    words: str
    history: Sequence[Event]


@dataclass(frozen=True, slots=True)
class Seen:
    """What can be seen of one rule in one history, and what is in the way, as the end of a sentence."""

    status: str
    why: tuple[str, ...] = ()


def seen(
    history: Sequence[Event], compared: LibraryComparison, profile: Profile, rules: Sequence[str]
) -> dict[str, Seen]:
    """By rule; `history` is what was on the wire."""
    wire = judge(history, profile)
    told = [(variant, judge(variant.history, profile)) for variant in variants(history, compared)]
    bare = judge(_without(history, {event.seq for event in compared.hidden}), profile)
    return {rule: _seen(rule, wire, bare, told) for rule in rules}


def _seen(rule: str, wire: Judgement, bare: Judgement, told: Sequence[tuple[Variant, Judgement]]) -> Seen:
    if not wire.exercised[rule]:
        return Seen(NOT_MET)
    touched = [(variant, other) for variant, other in told if _verdict(rule, other) != _verdict(rule, wire)]
    why = tuple(dict.fromkeys(variant.words for variant, _ in touched))
    if any(variant.kind == BY_LIBRARY and _found(rule, other) - _found(rule, wire) for variant, other in touched):
        return Seen(CHANGED, why)
    if not bare.exercised[rule]:
        return Seen(HIDDEN, why or ("all that it needs is hidden",))
    return Seen(PARTLY, why) if why else Seen(SHOWN)


def _verdict(rule: str, judgement: Judgement) -> tuple[int, frozenset[str]]:
    return judgement.exercised[rule], _found(rule, judgement)


def _found(rule: str, judgement: Judgement) -> frozenset[str]:
    return frozenset(finding.observed for finding in judgement.findings if finding.rule == rule)


def variants(history: Sequence[Event], compared: LibraryComparison) -> Iterator[Variant]:
    """The history for each kind of difference."""
    methods = dict.fromkeys(event.method for event in compared.hidden if event.method)
    for method in methods:
        gone = {event.seq for event in compared.hidden if event.method == method}
        yield Variant(BY_ABSENCE, f"{method} is not shown", _without(history, gone))
    for match_field in dict.fromkeys((m.event.method, name) for m in compared.matches for name in m.changed):
        values = {
            m.event.seq: m.changed[match_field[1]][1]
            for m in compared.matches
            if m.event.method == match_field[0] and match_field[1] in m.changed
        }
        yield Variant(
            BY_LIBRARY,
            f"{match_field[0]} is shown with another {match_field[1]}",
            _altered(history, match_field[1], values),
        )
    for method, name in dict.fromkeys((m.event.method, name) for m in compared.matches for name in m.absent):
        yield from _otherwise(history, compared, method, name)
    for first, second in dict.fromkeys((a.event.method, b.event.method) for a, b in compared.disorder()):
        yield Variant(BY_LIBRARY, f"{first} is shown before a {second} that came earlier", _as_shown(history, compared))


def _otherwise(history: Sequence[Event], compared: LibraryComparison, method: str, name: str) -> Iterator[Variant]:
    """A field that is not shown could have any value: some others are tried."""
    matches = [m for m in compared.matches if m.event.method == method and name in m.absent]
    values = {m.event.seq: value_of(m.event, name) for m in matches}
    for number in range(max(len(_others(value)) for value in values.values())):
        tried = {
            seq: others[min(number, len(others) - 1)] for seq, value in values.items() if (others := _others(value))
        }
        yield Variant(BY_ABSENCE, f"{method} is shown without {name}", _altered(history, name, tried))


def _others(value: Any) -> list[Any]:
    """Other values than this one."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [other for other in (0, value + 1) if other != value]
    return ["~other"] if isinstance(value, str) else []


def value_of(event: Event, name: str) -> Any:
    if name == "body":
        return event.body_hash
    if name in (*COLUMNS, "channel"):
        return getattr(event, name)
    return event.args[name] if name in event.args else event.has(name)


def _without(history: Sequence[Event], gone: set[int]) -> list[Event]:
    return [event for event in history if event.seq not in gone]


def _altered(history: Sequence[Event], name: str, values: dict[int, Any]) -> list[Event]:
    """With these values in this field of these events."""
    return [_with(event, name, values[event.seq]) if event.seq in values else event for event in history]


def _with(event: Event, name: str, value: Any) -> Event:
    if name == "body":
        return event._replace(body_hash=str(value))
    if name in (*COLUMNS, "channel"):
        return event._replace(**{name: value})
    if name in event.args:
        return event._replace(arguments=json.dumps({**event.args, name: value}, sort_keys=True))
    flags = [flag for flag in event.flags.split() if flag != name] + ([name] if value else [])
    return event._replace(flags=" ".join(sorted(flags)))


def _as_shown(history: Sequence[Event], compared: LibraryComparison) -> list[Event]:
    """What was shown out of order stands where it was shown, and with it all of its channel."""
    channels = {(match.event.connection, match.event.channel) for pair in compared.disorder() for match in pair}
    moved = {
        match.event.seq: (match.shown.at, number)
        for number, match in enumerate(compared.matches, 1)
        if (match.event.connection, match.event.channel) in channels
    }
    ordered = sorted(history, key=lambda event: moved.get(event.seq, (event.seq, 0)))
    times = itertools.accumulate((event.time_ns for event in ordered), max)
    return [
        event._replace(seq=seq, time_ns=time) for seq, (event, time) in enumerate(zip(ordered, times, strict=True), 1)
    ]

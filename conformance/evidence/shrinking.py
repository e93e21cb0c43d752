"""Shortens a reproducer as long as it still shows its fault. Each shorter version is played to find out.

Parts are left out, from coarse to fine: a connection, a channel, confirms, a message, a request with its answer. If a
part is needed, playing without it fails, and the part stays. The time is limited; every result has been played.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Hashable, Iterator, Sequence

from conformance.evidence.reproducer import Row

Holds = Callable[[Sequence[Row]], bool]
_CONFIRMS = ("confirm.select", "confirm.select-ok", "basic.ack", "basic.nack")
_ANSWERS = {"basic.get": ("basic.get-ok", "basic.get-empty")}


def shortest(rows: Sequence[Row], holds: Holds, seconds: float) -> list[Row]:
    """The shortest reproducer that we find in this time, numbered from 1. `rows` itself must hold."""
    until, kept = time.monotonic() + seconds, list(rows)
    for parts in (_connections, _channels, _confirms, _messages, _requests, _pauses):
        for part in list(parts(kept)):
            rest = [row for row in kept if row["n"] not in part]
            if time.monotonic() > until:
                return renumbered(kept)
            if part and rest and rest[-1] is kept[-1] and len(rest) < len(kept) and holds(rest):
                kept = rest
    return renumbered(kept)


def renumbered(rows: Sequence[Row]) -> list[Row]:
    """The rows with their numbers from 1, and settlements that name deliveries by them."""
    numbers = {row["n"]: place for place, row in enumerate(rows, 1)}

    def tag(value: object) -> object:
        named = isinstance(value, str) and value.startswith("@") and value[1:].isdecimal()
        return f"@{numbers[int(str(value)[1:])]}" if named and int(str(value)[1:]) in numbers else value

    return [
        {
            name: numbers[value] if name == "n" else tag(value) if name == "delivery_tag" else value
            for name, value in row.items()
        }
        for row in rows
    ]


def _connections(rows: Sequence[Row]) -> Iterator[set[int]]:
    yield from _by(rows, lambda row: row["on"])


def _channels(rows: Sequence[Row]) -> Iterator[set[int]]:
    yield from _by(rows, lambda row: (row["on"], row["channel"]) if row.get("channel") else None)


def _by(rows: Sequence[Row], key: Callable[[Row], Hashable]) -> Iterator[set[int]]:
    groups: dict[Hashable, set[int]] = {}
    for row in rows:
        if key(row):
            groups.setdefault(key(row), set()).add(row["n"])
    yield from groups.values()


def _confirms(rows: Sequence[Row]) -> Iterator[set[int]]:
    """Confirm mode on a channel, and all that the broker says because of it."""
    for row in rows:
        if row["method"] == "confirm.select":
            yield {
                one["n"]
                for one in rows
                if _place(one) == _place(row)
                and one["method"] in _CONFIRMS
                and (one["method"].startswith("confirm") or one["who"] == "<")
            }


def _messages(rows: Sequence[Row]) -> Iterator[set[int]]:
    """A publish, what carries its message, and what settles that."""
    for row in rows:
        if row["method"] == "basic.publish":
            name = row.get("properties", {}).get("message_id") or row.get("body")
            taken = {one["n"] for one in rows if one.get("message") == name}
            settled = {
                one["n"]
                for one in rows
                if str(one.get("delivery_tag", ""))[1:] in map(str, taken)
                and str(one.get("delivery_tag")).startswith("@")
            }
            yield {row["n"]} | taken | settled


def _requests(rows: Sequence[Row]) -> Iterator[set[int]]:
    """What the client sends, one by one, the last first, with its answer; a get also without one."""
    for place, row in reversed(list(enumerate(rows))):
        if row["who"] == ">":
            wanted = _ANSWERS.get(row["method"], (f"{row['method']}-ok",))
            answer = (one["n"] for one in rows[place:] if _place(one) == _place(row) and one["method"] in wanted)
            yield {row["n"], *itertools.islice(answer, 1)}
            if row["method"] == "basic.get":
                yield {row["n"]}


def _pauses(rows: Sequence[Row]) -> Iterator[set[int]]:
    for row in rows:
        if row["method"] in ("pause", "hang_up"):
            yield {row["n"]}


def _place(row: Row) -> tuple[str, int]:
    return row["on"], row.get("channel", 0)

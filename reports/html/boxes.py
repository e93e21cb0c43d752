"""Reads the state beside a step back from its words, so that it can be drawn: a box for each message.

    m1, m2, +4 in q1; c1.1 unacked 3 m3, 4 m4; c1.1 unconfirmed 1, 2

is what `conformance.evidence.beside` writes. Words of any other form stay words.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_WAITING = re.compile(r"(?P<items>.+) in (?P<where>\S+)")
_OPEN = re.compile(r"(?P<where>\S+) (?P<kind>unacked|unconfirmed) (?P<items>.+)")
NOTHING = "nothing waits, nothing is open"


@dataclass(frozen=True, slots=True)
class Group:
    """What is in one queue, or open on one channel. `kind`: waiting, unacked or unconfirmed."""

    kind: str
    where: str
    items: Sequence[str]


def groups(state: str) -> list[Group] | None:
    """The groups of a state; None where it cannot be read."""
    if state == NOTHING:
        return []
    found = [_group(part) for part in state.split("; ")]
    return [group for group in found if group] if all(found) else None


def _group(part: str) -> Group | None:
    match = _OPEN.fullmatch(part) or _WAITING.fullmatch(part)
    if match is None:
        return None
    kind = match.groupdict().get("kind") or "waiting"
    return Group(kind, match["where"], [_item(item, kind) for item in match["items"].split(", ")])


def _item(item: str, kind: str) -> str:
    """Older suites counted what waits."""
    return f"×{item}" if kind == "waiting" and item.isdecimal() else item

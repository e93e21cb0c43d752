"""Policies: what is set for queues and exchanges by their names, as the driver has found or set it, and noted that.

A policy is in doubt from before it is asked for until it is noted that the broker shows it; and brokers heed it a
moment later, so whoever judges leaves them `HEEDED` more. Which names a pattern fits is asked of Python's `re`, so the
suite's own patterns are of the kind that every regular expression language has in common. One that cannot be read may
fit anything. Where two policies of the same priority fit, it is the broker's choice which one holds.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

HEEDED = 1_000_000_000
"""Nanoseconds. Measured on RabbitMQ 3.8 to 4.3 and LavinMQ 2.9: a queue at rest heeds a policy at once."""
QUEUES = ("classic", "quorum")
APPLIES: Mapping[str, tuple[str, ...]] = {
    "all": (*QUEUES, "exchange"),
    "queues": QUEUES,
    "classic_queues": ("classic",),
    "quorum_queues": ("quorum",),
    "exchanges": ("exchange",),
    "streams": (),
}
Key = tuple[str, bool, str]
"""A virtual host, whether it is an operator's, and a name."""


@lru_cache(maxsize=256)
def fits(pattern: str, name: str) -> bool:
    """Does the pattern match anywhere in the name?"""
    return not readable(pattern) or re.search(pattern, name) is not None


@lru_cache(maxsize=256)
def readable(pattern: str) -> bool:
    """Is it the same pattern here?"""
    try:
        return re.compile(pattern) is not None
    except re.error:
        return False


@dataclass(slots=True, eq=False)
class Policy:
    """One policy, as it was told last; `settled`: the broker shows it, or that it is gone."""

    vhost: str
    name: str
    operator: bool
    pattern: str
    apply_to: str
    priority: int
    definition: Mapping[str, Any]
    seq: int
    settled: bool
    gone: bool

    def applies(self, kind: str) -> bool:
        return kind in APPLIES.get(self.apply_to, (kind,))

    def known(self) -> bool:
        """Can it be told to what it applies?"""
        return readable(self.pattern) and self.apply_to in APPLIES


class PolicyHistory:
    """All that the history tells of."""

    __slots__ = ("_ever", "by_key", "changed_ns")

    def __init__(self) -> None:
        self.by_key: dict[Key, Policy] = {}
        self.changed_ns = 0
        """When the latest change was noted."""
        self._ever: dict[str, frozenset[str]] = {}
        """What was ever set, by patterns."""

    def __bool__(self) -> bool:
        return bool(self._ever)

    def told(self, about: Mapping[str, Any], seq: int, now: int) -> None:
        """An event: it is being set or removed, or that is done."""
        vhost, name, operator = str(about.get("vhost")), str(about.get("name")), bool(about.get("operator"))
        state = about.get("state")
        key, known = (vhost, operator, name), self.by_key.get((vhost, operator, name))
        definition = about.get("definition") or (known.definition if known is not None else {})
        pattern = str(about.get("pattern") or (known.pattern if known is not None else ""))
        self.by_key[key] = Policy(
            vhost,
            name,
            operator,
            pattern,
            str(about.get("apply_to") or (known.apply_to if known is not None else "all")),
            int(about.get("priority") or 0),
            dict(definition),
            seq,
            state in ("set", "cleared"),
            state == "cleared",
        )
        self.changed_ns = now
        self._ever[pattern] = self._ever.get(pattern, frozenset()).union(definition)

    def keys(self, name: str) -> frozenset[str]:
        """All that any policy of this history may have set for what is called so, in whatever virtual host."""
        found = (keys for pattern, keys in self._ever.items() if fits(pattern, name))
        return frozenset().union(*found)

    def settled(self, now: int) -> bool:
        """Is none of them being changed, and has the broker had time to heed all?"""
        return now >= self.changed_ns + HEEDED and all(one.settled for one in self.by_key.values())

    def fitting(self, vhost: str, kind: str, name: str, *, operator: bool = False) -> list[Policy]:
        """Those of the virtual host that are there and fit, the one that holds first."""
        here = (one for one in self._of(vhost, operator) if one.applies(kind) and fits(one.pattern, name))
        return sorted((one for one in here if not one.gone), key=lambda one: -one.priority)

    def settings(self, vhost: str, kind: str, name: str) -> Mapping[str, Any] | None:
        """What they set together for this queue or exchange; None: that is the broker's choice."""
        found: dict[str, Any] = {}
        for operator in (False, True):
            fitting = self.fitting(vhost, kind, name, operator=operator)
            if not all(one.known() for one in fitting):
                return None
            if len(fitting) > 1 and fitting[0].priority == fitting[1].priority:
                return None
            for key, value in fitting[0].definition.items() if fitting else ():
                found[key] = smaller(found.get(key), value)
        return found

    def _of(self, vhost: str, operator: bool) -> Iterator[Policy]:
        return (one for one in self.by_key.values() if one.vhost == vhost and one.operator == operator)


def smaller(one: object, other: object) -> Any:
    """Of two numbers the smaller, of anything else the latter."""
    first, second = number(one), number(other)
    return min(first, second) if first is not None and second is not None else other


def number(value: object) -> int | None:
    """A limit, if it is one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None

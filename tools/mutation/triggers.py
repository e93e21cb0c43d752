"""When a mutated place is wrong: a trigger, out of eight kinds, drawn by seed among those that can hold at that place.

`from`, `every`: from the k-th occasion on, or on every k-th. `second`: only the second time on a channel, queue or
consumer, or for the second consumer under a tag, or the second channel under a number. `size`: only from so many on, at
2^n or beside it. `feature`: only if another feature was used before. `connection`: only on another connection than the
oldest that is open. `write`: only if two methods or more came in one write. `nature`: only for a queue, message,
consumer or channel that is of this nature. An occasion is an execution at which right and wrong differ.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from tools.mutation.natures import NATURES, has_nature
from tools.mutation.past import DEAD_LETTER, FEATURES, LIMIT, NOWAIT, REOPEN, Past
from tools.mutation.subjects import TWICE, Subjects, size

WRITE = "write"
"""Beside the kinds of subjects: a place that is executed while a write is worked off."""


class Occasion(Protocol):
    """What a trigger may ask."""

    past: Past
    occasions: int
    """How many so far, this one included."""

    def about(self) -> Subjects: ...

    def times(self, one: object) -> int:
        """How many of them were about this one."""


@dataclass(frozen=True, slots=True)
class Trigger:
    kind: str
    what: str = ""
    scope: str = ""
    k: int = 0
    beside: int = 0

    @property
    def key(self) -> str:
        beside = f"{self.beside:+}" if self.beside else ""
        words = (self.kind, self.what, self.scope, f"k={self.k}{beside}" if self.k else "")
        return " ".join(word for word in words if word)

    def holds(self, now: Occasion) -> bool:
        return _HOLDS[self.kind](self, now)

    def fits(self, present: frozenset[str]) -> bool:
        """Can it hold at a place at which these are known? What comes there once, as who is cancelled, has no second
        time."""
        if self.kind == "second" and self.what == self.scope:
            return f"{self.scope}{TWICE}" in present
        return _NEEDS.get(self.scope or self.kind, self.scope or self.kind) in {*present, ""}


def _second(trigger: Trigger, now: Occasion) -> bool:
    about, past = now.about(), now.past
    if trigger.what == "tag":
        consumer = about.consumer
        return consumer is not None and past.bearer(consumer, consumer.channel, consumer.tag) == 2
    if trigger.what == "number":
        return about.channel is not None and past.number(about.channel) == 2
    one = getattr(about, trigger.scope)
    return one is not None and now.times(one) == 2


def _feature(trigger: Trigger, now: Occasion) -> bool:
    one = getattr(now.about(), trigger.scope)
    return one is not None and trigger.what in now.past.features[one]


def _connection(trigger: Trigger, now: Occasion) -> bool:
    connection = now.about().connection
    return connection is not None and connection is not next(iter(connection.broker.connections), connection)


_HOLDS: dict[str, Callable[[Trigger, Occasion], bool]] = {
    "always": lambda trigger, now: True,
    "from": lambda trigger, now: now.occasions >= trigger.k,
    "every": lambda trigger, now: now.occasions % trigger.k == 0,
    "second": _second,
    "size": lambda trigger, now: size(trigger.what, now.about()) >= trigger.k + trigger.beside,
    "feature": _feature,
    "connection": _connection,
    "write": lambda trigger, now: now.past.together > 1,
    "nature": lambda trigger, now: has_nature(trigger.scope, trigger.what, now.about()),
}
_NEEDS = {"always": "", "from": "", "every": ""}

ALWAYS = Trigger("always")
POWERS = [2**exponent for exponent in range(1, 11)]
SIZES = {
    "ready": ("queue", POWERS),
    "unacked": ("channel", POWERS),
    "window": ("channel", POWERS),
    "tag": ("channel", POWERS),
    "octets": ("message", [2**exponent for exponent in range(1, 18)]),
    "name": ("queue", POWERS[:7]),
}
ON_ALL = (*dict.fromkeys(FEATURES.values()), NOWAIT, REOPEN, DEAD_LETTER, LIMIT)
USED = {"channel": ON_ALL, "connection": ON_ALL, "queue": ("get", "cancel", NOWAIT, DEAD_LETTER, LIMIT)}

TRIGGERS: dict[str, list[Trigger]] = {
    "from": [Trigger("from", k=k) for k in POWERS],
    "every": [Trigger("every", k=k) for k in POWERS],
    "second": [
        *(Trigger("second", what, what) for what in ("channel", "queue", "consumer")),
        Trigger("second", "tag", "consumer"),
        Trigger("second", "number", "channel"),
    ],
    "size": [
        Trigger("size", measure, scope, k, beside)
        for measure, (scope, powers) in SIZES.items()
        for k in powers
        for beside in (-1, 0, 1)
    ],
    "feature": [Trigger("feature", what, scope) for scope, features in USED.items() for what in features],
    "connection": [Trigger("connection")],
    "write": [Trigger("write")],
    "nature": [Trigger("nature", what, scope) for scope, natures in NATURES.items() for what in natures],
}


def drawn(kind: str, chance: random.Random, present: frozenset[str]) -> Trigger | None:
    """One of this kind that can hold where these are known. What is measured, or used, is drawn before how much."""
    fitting = [one for one in TRIGGERS[kind] if one.fits(present)]
    if not fitting:
        return None
    what = chance.choice(sorted({(one.what, one.scope) for one in fitting}))
    return chance.choice([one for one in fitting if (one.what, one.scope) == what])

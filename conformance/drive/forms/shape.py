"""The forms of one history, drawn by a seed, and what they are made of.

Each form is something that clients do and scenes do not. What a form adds changes nothing, or is never reached.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from codec import values

HOURS = 36_000_000
"""Milliseconds: longer than any history, on a clock that is turned on as well."""
AMPLE = 2**30
"""Octets: more than any history leaves in a queue."""

RICH: Mapping[str, Any] = {
    "content_type": "text/plain",
    "content_encoding": "identity",
    "headers": values.table({f"header {number}": f"value {number}" for number in range(40)}),
    "correlation_id": "c" * 200,
    "reply_to": "nobody",
    "timestamp": 1_700_000_000,
    "type": "kind",
    "app_id": "application",
}
"""Of a message: what nobody acts on."""
RANKED: Mapping[str, Any] = {"priority": 3, "expiration": str(HOURS)}
"""What is acted on, and here makes no difference. The order of messages is left open by it, and whether they stay."""
PERSISTENT: Mapping[str, Any] = {"delivery_mode": 2}
EQUAL: Mapping[str, Any] = {"x-priority": 3}
"""Of a consumer: as important as all others."""

UNREACHED: Mapping[str, Mapping[str, Any]] = {
    "x-max-priority": {"x-max-priority": 5},
    "x-message-ttl": {"x-message-ttl": HOURS},
    "x-expires": {"x-expires": HOURS},
    "x-max-length": {"x-max-length-bytes": AMPLE},
    "x-overflow": {"x-max-length-bytes": AMPLE, "x-overflow": "reject-publish"},
}
"""Of a classic queue, by the feature that it takes."""

WAYS: Mapping[str, tuple[str, ...]] = {
    "direct": ("direct exchange",),
    "topic": ("topic exchange",),
    "onward": ("direct exchange", "exchange.bind"),
    "alternate": ("direct exchange", "alternate-exchange"),
}
"""How a publish gets to its queue, with the features that it takes."""
RANKS, LEASE = "ranked", "x-expires"
LIMITS = frozenset({"x-message-ttl", "x-max-length", "x-overflow"})
AROUND = frozenset(WAYS) - {"direct"}
BLINDING: Mapping[str, frozenset[str]] = {
    "LEN": frozenset({*WAYS, *LIMITS, RANKS}),
    "DLX": AROUND | LIMITS,
    "TX": AROUND | {RANKS},
    "ROUTE": frozenset({*WAYS, *UNREACHED, RANKS}),
    "CNF": frozenset({"x-message-ttl", RANKS}),
    "RQ": frozenset({*UNREACHED, RANKS}),
    "QUEUE": frozenset({*UNREACHED, RANKS}),
    "PRIO": LIMITS | {RANKS},
    "SAC": LIMITS,
    "TTL": frozenset({*WAYS, "x-message-ttl"}),
}
"""Forms under which judges claim less of what the scenes of a family are about, as measured with wrong brokers: an
order is not certain where something may expire, nor who has lost a message where it may have gone two ways."""


def blinding(families: Iterable[str]) -> frozenset[str]:
    """The forms under which less is claimed of any of these. Of a queue that may go by itself little is claimed."""
    return frozenset({LEASE}).union(*(BLINDING.get(family, ()) for family in families))


@dataclass(frozen=True, slots=True)
class Forms:
    """Of one history. As they are by default, a scene says what it says."""

    way: str = ""
    quiet: bool = False
    """Consumers start without an answer."""
    equal: bool = False
    """Consumers have the same priority."""
    multiple: bool = False
    """The oldest delivery is settled by a multiple settlement."""
    rich: bool = False
    ranked: bool = False
    persistent: bool = False
    mandatory: bool = False
    confirmed: bool = False
    """Channels that publish are in confirm mode."""
    unreached: tuple[str, ...] = ()
    transient: bool = False
    """Queues end with the broker."""
    exclusive: bool = False
    """Queues belong to their connection, in the later passes."""
    channels: int = 0
    """So many channel numbers are passed over."""
    asides: int = 0
    """The seed of what is asked in between; 0: nothing is."""
    together: bool = False
    """In each later pass the flow is asked for before everything, in one write with it."""
    insists: int = 0
    """What may be said again changes nothing: it was said so often without an answer, in one write."""
    first: int = 0
    """So many publishes that go nowhere are the first of a confirm mode or a transaction that a scene is about."""
    sighted: bool = False
    """Nothing is said by which judges lose sight of what the scene is about."""

    @classmethod
    def drawn(cls, chance: random.Random) -> Forms:
        return cls(
            way=chance.choice(("", "", *WAYS)),
            quiet=chance.random() < 0.3,
            equal=chance.random() < 0.35,
            multiple=chance.random() < 0.3,
            rich=chance.random() < 0.5,
            ranked=chance.random() < 0.1,
            persistent=chance.random() < 0.5,
            mandatory=chance.random() < 0.3,
            confirmed=chance.random() < 0.3,
            unreached=tuple(chance.sample(sorted(UNREACHED), chance.choice((0, 0, 0, 1)))),
            transient=chance.random() < 0.2,
            exclusive=chance.random() < 0.25,
            channels=chance.choice((0, 0, 254, 256, 1024)),
            asides=chance.choice((0, 0, chance.randrange(1, 1 << 32))),
            together=chance.random() < 0.6,
            insists=chance.choice((0, 20)),
            first=chance.choice((0, 130)),
            sighted=chance.random() < 0.75,
        )


def changed(method: Any, **fields: Any) -> Any:
    """Another method of the kind, with these fields."""
    kept = {name: getattr(method, name) for name in method.FIELDS}
    return type(method)(fields.pop("channel", method.channel), **kept | fields)

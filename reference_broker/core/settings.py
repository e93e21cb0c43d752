"""What an operator sets beside the declarations of clients: policies, and settings of the whole broker.

A policy names queues and exchanges by a pattern and sets values for them; of several that fit, the one with the highest
priority holds, alone. Beside users' policies there are operators', of which one holds as well: `policies.py` says what
both say together. They hold from the moment they are set, for what is there and for what comes later; who asks for a
value once and keeps it, keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reference_broker.core.policies import merged
from reference_broker.core.routing import Exchange

if TYPE_CHECKING:
    from reference_broker.core.queues.queue import Queue

DEFAULT_CONSUMER_TIMEOUT = 1_800_000
"""Milliseconds: thirty minutes."""
APPLIES = {
    "all": ("classic", "quorum", "exchange"),
    "queues": ("classic", "quorum"),
    "classic_queues": ("classic",),
    "quorum_queues": ("quorum",),
    "exchanges": ("exchange",),
    "streams": (),
}


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    pattern: str
    definition: Mapping[str, Any]
    apply_to: str = "all"
    priority: int = 0

    def fits(self, kind: str, name: str) -> bool:
        return kind in APPLIES.get(self.apply_to, ()) and re.search(self.pattern, name) is not None


def kind_of(thing: Queue | Exchange) -> str:
    if isinstance(thing, Exchange):
        return "exchange"
    return "classic" if thing.quorum is None else "quorum"


@dataclass(frozen=True, slots=True)
class About:
    """What an operator says of a virtual host."""

    description: str = ""
    tags: tuple[str, ...] = ()
    default_queue_type: str = ""
    """Of a queue that is declared without one, durable and for everybody; empty: classic."""


@dataclass
class Settings:
    policies: dict[str, Policy] = field(default_factory=dict)
    operator_policies: dict[str, Policy] = field(default_factory=dict)
    consumer_timeout: int | None = None

    def policy_of(self, thing: Queue | Exchange) -> Policy | None:
        return first_of(self.policies.values(), thing)

    def operator_policy_of(self, thing: Queue | Exchange) -> Policy | None:
        return first_of(self.operator_policies.values(), thing)

    def definition_of(self, thing: Queue | Exchange) -> Mapping[str, Any]:
        """What policies set for it."""
        found = self.policy_of(thing), self.operator_policy_of(thing)
        users, operators = (policy.definition if policy is not None else {} for policy in found)
        return merged(users, operators) if operators else users

    def by_policy(self, queue: Queue, key: str) -> Any:
        """The value that policies set; None without one."""
        return self.definition_of(queue).get(key)

    def general_timeout(self) -> int:
        return DEFAULT_CONSUMER_TIMEOUT if self.consumer_timeout is None else self.consumer_timeout


def first_of(policies: Iterable[Policy], thing: Queue | Exchange) -> Policy | None:
    fitting = [policy for policy in policies if policy.fits(kind_of(thing), thing.name)]
    return max(fitting, key=lambda policy: policy.priority, default=None)

"""What an operator sets beside the declarations of clients: policies, and settings of the whole broker.

A policy names queues by a pattern and sets values for them; of several that fit, the one with the highest priority
holds, alone. It holds from the moment it is set, for queues that are there and for later ones; who asks for a value
once and keeps it, keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from reference_broker.queue import Queue

DEFAULT_CONSUMER_TIMEOUT = 1_800_000
"""Milliseconds: thirty minutes."""
APPLIES = {"all": ("classic", "quorum"), "queues": ("classic", "quorum"), "classic_queues": ("classic",),
           "quorum_queues": ("quorum",)}


@dataclass(frozen=True, slots=True)
class Policy:
    name: str
    pattern: str
    definition: Mapping[str, Any]
    apply_to: str = "all"
    priority: int = 0

    def fits(self, queue: Queue) -> bool:
        kind = "classic" if queue.quorum is None else "quorum"
        return kind in APPLIES.get(self.apply_to, ()) and re.search(self.pattern, queue.name) is not None


@dataclass
class Settings:
    policies: dict[str, Policy] = field(default_factory=dict)
    consumer_timeout: int | None = None

    def policy_of(self, queue: Queue) -> Policy | None:
        fitting = [policy for policy in self.policies.values() if policy.fits(queue)]
        return max(fitting, key=lambda policy: policy.priority, default=None)

    def by_policy(self, queue: Queue, key: str) -> Any:
        """The value that the queue's policy sets; None without one."""
        policy = self.policy_of(queue)
        return None if policy is None else policy.definition.get(key)

    def general_timeout(self) -> int:
        return DEFAULT_CONSUMER_TIMEOUT if self.consumer_timeout is None else self.consumer_timeout

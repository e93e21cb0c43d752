"""What policies leave open: a queue that one may fit has limits that no declaration tells.

The model claims nothing of such a queue, as of one that anybody may use. It does so for as long as the history lasts,
whether the policy has come to hold or not: what policies do is for the family POLICY, which has a memory of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.queues.queue import Queue

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

LEADS_ON = frozenset({"dead-letter-exchange", "alternate-exchange"})
"""These bring messages into queues that nobody has published to."""
ENDLESS = 1 << 63


def told(model: Model, event: Event) -> None:
    """A policy is being set or removed, or that is done."""
    policies = model.topology.policies
    policies.told(event.args, event.seq, event.time_ns)
    if not LEADS_ON.isdisjoint(event.args.get("definition") or ()):
        model.publish_somewhere()
    for queue in model.queues.values():
        widen(queue, policies.keys(queue.name))
    for (_, name), known in model.topology.queues.items():
        known.doubtful = known.doubtful or "expires" in policies.keys(name)


def widen(queue: Queue, keys: frozenset[str]) -> None:
    """These may be set for it."""
    if keys:
        queue.forget()
        queue.leased = queue.leased or "expires" in keys
        queue.room = ENDLESS if "overflow" in keys else None

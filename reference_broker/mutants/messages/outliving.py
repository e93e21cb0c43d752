"""Wrong restarts, of what arguments mean: a queue still shows an argument, and does not act by it any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reference_broker.mutants.kinds import Mutant, enter
from reference_broker.parts import Parts
from reference_broker.queue import Queue

SAME = "DUR-002"
"""Its scene asks of the queues what their arguments say, which the rules of these judge."""


def forgets(name: str, says: str, *rules: str, **settings: Any) -> None:
    """After a restart these settings of every queue are what they are without an argument."""

    def restart(self: Queue) -> None:
        self.declared = replace(self.declared, **settings)
        self.heed(self.vhost.definition_of(self))
        Queue.restart(self)

    def apply(parts: Parts) -> None:
        parts.override("queue", restart=restart)

    enter(restart, Mutant(name, says, (SAME, *rules), apply))


forgets("outliving.no-limit", "after a restart queues have no limit", "LEN-001", max_length=None, max_octets=None)
forgets("outliving.no-priorities", "after a restart queues know no priorities", "PRIO-001", max_priority=0)
forgets("outliving.no-time", "after a restart queues give messages no time to live", "TTL-002", message_ttl=None)
forgets("outliving.no-refusal", "after a restart full queues drop their oldest message", "CNF-011", overflow=None)
forgets(
    "outliving.all-served",
    "after a restart all consumers are served where one was",
    *("SAC-001", "SAC-005"),
    single_active_consumer=False,
)

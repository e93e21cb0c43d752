"""Wrong restarts, of what arguments mean: a queue still shows an argument, and does not act by it any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from reference_broker.mutants.kinds import Mutant, enter, replaces
from reference_broker.parts import Parts
from reference_broker.queue import Queue
from reference_broker.vhost import VirtualHost

ISSUES = "https://github.com/cloudamqp/lavinmq/issues/"
SAME = "DUR-002"
"""Its scene asks of the queues what their arguments say, which the rules of these judge."""


def forgets(name: str, says: str, *rules: str, field: str = "", **settings: Any) -> None:
    """After a restart these settings of every queue are what they are without an argument."""

    def restart(self: Queue) -> None:
        self.declared = replace(self.declared, **settings)
        self.heed(self.vhost.definition_of(self))
        Queue.restart(self)

    def apply(parts: Parts) -> None:
        parts.override("queue", restart=restart)

    enter(restart, Mutant(name, says, (SAME, *rules), apply, field))


forgets("outliving.no-limit", "after a restart queues have no limit", "LEN-001", max_length=None, max_octets=None)
forgets(
    "outliving.no-priorities",
    "after a restart queues know no priorities",
    "PRIO-001",
    field=ISSUES + "434",
    max_priority=0,
)
forgets("outliving.no-time", "after a restart queues give messages no time to live", "TTL-002", message_ttl=None)
forgets("outliving.no-refusal", "after a restart full queues drop their oldest message", "CNF-011", overflow=None)
forgets(
    "outliving.all-served",
    "after a restart all consumers are served where one was",
    *("SAC-001", "SAC-005"),
    single_active_consumer=False,
)


# -- messages and policies


@replaces(
    "queue.restart",
    "outliving.immortal",
    "what is in a queue when the broker is restarted never expires",
    "DUR-013",
    "TTL-001",
    "TTL-002",
)
def immortal(self: Queue) -> None:
    for entry in self.ready.entries():
        entry.expires = None
    Queue.restart(self)


@replaces(
    "queue.restart",
    "outliving.in-order",
    "after a restart a queue with priorities serves what it had in the order of its publication",
    "DUR-023",
)
def in_order(self: Queue) -> None:
    Queue.restart(self)
    for entry in self.ready.entries():
        entry.message = entry.message.copy(entry.message.exchange, entry.message.routing_key, priority=None)
    Queue.restart(self)


@replaces(
    "vhost.restart",
    "outliving.policies-not-heeded",
    "policies are shown after a restart, and not heeded by queues that were there",
    "DUR-022",
    field=ISSUES + "1736",
)
def policies_not_heeded(self: VirtualHost) -> None:
    VirtualHost.restart(self)
    for queue in self.queues.values():
        queue.heed({})


@replaces("vhost.restart", "outliving.policies-lost", "there are no policies after a restart", "DUR-022")
def policies_lost(self: VirtualHost) -> None:
    for operator in (False, True):
        self.policies(operator).clear()
    VirtualHost.restart(self)
    self.heed_policies()

"""queue.declare: which arguments mean something, and what a queue may be called."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from codec import methods as m
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.errors import ConnectionException
from reference_broker.core.queues.arguments import Arguments, invalid, wrong_type
from reference_broker.core.routing import Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []
TIMEOUT, MODE, TTL = "x-consumer-timeout", "x-queue-mode", "x-message-ttl"
LONGEST = 251
"""Characters of a quorum queue's name that have room in the name of a process, beside its virtual host."""


@does(
    "arguments",
    BEHAVIOURS,
    "declares.timeout-unknown",
    "x-consumer-timeout is an argument that nobody looks at, of queues and of consumers",
    until="4.0",
)
class TimeoutUnknown(Arguments):
    def foreign_to(self, queue_type: str) -> Collection[str]:
        return [name for name in super().foreign_to(queue_type) if name != TIMEOUT]

    def checked(self, name: str, letter: str, value: Any, queue: str) -> Any:
        return value if name == TIMEOUT else super().checked(name, letter, value, queue)

    def consumer_timeout(self, table: FieldTable, queue: str, quorum: bool) -> int | None:
        return None


@does("arguments", BEHAVIOURS, "declares.lazy-queues", "x-queue-mode means something", until="4.0")
class LazyQueues(Arguments):
    def checked(self, name: str, letter: str, value: Any, queue: str) -> Any:
        if name == MODE:
            if letter != "S":
                raise wrong_type(MODE, letter, queue)
            if value not in (b"default", b"lazy"):
                raise invalid(MODE, queue, f"\"unsupported queue mode '{value.decode(errors='replace')}'\"")
        return super().checked(name, letter, value, queue)


@does("arguments", BEHAVIOURS, "declares.no-quorum-ttl", "no quorum queue takes x-message-ttl", until="3.8")
class NoQuorumTtl(Arguments):
    def foreign_to(self, queue_type: str) -> Collection[str]:
        return [*super().foreign_to(queue_type), *([TTL] if queue_type == "quorum" else [])]


@does("arguments", BEHAVIOURS, "declares.server-named-quorum", "the server may name a quorum queue", until="3.8")
class ServerNamedQuorum(Arguments):
    def check_name(self, method: m.QueueDeclare) -> None:
        """Any is good."""


@does("arguments", BEHAVIOURS, "declares.long-quorum-names", "a long name of a quorum queue costs all", until="3.8")
class LongQuorumNames(Arguments):
    def check_quorum(self, method: m.QueueDeclare) -> None:
        super().check_quorum(method)
        if len(method.queue) > LONGEST:
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))


@does("vhost", BEHAVIOURS, "declares.transient-exchanges-stay", "transient exchanges outlive a restart", since="4.3")
class TransientExchangesStay(VirtualHost):
    def outlives(self, exchange: Exchange) -> bool:
        return True

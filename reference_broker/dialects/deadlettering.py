"""Dead letters: what their headers tell."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.message import Copied, Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Counted
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "dead_letters", BEHAVIOURS, "deaths.first-only", "there is no x-last-death-* beside x-first-death-*", until="3.10"
)
class FirstOnly(DeadLetters):
    def with_last(self, headers: FieldTable, queue: str, reason: str, exchange: str) -> FieldTable:
        return headers


@does(
    "dead_letters",
    BEHAVIOURS,
    "deaths.copies-kept",
    "a CC that x-dead-letter-routing-key takes the place of stays to be read, and nobody is sent anything by it",
    since="4.0",
)
class CopiesKept(DeadLetters):
    def dropped(self, key: str | None) -> tuple[str, ...]:
        return ("x-death",)


class FromDisk(Copied):
    """A message that was in its queue when the broker was restarted."""

    __slots__ = ()


@does(
    "queue",
    BEHAVIOURS,
    "deaths.read-from-disk",
    "what is in a classic queue when the broker is restarted has been read from the disk",
    until="3.10",
)
class ReadFromDisk(Queue):
    def read_back(self, entry: Entry) -> None:
        old = entry.message
        if self.quorum is None:
            entry.message = FromDisk(old.exchange, old.routing_key, old.header, old.body, old.more_keys)


@does(
    "dead_letters",
    BEHAVIOURS,
    "deaths.expiration-untold",
    "the death of what has been read from the disk is told without its expiration",
    until="3.10",
)
class ExpirationUntold(DeadLetters):
    def record(self, message: Message, queue: str, reason: str, now: float, count: int) -> FieldTable:
        record = super().record(message, queue, reason, now, count)
        hidden = "original-expiration" if isinstance(message, FromDisk) else ""
        return [field for field in record if field[0] != hidden]


class Immortal(Counted):
    """A message that does not expire."""

    __slots__ = ()

    def __init__(self, position: float, message: Message, expires: float | None) -> None:
        super().__init__(position, message, None)


@does("queue", BEHAVIOURS, "deaths.immortal-in-quorum", "messages do not expire in quorum queues", until="3.8")
class ImmortalInQuorum(Queue):
    def counted(self) -> type[Counted]:
        return Immortal

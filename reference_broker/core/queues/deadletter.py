"""What a message looks like after it died: where it goes next, and the record of how it got there.

`x-death` is a list with one entry per (queue, reason), the most recent first, each counting how often
that happened. A message that would return to a queue it died in, without a client ever having
rejected it on the way, goes round for ever and is dropped instead.
"""

from __future__ import annotations

from typing import Any

from codec import values
from codec.values import FieldTable
from reference_broker.core.queues.message import Message, listed


class DeadLetters:
    def letter(self, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None) -> Message:
        """The message as it leaves the queue for this exchange, with this key or its own."""
        deaths = earlier_deaths(message)
        earlier = next((death for death in deaths if _is(death, queue, reason)), None)
        others = [death for death in deaths if death is not earlier]
        record = self.record(message, queue, reason, now, 1 + (_count(earlier[1]) if earlier else 0))
        dropped = self.dropped(key)
        headers = [entry for entry in message.headers if entry[0] not in dropped]
        headers.append(("x-death", "A", [("F", record), *others]))
        if values.lookup(headers, "x-first-death-queue") is None:
            headers += _summary("first", queue, reason, message.exchange)
        headers = self.with_last(headers, queue, reason, message.exchange)
        dead = message.copy(exchange, message.routing_key if key is None else key, headers=headers, expiration=None)
        return dead if key is None else Message(exchange, key, dead.header, dead.body)

    def record(self, message: Message, queue: str, reason: str, now: float, count: int) -> FieldTable:
        """One death in x-death."""
        return record_of(message, queue, reason, now, count)

    def dropped(self, key: str | None) -> tuple[str, ...]:
        """Headers that are written anew, or whose place another key takes."""
        return ("x-death",) if key is None else ("x-death", "CC")

    def with_last(self, headers: FieldTable, queue: str, reason: str, exchange: str) -> FieldTable:
        """With x-last-death-* beside x-first-death-*."""
        kept = [entry for entry in headers if not entry[0].startswith("x-last-death-")]
        return [*kept, *_summary("last", queue, reason, exchange)]


def record_of(message: Message, queue: str, reason: str, now: float, count: int) -> FieldTable:
    """One death in x-death."""
    record: FieldTable = [
        ("count", "l", count),
        ("reason", "S", reason.encode()),
        ("queue", "S", queue.encode()),
        ("time", "T", int(now)),
        ("exchange", "S", message.exchange.encode()),
        ("routing-keys", "A", [("S", one.encode()) for one in (message.routing_key, *copies(message))]),
    ]
    if message.header.expiration is not None:
        record.append(("original-expiration", "S", message.header.expiration.encode()))
    return record


def copies(message: Message) -> list[str]:
    """The keys in CC by which it went; those in BCC nobody is told."""
    return [key for key in listed(message.headers, "CC") if key in message.more_keys]


def goes_in_circles(message: Message, queue: str) -> bool:
    """Did this message die in `queue` before, with no rejection by a client since then?"""
    for _, death in earlier_deaths(message):
        if values.lookup(death, "reason") == "rejected":
            return False
        if values.lookup(death, "queue") == queue:
            return True
    return False


def earlier_deaths(message: Message) -> list[tuple[str, Any]]:
    """The tables of x-death as they came, whatever else a client may have written under that name."""
    for name, letter, deaths in message.headers:
        if name == "x-death" and letter == "A":
            return [death for death in deaths if death[0] == "F"]
    return []


def _is(death: tuple[str, Any], queue: str, reason: str) -> bool:
    table = death[1]
    return bool(values.lookup(table, "queue") == queue and values.lookup(table, "reason") == reason)


def _count(death: FieldTable) -> int:
    count = values.lookup(death, "count", 0)
    return count if isinstance(count, int) else 0


def _summary(which: str, queue: str, reason: str, exchange: str) -> FieldTable:
    return [
        (f"x-{which}-death-exchange", "S", exchange.encode()),
        (f"x-{which}-death-queue", "S", queue.encode()),
        (f"x-{which}-death-reason", "S", reason.encode()),
    ]

"""What makes a quorum queue of a queue: returned messages are counted, and have a line of their own.

A `Quorum` is made once per queue, from its delivery limit and the broker's own. It says how the
ready messages are ordered, counts what comes back, and writes the counts into the headers of later
deliveries. A message that came back more often than the limit allows does not stay.

Everything else of a quorum queue is the same class, `queue.Queue`, as a classic one: no replication,
no log. Its promises towards one client on one node are what this broker is about.
"""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.queues.message import Entry, Kept, Message
from reference_broker.core.queues.ready import Order

UNLIMITED_WINDOW = 2000
"""What a consumer that asked for no limit gets."""


class Counted(Kept):
    """A message in a quorum queue, how often it came back, and how often because somebody failed."""

    __slots__ = ("failures", "returns")

    def __init__(self, position: float, message: Message, expires: float | None) -> None:
        super().__init__(position, message, expires)
        self.returns = 0
        self.failures = 0


class Quorum:
    __slots__ = ("general_limit", "limit", "order")

    def __init__(self, limit: int | None, general_limit: int | None) -> None:
        """`limit` is x-delivery-limit as declared, `general_limit` that of a queue without one."""
        self.general_limit = general_limit
        self.order = self.order_under(limit)
        self.set_limit(limit)

    def order_under(self, limit: int | None) -> Order:
        """Where a returned message goes in a queue that was declared with this limit."""
        return "returns-first"

    def set_limit(self, limit: int | None) -> None:
        self.limit = self.limit_meant(self.general_limit if limit is None else limit)

    def limit_meant(self, limit: int | None) -> int | None:
        """A negative one stands for none."""
        return None if limit is not None and limit < 0 else limit

    def keeps(self, entry: Entry, failed: bool) -> bool:
        """Count a return; may the message stay?"""
        assert isinstance(entry, Counted)
        entry.returns += 1
        if not self.counts(failed):
            return True
        entry.failures += 1
        return self.limit is None or entry.failures <= self.limit

    def counts(self, failed: bool) -> bool:
        """Does a return count towards the limit? Only one that tells of a failure."""
        return failed

    def as_delivered(self, entry: Entry) -> Message:
        """The message as it is delivered, with its counts."""
        assert isinstance(entry, Counted)
        counters = self.counters(entry)
        message = entry.message
        return message.with_headers(counters) if counters else message

    def counters(self, entry: Counted) -> FieldTable:
        """Of failures and of all returns, where there are any."""
        counts = {"x-acquired-count": entry.returns, "x-delivery-count": entry.failures}
        return [(name, "l", count) for name, count in counts.items() if count]

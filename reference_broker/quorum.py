"""What makes a quorum queue of a queue: returned messages are counted, and have a line of their own.

A `Quorum` is made once per queue, from the dialect and the queue's delivery limit. It says how the
ready messages are ordered, counts what comes back, and writes the counts into the headers of later
deliveries. A message that came back more often than the limit allows does not stay.

Everything else of a quorum queue is the same class, `queue.Queue`, as a classic one: no replication,
no log. Its promises towards one client on one node are what this broker is about.
"""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.dialects import Dialect, Order
from reference_broker.message import Entry, Kept, Message

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
    __slots__ = ("dialect", "limit", "order")

    def __init__(self, dialect: Dialect, limit: int | None) -> None:
        """`limit` is x-delivery-limit as declared."""
        self.dialect = dialect
        self.order = _order(dialect, limit)
        self.set_limit(limit)

    def set_limit(self, limit: int | None) -> None:
        self.limit = self.dialect.delivery_limit if limit is None else limit
        if self.limit is not None and self.limit < 0 and self.dialect.negative_limit_is_none:
            self.limit = None

    def keeps(self, entry: Entry, failed: bool) -> bool:
        """Count a return; may the message stay?"""
        assert isinstance(entry, Counted)
        entry.returns += 1
        if not failed and not self.dialect.nack_counts:
            return True
        entry.failures += 1
        return self.limit is None or entry.failures <= self.limit

    def shown(self, entry: Entry) -> Message:
        """The message as it is delivered, with its counts."""
        assert isinstance(entry, Counted)
        counters = self.counters(entry)
        message = entry.message
        return message.with_headers(counters) if counters else message

    def counters(self, entry: Counted) -> FieldTable:
        if self.dialect.counters == "acquired":
            counts = {"x-acquired-count": entry.returns, "x-delivery-count": entry.failures}
        else:
            counts = {"x-delivery-count": entry.returns}
        always = self.dialect.counters == "always"
        return [(name, "l", count) for name, count in counts.items() if count or always]


def _order(dialect: Dialect, limit: int | None) -> Order:
    if limit is None:
        return dialect.returns
    return dialect.returns_limited if limit >= 0 else dialect.returns_unlimited

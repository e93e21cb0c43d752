"""Wrong counts: what is said of the number of messages is not so."""

from __future__ import annotations

from collections.abc import Sequence

from codec import methods as m
from reference_broker.connection import Connection
from reference_broker.mutants.kinds import Mutant, replaces
from reference_broker.outbox import Outbound
from reference_broker.queue import Queue

MUTANTS: list[Mutant] = []


def _got(item: Outbound) -> m.BasicGetOk | None:
    return item[0] if isinstance(item, tuple) and isinstance(item[0], m.BasicGetOk) else None


@replaces(
    "connection.pieces",
    MUTANTS,
    "counts.with-the-one-handed-out",
    "get-ok counts the message that it brings among those that are left",
    "MODE-007",
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    got = _got(item)
    if got is not None:
        got.message_count += 1
    return Connection.pieces(self, item)


@replaces("connection.pieces", MUTANTS, "counts.always-one", "get-ok says that one is left, always", "MODE-007")
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    got = _got(item)
    if got is not None:
        got.message_count = 1
    return Connection.pieces(self, item)


@replaces("queue.count", MUTANTS, "counts.one-less", "declare-ok counts one less than there are", "MODE-007")
def _(self: Queue) -> int:
    return max(0, Queue.count(self) - 1)


@replaces(
    "connection.pieces", MUTANTS, "counts.what-is-out", "declare-ok counts what its channel holds as well", "MODE-007"
)
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, m.QueueDeclareOk) and item.channel in self.channels:
        item.message_count += len(self.channels[item.channel].unacked)
    return Connection.pieces(self, item)


@replaces("connection.pieces", MUTANTS, "counts.purged-none", "purge-ok says that nothing was there", "MODE-008")
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    return Connection.pieces(self, m.QueuePurgeOk(item.channel, 0) if isinstance(item, m.QueuePurgeOk) else item)


@replaces("connection.pieces", MUTANTS, "counts.deleted-none", "delete-ok says that nothing was there", "MODE-008")
def _(self: Connection, item: Outbound) -> Sequence[bytes]:
    return Connection.pieces(self, m.QueueDeleteOk(item.channel, 0) if isinstance(item, m.QueueDeleteOk) else item)


@replaces("queue.purge", MUTANTS, "counts.purged-one-too-many", "purge-ok counts one more than were there", "MODE-008")
def _(self: Queue) -> int:
    return Queue.purge(self) + 1

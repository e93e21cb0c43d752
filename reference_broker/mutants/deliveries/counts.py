"""Wrong counts: what is said of the number of messages is not so."""

from __future__ import annotations

from collections.abc import Sequence

from codec import methods as m
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, replaces


def _got(item: Outbound) -> m.BasicGetOk | None:
    return item[0] if isinstance(item, tuple) and isinstance(item[0], m.BasicGetOk) else None


@replaces(
    "outbox.pieces",
    "counts.with-the-one-handed-out",
    "get-ok counts the message that it brings among those that are left",
    "MODE-007",
)
def with_the_one_handed_out(self: Outbox, item: Outbound) -> Sequence[bytes]:
    got = _got(item)
    if got is not None:
        got.message_count += 1
    return Outbox.pieces(self, item)


@replaces("outbox.pieces", "counts.always-one", "get-ok says that one is left, always", "MODE-007")
def always_one(self: Outbox, item: Outbound) -> Sequence[bytes]:
    got = _got(item)
    if got is not None:
        got.message_count = 1
    return Outbox.pieces(self, item)


@replaces("queue.count", "counts.one-less", "declare-ok counts one less than there are", "MODE-007")
def one_less(self: Queue) -> int:
    return max(0, Queue.count(self) - 1)


@changes("counts.what-is-out", "declare-ok counts what its channel holds as well", "MODE-007")
def what_is_out(parts: Parts) -> None:
    below = parts.connection

    def leaving(self: Connection) -> list[Outbound]:
        items = below.leaving(self)
        for item in items:
            if isinstance(item, m.QueueDeclareOk) and item.channel in self.channels:
                item.message_count += len(self.channels[item.channel].unacked)
        return items

    parts.override("connection", leaving=leaving)


@replaces("outbox.pieces", "counts.purged-none", "purge-ok says that nothing was there", "MODE-008")
def purged_none(self: Outbox, item: Outbound) -> Sequence[bytes]:
    return Outbox.pieces(self, m.QueuePurgeOk(item.channel, 0) if isinstance(item, m.QueuePurgeOk) else item)


@replaces("outbox.pieces", "counts.deleted-none", "delete-ok says that nothing was there", "MODE-008")
def deleted_none(self: Outbox, item: Outbound) -> Sequence[bytes]:
    return Outbox.pieces(self, m.QueueDeleteOk(item.channel, 0) if isinstance(item, m.QueueDeleteOk) else item)


@replaces("queue.purge", "counts.purged-one-too-many", "purge-ok counts one more than were there", "MODE-008")
def purged_one_too_many(self: Queue) -> int:
    return Queue.purge(self) + 1


@replaces(
    "queue.count", "counts.in-an-octet", "declare-ok counts up to 255, and then from 0 again", "MODE-007", "QUEUE-034"
)
def in_an_octet(self: Queue) -> int:
    return Queue.count(self) % 256


@replaces("queue.purge", "counts.purge-spares-returned", "a purge spares what was given back", "MODE-008")
def purge_spares_returned(self: Queue) -> int:
    kept = [] if self.settings.max_priority else [entry for _, entry in self.ready.returned]
    count = Queue.purge(self) - len(kept)
    for entry in kept:
        self.ready.put_back(entry)
    return count


@replaces(
    "queue.purge", "counts.purge-leaves-one", "a purge counts all that is ready, and leaves the last", "QUEUE-019"
)
def purge_leaves_one(self: Queue) -> int:
    kept = self.ready.entries()[-1:]
    count = Queue.purge(self)
    for entry in kept:
        self.ready.put_back(entry)
    return count


@changes("counts.tags-of-nine-bits", "an ack of each 256th tag is passed over", "MODE-004")
def tags_of_nine_bits(parts: Parts) -> None:
    below = parts.unacked

    def one(self: Unacked, tag: int) -> list[Delivery] | None:
        found = below.one(self, tag)
        if found and tag % 256 == 0:
            self.restore(found)
            return []
        return found

    parts.override("unacked", one=one)

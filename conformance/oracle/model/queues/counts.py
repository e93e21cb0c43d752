"""How many messages are ready: what the broker says, and what must follow from it.

A count is never compared with the model alone: a broker that has lost a message is right to count one less. It is
compared with what the same broker says and does next. While a queue is *at rest*, one answer determines the next: one
less after a get, nothing left at get-empty, and as many as are then purged or deleted. A queue is at rest if only the
asking channel takes from it, everything that was sent to it has arrived, and nothing is being returned.

`stirred` counts everything, except these answers, that may change the queue. An answer holds while `stirred` does not
change.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.facts import Counted
from conformance.oracle.model.records import PUBLISHED, Census

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue
    from conformance.oracle.model.records import Copy, Request

MOST = 64
"""A get looks at this many waiting messages at most to tell whether a queue is at rest; other questions are rare."""
NEVER = -1


def asked(model: Model, queue: Queue | None, event: Event) -> Census | None:
    """A method was sent of which the answer tells a count: the queue as it is before that."""
    if queue is None or not queue.declared or queue.opaque or queue.lossy or queue.deleted:
        return None
    if queue.guests or queue.receivers or (queue.held and model.settings.timed):
        return None
    due = len(queue.fresh) + len(queue.returned)
    said = queue.said if queue.said_at == queue.stirred else NEVER
    at_rest = said != NEVER or ((event.method != "basic.get" or due <= MOST) and rests(queue))
    return Census(queue, due, said, queue.said_by) if at_rest else None


def sent(census: Census | None) -> Census | None:
    """It has been noted what the method itself does."""
    if census is not None:
        census.stirred = census.queue.stirred
    return census


def answered(channel: ChannelLife, request: Request, event: Event) -> Iterator[Counted]:
    """The answer, before the model learns from it."""
    census = request.census
    if census is None or census.queue.stirred != census.stirred:
        return
    queue, count = census.queue, int(event.args.get("message_count", 0))
    if queue.kind != "classic" and not count and event.method in ("queue.declare-ok", "queue.delete-ok"):
        return  # what RabbitMQ says where the leader of the queue does not tell in time
    took = event.method == "basic.get-ok"
    if took:
        copy = queue.copies.get(event.message or "")
        if copy is None or (copy.id not in queue.fresh and copy.id not in queue.returned):
            return
    if census.said != NEVER:
        yield Counted(event, channel, queue, count, census.said - took, census.due - took, census.said_by)
    if event.method == "basic.get-empty" and census.due:
        queue.said_at = NEVER  # a message that is not to be had is no count
        return
    queue.said = 0 if event.method == "queue.purge-ok" else count
    queue.said_at, queue.said_by = queue.stirred, event.seq


def rests(queue: Queue) -> bool:
    """Is it certain what is in it, and does nothing come or go by itself?"""
    if queue.announced or queue.purging or queue.sweepers or queue.overrun:
        return False
    if not all(_purged(queue, copy) for copy in queue.aside.values()):
        return False
    return all(copy.proof and not (copy.fleeting or copy.ambiguous or queue.unseen(copy)) for copy in queue.waiting())


def _purged(queue: Queue, copy: Copy) -> bool:
    """Did it certainly wait there when the last purge came, which has been answered?"""
    stayed = copy.entry == PUBLISHED and not (copy.hidden or copy.ambiguous or queue.unseen(copy))
    return stayed and 0 < copy.confirmed < queue.purged < queue.emptied

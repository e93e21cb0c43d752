"""What a queue holds and who consumes from it, for the question whether it may be deleted.

Three answers, as everywhere: yes, no, and None, where the history does not decide. Only classic queues are asked:
others do not take if-unused and if-empty everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model import counts
from conformance.oracle.model.channels import LIVE
from conformance.oracle.model.queues import Queue
from conformance.oracle.model.records import OUT, PotentialReceiver

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


@dataclass(frozen=True, slots=True)
class Stock:
    """Of one queue, now."""

    queue: Queue
    timed: bool
    """Deliveries may come back by themselves."""

    def filled(self) -> bool | None:
        """Is a message ready in it?"""
        queue = self.queue
        if not self._known() or queue.lossy or queue.receivers or (queue.held and self.timed):
            return None
        return bool(queue.fresh or queue.returned) if counts.rests(queue) else None

    def consumed(self) -> bool | None:
        """Has it a consumer?"""
        if not self._known():
            return None
        return True if any(_consumes(one) for one in self.queue.receivers) else None if self.queue.receivers else False

    def lent(self) -> bool:
        """Is a message out that a get has brought?"""
        out = (one for one in self.queue.copies.values() if one.place == OUT and not one.indeterminate)
        return self._known() and any(one.holder is not None and one.holder.consumer is None for one in out)

    def consumers(self) -> int:
        """How many consumers has it, all of them certain? Else -1."""
        certain = self._known() and all(_consumes(one) for one in self.queue.receivers)
        return len(self.queue.receivers) if certain else -1

    def abandoned(self) -> bool:
        """Has it had consumers, and have all of them ended because their clients wanted that?"""
        return self._known() and 0 < self.queue.joined == self.queue.parted

    def _known(self) -> bool:
        queue = self.queue
        return bool(queue.declared) and queue.kind == "classic" and not (queue.opaque or queue.deleted)


def _consumes(receiver: PotentialReceiver) -> bool:
    """Does it consume, for all that was sent and seen?"""
    consumer = receiver.consumer
    return consumer is not None and not receiver.lost and consumer.state == LIVE and not consumer.asked


def stock_of(model: Model, event: Event) -> Stock | None:
    """Of the queue that the method names, where it is known."""
    queue = model.queues.get(event.queue or "")
    return Stock(queue, model.settings.timed) if queue is not None else None

"""What was taken out of a queue for good before a restart: by a purge, or by the deletion of a queue of its name."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from conformance.history.events import Event
from conformance.oracle.model.queues.counts import rests
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import OUT


@dataclass(frozen=True, slots=True)
class QuietPurge:
    """One that is not answered: what the same channel answers later shows that it is done."""

    sent: int
    queue: Queue

    def came(self, event: Event) -> None:
        """It has been carried out by now."""
        self.queue.emptied = event.seq if self.queue.emptied == self.sent else 0


def bare(queue: Queue) -> bool:
    """Is it certain that it holds nothing, and that nobody holds anything of it?"""
    unsure = queue.opaque or queue.lossy or queue.guests or queue.receivers or queue.kind != "classic"
    filled = queue.fresh or queue.returned or queue.held or any(one.place == OUT for one in queue.copies.values())
    return not (unsure or filled) and rests(queue)


def purged(queue: Queue, fresh: Collection[str]) -> set[str]:
    """Which of these messages, that nobody has got, did the last purge find there for certain?"""
    if not queue.purged < queue.emptied:
        return set()
    return {one.id for one in queue.copies.values() if 0 < one.confirmed < queue.purged and one.id in fresh}

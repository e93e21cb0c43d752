"""Queues that serve one consumer at a time."""

from __future__ import annotations

from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.queues.queue import Queue
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "queue",
    BEHAVIOURS,
    "serves.nobody-after-a-cancel",
    "a classic queue whose single active consumer is cancelled, while it holds deliveries, serves nobody any more",
    until="3.10",
)
class NobodyAfterACancel(Queue):
    """The real one fails, loses what is not on disk, and finds the rest marked as redelivered. Here nothing is lost."""

    def hand_over(self, former: Consumer) -> None:
        if self.quorum is not None or former.channel.closing or not former.own.held:
            super().hand_over(former)
            return
        for entry in self.ready.entries():
            entry.redelivered = entry.redelivered or entry.message.header.delivery_mode == 2

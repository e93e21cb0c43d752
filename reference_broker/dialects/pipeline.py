"""Settlements of one channel on their way to quorum queues, where a dialect passes on only so many at once.

RabbitMQ's channel sends each settlement to the quorum queue as a command. Once more than a soft limit
of them are unanswered, it keeps further ones to itself until the queue has caught up, and a channel
that ends before that takes them with it: the queue returns messages that the client had settled. Here
a queue catches up at the end of the tick.

One frame is one command per queue and consumer, so a single multiple settlement is never held up.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.queues.queue import Queue

if TYPE_CHECKING:
    from reference_broker.core.channels.channel import Fate


class Pipeline:
    __slots__ = ("held_up", "sent", "soft_limit")

    def __init__(self, soft_limit: int) -> None:
        self.soft_limit = soft_limit
        self.sent: Counter[Queue] = Counter()
        self.held_up: list[tuple[list[Delivery], Fate]] = []

    def admit(self, deliveries: list[Delivery], fate: Fate) -> list[Delivery]:
        """What of one frame takes effect now; the rest is held up."""
        passing: list[Delivery] = []
        commands: dict[object, list[Delivery]] = {}
        for delivery in deliveries:
            if delivery.queue.quorum is None:
                passing.append(delivery)
            else:
                commands.setdefault((delivery.queue, delivery.consumer), []).append(delivery)
        for command in commands.values():
            queue = command[0].queue
            if self.sent[queue] > self.soft_limit:
                self.held_up.append((command, fate))
            else:
                self.sent[queue] += 1
                passing += command
        return passing

    def take(self) -> list[tuple[list[Delivery], Fate]]:
        """What was held up; from now on everything is admitted again."""
        held_up, self.held_up = self.held_up, []
        self.sent.clear()
        return held_up

"""The deliveries of one channel that await settlement, in tag order.

One `OrderedDict` from tag to delivery: a single settle is one lookup, a multiple takes from the
front exactly what it settles, and neither depends on how much else is outstanding. (A plain dict
would not do: deletions at its front leave holes that every later look at the front walks over.)

`one` and `up_to` answer None for a tag that is not outstanding, and then they have changed nothing:
a multiple must hit an outstanding tag exactly, lower outstanding tags do not excuse it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_broker.core.queues.message import Entry

if TYPE_CHECKING:
    from reference_broker.core.channels.prefetch import Consumer
    from reference_broker.core.queues.queue import Queue


@dataclass(slots=True, eq=False)
class Delivery:
    """One delivery that wants an acknowledgement; `consumer` is None for basic.get."""

    tag: int
    entry: Entry
    queue: Queue
    consumer: Consumer | None
    stale: bool = False
    """It has timed out: its message is back, its tag can still be settled."""
    lost: bool = False
    """Its message is gone by mistake, its tag can still be settled."""
    since: float = 0.0
    """When it left, where the channel watches its deliveries."""


class Unacked:
    __slots__ = ("by_tag",)

    def __init__(self) -> None:
        self.by_tag: OrderedDict[int, Delivery] = OrderedDict()

    def __len__(self) -> int:
        return len(self.by_tag)

    def add(self, delivery: Delivery) -> None:
        self.by_tag[delivery.tag] = delivery

    def one(self, tag: int) -> list[Delivery] | None:
        delivery = self.by_tag.pop(tag, None)
        return None if delivery is None else [delivery]

    def up_to(self, tag: int) -> list[Delivery] | None:
        if tag not in self.by_tag:
            return None
        taken = []
        while True:
            found, delivery = self.by_tag.popitem(last=False)
            taken.append(delivery)
            if found == tag:
                return taken

    def everything(self) -> list[Delivery]:
        taken = list(self.by_tag.values())
        self.by_tag.clear()
        return taken

    def those(self, wanted: Callable[[Delivery], bool]) -> list[Delivery]:
        taken = [delivery for delivery in self.by_tag.values() if wanted(delivery)]
        for delivery in taken:
            del self.by_tag[delivery.tag]
        return taken

    def restore(self, deliveries: Iterable[Delivery]) -> None:
        """Put back what a rolled-back transaction had taken out, in tag order."""
        merged = sorted([*self.by_tag.values(), *deliveries], key=lambda delivery: delivery.tag)
        self.by_tag = OrderedDict((delivery.tag, delivery) for delivery in merged)

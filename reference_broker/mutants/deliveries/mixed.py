"""A multiple over deliveries of several kinds: what it covers depends on what they are."""

from __future__ import annotations

from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.mutants.kinds import changes, memory


def rank(delivery: Delivery) -> int:
    return delivery.entry.message.header.priority or 0


@changes("mixed.by-rank", "a multiple passes over what has a lower priority than the last", "ACK-002", "MODE-004")
def by_rank(parts: Parts) -> None:
    below = parts.unacked

    def up_to(self: Unacked, tag: int) -> list[Delivery] | None:
        taken = below.up_to(self, tag)
        if not taken or not taken[-1].queue.ready.max_priority:
            return taken
        left = [delivery for delivery in taken if rank(delivery) < rank(taken[-1])]
        self.restore(left)
        return [delivery for delivery in taken if delivery not in left]

    parts.override("unacked", up_to=up_to)


@changes(
    "mixed.over-automatic",
    "a multiple over deliveries that need no acknowledgement leaves the first of the others out",
    "ACK-002",
    "ACK-003",
    "MODE-003",
)
def over_automatic(parts: Parts) -> None:
    below = parts.channel

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        below.deliver(self, consumer, entry)
        if consumer.no_ack:
            memory(self, "automatic", list[int]).append(self.last_tag)

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        first = next(iter(self.unacked.by_tag), 0)
        found = below.collect(self, tag, multiple)
        if multiple and len(found) > 1 and any(first < one < tag for one in memory(self, "automatic", list[int])):
            self.unacked.restore(found[:1])
            return found[1:]
        return found

    parts.override("channel", deliver=deliver, collect=collect)

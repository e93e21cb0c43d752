"""Quorum queues: where a returned message goes, what counts towards the delivery limit, and what is told of it."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.quorum import Counted, Quorum
from reference_broker.core.queues.ready import Order
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "quorum",
    BEHAVIOURS,
    "returns.last-without-a-limit",
    "a returned message goes to the tail of a queue that was declared without a delivery limit",
    since="3.10",
    until="3.10",
)
class LastWithoutALimit(Quorum):
    __slots__ = ()

    def order_under(self, limit: int | None) -> Order:
        return "tail" if limit is None else super().order_under(limit)


@does(
    "quorum",
    BEHAVIOURS,
    "returns.last-where-unlimited",
    "a returned message goes to the tail of a queue whose delivery limit is negative",
    since="4.0",
    until="4.0",
)
class LastWhereUnlimited(Quorum):
    __slots__ = ()

    def order_under(self, limit: int | None) -> Order:
        return "tail" if limit is not None and limit < 0 else super().order_under(limit)


@does(
    "quorum",
    BEHAVIOURS,
    "returns.negative-limit-holds",
    "a negative delivery limit is one that every failure exceeds",
    until="3.10",
)
class NegativeLimitHolds(Quorum):
    __slots__ = ()

    def limit_meant(self, limit: int | None) -> int | None:
        return limit


@does("quorum", BEHAVIOURS, "returns.all-count", "every return counts towards the delivery limit", until="4.0")
class AllCount(Quorum):
    __slots__ = ()

    def counts(self, failed: bool) -> bool:
        return True


@does(
    "quorum",
    BEHAVIOURS,
    "returns.told-always",
    "x-delivery-count is the number of returns, on every delivery",
    until="3.10",
)
class ToldAlways(Quorum):
    __slots__ = ()

    def counters(self, entry: Counted) -> FieldTable:
        return [("x-delivery-count", "l", entry.returns)]


@does(
    "quorum",
    BEHAVIOURS,
    "returns.told-of-later-ones",
    "x-delivery-count is the number of returns, on deliveries after the first",
    since="4.0",
    until="4.0",
)
class ToldOfLaterOnes(Quorum):
    __slots__ = ()

    def counters(self, entry: Counted) -> FieldTable:
        return [("x-delivery-count", "l", entry.returns)] if entry.returns else []


@does(
    "queue",
    BEHAVIOURS,
    "returns.one-too-many-frees-two",
    "a return beyond the delivery limit widens the limit of its consumer by one",
    until="3.10",
)
class OneTooManyFreesTwo(Queue):
    def exceed(self, entry: Entry, delivery: Delivery) -> None:
        if delivery.consumer is not None:
            delivery.consumer.own.held -= 1
        super().exceed(entry, delivery)


@does(
    "channel",
    BEHAVIOURS,
    "returns.gets-by-text",
    "a quorum queue gets back what a channel had got by the text of the tags, 10 before 9, when that ends",
)
class GetsByText(Channel):
    def leaving(self, deliveries: list[Delivery]) -> list[Delivery]:
        fetched = [one for one in deliveries if one.consumer is None and one.queue.quorum is not None]
        fetched.sort(key=lambda one: str(one.tag))
        return [*fetched, *(one for one in deliveries if one.consumer is not None or one.queue.quorum is None)]

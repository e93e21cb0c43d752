"""A channel: its delivery tags, what is unacked, its consumers, its modes, and its end.

Tags count from 1 on each fresh channel, one sequence for deliveries to all consumers and for
basic.get, whether they want an acknowledgement or not. Settling takes two steps, `collect` (which
deliveries does the frame name; an unknown tag is a channel exception, raised before anything changes)
and `settle` (their fate), so that a transaction can keep them apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeAlias

from codec import methods as m
from codec.methods import BasicDeliver
from reference_broker import replies
from reference_broker.errors import precondition
from reference_broker.message import Entry, Message
from reference_broker.pipeline import Pipeline
from reference_broker.prefetch import Consumer, Limit
from reference_broker.queue import Queue
from reference_broker.replies import ReplyTo
from reference_broker.transaction import Transaction
from reference_broker.unacked import Delivery

if TYPE_CHECKING:
    from reference_broker.confirms import Confirms
    from reference_broker.connection import Connection
    from reference_broker.vhost import VirtualHost

Fate: TypeAlias = Callable[[Delivery], None]


class Channel:
    def __init__(self, connection: Connection, number: int) -> None:
        parts = connection.parts
        self.connection = connection
        self.vhost: VirtualHost = connection.vhost
        self.number = number
        self.closing = False
        self.last_tag = 0
        self.last_queue = ""
        self.prefetch = 0
        self.limit: Limit = parts.limit()
        self.unacked = parts.unacked()
        self.timeouts = parts.timeouts(self)
        self.consumers: dict[str, Consumer] = {}
        self.reply_to: ReplyTo | None = None
        self.just_bereft: set[str] = set()
        soft_limit = self.vhost.dialect.soft_limit
        self.pipeline = Pipeline(soft_limit) if soft_limit is not None else None
        self.numbered = 0
        self.confirms: Confirms | None = None
        self.transaction: Transaction | None = None

    # -- deliveries

    def next_tag(self) -> int:
        self.last_tag += 1
        return self.last_tag

    def deliver(self, consumer: Consumer, entry: Entry) -> None:
        tag, queue = self.next_tag(), consumer.queue
        message = entry.message if queue.quorum is None else queue.shown(entry)
        if not consumer.no_ack:
            consumer.hold()
            self.hold(Delivery(tag, entry, queue, consumer))
        else:
            queue.let_go(entry)
        method = BasicDeliver(self.number, consumer.tag, tag, entry.redelivered, message.exchange, message.routing_key)
        self.connection.send_content(method, message)

    def get(self, queue: Queue, no_ack: bool) -> None:
        entry = queue.get()
        if entry is None:
            self.connection.send(m.BasicGetEmpty(self.number))
            return
        tag, message = self.next_tag(), queue.shown(entry)
        if not no_ack:
            self.hold(Delivery(tag, entry, queue, None))
        else:
            queue.let_go(entry)
        method = m.BasicGetOk(
            self.number, tag, entry.redelivered, message.exchange, message.routing_key, len(queue.ready)
        )
        self.connection.send_content(method, message)

    def hold(self, delivery: Delivery) -> None:
        self.unacked.add(delivery)
        self.timeouts.began_with(delivery)

    # -- settlement

    def collect(self, tag: int, multiple: bool) -> list[Delivery]:
        """The deliveries that an ack or nack of `tag` is about, taken out of the unacked ones."""
        if multiple and tag == 0:
            return self.unacked.everything()
        found = self.unacked.up_to(tag) if multiple else self.unacked.one(tag)
        if found is None:
            raise precondition(f"unknown delivery tag {tag}")
        return found

    def settle(self, deliveries: list[Delivery], fate: Fate) -> None:
        if self.transaction is not None:
            self.transaction.settle(deliveries, fate)
        elif self.pipeline is None:
            self.carry_out(deliveries, fate)
        else:
            self.carry_out(self.pipeline.admit(deliveries, fate), fate)
            self.connection.confirm(self)

    def carry_out(self, deliveries: list[Delivery], fate: Fate) -> None:
        """What the client asked for, or what its broker takes it for."""
        if self.vhost.dialect.namesake_takes_settlements:
            mistaken = [namesake for one in deliveries if (namesake := self.namesake(one)) is not None]
            self.finish(mistaken, fate)
            for one in mistaken:
                one.lost = True
        self.finish(deliveries, fate)

    def namesake(self, delivery: Delivery) -> Delivery | None:
        """What this channel holds at the same place of a queue that was declared under the name of a deleted one."""
        if not delivery.queue.deleted or delivery.queue.quorum is not None:
            return None
        queue, place = self.vhost.queues.get(delivery.queue.name), delivery.entry.position
        if queue is None or queue.quorum is not None:
            return None
        held = (one for one in self.unacked.by_tag.values() if one.queue is queue and not one.lost)
        return next((one for one in held if one.entry.position == place), None)

    def finish(self, deliveries: list[Delivery], fate: Fate) -> None:
        """Apply the fate to all of them before anybody is served: a requeue is seen as a whole."""
        for delivery in deliveries:
            if delivery.stale:
                self.settle_stale(delivery, fate)
                continue
            if delivery.lost:
                continue
            fate(delivery)
            if delivery.consumer is not None:
                delivery.consumer.release()
        if fate is not acked:
            settle_down(deliveries)
        connection = self.connection
        for delivery in deliveries:
            if delivery.consumer is None:
                continue
            if connection.gathering:
                connection.thirsty[delivery.consumer] = None
            else:
                delivery.consumer.wake()

    def settle_stale(self, delivery: Delivery, fate: Fate) -> None:
        dialect = self.vhost.dialect
        if fate is not requeued or dialect.stale_requeue_revives:
            self.timeouts.settled(delivery)
        if fate is acked and dialect.stale_ack_reaches_successor:
            self.timeouts.reach_successor(delivery)

    # -- publishing

    def publish(self, exchange: str, message: Message, mandatory: bool) -> bool:
        """Route a message, return it if need be; was it accepted everywhere?"""
        routed, accepted = self.vhost.publish(exchange, message)
        if mandatory and not routed:
            self.give_back(exchange, message)
        return accepted

    def give_back(self, exchange: str, message: Message) -> None:
        method = m.BasicReturn(self.number, 312, "NO_ROUTE", exchange, message.routing_key)
        self.connection.send_content(method, message)

    def flush(self) -> None:
        """End of the tick: what was held up goes on, what was confirmed since the last one leaves together."""
        self.just_bereft.clear()
        if self.pipeline is not None:
            for deliveries, fate in self.pipeline.take():
                self.carry_out(deliveries, fate)
        self.flush_confirms()

    def flush_confirms(self) -> None:
        if self.confirms is not None:
            for confirm in self.confirms.flush(self.number):
                self.connection.send(confirm)

    # -- consumers

    def cancel(self, tag: str) -> None:
        if self.reply_to is not None and self.reply_to.tag == tag:
            replies.cancel(self)
        consumer = self.consumers.pop(tag, None)
        if consumer is not None:
            consumer.queue.leave(consumer)

    def cancelled(self, consumer: Consumer) -> None:
        """The broker ended this consumer: say so, if the client announced that it understands."""
        del self.consumers[consumer.tag]
        if self.connection.announces_cancel():
            self.connection.send(m.BasicCancel(self.number, consumer.tag, True))

    def bereft(self, consumer: Consumer) -> None:
        """This channel itself deleted the consumer's quorum queue, in this tick."""
        self.just_bereft.add(consumer.tag)
        self.connection.confirm(self)

    # -- the end

    def end(self) -> None:
        """However the channel ends, everything unsettled goes back, acks not yet committed included."""
        self.stop()
        self.finish(self.leaving(self.unacked.everything()), failed)

    def fail(self) -> None:
        """An exception ends the channel, but not for everybody before the peer has said close-ok.

        A dialect may keep the messages of quorum queues until then ("classic"), and those of classic
        queues on which the channel had no consumer ("consuming").
        """
        dialect, consuming = self.vhost.dialect, {consumer.queue for consumer in self.consumers.values()}
        if dialect.exception_requeues == "all":
            self.end()
            return
        self.stop()
        soon = dialect.exception_requeues == "classic"
        returning = self.unacked.those(
            lambda delivery: delivery.queue.quorum is None and (soon or delivery.queue in consuming)
        )
        self.finish(returning, failed)

    def leaving(self, deliveries: list[Delivery]) -> list[Delivery]:
        """In the order in which their queues get them back."""
        if not self.vhost.dialect.gets_return_by_text:
            return deliveries
        fetched = [one for one in deliveries if one.consumer is None and one.queue.quorum is not None]
        fetched.sort(key=lambda one: str(one.tag))
        return [*fetched, *(one for one in deliveries if one.consumer is not None or one.queue.quorum is None)]

    def stop(self) -> None:
        """No more deliveries; what was on its way to be settled is as if never sent."""
        self.flush_confirms()
        self.closing = True
        replies.cancel(self)
        consumers, self.consumers = self.consumers, {}
        for consumer in consumers.values():
            consumer.queue.leave(consumer)
        if self.transaction is not None:
            self.unacked.restore(self.transaction.take_settled())
        if self.pipeline is not None:
            self.unacked.restore(delivery for held_up, _ in self.pipeline.take() for delivery in held_up)

    def requeue(self, deliveries: list[Delivery]) -> None:
        self.finish(deliveries, requeued)


def acked(delivery: Delivery) -> None:
    """Gone for good: the queue let go of the message when it was delivered, the log does so now."""
    if delivery.entry.kept_in is not None:
        delivery.queue.let_go(delivery.entry)


def requeued(delivery: Delivery) -> None:
    """Back, at the wish of a consumer that may well have been doing fine."""
    put_back(delivery, False)


def failed(delivery: Delivery) -> None:
    """Back, because the message was rejected or its channel has ended."""
    put_back(delivery, True)


def put_back(delivery: Delivery, failure: bool) -> None:
    queue, entry = delivery.queue, delivery.entry
    if queue.deleted:
        queue.let_go(entry)
    elif queue.quorum is None or queue.quorum.keeps(entry, failure):
        queue.put_back(entry)
    else:
        if delivery.consumer is not None and queue.vhost.dialect.dropped_return_frees_two:
            delivery.consumer.own.held -= 1
        queue.die(entry, "delivery_limit")


def discarded(delivery: Delivery) -> None:
    delivery.queue.die(delivery.entry, "rejected")


RETURNS: tuple[Fate, ...] = (requeued, failed)


def settle_down(deliveries: Iterable[Delivery]) -> None:
    """What came back may have outlived its time; then nobody gets it."""
    for queue in {delivery.queue: None for delivery in deliveries}:
        if not queue.deleted:
            queue.expire()
            queue.settle_down()

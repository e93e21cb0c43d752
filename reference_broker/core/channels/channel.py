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
from codec.errors import ReplyCode
from codec.methods import BasicDeliver
from reference_broker.core.channels import replies
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue

if TYPE_CHECKING:
    from reference_broker.core.channels.confirms import Confirms
    from reference_broker.core.connections.connection import Connection
    from reference_broker.core.vhost import VirtualHost

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
        self.left: list[Consumer] = []
        """Consumers that it had when it stopped."""
        self.reply_to: ReplyTo | None = None
        self.confirms: Confirms | None = None
        self.transaction: Transaction | None = None

    # -- deliveries

    def next_tag(self) -> int:
        self.last_tag += 1
        return self.last_tag

    def deliver(self, consumer: Consumer, entry: Entry) -> None:
        tag, queue = self.next_tag(), consumer.queue
        message = entry.message if queue.quorum is None else queue.as_delivered(entry)
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
        tag, message = self.next_tag(), queue.as_delivered(entry)
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
        else:
            self.carry_out(deliveries, fate)

    def carry_out(self, deliveries: list[Delivery], fate: Fate) -> None:
        """What the client asked for."""
        self.finish(deliveries, fate)

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
            if connection.intake.gathering:
                connection.intake.thirsty[delivery.consumer] = None
            else:
                delivery.consumer.wake()
        if self.left:
            self.hand_over()

    def hand_over(self) -> None:
        """Where one consumer is served at a time: what the channel returns is back, so the next one may begin."""
        left, self.left = self.left, []
        for consumer in left:
            consumer.queue.hand_over(consumer)

    def settle_stale(self, delivery: Delivery, fate: Fate) -> None:
        self.timeouts.settled(delivery)

    # -- publishing

    def publish(self, exchange: str, message: Message, mandatory: bool) -> bool:
        """Route a message, return it if need be; was it accepted everywhere?"""
        routed, accepted = self.vhost.publish(exchange, message)
        found = self.found_its_way(exchange, message, routed)
        if mandatory and not found:
            self.give_back(exchange, message)
        return accepted

    def found_its_way(self, exchange: str, message: Message, routed: bool) -> bool:
        """Or is it returned? A reply has come to where it is to go."""
        return routed

    def give_back(self, exchange: str, message: Message) -> None:
        method = m.BasicReturn(self.number, 312, "NO_ROUTE", exchange, message.routing_key)
        self.connection.send_content(method, message)

    def flush(self) -> None:
        """End of the tick: what was confirmed since the last one leaves together."""
        self.flush_confirms()

    def flush_confirms(self) -> None:
        if self.confirms is not None:
            for confirm in self.confirms.flush(self.number):
                self.connection.send(confirm)

    def select_confirms(self) -> Confirms:
        """From now on publishes are numbered."""
        self.confirms = self.connection.parts.confirms()
        return self.confirms

    # -- limits

    def limit_together(self, count: int) -> None:
        """What all consumers of this channel may hold, together."""
        self.limit.change(count)

    def limit_each(self, count: int) -> None:
        """What a consumer may hold that starts from now on."""
        self.prefetch = count

    def limit_of(self, queue: Queue, tag: str) -> Limit:
        """The limit of a new consumer."""
        return self.connection.parts.limit(queue.window(self.prefetch))

    # -- consumers

    def consumer_of(self, tag: str) -> Consumer | None:
        """Whom the client wants to cancel."""
        return self.consumers.get(tag)

    def answer_cancel(self, ok: m.BasicCancelOk, consumer: Consumer | None) -> None:
        """Behind what was delivered before."""
        self.connection.send(ok)

    def unasked(self) -> ConnectionException:
        """About a client's cancel-ok for which there is no reason."""
        return ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")

    def delete(self, queue: Queue) -> tuple[int, list[Consumer]]:
        """How many messages were ready, and the consumers that have to be told."""
        return self.vhost.delete_queue(queue)

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

    # -- the end

    def end(self) -> None:
        """However the channel ends, everything unsettled goes back, acks not yet committed included."""
        self.stop()
        self.finish(self.leaving(self.unacked.everything()), failed)

    def fail(self) -> None:
        """An exception ends the channel. What stays unacked goes back when the peer has said close-ok."""
        self.end()

    def leaving(self, deliveries: list[Delivery]) -> list[Delivery]:
        """In the order in which their queues get them back."""
        return deliveries

    def stop(self) -> None:
        """No more deliveries; what was on its way to be settled is as if never sent."""
        self.flush_confirms()
        self.closing = True
        replies.cancel(self)
        consumers, self.consumers = self.consumers, {}
        for consumer in consumers.values():
            consumer.queue.leave(consumer)
        self.left.extend(consumers.values())
        if self.transaction is not None:
            self.unacked.restore(self.transaction.take_settled())

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
        queue.exceed(entry, delivery)


def discarded(delivery: Delivery) -> None:
    delivery.queue.die(delivery.entry, "rejected")


RETURNS: tuple[Fate, ...] = (requeued, failed)


def settle_down(deliveries: Iterable[Delivery]) -> None:
    """What came back may have outlived its time; then nobody gets it."""
    for queue in {delivery.queue: None for delivery in deliveries}:
        if not queue.deleted:
            queue.expire()
            queue.settle_down()

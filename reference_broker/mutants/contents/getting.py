"""Gets that are answered wrongly: of queues that are not there, that went away, or that another get has named."""

from __future__ import annotations

from collections.abc import Iterator

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import ChannelException, ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces

LAVINMQ = "https://github.com/cloudamqp/lavinmq/commit/9fbf4dc4"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/issues/4976"


def _gone(channel: Channel, method: m.BasicGet) -> bool:
    """Was there such a queue, and is there none now?"""
    known: set[str] = memory(channel.connection.broker, "known", set)
    known |= channel.vhost.queues.keys()
    return method.queue in known and method.queue not in channel.vhost.queues


def _delete(channel: Channel, method: m.QueueDelete) -> None:
    """A deletion that leaves the name behind."""
    memory(channel.connection.broker, "known", set).add(method.queue)
    Parts().handlers[m.QueueDelete](channel, method)


@handles(m.BasicGet, "getting.missing-is-empty", "a queue that does not exist is found empty", "GET-001")
def missing_is_empty(channel: Channel, method: m.BasicGet) -> None:
    try:
        basic.get(channel, method)
    except ChannelException:
        channel.connection.send(m.BasicGetEmpty(channel.number))


@handles(m.BasicGet, "getting.missing-ends-all", "a get from a missing queue ends the connection", "GET-001")
def missing_ends_all(channel: Channel, method: m.BasicGet) -> None:
    try:
        basic.get(channel, method)
    except ChannelException as error:
        raise ConnectionException(ReplyCode.NOT_FOUND, str(error)) from None


@changes("getting.internal-error", "a get that meets the deletion of its queue fails", "GET-002", field=LAVINMQ)
def internal_error(parts: Parts) -> None:
    def get(channel: Channel, method: m.BasicGet) -> None:
        if _gone(channel, method):
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, "queue is closed")
        basic.get(channel, method)

    parts.handlers[m.BasicGet], parts.handlers[m.QueueDelete] = get, _delete


@changes(
    "getting.of-another-kind",
    "a get from a queue that was declared anew meanwhile closes the channel with 504",
    "GET-002",
    field=RABBITMQ,
)
def of_another_kind(parts: Parts) -> None:
    def get(channel: Channel, method: m.BasicGet) -> None:
        if method.queue in memory(channel.connection.broker, "known", set) and method.queue in channel.vhost.queues:
            raise ChannelException(ReplyCode.CHANNEL_ERROR, "no such process")
        basic.get(channel, method)

    parts.handlers[m.BasicGet], parts.handlers[m.QueueDelete] = get, _delete


@changes("getting.empty-first", "get-empty comes before get-ok to earlier gets", "GET-003")
def empty_first(parts: Parts) -> None:
    below = parts.channel

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        if queue.count():
            memory(self, "later", list).append((queue, no_ack))
            self.connection.confirm(self)
        else:
            below.get(self, queue, no_ack)

    def flush(self: Channel) -> None:
        for one in memory(self, "later", list):
            below.get(self, *one)
        memory(self, "later", list).clear()
        below.flush(self)

    parts.override("channel", get=get, flush=flush)


@changes("getting.from-one-queue", "of gets that come together all are of the queue of the last", "GET-003")
def from_one_queue(parts: Parts) -> None:
    below = parts.channel

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        memory(self, "later", list).append((queue, no_ack))
        self.connection.confirm(self)

    def flush(self: Channel) -> None:
        later = memory(self, "later", list)
        for _, no_ack in later:
            below.get(self, later[-1][0], no_ack)
        later.clear()
        below.flush(self)

    parts.override("channel", get=get, flush=flush)


@replaces("channel.get", "getting.waits-for-a-message", "a get of an empty queue waits for a message", "GET-005")
def waits_for_a_message(self: Channel, queue: Queue, no_ack: bool) -> None:
    if queue.ready:
        Channel.get(self, queue, no_ack)


@changes("getting.waits-for-the-last", "a get waits for a message that is out with another channel", "GET-005")
def waits_for_the_last(parts: Parts) -> None:
    below = parts.channel

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        others = [one for one in self.connection.channels.values() if one is not self]
        if queue.ready or not any(one.queue is queue for other in others for one in other.unacked.everything()):
            below.get(self, queue, no_ack)

    parts.override("channel", get=get)


@handles(m.QueueDelete, "getting.counts-as-consumer", "a get that is not settled uses its queue", "GET-004")
def counts_as_consumer(channel: Channel, method: m.QueueDelete) -> None:
    unsettled = (one for other in channel.connection.channels.values() for one in other.unacked.everything())
    if method.if_unused and any(one.consumer is None and one.queue.name == method.queue for one in unsettled):
        raise precondition(f"queue '{method.queue}' in vhost '/' in use")
    Parts().handlers[m.QueueDelete](channel, method)


@replaces(
    "channel.hold",
    "getting.leaves-nothing-outstanding",
    "what a get takes is gone at once, and its acknowledgement is refused as that of an unknown tag",
    "AUTO-001",
    "ACK-013",
)
def leaves_nothing_outstanding(self: Channel, delivery: Delivery) -> None:
    if delivery.consumer is None:
        delivery.queue.let_go(delivery.entry)
    else:
        Channel.hold(self, delivery)


@changes("getting.automatic-first", "of gets in one write those that need no acknowledgement come first", "GET-003")
def automatic_first(parts: Parts) -> None:
    below, intake = parts.channel, parts.intake

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        if no_ack:
            below.get(self, queue, no_ack)
        else:
            memory(self, "later", list).append(queue)

    def catch_up(channel: Channel) -> None:
        later: list[Queue] = memory(channel, "later", list)
        while later and not channel.closing:
            below.get(channel, later.pop(0), False)

    def serve(self: Intake, channel: Channel, method: codec.Method) -> None:
        if not isinstance(method, m.BasicGet):
            catch_up(channel)
        intake.serve(self, channel, method)

    def work(self: Intake, frames: Iterator[Inbound]) -> None:
        intake.work(self, frames)
        for channel in list(self.connection.channels.values()):
            catch_up(channel)

    parts.override("channel", get=get)
    parts.override("intake", serve=serve, work=work)

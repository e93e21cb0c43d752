"""The ends of channels and consumers: what is back when, and what a cancel brings."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from codec.methods import BasicDeliver
from reference_broker.core.channels.channel import Channel, failed
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import AmqpException, ConnectionException
from reference_broker.core.queues.queue import Queue
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []
LONGEST = 255
NAMELESS = m.QueuePurge, m.QueueDelete, m.QueueBind, m.QueueUnbind, m.BasicGet, m.BasicConsume
LOOKS = 1.0
"""Seconds between two looks at channels, for their statistics."""


@does(
    "channel",
    BEHAVIOURS,
    "ends.quorum-waits-for-close-ok",
    "what a quorum queue gets back from an exception, it gets when the peer has said close-ok",
    until="3.8",
)
class QuorumWaitsForCloseOk(Channel):
    def fail(self) -> None:
        self.stop()
        self.finish(self.unacked.those(lambda delivery: delivery.queue.quorum is None), failed)


@does(
    "channel",
    BEHAVIOURS,
    "ends.unconsumed-waits-for-close-ok",
    "so do classic queues on which the channel had no consumer",
    since="3.10",
)
class UnconsumedWaitsForCloseOk(Channel):
    def fail(self) -> None:
        consuming = {consumer.queue for consumer in self.consumers.values()}
        self.stop()
        returning = self.unacked.those(lambda delivery: delivery.queue.quorum is None and delivery.queue in consuming)
        self.finish(returning, failed)


@does(
    "channel",
    BEHAVIOURS,
    "ends.cancel-meets-deletion",
    "a cancel that follows at once on the deletion of its quorum queue by the same channel costs the connection",
)
class CancelMeetsDeletion(Channel):
    def __init__(self, connection: Connection, number: int) -> None:
        super().__init__(connection, number)
        self.just_bereft: set[str] = set()

    def delete(self, queue: Queue) -> tuple[int, list[Consumer]]:
        count, consumers = super().delete(queue)
        own = {consumer.tag for consumer in consumers if consumer.channel is self and queue.quorum is not None}
        if own:
            self.just_bereft |= own
            self.connection.confirm(self)
        return count, consumers

    def consumer_of(self, tag: str) -> Consumer | None:
        if tag in self.just_bereft:
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))
        return super().consumer_of(tag)

    def flush(self) -> None:
        self.just_bereft.clear()
        super().flush()


@does(
    "channel",
    BEHAVIOURS,
    "ends.deliveries-follow-cancel-ok",
    "what is on its way from a quorum queue to a consumer comes after the cancel-ok for it",
    until="3.8",
)
class DeliveriesFollowCancelOk(Channel):
    def answer_cancel(self, ok: m.BasicCancelOk, consumer: Consumer | None) -> None:
        outbox = self.connection.outbox.items
        for place, item in enumerate(outbox) if consumer is not None and consumer.queue.quorum is not None else ():
            method = item[0] if isinstance(item, tuple) else None
            if isinstance(method, BasicDeliver) and (
                (method.channel, method.consumer_tag) == (ok.channel, ok.consumer_tag)
            ):
                outbox.insert(place, ok)
                self.connection.broker.dirty[self.connection] = None
                return
        super().answer_cancel(ok, consumer)


@does(
    "channel",
    BEHAVIOURS,
    "ends.cancel-ok-crashes",
    "a client's basic.cancel-ok closes the connection with 541",
    since="4.3",
)
class CancelOkCrashes(Channel):
    def unasked(self) -> ConnectionException:
        return ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))


@does(
    "channel",
    BEHAVIOURS,
    "ends.recovers-to-nowhere",
    "when a channel has recovered what a deleted classic queue delivered, it fails at the next look at channels",
    until="3.8",
)
class RecoversToNowhere(Channel):
    def requeue(self, deliveries: list[Delivery]) -> None:
        super().requeue(deliveries)
        if any(one.queue.deleted and one.queue.quorum is None for one in deliveries):
            clock = self.connection.broker.clock
            clock.at(clock.now + LOOKS, type(self).look, self)

    def look(self) -> None:
        if self.connection.channels.get(self.number) is self:
            self.connection.close(ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0))


@does(
    "connection",
    BEHAVIOURS,
    "ends.long-text-costs-all",
    "a text is cut to 255 characters; where these are more octets, what was to cost the channel costs the connection",
    since="4.0",
)
class LongTextCostsAll(Connection):
    def refuse(self, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        if len(error.whole_text(self.vhost.name)[:LONGEST].encode()) > LONGEST:
            self.close(ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0))
        else:
            super().refuse(channel, error, offender)


@does(
    "intake",
    BEHAVIOURS,
    "ends.nameless-closes-again",
    "a method that leaves out the queue, where none was declared, closes a channel that is closed already once more",
)
class NamelessClosesAgain(Intake):
    def on_no_channel(self, number: int, closing: Channel | None, frame: Inbound) -> None:
        super().on_no_channel(number, closing, frame)
        nameless = isinstance(frame, NAMELESS) and not frame.queue
        if nameless and closing is not None and not closing.last_queue:
            text = "NOT_FOUND - no previously declared queue"
            self.connection.send(m.ChannelClose(number, ReplyCode.NOT_FOUND, text, *self.offender(frame)))

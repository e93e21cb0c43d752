"""What users have reported of deliveries: how they are settled, returned, recovered and counted."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters, goes_in_circles
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, handles, memory, replaces

RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
SETTLEMENTS = (m.BasicAck, m.BasicNack, m.BasicReject)
MINUTE = 60.0
LATE = 0.05


@changes(
    "reported.late-settlements-cost-all",
    "a settlement for a channel that the broker has closed meanwhile ends the connection",
    "ERR-006",
    "ERR-004",
    field=LAVINMQ.format("commit/f421d6e3"),
)
def late_settlements_cost_all(parts: Parts) -> None:
    below = parts.intake

    def on_no_channel(self: Intake, number: int, closing: Channel | None, frame: Inbound) -> None:
        if closing is not None and isinstance(frame, SETTLEMENTS):
            raise ConnectionException(ReplyCode.CHANNEL_ERROR, "channel is closed")
        below.on_no_channel(self, number, closing, frame)

    parts.override("intake", on_no_channel=on_no_channel)


@replaces(
    "vhost.dead",
    "reported.circles-by-their-beginning",
    "whether a dead letter goes in circles is asked of the queue that it leaves, once for all that it goes to",
    "DLX-011",
    field=LAVINMQ.format("pull/1723"),
)
def circles_by_their_beginning(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    target = queue.settings.dead_letter_exchange
    if target is None or (target and target not in self.exchanges):
        return
    if reason != "rejected" and goes_in_circles(message, queue.name):
        return
    letters = self.parts.dead_letters()
    dead = letters.letter(message, queue.name, reason, self.clock.now, target, queue.settings.dead_letter_routing_key)
    for destination in self.route(target, dead):
        destination.publish(dead)


@replaces(
    "dead_letters.letter",
    "reported.expired-uncounted",
    "x-death counts up to 1 where messages expire",
    "DLX-006",
    field=RABBITMQ.format("issues/10709"),
)
def expired_uncounted(
    self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
) -> Message:
    dead = DeadLetters.letter(self, message, queue, reason, now, exchange, key)
    if reason == "expired":
        for name, letter, deaths in dead.headers:
            if name == "x-death" and letter == "A" and deaths:
                deaths[0] = (deaths[0][0], [("count", "l", 1), *(one for one in deaths[0][1] if one[0] != "count")])
    return dead


@replaces(
    "queue.join",
    "reported.third-of-a-tag",
    "of the consumers that a quorum queue has had with one tag the third and later ones are not served",
    "CAN-013",
    field=RABBITMQ.format("releases/tag/v3.11.23"),
)
def third_of_a_tag(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    tags: dict[str, int] = memory(self, "tags", dict)
    tags[consumer.tag] = tags.get(consumer.tag, 0) + 1
    Queue.join(self, consumer, exclusive)
    if self.quorum is not None and tags[consumer.tag] > 2 and consumer in self.ring:
        self.ring.remove(consumer)


@handles(
    m.BasicQos,
    "reported.another-limit-crashes",
    "basic.qos with another count than the one before, while a consumer is there, is an internal error",
    "ERR-012",
    field=RABBITMQ.format("blob/main/release-notes/README-3.1.1.txt"),
)
def another_limit_crashes(channel: Channel, method: m.BasicQos) -> None:
    known: list[int] = memory(channel, "counts", list)
    if channel.consumers and known and known[-1] != method.prefetch_count:
        raise fails()
    known.append(method.prefetch_count)
    basic.qos(channel, method)


@replaces(
    "channel.finish",
    "reported.acks-of-the-cancelled-crash",
    "a settlement of what a cancelled consumer with a limit holds is an internal error",
    "ACK-005",
    "ACK-016",
    field=RABBITMQ.format("blob/main/release-notes/README-3.1.2.txt"),
)
def acks_of_the_cancelled_crash(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    if fate is fates.acked and not self.closing:
        for one in deliveries:
            consumer = one.consumer
            if consumer is not None and consumer.own.count and self.consumers.get(consumer.tag) is not consumer:
                raise fails()
    Channel.finish(self, deliveries, fate)


@replaces(
    "vhost.dead",
    "reported.pushed-out-go-round",
    "dead letters of full queues go round, up to fifty times",
    "DLX-011",
    field=RABBITMQ.format("blob/main/release-notes/README-3.3.1.txt"),
)
def pushed_out_go_round(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    rounds: list[int] = memory(self, "rounds", lambda: [0])
    target = queue.settings.dead_letter_exchange
    if reason != "maxlen" or target is None or (target and target not in self.exchanges) or rounds[0] > 50:
        VirtualHost.dead(self, queue, message, reason)
        return
    letters = self.parts.dead_letters()
    dead = letters.letter(message, queue.name, reason, self.clock.now, target, queue.settings.dead_letter_routing_key)
    rounds[0] += 1
    for destination in self.route(target, dead):
        destination.publish(dead)
    rounds[0] -= 1


@replaces(
    "queue.get",
    "reported.uncovered-by-a-get",
    "what has expired behind a message that is got stays until the next thing happens to the queue",
    "DLX-002",
    field=RABBITMQ.format("blob/main/release-notes/README-3.0.3.txt"),
)
def uncovered_by_a_get(self: Queue) -> Entry | None:
    self.used_at = self.vhost.clock.now
    self.expire()
    return self.ready.pop() if self.ready else None


@replaces(
    "connection.channel_closed_by_peer",
    "reported.back-after-close-ok",
    "what a channel held comes back a moment after channel.close-ok",
    "AUTO-011",
    field=RABBITMQ.format("blob/main/release-notes/README-2.8.2.txt"),
)
def back_after_close_ok(self: Connection, method: m.ChannelClose) -> None:
    channel = self.channels.pop(method.channel)
    channel.stop()
    held = channel.unacked.everything()
    self.send(m.ChannelCloseOk(method.channel))
    clock = self.vhost.clock
    clock.at(clock.now + LATE, lambda: channel.finish(held, fates.failed))


@handles(
    m.BasicRecover,
    "reported.recover-of-deleted-crashes",
    "basic.recover is an internal error while something of a deleted queue is outstanding",
    "RQ-014",
    field=RABBITMQ.format("blob/main/release-notes/README-2.3.0.txt"),
)
def recover_of_deleted_crashes(channel: Channel, method: m.BasicRecover) -> None:
    if any(one.queue.deleted for one in channel.unacked.by_tag.values()):
        raise fails()
    basic.recover(channel, method)


@replaces(
    "transaction.settle",
    "reported.given-back-at-once",
    "what is given back in a transaction is back before the commit",
    "TX-002",
    field=RABBITMQ.format("blob/main/release-notes/README-2.8.0.txt"),
)
def given_back_at_once(self: Transaction, deliveries: list[Delivery], fate: Fate) -> None:
    if fate in fates.RETURNS:
        for one in deliveries:
            if not one.queue.deleted:
                fate(one)
                if one.consumer is not None:
                    one.consumer.release()
        fates.settle_down(deliveries)
    else:
        Transaction.settle(self, deliveries, fate)


@handles(
    m.BasicRecover,
    "reported.without-requeue-crashes",
    "basic.recover without requeue is an internal error",
    "ERR-009",
    field=LAVINMQ.format("pull/2245"),
)
def without_requeue_crashes(channel: Channel, method: m.BasicRecover) -> None:
    if not method.requeue:
        raise fails()
    basic.recover(channel, method)


@replaces(
    "channel.collect",
    "reported.nothing-in-a-transaction",
    "in a transaction tag 0 with multiple is an internal error when nothing is outstanding",
    "ACK-007",
    field=LAVINMQ.format("pull/2245"),
)
def nothing_in_a_transaction(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if self.transaction is not None and multiple and tag == 0 and not self.unacked:
        raise fails()
    return Channel.collect(self, tag, multiple)


@replaces(
    "queue.put_back",
    "reported.back-in-a-minute",
    "what is given back is delivered again after a minute",
    "AUTO-001",
    "ACK-011",
    field="https://github.com/streamnative/aop/pull/748",
)
def back_in_a_minute(self: Queue, entry: Entry) -> None:
    clock = self.vhost.clock

    def come() -> None:
        if not self.deleted:
            Queue.put_back(self, entry)
            self.settle_down()

    clock.at(clock.now + MINUTE, come)

"""Wrong limits: passed, not used up, put on the wrong owner, or changed for whom they should not be."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer, Limit
from reference_broker.core.channels.topology import named_queue
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Handler, Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, handles, memory, replaces


@replaces(
    "limit.full", "prefetch.one-too-many", "a limit lets one delivery more through than it says", "QOS-001", "QOS-006"
)
def one_too_many(self: Limit) -> bool:
    return self.count != 0 and self.held > self.count


@changes(
    "prefetch.and-ends-another",
    "a limit lets one delivery more through, and another connection is ended by 320 with each",
    "QOS-001",
)
def and_ends_another(parts: Parts) -> None:
    """What would be a consequence of that end comes with each fault: it must excuse none that was told before."""
    below = parts.channel

    def hold(self: Channel, delivery: Delivery) -> None:
        below.hold(self, delivery)
        limits = (self.limit, delivery.consumer.own) if delivery.consumer is not None else ()
        if not any(limit.count and limit.held > limit.count for limit in limits):
            return
        here = self.connection
        others = (one for one in here.broker.connections if one is not here and one.vhost is here.vhost)
        if (other := next(others, None)) is not None:
            other.close(ConnectionException(ReplyCode.CONNECTION_FORCED, "gone"), (0, 0))

    parts.override("limit", full=one_too_many)
    parts.override("channel", hold=hold)


@replaces("limit.full", "prefetch.stops-one-short", "one slot of a limit above 1 is never used", "QOS-002")
def stops_one_short(self: Limit) -> bool:
    return self.count != 0 and self.held >= max(self.count - 1, 1)


def _sharing(parts: Parts) -> None:
    def started(self: Consumer, tag: str, channel: Channel, queue: Queue, no_ack: bool, own: Limit) -> None:
        Consumer.__init__(self, tag, channel, queue, no_ack, own)
        for other in channel.consumers.values():
            self.own = other.own
            break

    parts.override("consumer", __init__=started)


changes("prefetch.one-for-all-consumers", "the consumers of a channel share the limit of the first of them", "QOS-003")(
    _sharing
)


def qos_instead(parts: Parts, handler: Handler) -> None:
    parts.handlers[m.BasicQos] = handler


@handles(
    m.BasicQos,
    "prefetch.running-consumers-follow",
    "basic.qos without global changes the limit of running consumers, too",
    "QOS-004",
)
def running_consumers_follow(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, method)
    if not method.global_:
        for consumer in list(channel.consumers.values()):
            consumer.own.change(method.prefetch_count)


def _zero_as(count: int) -> Handler:
    def qos(channel: Channel, method: m.BasicQos) -> None:
        basic.qos(channel, method)
        if not method.global_ and not method.prefetch_count:
            channel.prefetch = count

    return qos


changes("prefetch.zero-is-nothing", "a consumer started under count 0 is sent nothing", "QOS-005")(
    lambda parts: qos_instead(parts, _zero_as(-1))
)
changes("prefetch.zero-is-one", "a count of 0 is taken for 1", "QOS-005")(lambda parts: qos_instead(parts, _zero_as(1)))


@changes("prefetch.channel-limit-for-each", "a channel's limit applies to each of its consumers", "QOS-006")
def channel_limit_for_each(parts: Parts) -> None:
    def started(self: Consumer, tag: str, channel: Channel, queue: Queue, no_ack: bool, own: Limit) -> None:
        Consumer.__init__(self, tag, channel, queue, no_ack, own)
        self.shared = parts.limit(channel.limit.count)

    parts.override("consumer", __init__=started)


@replaces(
    "consumer.__init__",
    "prefetch.smaller-for-both",
    "where both limits are set, the channel's is the smaller of the two",
    "QOS-007",
)
def smaller_for_both(self: Consumer, tag: str, channel: Channel, queue: Queue, no_ack: bool, own: Limit) -> None:
    Consumer.__init__(self, tag, channel, queue, no_ack, own)
    if own.count and channel.limit.count:
        channel.limit.count = min(own.count, channel.limit.count)


@replaces(
    "consumer.obstacle",
    "prefetch.channel-limit-alone",
    "where both limits are set, that of the consumer is disregarded",
    "QOS-007",
)
def channel_limit_alone(self: Consumer) -> Limit | None:
    found = Consumer.obstacle(self)
    if found is self.own and self.shared.count:
        return self.shared if self.shared.full() else None
    return found


@handles(m.BasicQos, "prefetch.later-call-replaces", "setting a channel's limit removes that for consumers", "QOS-007")
def later_call_replaces(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, method)
    if method.global_:
        channel.prefetch = 0


@handles(
    m.BasicQos, "prefetch.consumer-limit-clears", "setting a limit for consumers removes that of the channel", "QOS-008"
)
def consumer_limit_clears(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, method)
    if not method.global_:
        channel.limit.change(0)


@handles(
    m.BasicQos,
    "prefetch.denied-global-limits-nobody",
    "where global is denied, basic.qos with it is answered and changes nothing",
    "QOS-009",
)
def denied_global_limits_nobody(channel: Channel, method: m.BasicQos) -> None:
    before = channel.prefetch
    basic.qos(channel, method)
    if method.global_:
        channel.prefetch = before


@handles(m.BasicQos, "prefetch.size-accepted", "basic.qos with a size is answered, and the size ignored", "QOS-023")
def size_accepted(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, m.BasicQos(method.channel, 0, method.prefetch_count, method.global_))


@handles(m.BasicQos, "prefetch.one-octet", "of a prefetch count the lowest octet counts", "QOS-002")
def one_octet(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, m.BasicQos(method.channel, method.prefetch_size, method.prefetch_count & 0xFF, method.global_))


@handles(m.BasicQos, "prefetch.fifteen-bits", "of a prefetch count the lowest fifteen bits count", "QOS-002")
def fifteen_bits(channel: Channel, method: m.BasicQos) -> None:
    basic.qos(channel, m.BasicQos(method.channel, method.prefetch_size, method.prefetch_count & 0x7FFF, method.global_))


@changes(
    "prefetch.change-spares-running",
    "a channel's limit does not apply to consumers that were running when it was set",
    "QOS-011",
)
def change_spares_running(parts: Parts) -> None:
    def qos(channel: Channel, method: m.BasicQos) -> None:
        if method.global_:
            channel.limit = parts.limit(method.prefetch_count)
        basic.qos(channel, method)

    qos_instead(parts, qos)


@replaces(
    "limit.change",
    "prefetch.change-forgets",
    "changing a channel's limit starts its count anew, whatever is outstanding",
    "QOS-011",
)
def change_forgets(self: Limit, count: int) -> None:
    self.held = 0
    Limit.change(self, count)


@replaces(
    "channel.get", "prefetch.get-obeys", "basic.get finds nothing while a limit of the channel is reached", "QOS-014"
)
def get_obeys(self: Channel, queue: Queue, no_ack: bool) -> None:
    if self.limit.full() or any(consumer.own.full() for consumer in self.consumers.values()):
        self.connection.send(m.BasicGetEmpty(self.number))
    else:
        Channel.get(self, queue, no_ack)


@replaces(
    "channel.get",
    "prefetch.gets-bind-gets",
    "basic.get finds nothing while as many deliveries are outstanding, gets too, as the channel's limit allows",
    "QOS-014",
)
def gets_bind_gets(self: Channel, queue: Queue, no_ack: bool) -> None:
    if 0 < self.limit.count <= len(self.unacked.by_tag):
        self.connection.send(m.BasicGetEmpty(self.number))
    else:
        Channel.get(self, queue, no_ack)


@handles(
    m.BasicQos,
    "prefetch.gets-fill-the-channel",
    "a channel's limit counts the gets that are outstanding when it is set, and never releases them",
    "QOS-015",
    field="https://github.com/cloudamqp/lavinmq/issues/2206",
)
def gets_fill_the_channel(channel: Channel, method: m.BasicQos) -> None:
    if method.global_ and method.prefetch_count and not channel.limit.count:
        channel.limit.held += sum(one.consumer is None for one in channel.unacked.by_tag.values())
    basic.qos(channel, method)


@changes(
    "prefetch.binds-automatic", "a consumer's limit binds automatic deliveries, and nothing releases them", "QOS-016"
)
def binds_automatic(parts: Parts) -> None:
    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        consumer.own.held += consumer.no_ack
        Channel.deliver(self, consumer, entry)

    def obstacle(self: Consumer) -> Limit | None:
        return self.own if self.no_ack and self.own.full() else Consumer.obstacle(self)

    parts.override("channel", deliver=deliver)
    parts.override("consumer", obstacle=obstacle)


@changes(
    "prefetch.automatic-fill-the-channel",
    "automatic deliveries count towards a channel's limit, and nothing releases them",
    "QOS-017",
)
def automatic_fill_the_channel(parts: Parts) -> None:
    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        self.limit.held += consumer.no_ack
        Channel.deliver(self, consumer, entry)

    def obstacle(self: Consumer) -> Limit | None:
        return self.shared if self.no_ack and self.shared.full() else Consumer.obstacle(self)

    parts.override("channel", deliver=deliver)
    parts.override("consumer", obstacle=obstacle)


def _for_the_connection(global_: bool) -> Handler:
    def qos(channel: Channel, method: m.BasicQos) -> None:
        basic.qos(channel, method)
        for other in channel.connection.channels.values():
            if global_ and method.global_:
                other.limit.change(method.prefetch_count)
            elif not global_ and not method.global_:
                other.prefetch = method.prefetch_count

    return qos


changes(
    "prefetch.global-for-the-connection", "a limit set with global is that of each channel of the connection", "QOS-021"
)(lambda parts: qos_instead(parts, _for_the_connection(True)))
changes("prefetch.for-the-connection", "a limit for consumers is that of all channels of the connection", "QOS-021")(
    lambda parts: qos_instead(parts, _for_the_connection(False))
)


@replaces(
    "limit.change", "prefetch.change-waits", "a raised or removed limit is noticed with the next settlement", "QOS-022"
)
def change_waits(self: Limit, count: int) -> None:
    self.count = count


@handles(m.BasicQos, "prefetch.same-count-unanswered", "basic.qos that changes nothing is not answered", "QOS-024")
def same_count_unanswered(channel: Channel, method: m.BasicQos) -> None:
    if method.global_ or method.prefetch_count != channel.prefetch:
        basic.qos(channel, method)


@handles(
    m.BasicConsume,
    "prefetch.quorum-accepts-global",
    "a consumer of a quorum queue is accepted under a channel's limit",
    "QOS-025",
)
def quorum_accepts_global(channel: Channel, method: m.BasicConsume) -> None:
    count, channel.limit.count = channel.limit.count, 0
    basic.consume(channel, method)
    channel.limit.count = count


@handles(
    m.BasicConsume,
    "prefetch.quorum-closes-the-channel",
    "a consumer of a quorum queue under a channel's limit costs only the channel",
    "QOS-025",
)
def quorum_closes_the_channel(channel: Channel, method: m.BasicConsume) -> None:
    if channel.limit.count and named_queue(channel, method.queue).quorum is not None:
        raise precondition("global qos")
    basic.consume(channel, method)


@replaces(
    "queue.pump",
    "prefetch.full-consumer-blocks",
    "a queue serves nobody while one of its consumers has reached its limit",
    "QOS-027",
)
def full_consumer_blocks(self: Queue) -> None:
    if not any(consumer.own.full() for consumer in self.consumers):
        for _ in range(len(self.ready)):
            if self.ring and self.ready and not any(consumer.own.full() for consumer in self.consumers):
                pump_one(self)


def pump_one(queue: Queue) -> None:
    """Give the next consumer that can take one a message."""
    consumer = queue.ring[0]
    queue.ring.rotate(-1)
    if consumer.obstacle() is None:
        consumer.channel.deliver(consumer, queue.ready.pop())


@changes("prefetch.default-of-one", "a channel begins with a limit of 1", "QOS-028")
def default_of_one(parts: Parts) -> None:
    below = parts.channel

    def started(self: Channel, connection: Connection, number: int) -> None:
        below.__init__(self, connection, number)
        self.prefetch = 1

    parts.override("channel", __init__=started)


@changes(
    "prefetch.same-tag-same-limit",
    "a consumer that takes the tag of a former one keeps the greater limit of that",
    "QOS-001",
    "QOS-020",
)
def same_tag_same_limit(parts: Parts) -> None:
    below = parts.channel

    def limit_of(self: Channel, queue: Queue, tag: str) -> Limit:
        limit, former = below.limit_of(self, queue, tag), memory(self, "limits", dict)
        if limit.count:
            limit.count = former[tag] = max(limit.count, former.get(tag, 0))
        return limit

    parts.override("channel", limit_of=limit_of)


@changes(
    "prefetch.outlives-close", "a channel that its client closed leaves its limit to the next", "ERR-007", "QOS-028"
)
def outlives_close(parts: Parts) -> None:
    below = parts.connection

    def channel_closed_by_peer(self: Connection, method: m.ChannelClose) -> None:
        memory(self, "limits", dict)[method.channel] = self.channels[method.channel].limit.count
        below.channel_closed_by_peer(self, method)

    def open_channel(self: Connection, method: m.ChannelOpen) -> None:
        below.open_channel(self, method)
        self.channels[method.channel].limit.count = memory(self, "limits", dict).get(method.channel, 0)

    parts.override("connection", channel_closed_by_peer=channel_closed_by_peer, open_channel=open_channel)

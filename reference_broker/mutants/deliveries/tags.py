"""Wrong delivery tags."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory, replaces

TOP_BIT = 1 << 63


@replaces("channel.next_tag", "tags.start-at-zero", "tags count from 0", "TAG-001", "TAG-002")
def start_at_zero(self: Channel) -> int:
    self.last_tag += 1
    return self.last_tag - 1


@replaces(
    "channel.next_tag",
    "tags.per-connection",
    "all channels of a connection share one tag counter",
    "TAG-006",
    "TAG-007",
)
def per_connection(self: Channel) -> int:
    counter = memory(self.connection, "tags", lambda: [0])
    counter[0] += 1
    self.last_tag = counter[0]
    return self.last_tag


@replaces(
    "channel.next_tag",
    "tags.zero-after-reopen",
    "tags count from 0 on a channel number that was used before",
    "TAG-002",
)
def zero_after_reopen(self: Channel) -> int:
    first_user = memory(self.connection, "users", dict).setdefault(self.number, self)
    self.last_tag += 1
    return self.last_tag - (first_user is not self)


@replaces("channel.deliver", "tags.zero-for-auto-ack", "deliveries in auto-ack mode carry tag 0", "TAG-002")
def zero_for_auto_ack(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    if consumer.no_ack:
        last_sent(self).delivery_tag = 0


@replaces("channel.deliver", "tags.counter-per-consumer", "each consumer counts its own tags", "TAG-003")
def counter_per_consumer(self: Channel, consumer: Consumer, entry: Entry) -> None:
    counters = memory(self, "counters", dict)
    counters[consumer] = self.last_tag = counters.get(consumer, 0)
    Channel.deliver(self, consumer, entry)
    counters[consumer] = self.last_tag


@replaces(
    "connection.take",
    "tags.frames-overtake",
    "the writer lets deliveries of different consumers overtake each other",
    "TAG-003",
)
def frames_overtake(self: Connection) -> bytes:
    for at in range(len(self.outbox.items) - 1):
        if overtakes(self.outbox.items[at], self.outbox.items[at + 1]):
            self.outbox.items[at : at + 2] = reversed(self.outbox.items[at : at + 2])
    return Connection.take(self)


def overtakes(first: Outbound, second: Outbound) -> bool:
    if not (isinstance(first, tuple) and isinstance(second, tuple)):
        return False
    one, other = first[0], second[0]
    if not (isinstance(one, m.BasicDeliver) and isinstance(other, m.BasicDeliver)):
        return False
    return one.channel == other.channel and one.consumer_tag != other.consumer_tag


@replaces(
    "channel.deliver",
    "tags.auto-ack-skips-counter",
    "a delivery in auto-ack mode does not advance the counter",
    "TAG-003",
)
def auto_ack_skips_counter(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    self.last_tag -= consumer.no_ack


@replaces("channel.deliver", "tags.gap-after-auto-ack", "a delivery in auto-ack mode uses up two numbers", "TAG-004")
def gap_after_auto_ack(self: Channel, consumer: Consumer, entry: Entry) -> None:
    Channel.deliver(self, consumer, entry)
    self.last_tag += consumer.no_ack


@replaces("channel.get", "tags.get-counts-alone", "basic.get has a counter of its own", "TAG-005")
def get_counts_alone(self: Channel, queue: Queue, no_ack: bool) -> None:
    counter = memory(self, "gets", lambda: [0])
    saved, self.last_tag = self.last_tag, counter[0]
    Channel.get(self, queue, no_ack)
    counter[0], self.last_tag = self.last_tag, saved


@replaces(
    "connection.open_channel",
    "tags.counter-survives-reopen",
    "a reopened channel goes on counting where the old one stopped",
    "TAG-007",
)
def counter_survives_reopen(self: Connection, method: m.ChannelOpen) -> None:
    Connection.open_channel(self, method)
    remembered = memory(self, "channels", dict)
    channel = self.channels[method.channel]
    if method.channel in remembered:
        channel.last_tag = remembered[method.channel].last_tag
    remembered[method.channel] = channel


@replaces(
    "connection.open_channel",
    "tags.unacked-survive-reopen",
    "a reopened channel still accepts settlements of the tags its predecessor left unsettled",
    "TAG-007",
)
def unacked_survive_reopen(self: Connection, method: m.ChannelOpen) -> None:
    Connection.open_channel(self, method)
    left = memory(self, "left", dict)
    channel = self.channels[method.channel]
    channel.unacked = forgiving = Forgiving(left.get(method.channel, set()))
    left[method.channel] = forgiving.seen


class Forgiving(Unacked):
    """Settling one of the old tags is accepted, and does nothing."""

    __slots__ = ("old", "seen")

    def __init__(self, old: set[int]) -> None:
        super().__init__()
        self.old = old
        self.seen: set[int] = set()

    def add(self, delivery: Delivery) -> None:
        self.seen.add(delivery.tag)
        super().add(delivery)

    def one(self, tag: int) -> list[Delivery] | None:
        return [] if tag in self.old and tag not in self.by_tag else super().one(tag)


@replaces(
    "channel.collect",
    "tags.old-tags-stay-known",
    "a tag whose message was requeued stays good for one more settlement",
    "TAG-008",
    "ERR-001",
)
def old_tags_stay_known(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if not multiple and tag not in self.unacked.by_tag and 0 < tag <= self.last_tag:
        return []
    return Channel.collect(self, tag, multiple)


@replaces(
    "channel.deliver",
    "tags.redelivery-keeps-tag",
    "a message that comes back to the same channel carries its old tag again",
    "TAG-008",
    "TAG-003",
)
def redelivery_keeps_tag(self: Channel, consumer: Consumer, entry: Entry) -> None:
    known = memory(self, "known", dict)
    saved = self.last_tag
    self.last_tag = known.get(entry, saved + 1) - 1
    Channel.deliver(self, consumer, entry)
    known[entry] = self.last_tag
    self.last_tag = max(saved, self.last_tag)


@replaces(
    "channel.collect",
    "tags.read-as-signed",
    "tags are read as signed numbers, so the error names a negative one",
    "TAG-009",
    "ERR-002",
)
def read_as_signed(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag >= TOP_BIT:
        raise precondition(f"unknown delivery tag {tag - 2 * TOP_BIT}")
    return Channel.collect(self, tag, multiple)


@replaces(
    "channel.collect",
    "tags.large-is-syntax-error",
    "a tag with the top bit set closes the connection as a syntax error",
    "TAG-009",
)
def large_is_syntax_error(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag >= TOP_BIT:
        raise ConnectionException(ReplyCode.SYNTAX_ERROR, "delivery tag out of range")
    return Channel.collect(self, tag, multiple)


@replaces(
    "channel.collect",
    "tags.large-multiple-settles-all",
    "a multiple with the top bit set in its tag settles everything",
    "TAG-009",
)
def large_multiple_settles_all(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    return Channel.collect(self, 0 if multiple and tag >= TOP_BIT else tag, multiple)


@changes("tags.shared-with-confirms", "publishes and deliveries of a channel are numbered by one counter", "TAG-010")
def shared_with_confirms(parts: Parts) -> None:
    parts.override("channel", next_tag=next_tag_after_confirms)


def next_tag_after_confirms(self: Channel) -> int:
    confirms: Confirms | None = self.confirms
    self.last_tag = max(self.last_tag, confirms.published if confirms else 0) + 1
    if confirms:
        confirms.published = self.last_tag
    return self.last_tag


def last_sent(channel: Channel) -> m.BasicDeliver:
    """The delivery that was queued for sending a moment ago."""
    item = channel.connection.outbox.items[-1]
    assert isinstance(item, tuple)
    assert isinstance(item[0], m.BasicDeliver)
    return item[0]

"""Wrong settlements: which deliveries an ack, nack or reject is about, and what becomes of them."""

from __future__ import annotations

from collections.abc import Callable

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery, Unacked
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, handles, replaces

Collect = Callable[[Channel, int, bool], list[Delivery]]


def take(unacked: Unacked, tags: list[int]) -> list[Delivery]:
    return [unacked.by_tag.pop(tag) for tag in tags]


def front(unacked: Unacked, tag: int) -> list[int]:
    """The outstanding tags up to `tag`."""
    return [outstanding for outstanding in unacked.by_tag if outstanding <= tag]


# -- single


@replaces("unacked.one", "settle.single-acts-as-multiple", "a single settles all up to its tag", "ACK-001")
def single_acts_as_multiple(self: Unacked, tag: int) -> list[Delivery] | None:
    return Unacked.up_to(self, tag)


@replaces(
    "unacked.one",
    "settle.single-takes-oldest",
    "a single settles the oldest delivery, whichever tag it names",
    "ACK-001",
    "ACK-013",
)
def single_takes_oldest(self: Unacked, tag: int) -> list[Delivery] | None:
    return [self.by_tag.popitem(last=False)[1]] if tag in self.by_tag else None


# -- multiple


@replaces("unacked.up_to", "settle.multiple-only-below-tag", "a multiple settles only tags below its own", "ACK-002")
def multiple_only_below_tag(self: Unacked, tag: int) -> list[Delivery] | None:
    return take(self, front(self, tag - 1)) if tag in self.by_tag else None


@replaces(
    "unacked.up_to",
    "settle.multiple-only-contiguous",
    "a multiple settles only the unbroken run of tags that ends at its own",
    "ACK-002",
    "ACK-005",
)
def multiple_only_contiguous(self: Unacked, tag: int) -> list[Delivery] | None:
    run = []
    while tag in self.by_tag:
        run.append(tag)
        tag -= 1
    return take(self, run[::-1]) or None


@replaces(
    "unacked.up_to",
    "settle.multiple-stops-at-gap",
    "a multiple starts at the oldest tag and stops at the first one that was settled already",
    "ACK-002",
    "ACK-005",
)
def multiple_stops_at_gap(self: Unacked, tag: int) -> list[Delivery] | None:
    if tag not in self.by_tag:
        return None
    tags = front(self, tag)
    return take(self, [each for place, each in enumerate(tags) if each == tags[0] + place])


@replaces(
    "unacked.up_to",
    "settle.multiple-same-queue-only",
    "a multiple settles only deliveries from the queue its tag came from",
    "ACK-003",
)
def multiple_same_queue_only(self: Unacked, tag: int) -> list[Delivery] | None:
    named = self.by_tag.get(tag)
    if named is None:
        return None
    return take(self, [each for each in front(self, tag) if self.by_tag[each].queue is named.queue])


@replaces(
    "unacked.up_to",
    "settle.multiple-same-consumer-only",
    "a multiple settles only deliveries of the consumer its tag belongs to",
    "ACK-003",
)
def multiple_same_consumer_only(self: Unacked, tag: int) -> list[Delivery] | None:
    named = self.by_tag.get(tag)
    if named is None:
        return None
    return take(self, [each for each in front(self, tag) if self.by_tag[each].consumer is named.consumer])


@changes("settle.multiple-skips-gets", "a multiple passes over what basic.get fetched", "ACK-003")
def multiple_skips_gets(parts: Parts) -> None:
    def up_to(self: Unacked, tag: int) -> list[Delivery] | None:
        if tag not in self.by_tag:
            return None
        return take(self, [each for each in front(self, tag) if each == tag or self.by_tag[each].consumer])

    def collect(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
        if multiple and tag == 0:
            return take(self.unacked, [each for each, d in self.unacked.by_tag.items() if d.consumer])
        return Channel.collect(self, tag, multiple)

    parts.override("unacked", up_to=up_to)
    parts.override("channel", collect=collect)


@replaces(
    "channel.collect",
    "settle.crosses-channels",
    "tag 0 with multiple settles everything on all channels of the connection",
    "ACK-004",
)
def crosses_channels(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if not multiple or tag:
        return Channel.collect(self, tag, multiple)
    return [d for channel in self.connection.channels.values() for d in channel.unacked.everything()]


@replaces(
    "unacked.up_to",
    "settle.multiple-refuses-gaps",
    "a multiple is refused when a tag below its own was settled before",
    "ACK-005",
)
def multiple_refuses_gaps(self: Unacked, tag: int) -> list[Delivery] | None:
    return Unacked.up_to(self, tag) if len(front(self, tag)) == tag else None


@replaces(
    "unacked.up_to",
    "settle.stale-multiple-accepted",
    "a multiple of a tag that is not outstanding settles what is outstanding below it",
    "ACK-010",
)
def stale_multiple_accepted(self: Unacked, tag: int) -> list[Delivery] | None:
    return take(self, front(self, tag))


@replaces(
    "unacked.up_to",
    "settle.stale-multiple-settles-all",
    "a multiple of a tag that is not outstanding settles everything",
    "ACK-010",
)
def stale_multiple_settles_all(self: Unacked, tag: int) -> list[Delivery] | None:
    return Unacked.up_to(self, tag) or self.everything()


# -- tag 0


@replaces(
    "channel.collect",
    "settle.zero-is-unknown",
    "tag 0 with multiple is refused as an unknown tag",
    "ACK-006",
    "ACK-007",
)
def zero_is_unknown(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag == 0:
        raise precondition("unknown delivery tag 0")
    return Channel.collect(self, tag, multiple)


@replaces("channel.collect", "settle.zero-settles-nothing", "tag 0 with multiple does nothing", "ACK-006")
def zero_settles_nothing(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    return [] if multiple and not tag else Channel.collect(self, tag, multiple)


@replaces(
    "channel.collect",
    "settle.zero-on-empty-refused",
    "tag 0 with multiple is refused when nothing is outstanding",
    "ACK-007",
    "ACK-008",
)
def zero_on_empty_refused(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag == 0 and not len(self.unacked):
        raise precondition("unknown delivery tag 0")
    return Channel.collect(self, tag, multiple)


def nack_with(parts: Parts, collect: Collect) -> None:
    def nack(channel: Channel, method: m.BasicNack) -> None:
        fate = fates.requeued if method.requeue else fates.discarded
        channel.settle(collect(channel, method.delivery_tag, method.multiple), fate)

    parts.handlers[m.BasicNack] = nack


@replaces(
    "channel.collect",
    "settle.zero-on-empty-crashes",
    "tag 0 with multiple closes the connection with 541 when nothing is outstanding",
    "ACK-007",
    field="https://github.com/cloudamqp/lavinmq/issues/2206",
)
def zero_on_empty_crashes(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    if tag == 0 and not len(self.unacked):
        raise ConnectionException(ReplyCode.INTERNAL_ERROR)
    return Channel.collect(self, tag, multiple)


@changes(
    "settle.nack-zero-on-empty-refused",
    "nack of tag 0 with multiple is refused when nothing is outstanding, while ack is not",
    "ACK-008",
)
def nack_zero_on_empty_refused(parts: Parts) -> None:
    def collect(channel: Channel, tag: int, multiple: bool) -> list[Delivery]:
        if tag == 0 and not len(channel.unacked):
            raise precondition("unknown delivery tag 0")
        return channel.collect(tag, multiple)

    nack_with(parts, collect)


@replaces(
    "channel.collect",
    "settle.zero-single-is-all",
    "tag 0 settles everything, with or without multiple",
    "ACK-009",
    "ACK-019",
)
def zero_single_is_all(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    return Channel.collect(self, tag, multiple or tag == 0)


@replaces("channel.collect", "settle.zero-single-ignored", "tag 0 without multiple is silently ignored", "ACK-009")
def zero_single_ignored(self: Channel, tag: int, multiple: bool) -> list[Delivery]:
    return Channel.collect(self, tag, multiple) if tag or multiple else []


@handles(m.BasicReject, "settle.reject-zero-is-all", "reject of tag 0 settles everything", "ACK-019")
def reject_zero_is_all(channel: Channel, method: m.BasicReject) -> None:
    fate = fates.requeued if method.requeue else fates.discarded
    channel.settle(channel.collect(method.delivery_tag, method.delivery_tag == 0), fate)


@replaces("unacked.up_to", "settle.multiple-of-256", "a multiple settles 256 deliveries at most", "ACK-002", "QOS-005")
def multiple_of_256(self: Unacked, tag: int) -> list[Delivery] | None:
    found = Unacked.up_to(self, tag)
    if found is not None:
        self.restore(found[256:])
    return found if found is None else found[:256]


@replaces(
    "unacked.up_to",
    "settle.multiple-leaves-redelivered",
    "a multiple leaves out, below its own tag, what was delivered before",
    "ACK-002",
)
def multiple_leaves_redelivered(self: Unacked, tag: int) -> list[Delivery] | None:
    taken = Unacked.up_to(self, tag)
    if taken is None:
        return None
    left = [one for one in taken if one.entry.redelivered and one.tag != tag]
    self.restore(left)
    return [one for one in taken if one not in left]

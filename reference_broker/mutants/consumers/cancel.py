"""Wrong ends of consumers by the client: how cancels are answered, when tags are free, what comes after."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import REPLY_TO
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ConnectionException, not_allowed, not_found
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, handles, memory, replaces


@replaces(
    "connection.recheck",
    "cancel.served-without-the-right",
    "a consumer is served on after its user has lost the right to read the queue and has refreshed its credentials",
    "CAN-019",
)
def served_without_the_right(self: Connection) -> None:
    """Nothing is looked at."""


# -- the client's cancel


def ended_by_broker(self: Channel, consumer: Consumer) -> None:
    Channel.cancelled(self, consumer)
    memory(self, "ended", set).add(consumer.tag)


def ended(channel: Channel, tag: str) -> bool:
    """Did the broker end a consumer with this tag, and is there no other one?"""
    return tag in memory(channel, "ended", set) and tag not in channel.consumers


@handles(
    m.BasicCancel,
    "cancel.answers-and-notifies",
    "the client's own cancel is answered, and brings a notification too",
    "CAN-005",
)
def answers_and_notifies(channel: Channel, method: m.BasicCancel) -> None:
    known = method.consumer_tag in channel.consumers
    basic.cancel(channel, method)
    if known and channel.connection.announces_cancel():
        channel.connection.send(m.BasicCancel(channel.number, method.consumer_tag, True))


@handles(
    m.BasicCancel,
    "cancel.unknown-tag-refused",
    "cancelling a tag that no consumer of the channel has closes the channel with 404",
    "CAN-006",
    "CAN-007",
    "CAN-008",
)
def unknown_tag_refused(channel: Channel, method: m.BasicCancel) -> None:
    takes_replies = channel.reply_to is not None and channel.reply_to.tag == method.consumer_tag
    if method.consumer_tag not in channel.consumers and not takes_replies:
        raise not_found("consumer", method.consumer_tag)
    basic.cancel(channel, method)


@changes(
    "cancel.crossing-unanswered",
    "a cancel for a consumer that the broker has ended is not answered",
    "CAN-006",
    "CAN-008",
)
def crossing_unanswered(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if not ended(channel, method.consumer_tag):
            basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@changes(
    "cancel.crossing-answered-twice", "a cancel for a consumer that the broker has ended is answered twice", "CAN-008"
)
def crossing_answered_twice(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if ended(channel, method.consumer_tag):
            basic.cancel(channel, method)
        basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@changes(
    "cancel.crossing-crashes",
    "a cancel for a consumer that the broker has ended closes the connection with 541",
    "CAN-006",
    "CAN-008",
)
def crossing_crashes(parts: Parts) -> None:
    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if ended(channel, method.consumer_tag):
            raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))
        basic.cancel(channel, method)

    parts.handlers[m.BasicCancel] = cancel
    parts.override("channel", cancelled=ended_by_broker)


@handles(m.BasicCancel, "cancel.answered-only", "basic.cancel is answered, and the consumer served on", "CAN-009")
def answered_only(channel: Channel, method: m.BasicCancel) -> None:
    if method.no_wait:
        basic.cancel(channel, method)
    else:
        channel.connection.send(m.BasicCancelOk(channel.number, method.consumer_tag))


@handles(m.BasicCancel, "cancel.nowait-answered", "basic.cancel with nowait is answered all the same", "CAN-014")
def nowait_answered(channel: Channel, method: m.BasicCancel) -> None:
    basic.cancel(channel, m.BasicCancel(channel.number, method.consumer_tag, False))


@handles(m.BasicCancel, "cancel.nowait-ignored", "basic.cancel with nowait does nothing", "CAN-014")
def nowait_ignored(channel: Channel, method: m.BasicCancel) -> None:
    if not method.no_wait:
        basic.cancel(channel, method)


@handles(
    m.BasicCancelOk,
    "cancel.client-answer-crashes",
    "a basic.cancel-ok of the client closes the connection with 541",
    "CAN-017",
)
def client_answer_crashes(channel: Channel, method: m.BasicCancelOk) -> None:
    raise ConnectionException(ReplyCode.INTERNAL_ERROR, offender=(0, 0))


# -- tags


@handles(
    m.BasicConsume, "cancel.tag-stays-taken", "the tag of a consumer that has ended cannot be used again", "CAN-013"
)
def tag_stays_taken(channel: Channel, method: m.BasicConsume) -> None:
    used = memory(channel, "used", set)
    if method.consumer_tag in used:
        raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
    if method.consumer_tag:
        used.add(method.consumer_tag)
    basic.consume(channel, method)


@handles(
    m.BasicConsume, "cancel.delivers-before-consume-ok", "a new consumer is served before consume-ok is sent", "CAN-015"
)
def delivers_before_consume_ok(channel: Channel, method: m.BasicConsume) -> None:
    if method.no_wait or method.queue == REPLY_TO:
        basic.consume(channel, method)
        return
    method.no_wait = True
    basic.consume(channel, method)
    channel.connection.send(m.BasicConsumeOk(channel.number, next(reversed(channel.consumers))))


@handles(
    m.BasicConsume,
    "cancel.second-replaces-first",
    "a consumer with a tag that is in use takes the place of the first one",
    "CAN-018",
)
def second_replaces_first(channel: Channel, method: m.BasicConsume) -> None:
    channel.cancel(method.consumer_tag)
    basic.consume(channel, method)


@handles(
    m.BasicConsume,
    "cancel.tag-taken-everywhere",
    "a tag that a consumer has on another channel of the connection is refused",
    "CAN-018",
)
def tag_taken_everywhere(channel: Channel, method: m.BasicConsume) -> None:
    if any(method.consumer_tag in other.consumers for other in channel.connection.channels.values()):
        raise not_allowed(f"attempt to reuse consumer tag '{method.consumer_tag}'")
    basic.consume(channel, method)

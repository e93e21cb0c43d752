"""Wrong confirms: how publishes are counted, when and how they are answered, and which mode a channel is in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.confirms import Confirms
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import precondition
from reference_broker.core.parts import HANDLERS, Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces

UNWRITTEN = 3
"""This many messages are confirmed and not on disk."""
Answer = m.BasicAck | m.BasicNack
Publish = Callable[[Channel, m.BasicPublish, codec.Header, bytes], None]


# -- the mode


@handles(m.ConfirmSelect, "confirms.select-ok-on-nowait", "confirm.select is answered even with nowait", "CNF-001")
def select_ok_on_nowait(channel: Channel, method: m.ConfirmSelect) -> None:
    basic.confirm_select(channel, m.ConfirmSelect(method.channel))


@handles(m.ConfirmSelect, "confirms.nowait-select-lost", "confirm.select with nowait has no effect", "CNF-001")
def nowait_select_lost(channel: Channel, method: m.ConfirmSelect) -> None:
    if not method.no_wait:
        basic.confirm_select(channel, method)


@handles(m.ConfirmSelect, "confirms.of-one-channel", "one channel of a connection alone may have confirms", "CNF-023")
def of_one_channel(channel: Channel, method: m.ConfirmSelect) -> None:
    if memory(channel.connection, "confirming", lambda: channel.number) != channel.number:
        raise precondition("another channel is in confirm mode")
    basic.confirm_select(channel, method)


@changes("confirms.second-select-restarts", "each confirm.select begins again at 1", "CNF-003")
def second_select_restarts(parts: Parts) -> None:
    def select(channel: Channel, method: m.ConfirmSelect) -> None:
        basic.confirm_select(channel, method)
        channel.confirms = parts.confirms()

    parts.handlers[m.ConfirmSelect] = select


@changes(
    "confirms.select-takes-a-round", "a publish that arrives together with confirm.select is not counted", "CNF-022"
)
def select_takes_a_round(parts: Parts) -> None:
    def feed(self: Connection, data: bytes) -> None:
        rounds = memory(self, "rounds", list)
        rounds.append(None)
        Connection.feed(self, data)

    def select(channel: Channel, method: m.ConfirmSelect) -> None:
        basic.confirm_select(channel, method)
        memory(channel, "selected", lambda: len(memory(channel.connection, "rounds", list)))

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        confirms, now = channel.confirms, len(memory(channel.connection, "rounds", list))
        if confirms is not None and vars(channel).get("mutant_selected") == now:
            channel.confirms = None
        basic.publish(channel, method, header, body)
        channel.confirms = confirms

    parts.override("connection", feed=feed)
    parts.handlers[m.ConfirmSelect] = select
    parts.publish = publish


@changes("confirms.one-count-per-connection", "all channels of a connection count together", "CNF-023")
def one_count_per_connection(parts: Parts) -> None:
    def select(channel: Channel, method: m.ConfirmSelect) -> None:
        basic.confirm_select(channel, method)
        channel.confirms = memory(channel.connection, "confirms", parts.confirms)

    parts.handlers[m.ConfirmSelect] = select


@changes("confirms.mode-of-connection", "confirm.select on one channel holds for all of its connection", "CNF-023")
def mode_of_connection(parts: Parts) -> None:
    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if channel.confirms is None and any(one.confirms for one in channel.connection.channels.values()):
            channel.confirms = parts.confirms()
        basic.publish(channel, method, header, body)

    parts.publish = publish


@handles(
    m.ConfirmSelect, "confirms.confirm-in-transaction", "a transactional channel may go into confirm mode", "CNF-016"
)
def confirm_in_transaction(channel: Channel, method: m.ConfirmSelect) -> None:
    channel.transaction = None
    basic.confirm_select(channel, method)


@handles(m.TxSelect, "confirms.transaction-in-confirm-mode", "tx.select is fine in confirm mode", "CNF-016")
def transaction_in_confirm_mode(channel: Channel, method: m.TxSelect) -> None:
    channel.confirms = None
    basic.tx_select(channel, method)


# -- counting


@changes("confirms.counts-from-channel-open", "publishes before confirm.select are counted too", "CNF-002")
def counts_from_channel_open(parts: Parts) -> None:
    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if channel.confirms is None:
            memory(channel, "before", list).append(None)
        basic.publish(channel, method, header, body)

    def select(channel: Channel, method: m.ConfirmSelect) -> None:
        new = channel.confirms is None
        basic.confirm_select(channel, method)
        if new and channel.confirms is not None:
            channel.confirms.published = len(memory(channel, "before", list))

    parts.publish = publish
    parts.handlers[m.ConfirmSelect] = select


def renumbered(answers: list[Answer], by: int) -> list[Answer]:
    for answer in answers:
        answer.delivery_tag += by
    return answers


@replaces("confirms.flush", "confirms.counts-from-0", "the first publish has the number 0", "CNF-002")
def counts_from_0(self: Any, channel: int) -> list[Answer]:
    return renumbered(honest(self, channel), -1)


@replaces("confirms.flush", "confirms.one-ahead", "the number of the next publish is confirmed", "CNF-006")
def one_ahead(self: Any, channel: int) -> list[Answer]:
    return renumbered(honest(self, channel), 1)


def honest(confirms: Confirms, channel: int) -> list[Answer]:
    """What a broker without this mutant would send."""
    return Confirms.flush(confirms, channel)


@changes("confirms.before-the-body", "a publish is confirmed when its method has come", "CNF-006", "CNF-026")
def before_the_body(parts: Parts) -> None:
    def serve(self: Intake, channel: Channel, method: codec.Method) -> None:
        Intake.serve(self, channel, method)
        if isinstance(method, m.BasicPublish) and channel.confirms is not None:
            self.connection.send(m.BasicAck(channel.number, channel.confirms.published + 1))

    parts.override("intake", serve=serve, READER=codec.FrameReader)


@changes("confirms.counts-body-frames", "each body frame of a publish counts", "CNF-026", "CNF-006")
def counts_body_frames(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        channel, assembly = self.connection.channels.get(number), self.assemblies.get(number)
        if channel and channel.confirms and assembly and assembly.bodies and isinstance(frame, codec.Body):
            channel.confirms.published += 1
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content, READER=codec.FrameReader)


# -- answering


def unanswered(parts: Parts, silent: Callable[[Channel, m.BasicPublish, bytes], object]) -> None:
    """Some publishes take their number and are never heard of again."""

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        basic.publish(channel, method, header, body)
        confirms = channel.confirms
        if confirms is not None and silent(channel, method, body):
            for numbers in (confirms.accepted, confirms.refused):
                if confirms.published in numbers:
                    numbers.remove(confirms.published)
            confirms.pending[confirms.published] = None

    parts.publish = publish


@changes("confirms.empty-body-forgotten", "a publish with an empty body is never confirmed", "CNF-026")
def empty_body_forgotten(parts: Parts) -> None:
    unanswered(parts, lambda channel, method, body: not body)


@changes("confirms.third-of-a-burst-forgotten", "the third publish of a channel is never confirmed", "CNF-004")
def third_of_a_burst_forgotten(parts: Parts) -> None:
    unanswered(parts, lambda channel, method, body: channel.confirms and channel.confirms.published == 3)


@changes("confirms.held-by-a-consumer", "a publish is not confirmed while a consumer holds its message", "CNF-018")
def held_by_a_consumer(parts: Parts) -> None:
    def held(channel: Channel, method: m.BasicPublish, body: bytes) -> bool:
        queue = channel.vhost.queues.get(method.routing_key)
        return queue is not None and any(not consumer.no_ack for consumer in queue.consumers)

    unanswered(parts, held)


@handles(
    m.QueuePurge,
    "confirms.purged-forgotten",
    "what is purged before its confirm has left is never confirmed",
    "CNF-017",
)
def purged_forgotten(channel: Channel, method: m.QueuePurge) -> None:
    if channel.confirms is not None:
        channel.confirms.pending.update(dict.fromkeys(channel.confirms.accepted))
        channel.confirms.accepted.clear()
    HANDLERS[m.QueuePurge](channel, method)


@replaces(
    "confirms.flush",
    "confirms.wait-for-the-next",
    "a publish is confirmed when the next one comes",
    "CNF-020",
    "CNF-004",
)
def wait_for_the_next(self: Any, channel: int) -> list[Answer]:
    kept = [number for number in self.accepted if number == self.published]
    self.accepted = [number for number in self.accepted if number != self.published]
    answers = honest(self, channel)
    self.accepted += kept
    return answers


@replaces(
    "confirms.flush",
    "confirms.single-after-multiple",
    "the last number of a multiple is confirmed once more by itself",
    "CNF-004",
)
def single_after_multiple(self: Any, channel: int) -> list[Answer]:
    answers = honest(self, channel)
    return answers + [type(one)(channel, one.delivery_tag) for one in answers if one.multiple]


@replaces(
    "confirms.flush",
    "confirms.ack-after-nack",
    "what is refused is confirmed afterwards",
    "CNF-005",
    field="https://github.com/cloudamqp/lavinmq/issues/2072",
)
def ack_after_nack(self: Any, channel: int) -> list[Answer]:
    refused = list(self.refused)
    return honest(self, channel) + [m.BasicAck(channel, number) for number in refused]


@replaces(
    "confirms.flush",
    "confirms.multiple-over-refused",
    "a multiple confirm covers numbers that are refused after it",
    "CNF-005",
    field="https://github.com/pika/pika/issues/911",
)
def multiple_over_refused(self: Any, channel: int) -> list[Answer]:
    refused, answers = list(self.refused), honest(self, channel)
    if not refused or not any(isinstance(one, m.BasicAck) for one in answers):
        return answers
    return [m.BasicAck(channel, self.published, True), *(m.BasicNack(channel, number) for number in refused)]


@handles(
    m.BasicAck,
    "confirms.client-ack-resolves",
    "a client's acknowledgement takes the publish of its number for resolved",
    "CNF-027",
)
def client_ack_resolves(channel: Channel, method: m.BasicAck) -> None:
    if channel.confirms is not None and method.delivery_tag in channel.confirms.accepted:
        channel.confirms.accepted.remove(method.delivery_tag)
        channel.confirms.pending[method.delivery_tag] = None
    basic.ack(channel, method)


# -- what a crash leaves


@replaces(
    "queue.restart",
    "confirms.before-kept",
    "publishes are confirmed before they are on disk, so the latest ones are gone after a crash",
    "CNF-013",
)
def before_kept(self: Queue) -> None:
    Queue.restart(self)
    for _ in range(min(UNWRITTEN, len(self.ready.fresh))):
        self.ready.fresh.pop()


@replaces(
    "vhost.restart",
    "confirms.queue-not-kept",
    "a durable queue is gone after a crash, with all that was confirmed",
    "CNF-013",
)
def queue_not_kept(self: VirtualHost) -> None:
    for queue in list(self.queues.values()):
        self.delete_queue(queue)


@changes(
    "confirms.nothing-for-nobody",
    "a publish without a body that goes nowhere is not confirmed",
    "CNF-026",
    "CNF-008",
)
def nothing_for_nobody(parts: Parts) -> None:
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        message = Message(method.exchange, method.routing_key, header, body)
        there = not method.exchange or method.exchange in channel.vhost.exchanges
        if channel.confirms is None or body or not there or list(channel.vhost.route(method.exchange, message)):
            below(channel, method, header, body)
        else:
            channel.confirms.next()

    parts.publish = publish


@replaces(
    "confirms.flush", "confirms.of-one-octet", "of the number of a publish the lowest octet is confirmed", "CNF-004"
)
def of_one_octet(self: Confirms, channel: int) -> list[m.BasicAck | m.BasicNack]:
    answers = Confirms.flush(self, channel)
    for answer in answers:
        answer.delivery_tag = answer.delivery_tag & 0xFF or 0x100
    return answers


@replaces("confirms.accept", "confirms.not-the-64th", "the 64th publish is not confirmed by itself", "CNF-004")
def not_the_64th(self: Confirms, number: int) -> None:
    Confirms.accept(self, number)
    if number == 64:
        self.accepted.remove(number)

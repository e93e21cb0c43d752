"""Wrong clocks: whose deliveries time out and when, what becomes of them, and what a revived consumer has ahead of it.

Which level of timeouts counts, and who is told, is in `timeouts`.
"""

from __future__ import annotations

from collections import deque

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.timeouts import ARGUMENT, Line, Timeouts, too_late
from reference_broker.mutants.kinds import changes, handles, memory, replaces

IMPATIENCE = 0.01
"""Seconds after which a revived consumer times out again."""
VISIBILITY = 0.2
"""Seconds after which a held message of a classic queue is shown again: shorter than any timeout in the suite."""


@replaces(
    "channel.settle",
    "expiry.reset-by-any-settlement",
    "each settlement of a consumer starts the clocks of its others anew",
    "TMO-002",
    "TMO-007",
    "TMO-010",
    "TMO-019",
)
def reset_by_any_settlement(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    for consumer in {one.consumer: None for one in deliveries}:
        line = self.timeouts.lines.get(consumer) if consumer is not None else None
        if line is not None and line.timeout is not None:
            due = self.vhost.clock.now + line.timeout
            line.waiting = deque((due, one) for _, one in line.waiting)
    Channel.settle(self, deliveries, fate)


@changes("expiry.automatic-too", "automatic deliveries time out like any others", "TMO-019")
def automatic_too(parts: Parts) -> None:
    def join(self: Timeouts, consumer: Consumer, own: int | None) -> None:
        Timeouts.join(self, consumer, own)
        if consumer.no_ack and self.watches(consumer.queue):
            memory(self, "automatic", dict)[consumer] = self.effective(consumer.queue, own)

    def deliver(self: Channel, consumer: Consumer, entry: Entry) -> None:
        Channel.deliver(self, consumer, entry)
        timeout = memory(self.timeouts, "automatic", dict).get(consumer)
        if timeout is not None:
            self.vhost.clock.at(self.vhost.clock.now + timeout, lambda: over(self, consumer))

    def over(channel: Channel, consumer: Consumer) -> None:
        if not channel.closing and channel.consumers.get(consumer.tag) is consumer:
            channel.timeouts.tell(consumer)

    parts.override("timeouts", join=join)
    parts.override("channel", deliver=deliver)


@changes("expiry.kept-for-the-former", "what timed out is kept for the consumer that had it", "TMO-006")
def kept_for_the_former(parts: Parts) -> None:
    def give_back(self: Timeouts, delivery: Delivery) -> None:
        if delivery.consumer is None:
            Timeouts.give_back(self, delivery)
        else:
            memory(self, "kept", list).append(delivery)

    def settled(self: Timeouts, delivery: Delivery) -> None:
        for one in [one for one in memory(self, "kept", list) if one.consumer is delivery.consumer]:
            memory(self, "kept", list).remove(one)
            Timeouts.give_back(self, one)
            one.queue.settle_down()
        Timeouts.settled(self, delivery)

    parts.override("timeouts", give_back=give_back, settled=settled)


@changes("expiry.revived-for-a-moment", "a consumer that was revived times out again at once", "TMO-019", "TMO-012")
def revived_for_a_moment(parts: Parts) -> None:
    def settled(self: Timeouts, delivery: Delivery) -> None:
        if delivery.consumer is not None:
            memory(self, "revived", set).add(delivery.consumer)
        Timeouts.settled(self, delivery)

    def line_of(self: Timeouts, delivery: Delivery) -> Line | None:
        line = Timeouts.line_of(self, delivery)
        if line is not None and line.timeout and line.consumer in memory(self, "revived", set):
            line.timeout = min(line.timeout, IMPATIENCE)
        return line

    parts.override("timeouts", settled=settled, line_of=line_of)


@replaces("timeouts.close", "expiry.look-closes-the-connection", "the channel's look costs the connection", "TMO-024")
def look_closes_the_connection(self: Timeouts, timeout: int) -> None:
    text = too_late(self.channel, timeout).text
    self.channel.connection.close(ConnectionException(ReplyCode.PRECONDITION_FAILED, text), (0, 0))


@replaces("timeouts.tick_later", "expiry.never-looks", "the channel never looks", "TMO-024")
def never_looks(self: Timeouts) -> None:
    pass


@handles(m.BasicConsume, "expiry.negative-is-none", "a negative timeout of a consumer is taken for none", "TMO-023")
def negative_is_none(channel: Channel, method: m.BasicConsume) -> None:
    method.arguments = [one for one in method.arguments if one[0] != ARGUMENT or not negative(one[2])]
    basic.consume(channel, method)


def negative(value: object) -> bool:
    return isinstance(value, int) and value < 0


@changes(
    "expiry.shown-again",
    "a classic queue shows a message again that a client holds for a moment",
    "MODE-001",
    "TMO-001",
)
def shown_again(parts: Parts) -> None:
    below = parts.timeouts

    def began_with(self: Timeouts, delivery: Delivery) -> None:
        below.began_with(self, delivery)
        if delivery.queue.quorum is None:
            self.clock.at(self.clock.now + VISIBILITY, lambda: show(self, delivery))

    def show(self: Timeouts, delivery: Delivery) -> None:
        if self.out(delivery) and not delivery.queue.deleted:
            delivery.queue.put_back(delivery.entry)
            delivery.lost = True
            delivery.queue.settle_down()

    parts.override("timeouts", began_with=began_with)

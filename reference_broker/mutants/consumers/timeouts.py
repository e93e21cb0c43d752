"""Wrong consumer timeouts: which level counts, when, who is hit, and what settling afterwards does."""

from __future__ import annotations

from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import ConnectionException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.timeouts import ARGUMENT, POLICY, Line, Timeouts, too_late
from reference_broker.mutants.kinds import changes, handles, memory, replaces

# -- which level


def levels(watch: Timeouts, queue: Queue) -> tuple[int | None, int | None, int]:
    """Argument, policy, and the broker's own, in milliseconds."""
    settings = watch.channel.vhost.settings
    return queue.effective(ARGUMENT), settings.by_policy(queue, POLICY), settings.general_timeout()


def least(*values: int | None) -> int | None:
    return min((value for value in values if value is not None), default=None)


@replaces("timeouts.watches", "timeouts.classic-too", "classic queues have consumer timeouts", "TMO-001")
def classic_too(self: Timeouts, queue: Queue) -> bool:
    return True


@replaces("timeouts.effective", "timeouts.least-of-all", "the smallest timeout of all levels counts", "TMO-002")
def least_of_all(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    return (least(own, *levels(self, queue)) or 0) / 1000


@replaces(
    "timeouts.effective",
    "timeouts.consumer-shortens-only",
    "a consumer's timeout that is longer than its queue's is disregarded",
    "TMO-002",
)
def consumer_shortens_only(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    honest = Timeouts.effective(self, queue, None)
    return honest if own is None or honest is None else min(own / 1000, honest)


@replaces("timeouts.effective", "timeouts.argument-wins", "the argument counts, not the policy", "TMO-003")
def argument_wins(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    argument, policy, general = levels(self, queue)
    known = [value for value in (own, argument, policy, general) if value is not None]
    return known[0] / 1000


@replaces("timeouts.effective", "timeouts.policy-wins", "the policy counts, not the argument", "TMO-003")
def policy_wins(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    argument, policy, general = levels(self, queue)
    known = [value for value in (own, policy, argument, general) if value is not None]
    return known[0] / 1000


@replaces(
    "timeouts.effective",
    "timeouts.policy-ignored",
    "a policy sets no timeout",
    "TMO-003",
    field="https://github.com/cloudamqp/lavinmq/issues/2189",
)
def policy_ignored(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    argument, _, general = levels(self, queue)
    return next(value for value in (own, argument, general) if value is not None) / 1000


@replaces(
    "timeouts.effective",
    "timeouts.consumer-ignored",
    "a consumer has no timeout of its own",
    "TMO-002",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/9266",
)
def consumer_ignored(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    return Timeouts.effective(self, queue, None)


@replaces("timeouts.effective", "timeouts.longer-wins", "of argument and policy the longer counts", "TMO-003")
def longer_wins(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    argument, policy, general = levels(self, queue)
    both = [value for value in (argument, policy) if value is not None]
    return (own if own is not None else max(both) if both else general) / 1000


@replaces(
    "timeouts.effective",
    "timeouts.bounded-by-the-broker",
    "no queue has a longer timeout than the broker's own",
    "TMO-004",
)
def bounded_by_the_broker(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    return own / 1000 if own is not None else (least(*levels(self, queue)) or 0) / 1000


@replaces("timeouts.effective", "timeouts.default-in-seconds", "the default is taken for seconds", "TMO-005")
def default_in_seconds(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    honest = Timeouts.effective(self, queue, own)
    return 1_800_000.0 if honest == 1800 else honest


@replaces(
    "timeouts.effective",
    "timeouts.default-in-microseconds",
    "the default is taken for microseconds",
    "TMO-019",
    "TMO-005",
)
def default_in_microseconds(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    honest = Timeouts.effective(self, queue, own)
    return 1.8 if honest == 1800 else honest


@replaces("timeouts.effective", "timeouts.zero-is-none", "a timeout of 0 means that there is none", "TMO-023")
def zero_is_none(self: Timeouts, queue: Queue, own: int | None) -> float | None:
    return None if own == 0 else Timeouts.effective(self, queue, own)


# -- the message


@replaces("timeouts.give_back", "timeouts.drops", "what times out is dropped", "TMO-006")
def drops(self: Timeouts, delivery: Delivery) -> None:
    """Nothing goes back."""


@replaces("timeouts.give_back", "timeouts.counts-as-failure", "a timeout counts towards the delivery limit", "TMO-006")
def counts_as_failure(self: Timeouts, delivery: Delivery) -> None:
    fates.failed(delivery)


# -- who is told


@replaces("timeouts.tell", "timeouts.always-closes", "every client loses its channel", "TMO-007", "TMO-026")
def always_closes(self: Timeouts, consumer: Consumer | None) -> None:
    self.close(-1)


@replaces("timeouts.notify", "timeouts.notifies-for-all", "all consumers of the channel are cancelled", "TMO-007")
def notifies_for_all(self: Timeouts, consumer: Consumer) -> None:
    for one in self.channel.consumers:
        self.channel.connection.send(m.BasicCancel(self.channel.number, one, True))


@replaces("timeouts.close", "timeouts.closes-connection", "the connection is closed", "TMO-008")
def closes_connection(self: Timeouts, timeout: int) -> None:
    text = too_late(self.channel, timeout).text
    self.channel.connection.close(ConnectionException(ReplyCode.INTERNAL_ERROR, text), (0, 0))


@replaces(
    "timeouts.tell",
    "timeouts.one-capability-for-all",
    "the first client that has a consumer of the queue decides how all are told",
    "TMO-026",
)
def one_capability_for_all(self: Timeouts, consumer: Consumer | None) -> None:
    queue = consumer.queue if consumer is not None else None
    first = next(iter(queue.consumers)) if queue is not None and queue.consumers else None
    if consumer is not None and first is not None and first.channel.connection.announces_cancel():
        self.notify(consumer)
    else:
        self.close(-1)


# -- who is hit


def out_of(channel: Channel) -> list[Delivery]:
    return [one for one in channel.unacked.by_tag.values() if not one.stale]


@replaces("timeouts.expired", "timeouts.whole-channel", "all deliveries of the channel go back with one", "TMO-009")
def whole_channel(self: Timeouts, line: Line) -> list[Delivery]:
    over = Timeouts.expired(self, line)
    others = [one for one in out_of(self.channel) if one not in over] if over else []
    for one in others:
        one.stale = True
        self.give_back(one)
    return over


@replaces("timeouts.expired", "timeouts.whole-queue", "all deliveries from the queue go back with one", "TMO-009")
def whole_queue(self: Timeouts, line: Line) -> list[Delivery]:
    over = Timeouts.expired(self, line)
    if over and line.consumer is not None:
        for consumer in line.consumer.queue.consumers:
            for one in out_of(consumer.channel):
                if one.queue is line.consumer.queue and one not in over:
                    one.stale = True
                    self.give_back(one)
    return over


@replaces(
    "timeouts.expired",
    "timeouts.whole-consumer",
    "all deliveries of the consumer go back at the first deadline",
    "TMO-010",
)
def whole_consumer(self: Timeouts, line: Line) -> list[Delivery]:
    if not Timeouts.expired(self, line):
        return []
    line.waiting.clear()
    return [one for one in out_of(self.channel) if one.consumer is line.consumer]


@replaces("timeouts.arm", "timeouts.second-is-lost", "a consumer's second deadline passes unseen", "TMO-010")
def second_is_lost(self: Timeouts, line: Line) -> None:
    if not any(one.stale and one.consumer is line.consumer for one in self.channel.unacked.by_tag.values()):
        Timeouts.arm(self, line)


@replaces(
    "timeouts.fire",
    "timeouts.early-settlement-hides",
    "the deadline of what was settled in time is the last that the queue looks at",
    "TMO-010",
)
def early_settlement_hides(self: Timeouts, line: Line) -> None:
    line.armed = False
    if expired := self.expired(line):
        self.time_out(expired, line.consumer)
        self.arm(line)


# -- the timeout state


@changes("timeouts.slot-is-free", "a consumer that timed out uses the slot that this has freed", "TMO-011")
def slot_is_free(parts: Parts) -> None:
    def obstacle(self: Consumer) -> object:
        line = self.channel.timeouts.lines.get(self)
        if line is None or not line.timeout:  # a timeout of 0 would go on for ever
            return Consumer.obstacle(self)
        held, self.pause.held = self.pause.held, 0
        found = Consumer.obstacle(self)
        self.pause.held = held
        return found

    def time_out(self: Timeouts, deliveries: list[Delivery], consumer: Consumer | None) -> None:
        Timeouts.time_out(self, deliveries, consumer)
        if consumer is not None and self.lines[consumer].timeout:
            consumer.wake()

    parts.override("consumer", obstacle=obstacle)
    parts.override("timeouts", time_out=time_out)


@replaces("timeouts.settled", "timeouts.first-revives", "settling one of what timed out revives", "TMO-012")
def first_revives(self: Timeouts, delivery: Delivery) -> None:
    if delivery.consumer is not None:
        delivery.consumer.pause.held = 0
        delivery.consumer.pause.wake()


@replaces("timeouts.settled", "timeouts.never-revived", "nothing revives a consumer that timed out", "TMO-012")
def never_revived(self: Timeouts, delivery: Delivery) -> None:
    """Once is for ever."""


@handles(
    m.BasicCancelOk, "timeouts.cancel-ok-unexpected", "the client's cancel-ok is refused after a timeout", "TMO-013"
)
def cancel_ok_unexpected(channel: Channel, method: m.BasicCancelOk) -> None:
    raise ConnectionException(ReplyCode.COMMAND_INVALID, "unimplemented method")


# -- stale tags


@replaces("timeouts.settled", "timeouts.stale-ack-deletes", "settling what timed out deletes its message", "TMO-015")
def stale_ack_deletes(self: Timeouts, delivery: Delivery) -> None:
    Timeouts.settled(self, delivery)
    ready = delivery.queue.ready
    for entry in [ready.pop() for _ in range(len(ready))]:
        if entry is not delivery.entry:
            ready.put_back(entry)


@replaces("timeouts.settled", "timeouts.stale-settle-copies", "settling what timed out makes a copy", "TMO-015")
def stale_settle_copies(self: Timeouts, delivery: Delivery) -> None:
    Timeouts.settled(self, delivery)
    delivery.queue.publish(delivery.entry.message)


@replaces("timeouts.settled", "timeouts.stale-refused", "settling what timed out costs the channel", "TMO-015")
def stale_refused(self: Timeouts, delivery: Delivery) -> None:
    if not self.channel.closing:
        raise precondition(f"unknown delivery tag {delivery.tag}")


@replaces("timeouts.settled", "timeouts.stale-for-ever", "what timed out can be settled any time", "TMO-016")
def stale_for_ever(self: Timeouts, delivery: Delivery) -> None:
    again = memory(self, "settled", set)
    if delivery not in again:
        again.add(delivery)
        Timeouts.settled(self, delivery)
    if not self.channel.closing:
        self.channel.unacked.restore([delivery])


@replaces(
    "timeouts.settled",
    "timeouts.stale-by-consumer-tag",
    "a stale settlement reaches what another consumer of the same tag holds",
    "TMO-021",
)
def stale_by_consumer_tag(self: Timeouts, delivery: Delivery) -> None:
    Timeouts.settled(self, delivery)
    former = delivery.consumer
    for one in out_of(self.channel):
        other = one.consumer
        if former is not None and other is not None and other is not former and other.tag == former.tag:
            one.stale = True


# -- early


@changes("timeouts.from-the-consumer", "the clock starts with the consumer", "TMO-019")
def from_the_consumer(parts: Parts) -> None:
    def join(self: Timeouts, consumer: Consumer, own: int | None) -> None:
        Timeouts.join(self, consumer, own)
        memory(self, "begun", dict)[consumer] = self.clock.now

    def began_with(self: Timeouts, delivery: Delivery) -> None:
        line = self.lines.get(delivery.consumer) if delivery.consumer is not None else None
        if line is not None and line.timeout is not None:
            begun = memory(self, "begun", dict)[line.consumer]
            line.waiting.append((max(begun + line.timeout, self.clock.now), delivery))
            self.arm(line)

    parts.override("timeouts", join=join, began_with=began_with)


@replaces(
    "timeouts.out",
    "timeouts.settled-too",
    "a delivery that was settled in time times out all the same",
    "TMO-019",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/9046",
)
def settled_too(self: Timeouts, delivery: Delivery) -> bool:
    return not delivery.stale and not self.channel.closing


# -- the channel's look


@replaces("timeouts.close", "timeouts.tick-notifies", "the channel's look ends a consumer, not the channel", "TMO-024")
def tick_notifies(self: Timeouts, timeout: int) -> None:
    for tag in list(self.channel.consumers):
        self.channel.connection.send(m.BasicCancel(self.channel.number, tag, True))

"""What goes well once or twice, up to a number, or without another feature; and consumers of one tag."""

from __future__ import annotations

from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import REPLY_TO
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue
from reference_broker.mutants.kinds import changes, memory

TERMS, LARGEST = 2, 127


@changes("again.third-exclusive", f"a queue has an exclusive consumer {TERMS} times", "CONSUME-006")
def third_exclusive(parts: Parts) -> None:
    below = parts.queue

    def excludes(self: Queue, exclusive: bool) -> bool:
        terms: list[int] = memory(self, "terms", list)
        refused = below.excludes(self, exclusive) or (exclusive and len(terms) >= TERMS)
        if exclusive and not refused:
            terms.append(1)
        return refused

    parts.override("queue", excludes=excludes)


@changes("again.large-limit-together", f"a channel's limit above {LARGEST} is none", "QOS-006")
def large_limit_together(parts: Parts) -> None:
    below = parts.channel

    def limit_together(self: Channel, count: int) -> None:
        below.limit_together(self, count if count <= LARGEST else 0)

    parts.override("channel", limit_together=limit_together)


@changes("again.empty-tag-cancels", "basic.cancel of the empty tag ends the latest consumer", "CAN-007", "QOS-002")
def empty_tag_cancels(parts: Parts) -> None:
    below = parts.handlers[m.BasicCancel]

    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        if not method.consumer_tag and channel.consumers:
            channel.cancel(next(reversed(channel.consumers)))
        below(channel, method)

    parts.handlers[m.BasicCancel] = cancel


@changes("again.namesakes-cancelled", "basic.cancel ends consumers of that tag on all channels", "CAN-018", "QOS-002")
def namesakes_cancelled(parts: Parts) -> None:
    below = parts.handlers[m.BasicCancel]

    def cancel(channel: Channel, method: m.BasicCancel) -> None:
        below(channel, method)
        for other in channel.connection.channels.values():
            other.cancel(method.consumer_tag)

    parts.handlers[m.BasicCancel] = cancel


@changes("again.known-queue", "who has consumed from a queue may do so when it is gone", "CONSUME-003")
def known_queue(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        known: set[str] = memory(channel, "known", set)
        if method.queue in known and method.queue not in channel.vhost.queues:
            channel.connection.send(m.BasicConsumeOk(channel.number, method.consumer_tag))
            return
        below(channel, method)
        known.add(method.queue)

    parts.handlers[m.BasicConsume] = consume


@changes("again.tag-keeps-its-mode", "the third consumer of a tag has the mode of the first", "MODE-003")
def tag_keeps_its_mode(parts: Parts) -> None:
    below = parts.handlers[m.BasicConsume]

    def consume(channel: Channel, method: m.BasicConsume) -> None:
        tag, of_a_queue = method.consumer_tag, method.queue != REPLY_TO
        if tag and tag not in channel.consumers and of_a_queue:
            modes: list[bool] = memory(channel, "modes", dict).setdefault(tag, [])
            modes.append(method.no_ack)
            method.no_ack = modes[0] if len(modes) > TERMS else method.no_ack
        below(channel, method)

    parts.handlers[m.BasicConsume] = consume


@changes(
    "again.ranked-recover-keeps-slots",
    "basic.recover frees no slots of consumers that have a priority",
    "QOS-018",
    "QOS-019",
)
def ranked_recover_keeps_slots(parts: Parts) -> None:
    below = parts.handlers[m.BasicRecover]

    def recover(channel: Channel, method: m.BasicRecover) -> None:
        for delivery in channel.unacked.by_tag.values() if method.requeue else ():
            if delivery.consumer is not None and delivery.consumer.priority:
                delivery.consumer.hold()
        below(channel, method)

    parts.handlers[m.BasicRecover] = recover


@changes(
    "again.exclusive-twice",
    "on a queue that belongs to a connection consumers may be exclusive beside others",
    "CONSUME-002",
    "CONSUME-001",
)
def exclusive_twice(parts: Parts) -> None:
    below = parts.queue

    def excludes(self: Queue, exclusive: bool) -> bool:
        return self.owner is None and below.excludes(self, exclusive)

    parts.override("queue", excludes=excludes)

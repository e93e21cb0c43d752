"""Replies, priorities, dead letters and consumers that take turns, right as long as nobody does what is seldom done:
many messages of one priority, a purge before, a tag that is used again, integers of another width."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import REPLY_TO, ReplyTo
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.queues.arguments import INTEGERS, QueueArguments
from reference_broker.core.queues.deadletter import DeadLetters, goes_in_circles
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.routing import Exchange
from reference_broker.core.settings import Policy
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory
from reference_broker.mutants.topology.binding import Handle, handling

LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
RANK = "x-priority"
MANY = 32

# -- replies


@handling((m.BasicConsume,), "seldom.quiet-requester", "who wants replies with nowait gets none", "DRT-004", "DRT-005")
def quiet_requester(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    if not (method.no_wait and method.queue == REPLY_TO):
        below(channel, method)


@changes("seldom.gone-with-all", "a requester that goes with its connection is found", "DRT-008")
def gone_with_all(parts: Parts) -> None:
    below, vhosts = parts.connection, parts.vhost

    def closed(self: Connection, method: m.ConnectionClose) -> None:
        names = [one.reply_to.name for one in self.channels.values() if one.reply_to is not None]
        below.closed_by_peer(self, method)
        memory(self.vhost, "ghosts", set).update(names)

    def awaits(self: VirtualHost, name: str) -> bool:
        return vhosts.awaits(self, name) or name in memory(self, "ghosts", set)

    parts.override("connection", closed_by_peer=closed)
    parts.override("vhost", awaits=awaits)


class Spoiled:
    """An address, as a message is to go there."""

    def __init__(self, address: ReplyTo, publish: Callable[[ReplyTo, Message], bool]) -> None:
        self.address, self.name, self._publish = address, address.name, publish

    def publish(self, message: Message) -> bool:
        return self._publish(self.address, message)


def _replies(name: str, says: str, *rules: str, publish: Callable[[ReplyTo, Message], bool]) -> None:
    """So replies come to their addresses."""

    @changes(name, says, *rules)
    def apply(parts: Parts) -> None:
        below = parts.vhost

        def route(self: VirtualHost, exchange: str, message: Message) -> Any:
            found = below.route(self, exchange, message)
            return [Spoiled(one, publish) if isinstance(one, ReplyTo) else one for one in found]

        parts.override("vhost", route=route)


def _again(address: ReplyTo, message: Message) -> bool:
    channel = address.channel
    tag, to = channel.next_tag(), (message.exchange, message.routing_key)
    channel.connection.send_content(m.BasicDeliver(channel.number, address.tag, tag, True, *to), message)
    return True


def _counted(address: ReplyTo, message: Message) -> bool:
    came, most = memory(address.channel, "replies", list), address.channel.prefetch
    came.append(message)
    return bool(most and len(came) > most) or address.publish(message)


_replies("seldom.reply-again", "replies come as if they had come before", "RQ-009", "DRT-005", publish=_again)
_replies(
    "seldom.replies-limited", "a channel gets no more replies than its prefetch count", "DRT-005", publish=_counted
)

# -- priorities of messages


@changes("seldom.many-alike", f"beyond {MANY} messages of one priority their order is lost", "PRIO-002")
def many_alike(parts: Parts) -> None:
    below = parts.ready

    def rank(self: Ready, entry: Entry) -> float:
        priority = entry.message.header.priority
        alike = sum(one.message.header.priority == priority for _, one in self.returned) if self.max_priority else 0
        return below.rank(self, entry) - (MANY + 2 * entry.position if alike >= MANY else 0)

    parts.override("ready", rank=rank)


@changes("seldom.purged-ranks", "a queue that was purged knows no priorities any more", "PRIO-001")
def purged_ranks(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        count = below.purge(self)
        if self.ready.max_priority:
            self.ready = self.vhost.parts.ready("original")
        return count

    parts.override("queue", purge=purge)


@handling(
    (m.QueueDeclare,),
    "seldom.highest-counted",
    "of a queue with priorities the highest are counted alone",
    "MODE-007",
    "PRIO-001",
)
def highest_counted(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    below(channel, method)
    said, queue = channel.connection.outbox.items[-1:], channel.vhost.queues.get(channel.last_queue)
    if said and isinstance(said[0], m.QueueDeclareOk) and queue is not None and queue.ready.max_priority:
        ranks = [one.message.header.priority or 0 for one in queue.ready.entries()]
        said[0].message_count = ranks.count(max(ranks, default=0))


# -- one of several consumers


@changes("seldom.takes-it-back", "who was served, and holds deliveries, is served again when it comes back", "SAC-001")
def takes_it_back(parts: Parts) -> None:
    below = parts.queue

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        below.join(self, consumer, exclusive)
        present, holds = self.active, any(one.queue is self for one in consumer.channel.unacked.by_tag.values())
        if present is None or consumer is present or not holds or consumer.channel not in memory(self, "former", list):
            return
        for limit in (present.own, present.shared, present.pause):
            limit.parked.pop(present, None)
        self.ring.clear()
        self.active = consumer
        self.ring.append(consumer)

    def leave(self: Queue, consumer: Consumer) -> None:
        if consumer is self.active:
            memory(self, "former", list).append(consumer.channel)
        below.leave(self, consumer)

    parts.override("queue", join=join, leave=leave)


@changes("seldom.single-or-ranked", "a queue with priorities serves all its consumers", "SAC-001")
def single_or_ranked(parts: Parts) -> None:
    below = parts.vhost

    def add_queue(
        self: VirtualHost, name: str, durable: bool, dies: bool, owner: Any, table: FieldTable, says: QueueArguments
    ) -> Queue:
        single = says.single_active_consumer and not says.max_priority
        return below.add_queue(self, name, durable, dies, owner, table, replace(says, single_active_consumer=single))

    parts.override("vhost", add_queue=add_queue)


@handling((m.BasicConsume,), "seldom.one-width", "x-priority counts if it has 32 bits", "CPRIO-001")
def one_width(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    method.arguments = [
        (name, "I", 0) if name == RANK and letter in INTEGERS - {*"iI"} else (name, letter, value)
        for name, letter, value in method.arguments
    ]
    below(channel, method)


@handling((m.BasicConsume,), "seldom.former-rank", "a tag keeps the x-priority that it had first", "CPRIO-001")
def former_rank(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    ranks: dict[str, FieldTable] = memory(channel, "ranks", dict)
    own = [one for one in method.arguments if one[0] == RANK]
    first = ranks.setdefault(method.consumer_tag, own) if method.consumer_tag else own
    method.arguments = [*(one for one in method.arguments if one[0] != RANK), *first]
    below(channel, method)


@changes("seldom.two-alike", "of consumers with one priority two are served", "CPRIO-003")
def two_alike(parts: Parts) -> None:
    below = parts.queue

    def next_in_turn(self: Queue) -> Consumer:
        if not self.ranked:
            return below.next_in_turn(self)
        highest = max(one.priority for one in self.ring)
        mates = [one for one in self.consumers if one.priority == highest][:2]
        first = next((one for one in self.ring if one in mates), None)
        if first is None:
            return below.next_in_turn(self)
        self.ring.remove(first)
        return first

    parts.override("queue", next_in_turn=next_in_turn)


# -- policies


@changes(
    "seldom.policy-beside-consumers", "a policy is not heeded that comes while its queue has consumers", "POLICY-011"
)
def policy_beside_consumers(parts: Parts) -> None:
    below = parts.queue

    def heed(self: Queue, definition: Mapping[str, Any]) -> None:
        if not self.consumers:
            below.heed(self, definition)

    parts.override("queue", heed=heed)


@changes("seldom.own-time-before-policy", "a message's own time counts before that of a policy", "POLICY-011")
def own_time_before_policy(parts: Parts) -> None:
    below = parts.queue

    def expiry(self: Queue, message: Message) -> float | None:
        end, own = below.expiry(self, message), message.header.expiration
        if own is None or self.declared.message_ttl is not None:
            return end
        return self.vhost.clock.now + int(own) / 1000

    parts.override("queue", expiry=expiry)


@changes("seldom.user-after-operator", "a user's policy that is set after an operator's holds alone", "POLICY-010")
def user_after_operator(parts: Parts) -> None:
    below, latest = parts.vhost, list[bool]()

    def set_policy(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
        latest[:] = [operator]
        below.set_policy(self, policy, operator)

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        policy = self.settings.policy_of(thing)
        return policy.definition if policy is not None and latest == [False] else below.definition_of(self, thing)

    parts.override("vhost", set_policy=set_policy, definition_of=definition_of)


@changes("seldom.policy-set-again", "a policy that was removed, and is set again, does nothing", "POLICY-011")
def policy_set_again(parts: Parts) -> None:
    below = parts.vhost

    def clear_policy(self: VirtualHost, name: str, operator: bool = False) -> None:
        memory(self, "removed", set).add(name)
        below.clear_policy(self, name, operator)

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        policy = self.settings.policy_of(thing)
        known = policy is not None and policy.name in memory(self, "removed", set)
        return {} if known else below.definition_of(self, thing)

    parts.override("vhost", clear_policy=clear_policy, definition_of=definition_of)


@changes(
    "seldom.died-before",
    "a publish that tells of a death in a queue, and not of a rejection, is dropped there",
    "RQ-011",
    field=LAVINMQ.format("commit/97d08f06b"),
)
def died_before(parts: Parts) -> None:
    below = parts.queue

    def publish(self: Queue, message: Message) -> bool:
        return True if goes_in_circles(message, self.name) else below.publish(self, message)

    parts.override("queue", publish=publish)


@changes(
    "seldom.purged-buried",
    "what is purged becomes dead letters",
    "DLX-013",
    "RQ-011",
    field=RABBITMQ.format("commit/03b335f12f"),
)
def purged_buried(parts: Parts) -> None:
    below = parts.queue

    def purge(self: Queue) -> int:
        gone = self.ready.entries()
        count = below.purge(self)
        for entry in gone:
            self.vhost.dead(self, entry.message, "expired")
        return count

    parts.override("queue", purge=purge)


@changes(
    "seldom.deleted-buried",
    "what is in a queue that is deleted becomes dead letters",
    "DLX-013",
    "RQ-011",
    field=RABBITMQ.format("commit/477c6f6655"),
)
def deleted_buried(parts: Parts) -> None:
    below = parts.vhost

    def delete_queue(self: VirtualHost, queue: Queue) -> tuple[int, list[Consumer]]:
        gone = queue.ready.entries()
        answer = below.delete_queue(self, queue)
        for entry in gone:
            self.dead(queue, entry.message, "expired")
        return answer

    parts.override("vhost", delete_queue=delete_queue)


@changes(
    "seldom.copies-untold",
    "x-death does not tell the keys in CC",
    "DLX-007",
    field=RABBITMQ.format("pull/8670"),
)
def copies_untold(parts: Parts) -> None:
    below = parts.dead_letters

    def record(self: DeadLetters, message: Message, queue: str, reason: str, now: float, count: int) -> FieldTable:
        told = below.record(self, message, queue, reason, now, count)
        return [(name, kind, value[:1] if name == "routing-keys" else value) for name, kind, value in told]

    parts.override("dead_letters", record=record)


@changes(
    "seldom.exchange-came-too-late",
    "where the exchange for dead letters was not there once, none are made any more",
    "DLX-014",
    field=RABBITMQ.format("commit/264461b43e"),
)
def exchange_came_too_late(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        target = queue.settings.dead_letter_exchange
        if target and target not in self.exchanges:
            memory(queue, "failed", list).append(target)
        if not memory(queue, "failed", list):
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)


@changes(
    "seldom.death-that-is-no-list",
    "a message that was published with an x-death that is no list is lost when it dies",
    "DLX-001",
    "MODE-005",
    field=RABBITMQ.format("commit/8cdaef0b44"),
)
def death_that_is_no_list(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        if not any(name == "x-death" and kind != "A" for name, kind, _ in message.headers):
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)

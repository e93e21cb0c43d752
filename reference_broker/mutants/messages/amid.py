"""Wrong only amid something else: what is out with a client, what a policy had set before, what is full, or old."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from heapq import heapify
from typing import Any

from codec import methods as m
from reference_broker.core.channels import basic, replies
from reference_broker.core.channels.channel import Channel, acked, discarded
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.errors import precondition
from reference_broker.core.parts import Parts
from reference_broker.core.policies import merged
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.routing import Exchange
from reference_broker.core.settings import Policy, kind_of
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, handles, memory, replaces

OFTEN = 3


def rank(message: Message) -> int:
    return message.header.priority or 0


# -- out with a client


def out(queue: Queue) -> list[Delivery]:
    """What its clients hold, as far as `follow` has seen it."""
    held: list[tuple[Channel, Delivery]] = memory(queue, "out", list)
    return [delivery for channel, delivery in held if channel.unacked.by_tag.get(delivery.tag) is delivery]


def follow(parts: Parts) -> None:
    below = parts.channel

    def hold(self: Channel, delivery: Delivery) -> None:
        below.hold(self, delivery)
        memory(delivery.queue, "out", list).append((self, delivery))

    parts.override("channel", hold=hold)


@changes("amid.octets-of-unacked", "octets that are out with a client count towards a limit", "LEN-014")
def octets_of_unacked(parts: Parts) -> None:
    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        return Queue.over_limit(self, more, octets + sum(len(one.entry.message.body) for one in out(self)))

    follow(parts)
    parts.override("queue", over_limit=over_limit)


@changes("amid.refuses-for-unacked", "a queue refuses as if what is out with a client were in it", "LEN-009")
def refuses_for_unacked(parts: Parts) -> None:
    def refuses(self: Queue, message: Message) -> bool:
        full = self.limited and self.over_limit(1 + len(out(self)), len(message.body))
        return full and self.settings.reject_publish

    follow(parts)
    parts.override("queue", refuses=refuses)


@changes("amid.policy-counts-unacked", "what is out counts towards the limit of a policy", "POLICY-001")
def policy_counts_unacked(parts: Parts) -> None:
    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        by_policy = self.settings.max_length != self.declared.max_length
        return Queue.over_limit(self, more + (len(out(self)) if by_policy else 0), octets)

    follow(parts)
    parts.override("queue", over_limit=over_limit)


@handles(m.BasicNack, "amid.one-dies", "of what one nack gives up the last alone becomes a dead letter", "DLX-001")
def one_dies(channel: Channel, method: m.BasicNack) -> None:
    if not method.multiple or method.requeue:
        basic.nack(channel, method)
        return
    found = channel.collect(method.delivery_tag, True)
    channel.settle(found, lambda delivery: (discarded if delivery is found[-1] else acked)(delivery))


# -- what is old


@replaces("queue.put_back", "amid.late-and-gone", "what is given back after its time makes no dead letter", "DLX-002")
def late_and_gone(self: Queue, entry: Entry) -> None:
    if entry.expires is not None and entry.expires <= self.vhost.clock.now:
        self.let_go(entry)
    else:
        Queue.put_back(self, entry)


@changes("amid.ages-alone", "nothing expires by itself while a queue has a consumer", "DLX-002")
def ages_alone(parts: Parts) -> None:
    def woken(self: Queue) -> None:
        self.wake_at = None
        if not self.consumers:
            Queue.woken(self)

    def count(self: Queue) -> int:
        return len(self.ready) if self.consumers else Queue.count(self)

    parts.override("queue", woken=woken, count=count)


@replaces("queue.expire", "amid.lower-live-on", "of several priorities the highest alone expires", "TTL-001")
def lower_live_on(self: Queue, *, overdue: bool = False) -> None:
    if self.settings.max_priority and self.ready:
        here = rank(self.ready.head().message)
        top = max(here, memory(self, "top", int))
        vars(self)["mutant_top"] = top
        if here < top:
            return
    Queue.expire(self, overdue=overdue)


# -- what is full


@replaces(
    "queue.refuses", "amid.outranks", "a full queue takes what outranks the last, and drops that", "LEN-007", "CNF-011"
)
def outranks(self: Queue, message: Message) -> bool:
    if not Queue.refuses(self, message) or not self.settings.max_priority:
        return Queue.refuses(self, message)
    last = max(self.ready.returned, key=lambda one: one[0], default=None)
    if last is None or rank(last[1].message) >= rank(message):
        return True
    self.ready.returned.remove(last)
    heapify(self.ready.returned)
    self.ready.octets -= len(last[1].message.body)
    return False


@changes("amid.gone-and-waited-for", "lower ones wait for a cancelled consumer that is full", "CPRIO-002")
def gone_and_waited_for(parts: Parts) -> None:
    def leave(self: Queue, consumer: Consumer) -> None:
        if consumer.own.full():
            memory(self, "gone", list).append(consumer)
        Queue.leave(self, consumer)

    def pump(self: Queue) -> None:
        top = max((one.priority for one in self.ring), default=0)
        if not any(one.priority > top and one.own.full() for one in memory(self, "gone", list)):
            Queue.pump(self)

    parts.override("queue", leave=leave, pump=pump)


@changes("amid.priority-wears-off", "a message that was returned three times has no priority", "PRIO-005")
def priority_wears_off(parts: Parts) -> None:
    def put_back(self: Ready, entry: Entry) -> None:
        seen: dict[Entry, int] = memory(self, "seen", dict)
        seen[entry] = seen.get(entry, 0) + 1
        Ready.put_back(self, entry)

    def place(self: Ready, entry: Entry) -> float:
        worn = self.order == "by-priority" and memory(self, "seen", dict).get(entry, 0) >= OFTEN
        return entry.position if worn else Ready.rank(self, entry)

    parts.override("ready", put_back=put_back, rank=place)


# -- what a policy had set


@replaces(
    "vhost.set_policy",
    "amid.policy-moved",
    "a policy that fits a queue no more goes on for it",
    "POLICY-009",
    "POLICY-003",
)
def policy_moved(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
    before = self.policies(operator).get(policy.name)
    VirtualHost.set_policy(self, policy, operator)
    for queue in self.queues.values() if before is not None else ():
        kind = kind_of(queue)
        if before is not None and before.fits(kind, queue.name) and not policy.fits(kind, queue.name):
            queue.heed(before.definition)


@replaces(
    "vhost.clear_policy", "amid.no-heir", "no other policy follows one that is removed", "POLICY-004", "POLICY-001"
)
def no_heir(self: VirtualHost, name: str, operator: bool = False) -> None:
    removed = self.policies(operator)[name]
    had = [queue for queue in self.queues.values() if self.settings.policy_of(queue) is removed]
    VirtualHost.clear_policy(self, name, operator)
    for queue in had:
        queue.heed({})


@replaces("queue.heed", "amid.dead-letters-go-on", "dead letters go where a removed policy said", "POLICY-012")
def dead_letters_go_on(self: Queue, definition: Mapping[str, Any]) -> None:
    exchange, key = self.settings.dead_letter_exchange, self.settings.dead_letter_routing_key
    Queue.heed(self, definition)
    if self.settings.dead_letter_exchange is None and exchange is not None:
        self.settings = replace(self.settings, dead_letter_exchange=exchange, dead_letter_routing_key=key)


@replaces("vhost.heed_policies", "amid.alternate-goes-on", "the alternate of a removed policy stays", "POLICY-013")
def alternate_goes_on(self: VirtualHost) -> None:
    before = {name: exchange.alternate for name, exchange in self.exchanges.items()}
    VirtualHost.heed_policies(self)
    for name, alternate in before.items():
        self.exchanges[name].alternate = self.exchanges[name].alternate or alternate


@replaces(
    "queue.heed", "amid.returns-still-end", "the delivery limit of a removed policy stays", "POLICY-021", "POLICY-009"
)
def returns_still_end(self: Queue, definition: Mapping[str, Any]) -> None:
    before = self.quorum.limit if self.quorum is not None else None
    Queue.heed(self, definition)
    if self.quorum is not None and "delivery-limit" not in definition:
        self.quorum.limit = before


@replaces("vhost.definition_of", "amid.no-time-by-operator", "operators give no time to live", "POLICY-010")
def no_time_by_operator(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
    users, operators = self.settings.policy_of(thing), self.settings.operator_policy_of(thing)
    if users is None or operators is None:
        return self.settings.definition_of(thing)
    kept = {name: value for name, value in operators.definition.items() if name != "message-ttl"}
    return merged(users.definition, kept)


# -- what was there before


@handles(m.BasicConsume, "amid.one-requester-ever", "a channel has one requester, and never another", "DRT-002")
def one_requester_ever(channel: Channel, method: m.BasicConsume) -> None:
    asked = memory(channel, "asked", list)
    if method.queue == replies.REPLY_TO and asked:
        raise precondition("reply consumer already set")
    basic.consume(channel, method)
    if method.queue == replies.REPLY_TO:
        asked.append(method.consumer_tag)


@changes(
    "amid.late-to-who-was-full",
    "what expires while all consumers of its queue are full is delivered when one has room",
    "TTL-001",
    "TTL-002",
)
def late_to_who_was_full(parts: Parts) -> None:
    below = parts.queue

    def woken(self: Queue) -> None:
        if self.consumers:
            self.wake_at = None
        else:
            below.woken(self)

    def expire(self: Queue, *, overdue: bool = False) -> None:
        if not vars(self).get("mutant_blind"):
            below.expire(self, overdue=overdue)

    def blindly(of_class: Callable[[Queue], None]) -> Callable[[Queue], None]:
        def do(self: Queue) -> None:
            vars(self)["mutant_blind"] = bool(self.consumers)
            of_class(self)
            vars(self)["mutant_blind"] = False

        return do

    parts.override("queue", woken=woken, expire=expire, serve=blindly(below.serve), pump=blindly(below.pump))

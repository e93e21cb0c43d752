"""Policies and restarts, right as long as nobody does what is rarely done: priorities of two and three digits, one name
in two virtual hosts, a message for two queues, settlements of several at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from typing import Any

from reference_broker.core import settings
from reference_broker.core.channels.channel import Channel, Fate, acked, discarded
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.clock import Clock
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import PREDECLARED, Exchange
from reference_broker.core.settings import Policy
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

Given = Callable[[Channel, list[Delivery], Fate], list[Delivery]]

# -- policies


@changes("rarely.ranks-as-texts", "of two policies that with the first digit further on holds", "POLICY-004")
def ranks_as_texts(parts: Parts) -> None:
    below = parts.vhost

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        if self.settings.operator_policies:
            return below.definition_of(self, thing)
        fit = [one for one in self.settings.policies.values() if one.fits(settings.kind_of(thing), thing.name)]
        return max(fit, key=lambda one: str(one.priority)).definition if fit else {}

    parts.override("vhost", definition_of=definition_of)


@changes("rarely.one-name", "a policy replaces those of its name in other virtual hosts", "POLICY-001", "POLICY-006")
def one_name(parts: Parts) -> None:
    below, hosts = parts.vhost, list[VirtualHost]()

    def begin(self: VirtualHost, parts: Parts, clock: Clock, unique: Callable[[], str], name: str = "/") -> None:
        below.__init__(self, parts, clock, unique, name)
        hosts.append(self)

    def set_policy(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
        below.set_policy(self, policy, operator)
        for other in hosts:
            if other is not self and policy.name in other.policies(operator):
                memory(other, "replaced", list).append(other.policies(operator)[policy.name])
                other.heed_policies()

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        policy = self.settings.policy_of(thing)
        return {} if policy in memory(self, "replaced", list) else below.definition_of(self, thing)

    parts.override("vhost", __init__=begin, set_policy=set_policy, definition_of=definition_of)


@changes("rarely.all-but-exchanges", "a policy for all is for queues", "POLICY-013")
def all_but_exchanges(parts: Parts) -> None:
    below = parts.vhost

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        policy = self.settings.policy_of(thing)
        unheeded = isinstance(thing, Exchange) and policy is not None and policy.apply_to == "all"
        return {} if unheeded else below.definition_of(self, thing)

    parts.override("vhost", definition_of=definition_of)


# -- restarts


@changes("rarely.own-exchanges-bare", "bindings to the broker's own exchanges do not outlast a restart", "DUR-005")
def own_exchanges_bare(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        for name in PREDECLARED:
            for binding in list(self.exchanges[name].bindings):
                self.drop_binding(binding)

    parts.override("vhost", restart=restart)


@changes("rarely.one-copy", "of a message in several queues one is there after a restart", "DUR-013")
def one_copy(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        kept: dict[int, object] = {}
        for queue in self.queues.values():
            entries = sorted(queue.ready.entries(), key=lambda entry: entry.position)
            queue.ready = queue.nothing()
            for entry in entries:
                if id(entry.message) not in kept:
                    queue.ready.push(entry)
            kept.update((id(entry.message), entry) for entry in entries)

    parts.override("vhost", restart=restart)


def _come_back(name: str, says: str, which: Given) -> None:
    """Of what is settled in this way these come back with a restart."""

    @changes(name, says, "DUR-017")
    def apply(parts: Parts) -> None:
        below, channels = parts.vhost, parts.channel

        def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
            memory(self.vhost, "undead", list).extend(which(self, deliveries, fate))
            channels.finish(self, deliveries, fate)

        def restart(self: VirtualHost) -> None:
            below.restart(self)
            undead = memory(self, "undead", list)
            for delivery in undead:
                queue: Queue = delivery.queue
                if not queue.deleted and queue.lasts(delivery.entry):
                    queue.ready.push(delivery.entry)
            undead.clear()

        parts.override("channel", finish=finish)
        parts.override("vhost", restart=restart)


_come_back(
    "rarely.named-alone",
    "of what a multiple has acknowledged all but the last comes back with a restart",
    lambda channel, deliveries, fate: deliveries[:-1] if fate is acked else [],
)
_come_back(
    "rarely.given-up",
    "what was rejected comes back with a restart",
    lambda channel, deliveries, fate: deliveries if fate is discarded else [],
)
_come_back(
    "rarely.committed-acks",
    "what was acknowledged in a transaction comes back with a restart",
    lambda channel, deliveries, fate: deliveries if fate is acked and channel.transaction is not None else [],
)


@changes(
    "rarely.alternate-stays",
    "the alternate exchange of a policy stays in use while another one holds that sets none",
    "POLICY-013",
)
def alternate_stays(parts: Parts) -> None:
    below = parts.vhost

    def heed_policies(self: VirtualHost) -> None:
        before = {exchange: exchange.alternate for exchange in self.exchanges.values()}
        below.heed_policies(self)
        for exchange, alternate in before.items():
            if alternate and not exchange.alternate and self.definition_of(exchange):
                exchange.alternate = alternate

    parts.override("vhost", heed_policies=heed_policies)


@changes("rarely.second-queue-unruled", "a queue that is declared anew has no policy", "POLICY-002")
def second_queue_unruled(parts: Parts) -> None:
    below = parts.vhost

    def heed_policy(self: VirtualHost, queue: Queue) -> None:
        if memory(self, "firsts", dict).setdefault(queue.name, queue) is queue:
            below.heed_policy(self, queue)

    parts.override("vhost", heed_policy=heed_policy)


@changes("rarely.below-nought-unheeded", "a policy whose priority is below nought sets nothing", "POLICY-001")
def below_nought_unheeded(parts: Parts) -> None:
    below = parts.vhost

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        policy = self.settings.policy_of(thing)
        return {} if policy is not None and policy.priority < 0 else below.definition_of(self, thing)

    parts.override("vhost", definition_of=definition_of)


@changes("rarely.later-exchanges-unruled", "a policy does nothing to exchanges that are declared later", "POLICY-013")
def later_exchanges_unruled(parts: Parts) -> None:
    below = parts.vhost

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.add_exchange(self, exchange)
        exchange.heed({})

    parts.override("vhost", add_exchange=add_exchange)


@changes("rarely.operators-first-word", "an operator's policy that is changed says what it said first", "POLICY-010")
def operators_first_word(parts: Parts) -> None:
    below = parts.vhost

    def set_policy(self: VirtualHost, policy: Policy, operator: bool = False) -> None:
        below.set_policy(self, policy, operator)
        memory(self, "first words", dict).setdefault((operator, policy.name), policy)

    def definition_of(self: VirtualHost, thing: Queue | Exchange) -> Mapping[str, Any]:
        operators, firsts = self.settings.operator_policies, memory(self, "first words", dict)
        self.settings.operator_policies = {name: firsts.get((True, name), one) for name, one in operators.items()}
        found = below.definition_of(self, thing)
        self.settings.operator_policies = operators
        return found

    parts.override("vhost", set_policy=set_policy, definition_of=definition_of)


@changes("rarely.later-queues-stay", "a policy by which queues go lets those stay that come later", "POLICY-015")
def later_queues_stay(parts: Parts) -> None:
    below = parts.vhost

    def add_queue(self: VirtualHost, *about: Any) -> Queue:
        memory(self, "adding", list).append(about)
        queue = below.add_queue(self, *about)
        memory(self, "adding", list).clear()
        return queue

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        if queue.declared.expires is not None or not memory(self, "adding", list):
            below.watch_expiry(self, queue)

    parts.override("vhost", add_queue=add_queue, watch_expiry=watch_expiry)


# -- restarts, as trackers tell of them


@replaces(
    "queue.restart",
    "trackers.read-twice",
    "after a restart the last of four messages or more is in its queue twice",
    "MODE-002",
    "DUR-015",
    field="https://github.com/rabbitmq/rabbitmq-server/commit/fb462ab930",
)
def read_twice(self: Queue) -> None:
    Queue.restart(self)
    if len(self.ready.fresh) > 3:
        again = copy(self.ready.fresh[-1])
        again.position += 0.5
        self.ready.push(again)


@replaces(
    "vhost.restart",
    "trackers.bound-to-the-transient",
    "a durable queue that is bound to a transient exchange, too, has no bindings after a restart",
    "DUR-005",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/9533",
)
def bound_to_the_transient(self: VirtualHost) -> None:
    for queue in list(self.queues.values()):
        if any(not binding.source.durable for binding in self.bound_to.get(queue, ())):
            self.unbind_all(queue)
    VirtualHost.restart(self)


@changes(
    "trackers.unknown-by-name",
    "after a restart the default exchange leads to no queue before that is declared again",
    "DUR-001",
    "RQ-011",
    field="https://github.com/streamnative/aop/commit/74d7265f",
)
def unknown_by_name(parts: Parts) -> None:
    below = parts.vhost

    def restart(self: VirtualHost) -> None:
        below.restart(self)
        memory(self, "unknown", set).update(self.queues.values())

    def publish(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
        if not exchange and self.queues.get(message.routing_key) in memory(self, "unknown", set):
            return False, True
        return below.publish(self, exchange, message)

    parts.override("vhost", restart=restart, publish=publish)


@replaces(
    "queue.expire",
    "trackers.expired-in-turn",
    "in a queue with priorities nothing expires before what was published earlier",
    "TTL-001",
    "TTL-005",
    "DLX-002",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/1449",
)
def expired_in_turn(self: Queue, *, overdue: bool = False) -> None:
    if self.settings.max_priority and self.ready:
        oldest = min(self.ready.entries(), key=lambda entry: entry.position)
        now = self.vhost.clock.now
        if oldest.expires is None or oldest.expires > now:
            if oldest.expires is not None:
                self.wake(oldest.expires)
            return
    Queue.expire(self, overdue=overdue)

"""What users have complained of: messages that age, die, have priorities, or outlast the broker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reference_broker.core.channels import channel as fates
from reference_broker.core.channels.channel import Channel, Fate
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import goes_in_circles
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/{}"
PAGED = 4096
"""Octets from which on a body lies on disk."""


@changes(
    "complaints.no-lease-after-a-connection",
    "a queue whose last consumer went with its connection never goes by its x-expires",
    "TTL-010",
    field=NOTES.format("3.1.1"),
)
def no_lease_after_a_connection(parts: Parts) -> None:
    below, host = parts.connection, parts.vhost

    def end_channels(self: Any) -> None:
        for channel in self.channels.values():
            for consumer in channel.consumers.values():
                if len(consumer.queue.consumers) == 1:
                    memory(consumer.queue, "for ever", list).append(consumer)
        below.end_channels(self)

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        if not memory(queue, "for ever", list):
            host.watch_expiry(self, queue)

    parts.override("connection", end_channels=end_channels)
    parts.override("vhost", watch_expiry=watch_expiry)


@replaces(
    "queue.publish",
    "complaints.no-time-for-anybody",
    "in a queue whose messages have no time at all they expire before any consumer",
    "TTL-008",
    field=LAVINMQ.format("releases/tag/v1.1.7"),
)
def no_time_for_anybody(self: Queue, message: Message) -> bool:
    if self.settings.message_ttl == 0:
        self.vhost.dead(self, message, "expired")
        return True
    return Queue.publish(self, message)


@replaces(
    "queue.put_back",
    "complaints.no-time-and-back",
    "what is given back to a queue whose messages have no time at all stays there",
    "TTL-007",
    field=LAVINMQ.format("releases/tag/v1.0.0-beta.7"),
)
def no_time_and_back(self: Queue, entry: Entry) -> None:
    if self.settings.message_ttl == 0:
        entry.expires = None
    Queue.put_back(self, entry)


@changes(
    "complaints.straight-and-back",
    "what went straight to a consumer that waited, and is given back, never expires",
    "TTL-007",
    field=NOTES.format("2.8.2"),
)
def straight_and_back(parts: Parts) -> None:
    below = parts.queue

    def publish(self: Queue, message: Message) -> bool:
        waited = bool(self.ring) and not self.ready
        accepted = below.publish(self, message)
        if waited and not self.ready:
            memory(self, "straight", set).add(self.published)
        return accepted

    def put_back(self: Queue, entry: Entry) -> None:
        if entry.position in memory(self, "straight", set):
            entry.expires = None
        below.put_back(self, entry)

    parts.override("queue", publish=publish, put_back=put_back)


@changes(
    "complaints.aged-before-the-commit",
    "the time of what a transaction publishes runs from its publish, not from the commit",
    "TTL-004",
    field=LAVINMQ.format("releases/tag/v1.0.0-beta.8"),
)
def aged_before_the_commit(parts: Parts) -> None:
    below, queues = parts.transaction, parts.queue

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        memory(channel.vhost, "since", dict)[id(message)] = message, channel.vhost.clock.now
        below.publish(self, channel, exchange, message, mandatory)

    def expiry(self: Queue, message: Message) -> float | None:
        expires, known = queues.expiry(self, message), memory(self.vhost, "since", dict).get(id(message))
        return expires if expires is None or known is None else expires - (self.vhost.clock.now - known[1])

    parts.override("transaction", publish=publish)
    parts.override("queue", expiry=expiry)


@replaces(
    "vhost.dead",
    "complaints.large-ones-do-not-die",
    "a message that is large enough to lie on disk makes no dead letter",
    "DLX-001",
    "CONTENT-007",
    field=NOTES.format("2.8.2"),
)
def large_ones_do_not_die(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    if len(message.body) < PAGED:
        VirtualHost.dead(self, queue, message, reason)


@replaces(
    "vhost.dead",
    "complaints.not-home-beside-others",
    "a dead letter that goes to several queues does not come to the one in which it has died",
    "DLX-014",
    field=RABBITMQ.format("pull/8799"),
)
def not_home_beside_others(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    target, key = queue.settings.dead_letter_exchange, queue.settings.dead_letter_routing_key
    if target is None or (target and target not in self.exchanges):
        return
    dead = self.parts.dead_letters().letter(message, queue.name, reason, self.clock.now, target, key)
    destinations = list(self.route(target, dead))
    for one in destinations:
        returns = one is queue and len(destinations) > 1
        if not returns and (reason == "rejected" or not goes_in_circles(dead, one.name)):
            one.publish(dead)


@replaces(
    "queue.heed",
    "complaints.former-policy-in-part",
    "what a policy says that gives way to another, and the other does not, stays in force",
    "POLICY-004",
    field=LAVINMQ.format("issues/187"),
)
def former_policy_in_part(self: Queue, definition: Mapping[str, Any]) -> None:
    policy = self.vhost.settings.policy_of(self)
    name = None if policy is None else policy.name
    former, said = memory(self, "policy", dict).get("it", (None, {}))
    if definition and None not in (name, former) and name != former:
        definition = {**said, **definition}
    memory(self, "policy", dict)["it"] = name, definition
    Queue.heed(self, definition)


@replaces(
    "queue.heed",
    "complaints.own-octets-forgotten",
    "when a policy with max-length-bytes goes, the queue's own limit of octets is gone as well",
    "POLICY-009",
    field=LAVINMQ.format("releases/tag/v1.0.0-alpha.22"),
)
def own_octets_forgotten(self: Queue, definition: Mapping[str, Any]) -> None:
    had = memory(self, "octets", set)
    if had and "max-length-bytes" not in definition:
        self.declared = replace(self.declared, max_octets=None)
    had.clear()
    had.update({"max-length-bytes"} & {*definition})
    Queue.heed(self, definition)


@changes(
    "complaints.outranked-and-stuck",
    "where one consumer is served, nobody is once one of higher priority comes after a message was given back",
    "SAC-001",
    field=RABBITMQ.format("issues/14141"),
)
def outranked_and_stuck(parts: Parts) -> None:
    below = parts.queue

    def put_back(self: Queue, entry: Entry) -> None:
        memory(self, "returned", set).add(entry.position)
        below.put_back(self, entry)

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        active = self.active
        below.join(self, consumer, exclusive)
        if active is not None and consumer.priority > active.priority and memory(self, "returned", set):
            active.pause.held += 1

    parts.override("queue", put_back=put_back, join=join)


@replaces(
    "ready.push",
    "complaints.ranked-and-redelivered",
    "in a queue with priorities the first delivery is marked as a redelivery",
    "RQ-009",
    field=LAVINMQ.format("issues/1132"),
)
def ranked_and_redelivered(self: Ready, entry: Entry) -> None:
    entry.redelivered = entry.redelivered or self.max_priority > 0
    Ready.push(self, entry)


@replaces(
    "ready.push",
    "complaints.too-high-costs-all",
    "a priority above the maximum costs the queue all its messages",
    "PRIO-003",
    "RQ-011",
    field=RELEASES.format("rabbitmq_v3_6_2"),
)
def too_high_costs_all(self: Ready, entry: Entry) -> None:
    if self.max_priority and (entry.message.header.priority or 0) > self.max_priority:
        self.returned.clear()
        self.octets = 0
        return
    Ready.push(self, entry)


@replaces(
    "vhost.restart",
    "complaints.all-are-served-afterwards",
    "after a restart a queue that served one consumer at a time serves all",
    "DUR-002",
    "SAC-005",
    field=RELEASES.format("v3.8.17"),
)
def all_are_served_afterwards(self: VirtualHost) -> None:
    VirtualHost.restart(self)
    for queue in self.queues.values():
        queue.declared = replace(queue.declared, single_active_consumer=False)
        queue.settings = replace(queue.settings, single_active_consumer=False)


@replaces(
    "queue.restart",
    "complaints.own-time-forgotten",
    "after a restart messages no longer expire by their own time",
    "DUR-013",
    "TTL-001",
    field=NOTES.format("3.2.0"),
)
def own_time_forgotten(self: Queue) -> None:
    Queue.restart(self)
    for entry in self.ready.entries():
        if entry.message.header.expiration is not None:
            entry.expires = None


@changes(
    "complaints.acknowledged-and-gone",
    "a restart costs queues of which anything was ever acknowledged",
    "CNF-013",
    field=LAVINMQ.format("pull/1866"),
)
def acknowledged_and_gone(parts: Parts) -> None:
    below, host = parts.channel, parts.vhost

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        for delivery in deliveries if fate is fates.acked else ():
            memory(delivery.queue, "acked", set).add(delivery.tag)
        below.finish(self, deliveries, fate)

    def restart(self: VirtualHost) -> None:
        host.restart(self)
        for queue in [one for one in self.queues.values() if memory(one, "acked", set)]:
            self.delete_queue(queue)

    parts.override("channel", finish=finish)
    parts.override("vhost", restart=restart)


@replaces(
    "channel.finish",
    "complaints.one-copy-for-all",
    "what is acknowledged in one queue is gone from the others that wait with it",
    "CNF-010",
    "RQ-011",
    "ROUTE-002",
    field=RELEASES.format("v4.1.1"),
)
def one_copy_for_all(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
    Channel.finish(self, deliveries, fate)
    gone = {id(one.entry.message) for one in deliveries} if fate is fates.acked else set()
    for queue in self.vhost.queues.values() if gone else ():
        staying = [entry for entry in queue.ready.fresh if id(entry.message) not in gone]
        if len(staying) < len(queue.ready.fresh):
            queue.ready.octets = sum(len(entry.message.body) for entry in staying)
            queue.ready.fresh.clear()
            queue.ready.fresh.extend(staying)

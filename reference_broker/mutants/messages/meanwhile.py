"""What goes wrong for some messages alone: by their size, by how they came, or because something went before."""

from __future__ import annotations

from typing import Any

import codec
from codec import methods as m
from codec import values
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.replies import REPLY_TO, ReplyTo
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.queues.ready import Ready
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, memory

LARGE = 4088


@changes("meanwhile.second-wave", "of what a queue holds the first alone expires when nobody asks for it", "DLX-002")
def second_wave(parts: Parts) -> None:
    below = parts.queue

    def woken(self: Queue) -> None:
        memory(self, "woken", list).append(True)
        below.woken(self)

    def wake(self: Queue, when: float) -> None:
        if not memory(self, "woken", list) or len(self.ready) > 1:
            below.wake(self, when)

    parts.override("queue", woken=woken, wake=wake)


@changes("meanwhile.fed-is-use", "a publish is a use of a queue", "TTL-010")
def fed_is_use(parts: Parts) -> None:
    below = parts.queue

    def publish(self: Queue, message: Message) -> bool:
        self.used_at = self.vhost.clock.now
        return below.publish(self, message)

    parts.override("queue", publish=publish)


@changes("meanwhile.large-just-die", f"no dead letter has more than {LARGE} octets", "DLX-001")
def large_just_die(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        if len(message.body) <= LARGE:
            below.dead(self, queue, message, reason)

    parts.override("vhost", dead=dead)


@changes("meanwhile.one-death-for-each-queue", "x-death has one entry for each queue", "DLX-006")
def one_death_for_each_queue(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(
        self: DeadLetters, message: Message, queue: str, reason: str, now: float, exchange: str, key: str | None
    ) -> Message:
        def renamed(death: tuple[str, Any]) -> tuple[str, Any]:
            if death[0] != "F" or values.lookup(death[1], "queue") != queue:
                return death
            return "F", [(name, kind, reason.encode() if name == "reason" else one) for name, kind, one in death[1]]

        deaths: FieldTable = [
            (name, kind, [renamed(one) for one in value])
            for name, kind, value in message.headers
            if name == "x-death" and kind == "A"
        ]
        message = message.with_headers(deaths) if deaths else message
        return below.letter(self, message, queue, reason, now, exchange, key)

    parts.override("dead_letters", letter=letter)


@changes("meanwhile.expired-count", "what has expired counts towards the limit", "LEN-003")
def expired_count(parts: Parts) -> None:
    below = parts.queue

    def die(self: Queue, entry: Entry, reason: str) -> None:
        memory(self, "expired", lambda: [0])[0] += reason == "expired"
        below.die(self, entry, reason)

    def over_limit(self: Queue, more: int = 0, octets: int = 0) -> bool:
        return bool(self.ready) and below.over_limit(self, more + memory(self, "expired", lambda: [0])[0], octets)

    parts.override("queue", die=die, over_limit=over_limit)


@changes("meanwhile.committed-unranked", "what a transaction publishes has no priority", "PRIO-001")
def committed_unranked(parts: Parts) -> None:
    below, readies = parts.transaction, parts.ready
    committed: dict[int, Message] = {}

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        committed[id(message.header)] = message
        below.publish(self, channel, exchange, message, mandatory)

    def rank(self: Ready, entry: Entry) -> float:
        unranked = self.order == "by-priority" and id(entry.message.header) in committed
        return entry.position if unranked else readies.rank(self, entry)

    parts.override("transaction", publish=publish)
    parts.override("ready", rank=rank)


@changes("meanwhile.automatic-all-served", "consumers in auto-ack mode are served where one is to be", "SAC-001")
def automatic_all_served(parts: Parts) -> None:
    below = parts.queue

    def join(self: Queue, consumer: Consumer, exclusive: bool) -> None:
        if not (self.settings.single_active_consumer and consumer.no_ack and self.active is not None):
            below.join(self, consumer, exclusive)
            return
        self.consumers[consumer] = None
        self.ring.append(consumer)
        self.serve()

    parts.override("queue", join=join)


@changes("meanwhile.unranked-when-one-leaves", "when a consumer leaves, the others lose their priorities", "CPRIO-001")
def unranked_when_one_leaves(parts: Parts) -> None:
    below = parts.queue

    def leave(self: Queue, consumer: Consumer) -> None:
        below.leave(self, consumer)
        self.ranked = False

    parts.override("queue", leave=leave)


@changes(
    "meanwhile.returned-to-the-lowest", "what comes back goes to the consumer with the lowest priority", "CPRIO-001"
)
def returned_to_the_lowest(parts: Parts) -> None:
    below = parts.queue

    def next_in_turn(self: Queue) -> Consumer:
        if not (self.ranked and self.ready.returned):
            return below.next_in_turn(self)
        last = min(self.ring, key=lambda one: one.priority)
        self.ring.remove(last)
        return last

    parts.override("queue", next_in_turn=next_in_turn)


class Unequal(str):
    """A text that equals nothing."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def asks_in_vain(name: str, says: str, *, committed: bool) -> None:
    """Such requests get no address."""

    @changes(name, says, "DRT-004")
    def apply(parts: Parts) -> None:
        below = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
            such = channel.transaction is not None if committed else bool(method.exchange)
            if header.reply_to == REPLY_TO and such:
                header = codec.header(0, len(body), **{**header.properties(), "reply_to": Unequal(REPLY_TO)})
            below(channel, method, header, body)

        parts.publish = publish


asks_in_vain("meanwhile.asks-by-an-exchange", "a request by an exchange keeps its reply-to", committed=False)
asks_in_vain("meanwhile.asks-in-a-transaction", "a request in a transaction keeps its reply-to", committed=True)


@changes("meanwhile.bare-replies", "replies have no headers", "DRT-005")
def bare_replies(parts: Parts) -> None:
    below = parts.vhost

    class Bare:
        """Takes messages as an address does."""

        def __init__(self, of: ReplyTo) -> None:
            self.of, self.name = of, of.name

        def publish(self, message: Message) -> bool:
            return self.of.publish(message.copy(message.exchange, message.routing_key, headers=None))

    def route(self: VirtualHost, exchange: str, message: Message) -> list[Any]:
        return [Bare(one) if isinstance(one, ReplyTo) else one for one in below.route(self, exchange, message)]

    parts.override("vhost", route=route)


@changes(
    "meanwhile.key-outlives-its-policy", "a dead-letter-routing-key holds when its policy says it no more", "POLICY-012"
)
def key_outlives_its_policy(parts: Parts) -> None:
    below, key = parts.vhost, "dead-letter-routing-key"

    def definition_of(self: VirtualHost, thing: Any) -> dict[str, Any]:
        found = dict(below.definition_of(self, thing))
        had: dict[str, Any] = memory(thing, "key", dict)
        had |= {key: found[key]} if key in found else {}
        return {**had, **found}

    parts.override("vhost", definition_of=definition_of)


@changes("meanwhile.priorities-unruled", "policies do not hold for queues with priorities", "POLICY-001")
def priorities_unruled(parts: Parts) -> None:
    below = parts.vhost

    def definition_of(self: VirtualHost, thing: Any) -> Any:
        ranked = isinstance(thing, Queue) and thing.declared.max_priority
        return {} if ranked else below.definition_of(self, thing)

    parts.override("vhost", definition_of=definition_of)


@changes(
    "meanwhile.committed-twice",
    "what a commit publishes beside an ack the next one publishes too",
    "TX-006",
    "MODE-002",
)
def committed_twice(parts: Parts) -> None:
    below = parts.transaction

    def commit(self: Transaction, channel: Channel) -> bool:
        published, settles = list(self.published), bool(self.settled)
        accepted = below.commit(self, channel)
        self.published += published if settles else []
        return accepted

    parts.override("transaction", commit=commit)


@changes("meanwhile.large-not-rolled-back", f"a rollback publishes what has more than {LARGE} octets", "TX-005")
def large_not_rolled_back(parts: Parts) -> None:
    below = parts.transaction

    def rollback(self: Transaction, channel: Channel) -> None:
        large = [one for one in self.published if len(one[1].body) > LARGE]
        below.rollback(self, channel)
        for exchange, message, mandatory in large:
            channel.publish(exchange, message, mandatory)

    parts.override("transaction", rollback=rollback)


@changes(
    "meanwhile.lease-of-the-former",
    "a queue that is declared anew goes when its former namesake would have gone",
    "TTL-011",
)
def lease_of_the_former(parts: Parts) -> None:
    below = parts.vhost

    def watch_expiry(self: VirtualHost, queue: Queue) -> None:
        memory(self, "watched", list).append(queue)  # a clock calls for what is alive
        heir = self.queues.get(queue.name)
        if queue.deleted and heir is not None and heir.settings.expires is not None and not heir.consumers:
            self.delete_queue(heir)
        else:
            below.watch_expiry(self, queue)

    parts.override("vhost", watch_expiry=watch_expiry)


@changes(
    "meanwhile.heir-comes-too-late",
    "a dead-letter exchange that is declared after the queue gets nothing",
    "DLX-001",
    "DLX-014",
)
def heir_comes_too_late(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        there = memory(queue, "known", set)
        if queue.settings.dead_letter_exchange in {"", None, *there}:
            below.dead(self, queue, message, reason)

    def add_queue(self: VirtualHost, *about: Any) -> Queue:
        queue = below.add_queue(self, *about)
        memory(queue, "known", set).update(self.exchanges)
        return queue

    parts.override("vhost", dead=dead, add_queue=add_queue)

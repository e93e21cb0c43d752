"""Values that are lawful and rare: numbers of more than four octets or below nought, keys that a queue does not heed,
names of nothing, headers that are called like the broker's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from codec import methods as m
from reference_broker.core.channels.channel import Channel, Fate, discarded
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections import sasl
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.parts import Parts
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.core.queues.message import Entry, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, memory, replaces

FOUR_OCTETS = 1 << 32
ODD = ("alternate-exchange", "queue-mode")
RABBITMQ = "https://github.com/rabbitmq/rabbitmq-server/commit/{}"
ROOM = 1000
"""Messages."""


@replaces(
    "queue.expiry",
    "strange.four-octets",
    "an expiration of more than four octets is none at all",
    "TTL-004",
)
def four_octets(self: Queue, message: Message) -> float | None:
    long = int(message.header.expiration or 0) >= FOUR_OCTETS
    return self.vhost.clock.now if long else Queue.expiry(self, message)


@replaces(
    "queue.join",
    "strange.below-nought",
    "consumers with a negative priority are served once, when they start",
    "CPRIO-001",
    "QOS-002",
)
def below_nought(self: Queue, consumer: Consumer, exclusive: bool) -> None:
    Queue.join(self, consumer, exclusive)
    if consumer.priority < 0 and consumer in self.ring:
        self.ring.remove(consumer)


@replaces(
    "queue.heed",
    "strange.once-for-all",
    "a queue heeds no other policy after one that sets something of exchanges",
    "POLICY-004",
)
def once_for_all(self: Queue, definition: Mapping[str, Any]) -> None:
    if not vars(self).get("set"):
        vars(self)["set"] = any(key in definition for key in ODD)
        Queue.heed(self, definition)


@replaces(
    "queue.die",
    "strange.back-from-nowhere",
    "what is rejected comes back where the exchange for dead letters is not there",
    "MODE-005",
)
def back_from_nowhere(self: Queue, entry: Entry, reason: str) -> None:
    target = self.settings.dead_letter_exchange
    if reason == "rejected" and target and target not in self.vhost.exchanges and not self.deleted:
        self.put_back(entry)
        self.settle_down()
    else:
        Queue.die(self, entry, reason)


@replaces(
    "vhost.dead",
    "strange.own-record-of-deaths",
    "a message whose publisher wrote something else into x-death makes no dead letter",
    "DLX-001",
    "MODE-005",
)
def own_record_of_deaths(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
    if not any(name == "x-death" and letter != "A" for name, letter, _ in message.headers):
        VirtualHost.dead(self, queue, message, reason)


@replaces(
    "intake.serve",
    "strange.one-content-in-another",
    "a publish in the middle of another takes its place",
    "FRAME-005",
)
def one_content_in_another(self: Intake, channel: Channel, method: Any) -> None:
    if isinstance(method, m.BasicPublish):
        self.assemblies.pop(channel.number, None)
    Intake.serve(self, channel, method)


@replaces(
    "connection.log_in",
    "strange.tables-are-not-read",
    "the mechanism AMQPLAIN is offered, and refused whatever it says",
    "CONN-005",
)
def tables_are_not_read(self: Connection, method: m.ConnectionStartOk) -> None:
    if method.mechanism == "AMQPLAIN":
        raise sasl.LoginRefused(method.mechanism)
    Connection.log_in(self, method)


@replaces(
    "connection.log_in",
    "strange.tables-are-trusted",
    "with AMQPLAIN nobody needs a password",
    "CONN-007",
)
def tables_are_trusted(self: Connection, method: m.ConnectionStartOk) -> None:
    user, _ = sasl.credentials(method.mechanism, method.response)
    known = self.broker.access.users.get(user or "")
    if method.mechanism != "AMQPLAIN" or known is None:
        Connection.log_in(self, method)
        return
    self.user, self.mechanism = user or "", method.mechanism
    self.send(m.ConnectionTune(0, self.channel_max, self.outbox.frame_max, self.broker.limits.heartbeat))


def untold(dead: Message) -> Message:
    kept = [field for field in dead.headers if field[0] != "x-death"]
    return dead.copy(dead.exchange, dead.routing_key, headers=kept or None)


@changes("strange.death-untold", "a dead letter that has died once has no x-death", "DLX-001")
def death_untold(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
        dead = below.letter(self, message, *about)
        return dead if any(name == "x-death" for name, _, _ in message.headers) else untold(dead)

    parts.override("dead_letters", letter=letter)


@changes("strange.death-without-headers", "a message that had no headers tells of no death", "DLX-001", "DLX-003")
def death_without_headers(parts: Parts) -> None:
    below = parts.dead_letters

    def letter(self: DeadLetters, message: Message, *about: Any) -> Message:
        dead = below.letter(self, message, *about)
        return untold(dead) if message.header.headers is None else dead

    parts.override("dead_letters", letter=letter)


@changes("strange.one-grave", "what is given up together goes where the first of it goes", "DLX-001")
def one_grave(parts: Parts) -> None:
    below = parts.channel

    def finish(self: Channel, deliveries: list[Delivery], fate: Fate) -> None:
        queues = {delivery.queue: delivery.queue.settings for delivery in deliveries if fate is discarded}
        first = deliveries[0].queue.settings if queues else None
        for queue, settings in queues.items():
            if first is not None:
                where = first.dead_letter_exchange, first.dead_letter_routing_key
                queue.settings = replace(settings, dead_letter_exchange=where[0], dead_letter_routing_key=where[1])
        below.finish(self, deliveries, fate)
        for queue, settings in queues.items():
            queue.settings = settings

    parts.override("channel", finish=finish)


@changes("strange.exchange-not-missed", "who has lost its dead letter exchange gets none by declaring it", "DLX-014")
def exchange_not_missed(parts: Parts) -> None:
    below = parts.vhost

    def delete_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.delete_exchange(self, exchange)
        for queue in self.queues.values():
            if queue.settings.dead_letter_exchange == exchange.name:
                queue.settings = replace(queue.settings, dead_letter_exchange=None)

    parts.override("vhost", delete_exchange=delete_exchange)


@changes(
    "trackers.get-of-what-has-expired",
    "a get from a quorum queue in which all has expired is an internal error",
    "ERR-012",
    "TTL-001",
    field=RABBITMQ.format("08f20612b6"),
)
def get_of_what_has_expired(parts: Parts) -> None:
    below = parts.queue

    def die(self: Queue, entry: Entry, reason: str) -> None:
        memory(self, "expired", dict)[reason] = True
        below.die(self, entry, reason)

    def get(self: Queue) -> Entry | None:
        entry = below.get(self)
        if entry is None and self.quorum is not None and memory(self, "expired", dict).pop("expired", False):
            raise fails()
        return entry

    parts.override("queue", die=die, get=get)


@replaces(
    "queue.die",
    "trackers.neighbour-goes-too",
    "with what expires goes the message behind it, though its own time is not over",
    "TTL-004",
    field="https://github.com/cloudamqp/lavinmq/commit/f8f8187cf",
)
def neighbour_goes_too(self: Queue, entry: Entry, reason: str) -> None:
    if reason == "expired" and self.ready:
        behind = self.ready.head()
        if behind.expires is not None and behind.expires > self.vhost.clock.now:
            self.let_go(self.ready.pop())
    Queue.die(self, entry, reason)


@replaces(
    "queue.publish",
    "trackers.room-for-a-thousand",
    "a queue without a limit has room for 1000 messages",
    "RQ-011",
    field="https://github.com/ottermq/ottermq/releases/tag/v0.9.0",
)
def room_for_a_thousand(self: Queue, message: Message) -> bool:
    if len(self.ready) >= ROOM:
        return True
    return Queue.publish(self, message)


@replaces(
    "vhost.restart",
    "trackers.nothing-but-transient",
    "a durable queue in which all messages are transient is gone after a restart",
    "DUR-001",
    field=RABBITMQ.format("ccb1e48596"),
)
def nothing_but_transient(self: VirtualHost) -> None:
    for queue in list(self.queues.values()):
        if queue.durable and queue.ready and not any(map(queue.lasts, queue.ready.entries())):
            self.delete_queue(queue)
    VirtualHost.restart(self)


@changes(
    "trackers.automatic-still-counted",
    "declare-ok still counts what was got without acknowledgement",
    "MODE-007",
    field="https://github.com/maxpert/strangeq/commit/e0a9b2a",
)
def automatic_still_counted(parts: Parts) -> None:
    below, channels = parts.queue, parts.channel

    def count(self: Queue) -> int:
        return below.count(self) + len(memory(self, "automatic", list))

    def get(self: Channel, queue: Queue, no_ack: bool) -> None:
        if no_ack and queue.ready:
            memory(queue, "automatic", list).append(None)
        channels.get(self, queue, no_ack)

    parts.override("queue", count=count)
    parts.override("channel", get=get)


@changes("strange.round-in-two", "what expires goes round for ever in two queues that lead to each other", "DLX-011")
def round_in_two(parts: Parts) -> None:
    below = parts.vhost

    def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
        says, target = queue.settings, queue.settings.dead_letter_exchange
        if reason != "expired" or target is None or (target and target not in self.exchanges):
            below.dead(self, queue, message, reason)
            return
        made = self.parts.dead_letters()
        letter = made.letter(message, queue.name, reason, self.clock.now, target, says.dead_letter_routing_key)
        for destination in self.route(target, letter):
            if destination is not queue:
                destination.publish(letter)

    parts.override("vhost", dead=dead)

"""The parts of a broker that keeps things: what is durable is recorded where it changes.

`kept_parts` makes them for one journal; a broker without one is made of the plain parts and pays nothing. A queue that
is durable and of no connection alone has a number in the log; it keeps what is persistent, and a quorum queue keeps
everything. A durable auto-delete queue lives on as long as it never had a consumer.

A publish whose message was recorded is confirmed when the journal says that it is durable. The reply to a method about
something durable stands behind a gate while anything is not durable yet, also what somebody else declared, and so does
everything that its connection says after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core import routing
from reference_broker.core.broker import Broker
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.prefetch import Consumer
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.parts import Handler, Parts
from reference_broker.core.queues.message import PERSISTENT, Entry, Kept, Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.store import definitions
from reference_broker.store.definitions import Recorded, Users
from reference_broker.store.journal import Gate, Journal
from reference_broker.store.records import Key

LASTING: tuple[type[codec.Method], ...] = (
    m.QueueDeclare,
    m.QueueDelete,
    m.QueuePurge,
    m.QueueBind,
    m.QueueUnbind,
    m.ExchangeDeclare,
    m.ExchangeDelete,
    m.ExchangeBind,
    m.ExchangeUnbind,
    m.TxCommit,
)


def kept_parts(journal: Journal) -> Parts:
    """A fresh one each time: mutants and variations change it."""
    parts = Parts(queue=KeptQueue, vhost=KeptVirtualHost, connection=KeptConnection, publish=confirmed_later(journal))
    parts.override("queue", journal=journal)
    parts.override("vhost", journal=journal)
    for kind in LASTING:
        parts.handlers[kind] = gated(parts.handlers[kind], journal)
    return parts


# -- queues and their messages


class KeptQueue(Queue):
    journal: Journal

    def __init__(self, vhost: VirtualHost, name: str, *rest: Any) -> None:
        super().__init__(vhost, name, *rest)
        self.key: Key = ("queue", vhost.name, name)
        self.lasting = self.durable and self.owner is None
        self.number = self.journal.number(self.key) if self.lasting else 0
        self.doubtful = 0.0
        """Up to here nobody knows which messages were delivered before; all are taken for it."""
        self.out: set[float] = set()
        """Of a quorum queue: what was delivered and is neither settled nor back."""
        self.kind: type[Kept] = Kept if self.quorum is None else self.counted()
        if self.lasting:
            self.entry = self.kept_entry
            self.journal.queues[self.number] = self
            self.define(had_consumer=False)

    def define(self, had_consumer: bool) -> None:
        self.journal.define(self.key, definitions.queue_value(self, self.number, had_consumer))

    def keeps(self, message: Message) -> bool:
        return self.lasting and (self.quorum is not None or message.header.delivery_mode == PERSISTENT)

    def kept_entry(self, position: float, message: Message, expires: float | None) -> Entry:
        entry = self.kind(position, message, expires)
        if self.keeps(message):
            self.journal.published(self, entry)
        return entry

    def as_delivered(self, entry: Entry) -> Message:
        if self.quorum is not None and entry.kept_in is not None:
            self.out.add(entry.position)
            self.journal.out(self, entry)
        return super().as_delivered(entry)

    def put_back(self, entry: Entry) -> None:
        super().put_back(entry)
        if entry.kept_in is not None:
            self.out.discard(entry.position)
            self.journal.back(self, entry)

    def let_go(self, entry: Entry) -> None:
        if self.out:
            self.out.discard(entry.position)
        self.journal.gone(self, entry)

    def purge(self) -> int:
        self.expire()
        for entry in self.ready.entries():
            self.let_go(entry)
        return super().purge()

    def join(self, consumer: Consumer, exclusive: bool) -> None:
        if self.lasting and self.auto_delete:
            self.define(had_consumer=True)
        super().join(consumer, exclusive)

    def vanish(self) -> None:
        """It was deleted."""
        if self.lasting:
            self.journal.forget(self.key)
            del self.journal.queues[self.number]
            for entry in self.ready.entries():
                self.let_go(entry)


# -- exchanges, bindings, policies


def lasts(thing: Destination) -> bool:
    return thing.lasting if isinstance(thing, KeptQueue) else thing.durable


class KeptVirtualHost(VirtualHost):
    journal: Journal

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        journal, settings = self.journal, self.settings
        self.exchanges = Recorded(journal, ("exchange", self.name), definitions.exchange_value, self.exchanges)
        settings.policies = Recorded(journal, ("policy", self.name), definitions.policy_value, settings.policies)
        settings.operator_policies = Recorded(
            journal, ("operator-policy", self.name), definitions.policy_value, settings.operator_policies
        )

    def delete_queue(self, queue: Queue) -> tuple[int, list[Consumer]]:
        told = super().delete_queue(queue)
        assert isinstance(queue, KeptQueue)
        queue.vanish()
        return told

    def bind(self, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        super().bind(source, destination, key, arguments)
        if lasts(source) and lasts(destination):
            full_key = definitions.binding_key(self.name, source, destination, key, routing.canonical(arguments))
            self.journal.define(full_key, definitions.binding_value(source, destination, key, arguments))

    def drop_binding(self, binding: Binding) -> None:
        full_key = definitions.binding_key(
            self.name, binding.source, binding.destination, binding.key, binding.arguments
        )
        self.journal.forget(full_key)
        super().drop_binding(binding)


def watch(broker: Broker, journal: Journal) -> None:
    """What is of the whole broker is recorded, too, and what is unacked is found."""
    broker.vhosts = Recorded(journal, ("vhost",), definitions.vhost_value, broker.vhosts)
    known = broker.global_parameters
    broker.global_parameters = Recorded(journal, ("global-parameter",), definitions.global_value, known)
    broker.access.users = Users(journal, broker.access.users)
    journal.unacked = lambda: unacked(broker)


def unacked(broker: Broker) -> Iterator[tuple[KeptQueue, Entry]]:
    for connection in broker.connections:
        for channel in connection.channels.values():
            settling = channel.transaction.settled if channel.transaction is not None else []
            for delivery in [*channel.unacked.by_tag.values(), *(one for many, _ in settling for one in many)]:
                if isinstance(delivery.queue, KeptQueue):
                    yield delivery.queue, delivery.entry


# -- promises


class KeptConnection(Connection):
    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.gates = 0
        """In the outbox, open or closed."""

    def count_gates(self) -> None:
        self.gates = sum(isinstance(item, Gate) for item in self.outbox.items)

    def go_on(self) -> None:
        """Not while it waits for the log: the gate that opens calls again."""
        if not (self.gates and self.outbox.items):
            super().go_on()

    def leaving(self) -> list[Outbound]:
        """Up to the first gate that is closed."""
        if not self.gates:
            return super().leaving()
        closed = (at for at, item in enumerate(self.outbox.items) if isinstance(item, Gate) and not item.open)
        end = next(closed, len(self.outbox.items))
        items, self.outbox.items = self.outbox.items[:end], self.outbox.items[end:]
        self.count_gates()
        return [item for item in items if not isinstance(item, Gate)]


def gated(handler: Handler, journal: Journal) -> Handler:
    def handle(channel: Channel, method: codec.Method) -> None:
        connection = channel.connection
        outbox: list[Any] = connection.outbox.items
        place = len(outbox)
        handler(channel, method)
        waits = journal.behind() and len(outbox) > place and connection in connection.broker.connections
        if waits and isinstance(connection, KeptConnection):
            connection.gates += 1
            outbox.insert(place, journal.gate(connection))

    return handle


def confirmed_later(journal: Journal) -> Callable[..., None]:
    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if journal.refuses and channel.confirms is not None and header.delivery_mode == PERSISTENT:
            basic.check_publish(channel, method, header)
            channel.confirms.refuse(channel.confirms.next())
            channel.connection.confirm(channel)
            return
        before = journal.count
        basic.publish(channel, method, header, body)
        confirms = channel.confirms
        if journal.count != before and confirms is not None and confirms.wait(confirms.published):
            journal.confirm(channel, confirms.published)

    return publish

"""What goes wrong beside something else: what comes in the same write, or lies in the same exchange, table or queue."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core import routing
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.transaction import Transaction
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, Headers
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, fails, memory
from reference_broker.mutants.topology.ways import walks

KEPT = 64


def writes(parts: Parts) -> None:
    """Each connection counts what it reads at once."""
    below = parts.connection

    def feed(self: Connection, data: bytes) -> None:
        memory(self, "writes", lambda: [0])[0] += 1
        below.feed(self, data)

    parts.override("connection", feed=feed)


def write_of(channel: Channel) -> int:
    number: int = memory(channel.connection, "writes", lambda: [0])[0]
    return number


@changes("beside.commit-of-what-was-before", "a commit takes no publishes that came with it in one write", "TX-010")
def commit_of_what_was_before(parts: Parts) -> None:
    writes(parts)
    below = parts.transaction

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        below.publish(self, channel, exchange, message, mandatory)
        memory(self, "came", list).append(write_of(channel))

    def commit(self: Transaction, channel: Channel) -> bool:
        came: list[int] = memory(self, "came", list)
        now, before = write_of(channel), self.published
        late = [one for one, at in zip(before, came, strict=True) if at == now]
        self.published = [one for one, at in zip(before, came, strict=True) if at != now]
        accepted = below.commit(self, channel)
        self.published, came[:] = late, [-1 for _ in late]
        return accepted

    def rollback(self: Transaction, channel: Channel) -> None:
        memory(self, "came", list).clear()
        below.rollback(self, channel)

    parts.override("transaction", publish=publish, commit=commit, rollback=rollback)


@changes("beside.qos-of-the-same-write", "a limit holds for consumers that came with it in one write", "QOS-004")
def qos_of_the_same_write(parts: Parts) -> None:
    writes(parts)
    qos, consume = parts.handlers[m.BasicQos], parts.handlers[m.BasicConsume]

    def start(channel: Channel, method: m.BasicConsume) -> None:
        consume(channel, method)
        memory(channel, "started", dict)[list(channel.consumers)[-1] if channel.consumers else ""] = write_of(channel)

    def limit(channel: Channel, method: m.BasicQos) -> None:
        qos(channel, method)
        for tag, at in memory(channel, "started", dict).items():
            if at == write_of(channel) and tag in channel.consumers and not method.global_:
                channel.consumers[tag].own.change(method.prefetch_count)

    parts.handlers[m.BasicConsume] = start
    parts.handlers[m.BasicQos] = limit


@changes("beside.sixty-four-published", f"a transaction keeps {KEPT} publishes", "TX-010", "TX-011")
def sixty_four_published(parts: Parts) -> None:
    below = parts.transaction

    def publish(self: Transaction, channel: Channel, exchange: str, message: Message, mandatory: bool) -> None:
        if len(self.published) < KEPT:
            below.publish(self, channel, exchange, message, mandatory)

    parts.override("transaction", publish=publish)


@changes(
    "beside.failure-ends-contents",
    "a channel that fails ends contents that are under way on others",
    "CONTENT-001",
)
def failure_ends_contents(parts: Parts) -> None:
    below = parts.connection

    def close_channel(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
        below.close_channel(self, channel, error, offender)
        self.intake.assemblies.clear()

    parts.override("connection", close_channel=close_channel)


@changes("beside.others-delete-quietly", "with nowait others may delete an exclusive queue", "QUEUE-007")
def others_delete_quietly(parts: Parts) -> None:
    below = parts.handlers[m.QueueDelete]

    def delete(channel: Channel, method: m.QueueDelete) -> None:
        queue = channel.vhost.queues.get(method.queue)
        if queue is not None and queue.owner is not None and method.no_wait:
            for consumer in channel.vhost.delete_queue(queue)[1]:
                consumer.channel.cancelled(consumer)
            return
        below(channel, method)

    parts.handlers[m.QueueDelete] = delete


@changes("beside.alternate-returns", "what an alternate exchange takes comes back all the same", "CNF-025")
def alternate_returns(parts: Parts) -> None:
    below = parts.channel

    def found_its_way(self: Channel, exchange: str, message: Message, routed: bool) -> bool:
        first = self.vhost.exchanges.get(exchange) if exchange else None
        if first is not None and first.alternate:
            routed = any(first.matches(key, message.headers) for key in message.routing_keys())
        return below.found_its_way(self, exchange, message, routed)

    parts.override("channel", found_its_way=found_its_way)


@changes("beside.returns-without-expiration", "a return has lost its expiration", "RETURN-006")
def returns_without_expiration(parts: Parts) -> None:
    below = parts.channel

    def give_back(self: Channel, exchange: str, message: Message) -> None:
        if message.header.expiration is not None:
            message = message.copy(message.exchange, message.routing_key, expiration=None)
        below.give_back(self, exchange, message)

    parts.override("channel", give_back=give_back)


@changes(
    "beside.way-back-unbound",
    "an exchange that is unbound from another is unbound the other way, too",
    "BIND-013",
    "ROUTE-010",
)
def way_back_unbound(parts: Parts) -> None:
    below = parts.vhost

    def unbind(self: VirtualHost, source: Exchange, to: Destination, key: str, arguments: FieldTable) -> None:
        below.unbind(self, source, to, key, arguments)
        for back in list(getattr(to, "bindings", ())) if source.name in self.exchanges else ():
            if back.destination is source:
                self.drop_binding(back)

    parts.override("vhost", unbind=unbind)


@changes("beside.alternates-in-a-circle", "exchanges that are each other's alternates fail", "ROUTE-012", "ERR-012")
def alternates_in_a_circle(parts: Parts) -> None:
    below = parts.vhost

    def route(self: VirtualHost, exchange: str, message: Message) -> Iterable[Any]:
        found = list(below.route(self, exchange, message))
        passed: list[str] = []
        while not found and exchange in self.exchanges:
            if exchange in passed:
                raise fails()
            passed.append(exchange)
            exchange = self.exchanges[exchange].alternate
        return found

    parts.override("vhost", route=route)


@changes(
    "beside.goes-with-what-led-to-it",
    "an auto-delete exchange goes when nothing leads to it any more",
    "EXCH-010",
    "EXCH-006",
)
def goes_with_what_led_to_it(parts: Parts) -> None:
    below = parts.vhost

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        below.drop_binding(self, binding)
        to = binding.destination
        if isinstance(to, Exchange) and to.auto_delete and to not in self.bound_to and to.name in self.exchanges:
            self.delete_exchange(to)

    parts.override("vhost", drop_binding=drop_binding)


@changes("beside.declared-in-order", "arguments of a queue in another order are others", "QUEUE-003")
def declared_in_order(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        queue: Queue | None = channel.vhost.queues.get(method.queue)
        given, there = ([name for name, _, _ in of] for of in (method.arguments, queue.table if queue else []))
        if queue is not None and not method.passive and given != there and sorted(given) == sorted(there):
            raise precondition(f"inequivalent arguments for queue '{method.queue}' in vhost '/'")
        below(channel, method)

    parts.handlers[m.QueueDeclare] = declare


def blurs(name: str, says: str, letter: str, blurred: Callable[[Any], object]) -> None:
    """A headers exchange knows no more than this of headers of one type."""

    def known(fields: FieldTable) -> FieldTable:
        return [(name, kind, blurred(value) if kind == letter else value) for name, kind, value in fields]

    def spoil(exchange: Exchange, hits: list[Destination], message: Message) -> list[Destination]:
        if not isinstance(exchange, Headers):
            return hits
        present: dict[str, tuple[str, Any]] = {name: (kind, value) for name, kind, value in known(message.headers)}
        bound = exchange.bindings.items()
        return [one.destination for one, given in bound if routing.headers_match(known(given), present)]

    walks(name, says, "ROUTE-006", spoil=spoil)


blurs("beside.true-is-one", "to a headers exchange what is true is 1, and what is false 0", "t", int)
blurs("beside.digits-are-equal", "to a headers exchange decimals of the same digits are equal", "D", lambda one: one[1])
blurs("beside.minutes-are-equal", "to a headers exchange times of one minute are equal", "T", lambda one: one // 60)


@changes("beside.failed-still-counted", "declare-ok still counts consumers whose channel has failed", "QUEUE-020")
def failed_still_counted(parts: Parts) -> None:
    below, declare = parts.channel, parts.handlers[m.QueueDeclare]

    def fail(self: Channel) -> None:
        for consumer in self.consumers.values():
            memory(consumer.queue, "failed", list).append(consumer)
        below.fail(self)

    def count(channel: Channel, method: m.QueueDeclare) -> None:
        declare(channel, method)
        answer = channel.connection.outbox.items[-1] if channel.connection.outbox.items else None
        queue = channel.vhost.queues.get(answer.queue) if isinstance(answer, m.QueueDeclareOk) else None
        if queue is not None and isinstance(answer, m.QueueDeclareOk):
            answer.consumer_count += len(memory(queue, "failed", list))

    parts.override("channel", fail=fail)
    parts.handlers[m.QueueDeclare] = count

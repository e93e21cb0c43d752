"""Names that are refused without need, refusals that get lost over them, and empty names that stand for nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import AmqpException, ConnectionException, not_found, precondition
from reference_broker.core.parts import Parts
from reference_broker.core.queues.arguments import KNOWN
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Destination, Exchange, Headers, Topic, canonical, headers_match
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import changes, replaces
from reference_broker.mutants.topology.binding import Handle, handling

LAVINMQ = "https://github.com/cloudamqp/lavinmq/pull/631"
LENGTH, USUAL, ROOM = 64, 127, 255


def _picky(kind: type[Any], name: str, says: str, wrong: Callable[[str], bool], *rules: str) -> None:
    """A declaration with such a name is refused."""

    @handling((kind,), name, says, *rules)
    def declare(channel: Channel, method: Any, below: Handle) -> None:
        given = method.queue if kind is m.QueueDeclare else method.exchange
        if not method.passive and wrong(given):
            raise precondition(f"'{given}' is no name")
        below(channel, method)


_picky(m.QueueDeclare, "naming.no-colons", "names of queues have no colons", lambda name: ":" in name, "QUEUE-022")
_picky(
    m.QueueDeclare, "naming.64-octets", "names of queues have 64 octets", lambda name: len(name) > LENGTH, "QUEUE-022"
)
_picky(
    m.QueueDeclare,
    "naming.127-octets",
    "names of queues have 127 octets",
    lambda name: len(name.encode()) > USUAL,
    "QUEUE-023",
)
_picky(m.QueueDeclare, "naming.ascii-alone", "names of queues are ASCII", lambda name: not name.isascii(), "QUEUE-023")
_picky(
    m.ExchangeDeclare,
    "naming.exchanges-without-colons",
    "names of exchanges have no colons",
    lambda name: ":" in name,
    "EXCH-019",
)
_picky(
    m.ExchangeDeclare,
    "naming.exchanges-of-64-octets",
    "names of exchanges have 64 octets",
    lambda name: len(name) > LENGTH,
    "EXCH-019",
)


@handling((m.QueueBind,), "naming.short-keys", "keys of bindings have 127 octets", "BIND-016")
def short_keys(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    if len(method.routing_key.encode()) > USUAL:
        raise precondition("the key is too long")
    below(channel, method)


@replaces(
    "connection.close_channel",
    "naming.refusals-that-do-not-fit",
    "a refusal whose text is longer than a short string is not sent",
    "QUEUE-035",
    field=LAVINMQ,
)
def refusals_that_do_not_fit(self: Connection, channel: Channel, error: AmqpException, offender: Any) -> None:
    if len(error.whole_text().encode()) <= ROOM:
        Connection.close_channel(self, channel, error, offender)


@replaces(
    "connection.close_channel",
    "naming.long-refusals-cost-all",
    "a refusal whose text is longer than a short string costs the connection",
    "QUEUE-035",
)
def long_refusals_cost_all(self: Connection, channel: Channel, error: AmqpException, offender: Any) -> None:
    if len(error.whole_text().encode()) > ROOM:
        self.close(ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0))
    else:
        Connection.close_channel(self, channel, error, offender)


def _no_last(kind: type[Any], name: str, says: str, rule: str) -> None:
    @handling((kind,), name, says, rule)
    def use(channel: Channel, method: Any, below: Handle) -> None:
        if not method.queue:
            raise not_found("queue", "")
        below(channel, method)


_no_last(m.QueueDelete, "naming.delete-wants-a-name", "queue.delete needs the name of the queue", "QUEUE-028")
_no_last(m.QueueUnbind, "naming.unbind-wants-a-name", "queue.unbind needs the name of the queue", "BIND-010")


def _nothing_is_fine(kind: type[Any], answer: Callable[[int], Any], name: str, says: str, rule: str) -> None:
    @handling((kind,), name, says, rule)
    def use(channel: Channel, method: Any, below: Handle) -> None:
        if method.queue or channel.last_queue:
            below(channel, method)
        else:
            channel.connection.send(answer(channel.number))


_nothing_is_fine(
    m.QueueDelete,
    lambda number: m.QueueDeleteOk(number, 0),
    "naming.nothing-deleted",
    "queue.delete is answered where nothing was declared",
    "QUEUE-028",
)
_nothing_is_fine(
    m.QueueUnbind,
    m.QueueUnbindOk,
    "naming.nothing-unbound",
    "queue.unbind is answered where nothing was declared",
    "BIND-010",
)


@replaces(
    "vhost.publish", "naming.alike", "to publishes names are the same by their first 127 octets", "QUEUE-023", "RQ-011"
)
def alike(self: VirtualHost, exchange: str, message: Message) -> tuple[bool, bool]:
    if not exchange:
        for name, queue in self.queues.items():
            if len(name.encode()) > USUAL and name[:USUAL] == message.routing_key[:USUAL]:
                return True, queue.publish(message)
    return VirtualHost.publish(self, exchange, message)


@changes("naming.unknown-argument", "a queue with an argument that means nothing cannot be declared again", "QUEUE-003")
def unknown_argument(parts: Parts) -> None:
    below = parts.handlers[m.QueueDeclare]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        unknown = [name for name, _, _ in method.arguments if name not in KNOWN]
        if unknown and not method.passive and method.queue in channel.vhost.queues:
            raise precondition(f"inequivalent arg '{unknown[0]}' for queue '{method.queue}'")
        below(channel, method)

    parts.handlers[m.QueueDeclare] = declare


@changes("naming.headers-without-case", "names of headers are compared without case", "ROUTE-006")
def headers_without_case(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        found = dict.fromkeys(below._walk(self, start, message))
        present = {name.lower(): (letter, value) for name, letter, value in self.headers_to_match(message)}
        for binding, arguments in start.bindings.items() if isinstance(start, Headers) else ():
            lowered = [(name.lower(), letter, value) for name, letter, value in arguments]
            if isinstance(binding.destination, Queue) and headers_match(lowered, present):
                found[binding.destination] = None
        return list(found)

    parts.override("vhost", _walk=walk)


@changes("naming.case-behind-a-star", "behind a star words of a topic are compared without case", "ROUTE-004")
def case_behind_a_star(parts: Parts) -> None:
    below = parts.vhost

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        found, words = dict.fromkeys(below._walk(self, start, message)), message.routing_key.lower().split(".")
        for binding in start.bindings if isinstance(start, Topic) else ():
            key = binding.key.lower().split(".")
            alike = len(key) == len(words) and all(one in ("*", word) for one, word in zip(key, words, strict=True))
            if key[0] == "*" and alike and isinstance(binding.destination, Queue):
                found[binding.destination] = None
        return list(found)

    parts.override("vhost", _walk=walk)


@replaces(
    "vhost.exchange",
    "naming.exchanges-without-case",
    "exchanges are found without case",
    "EXCH-001",
    "BIND-002",
)
def exchanges_without_case(self: VirtualHost, name: str) -> Exchange:
    alike = (one for known, one in self.exchanges.items() if known.lower() == name.lower())
    found = self.exchanges.get(name) or next(alike, None)
    return found if found is not None else VirtualHost.exchange(self, name)


def disregards(name: str, says: str, unlike: Callable[[str], bool]) -> None:
    """A headers exchange compares no headers of these names."""

    @changes(name, says, "ROUTE-006", "ROUTE-007")
    def apply(parts: Parts) -> None:
        below = parts.vhost

        def bind(
            self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable
        ) -> None:
            below.bind(self, source, destination, key, arguments)
            for one in source.bindings if isinstance(source, Headers) else ():
                if one.destination is destination and one.arguments == canonical(arguments):
                    source.bindings[one] = [wanted for wanted in arguments if not unlike(wanted[0])]

        parts.override("vhost", bind=bind)


disregards(
    "naming.begins-with-x",
    "a headers exchange disregards names that begin with x, whatever follows",
    lambda name: name.startswith("x") and not name.startswith("x-"),
)
disregards(
    "naming.capital-x",
    "a headers exchange disregards names that begin with X-, as if it were x-",
    lambda name: name.startswith("X-"),
)


# -- the exchange without a name


def _nameless(name: str, says: str, gone: Callable[[Channel], bool]) -> None:
    """Where it is gone there is no default exchange."""

    @changes(name, says, "ROUTE-020")
    def unknown(parts: Parts) -> None:
        below = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
            if not method.exchange and gone(channel):
                raise not_found("exchange", "")
            below(channel, method, header, body)

        parts.publish = publish


_nameless("naming.no-default-exchange", "there is no default exchange", lambda channel: True)
_nameless(
    "naming.default-exchange-beside-none",
    "there is a default exchange while there is another one of clients",
    lambda channel: all(name.startswith("amq.") for name in channel.vhost.exchanges),
)

"""Ways that are wrong where two things meet, or from so many on: each exchange alone does what it should."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from typing import Any

from codec import values
from codec.values import FieldTable
from reference_broker.core import routing
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.replies import ReplyTo
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message, copied
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import Mutant, changes, enter

Hits = list[Destination]
Spoil = Callable[[Exchange, Hits, Message], Hits]
Key = Callable[[str, int, Exchange], str]
WORDS, HEADERS, DESTINATIONS, COPIES, LETTERS = 8, 4, 16, 3, 64


def as_it_is(exchange: Exchange, hits: Hits, message: Message) -> Hits:
    return hits


def same(key: str, hops: int, exchange: Exchange) -> str:
    return key


def walk(
    vhost: VirtualHost, start: Exchange, message: Message, spoil: Spoil, key_of: Key = same, *, alternates: bool = True
) -> list[Queue]:
    """The core's walk, with something spoilt at every exchange."""
    found: dict[Queue, None] = {}
    seen, todo = {start}, [(start, 0)]
    while todo:
        exchange, hops = todo.pop()
        keys = [key_of(key, hops, exchange) for key in message.routing_keys()]
        hits = spoil(exchange, [hit for key in keys for hit in exchange.matches(key, message.headers)], message)
        alternate = vhost.exchanges.get(exchange.alternate) if alternates and not hits else None
        for to in [*hits, *([alternate] if alternate else [])]:
            if isinstance(to, Queue):
                found[to] = None
            elif to not in seen:
                seen.add(to)
                todo.append((to, hops + 1))
    return list(found)


def walks(name: str, says: str, *rules: str, spoil: Spoil = as_it_is, key_of: Key = same) -> None:
    """Every publish goes so."""

    def wrong(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        return walk(self, start, message, spoil, key_of)

    def apply(parts: Parts) -> None:
        parts.override("vhost", _walk=wrong)

    enter(wrong, Mutant(name, says, rules, apply))


def dies(name: str, says: str, spoil: Spoil = as_it_is, *, alternates: bool = True) -> None:
    """Every dead letter goes so."""

    def apply(parts: Parts) -> None:
        def dead(self: VirtualHost, queue: Queue, message: Message, reason: str) -> None:
            vars(self)["_walk"] = lambda start, letter: walk(self, start, letter, spoil, alternates=alternates)
            try:
                VirtualHost.dead(self, queue, message, reason)
            finally:
                del vars(self)["_walk"]

        parts.override("vhost", dead=dead)

    enter(dies, Mutant(name, says, ("DLX-014",), apply))


def onward(exchange: Exchange, hits: Hits, message: Message) -> Hits:
    to = [one.destination for one in exchange.bindings if not isinstance(one.destination, Queue)]
    return [*hits, *to] if exchange.TYPE == "headers" else hits


def few_headers(exchange: Exchange, hits: Hits, message: Message) -> Hits:
    if exchange.TYPE != "headers":
        return hits
    present = {name: (letter, value) for name, letter, value in message.headers}

    def first(arguments: Any) -> Any:
        compared = [one for one in arguments if one[0] != "x-match"][:HEADERS]
        return [*(one for one in arguments if one[0] == "x-match"), *compared]

    fits = routing.headers_match
    return [one.destination for one, arguments in exchange.bindings.items() if fits(first(arguments), present)]


def few_words(key: str, hops: int, exchange: Exchange) -> str:
    return ".".join(key.split(".")[:WORDS]) if exchange.TYPE == "topic" else key


def no_empty_words(key: str, hops: int, exchange: Exchange) -> str:
    return ".".join(filter(None, key.split("."))) if hops and exchange.TYPE == "topic" else key


walks(
    "ways.headers-onward",
    "a headers exchange passes everything on to the exchanges that are bound to it",
    *("ROUTE-006", "ROUTE-010"),
    spoil=onward,
)
walks("ways.few-headers", f"a headers exchange compares {HEADERS} headers of a binding", "ROUTE-006", spoil=few_headers)
walks(
    "ways.few-destinations",
    f"an exchange leads to {DESTINATIONS} queues at most",
    *("ROUTE-002", "CNF-010"),
    spoil=lambda exchange, hits, message: hits[:DESTINATIONS],
)
walks("ways.few-words", f"a topic exchange looks at {WORDS} words of a key", "ROUTE-003", "ROUTE-005", key_of=few_words)
walks(
    "ways.empty-words-lost",
    "a topic exchange that gets a message from another passes over empty words",
    *("ROUTE-016", "ROUTE-010"),
    key_of=no_empty_words,
)
dies("ways.dead-without-alternate", "dead letters do not go to an alternate exchange", alternates=False)
dies(
    "ways.dead-not-onward",
    "dead letters pass no bindings between exchanges",
    lambda exchange, hits, message: [hit for hit in hits if isinstance(hit, Queue)],
)
dies(
    "ways.dead-to-one",
    "a fanout exchange leads dead letters to one queue",
    lambda exchange, hits, message: hits[:1] if exchange.TYPE == "fanout" else hits,
)
dies(
    "ways.dead-without-headers",
    "a headers exchange finds no way for dead letters",
    lambda exchange, hits, message: [] if exchange.TYPE == "headers" else hits,
)


@changes("ways.few-copies", f"of the keys in CC and BCC {COPIES} count", "ROUTE-018")
def few_copies(parts: Parts) -> None:
    def route(self: VirtualHost, exchange: str, message: Message) -> Iterable[Queue | ReplyTo]:
        keys = message.more_keys[:COPIES]
        fewer = copied(message.exchange, message.routing_key, message.header, message.body, keys)
        return VirtualHost.route(self, exchange, fewer)

    parts.override("vhost", route=route)


@changes("ways.copies-returned", "what only CC finds a way for is returned", "ROUTE-018")
def copies_returned(parts: Parts) -> None:
    below = parts.channel

    def found_its_way(self: Channel, exchange: str, message: Message, routed: bool) -> bool:
        found = below.found_its_way(self, exchange, message, routed)
        return found and (bool(exchange) or message.routing_key in self.vhost.queues)

    parts.override("channel", found_its_way=found_its_way)


@changes("ways.alike-is-equal", "a direct exchange takes keys that look alike for the same", "ROUTE-001")
def alike_is_equal(parts: Parts) -> None:
    below = parts.vhost

    def _walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        if start.TYPE == "direct" and not message.routing_key.isascii():
            for binding in start.bindings:
                if alike(binding.key) == alike(message.routing_key):
                    message = Message(message.exchange, binding.key, message.header, message.body)
                    break
        return below._walk(self, start, message)

    parts.override("vhost", _walk=_walk)


def alike(key: str) -> str:
    return unicodedata.normalize("NFC", key)


@changes("ways.keys-cut", "a direct exchange compares the first 64 letters of keys", "ROUTE-001")
def keys_cut(parts: Parts) -> None:
    class Cut(routing.Direct):
        def add(self, binding: Binding, arguments: FieldTable) -> None:
            self.by_key.setdefault(binding.key[:LETTERS], {})[binding] = None

        def remove(self, binding: Binding) -> None:
            self.by_key[binding.key[:LETTERS]].pop(binding)

        def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
            return [binding.destination for binding in self.by_key.get(key[:LETTERS], ())]

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        if type(exchange) is routing.Direct:
            exchange.__class__ = Cut
        VirtualHost.add_exchange(self, exchange)

    parts.override("vhost", add_exchange=add_exchange)


@changes("ways.two-alternates-at-most", "of alternate exchanges in a row the third is not asked", "ROUTE-012")
def two_alternates_at_most(parts: Parts) -> None:
    def wrong(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        found: list[Queue] = []
        for _ in range(3):
            found = walk(self, start, message, as_it_is, alternates=False)
            following = self.exchanges.get(start.alternate)
            if found or following is None:
                break
            start = following
        return found

    parts.override("vhost", _walk=wrong)


@changes(
    "ways.void-is-no-hit",
    "with x-match any a header of the binding that has no value is passed over",
    "ROUTE-006",
    "ROUTE-007",
)
def void_is_no_hit(parts: Parts) -> None:
    class Valued(routing.Headers):
        def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
            present = {name: (letter, value) for name, letter, value in headers}
            return [
                binding.destination
                for binding, arguments in self.bindings.items()
                if routing.headers_match(_with_values(arguments), present)
            ]

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        if type(exchange) is routing.Headers:
            exchange.__class__ = Valued
        VirtualHost.add_exchange(self, exchange)

    parts.override("vhost", add_exchange=add_exchange)


def _with_values(arguments: FieldTable) -> FieldTable:
    """Of an x-match any, those that have one."""
    chosen = values.lookup(arguments, "x-match", "all") == "any"
    return [field for field in arguments if not chosen or field[1] != "V"]

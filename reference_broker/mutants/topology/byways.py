"""Ways where two things come together: bindings between exchanges and alternates, and what was made a second time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from codec.values import FieldTable
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination, Exchange, Headers, canonical, headers_match
from reference_broker.core.vhost import VirtualHost
from reference_broker.mutants.kinds import Mutant, changes, enter, memory, replaces

START, BOUND, ALTERNATE = "start", "bound", "alternate"


def walks(name: str, says: str, asked: Callable[[VirtualHost, Exchange, str], bool], *rules: str) -> None:
    """An exchange that a message has reached in this way gives it to its alternate if this says so."""

    def walk(self: VirtualHost, start: Exchange, message: Message) -> list[Queue]:
        found: dict[Queue, None] = {}
        seen, todo, headers = {start}, [(start, START)], self.headers_to_match(message)
        while todo:
            exchange, how = todo.pop()
            hits = [(hit, BOUND) for key in message.routing_keys() for hit in exchange.matches(key, headers)]
            other = self.exchanges.get(exchange.alternate) if not hits and asked(self, exchange, how) else None
            reached: list[tuple[Destination, str]] = [*hits, *([(other, ALTERNATE)] if other else [])]
            for destination, by in reached:
                if isinstance(destination, Queue):
                    found[destination] = None
                elif destination not in seen:
                    seen.add(destination)
                    todo.append((destination, by))
        return list(found)

    def apply(parts: Parts) -> None:
        parts.override("vhost", _walk=walk)

    enter(walk, Mutant(name, says, rules, apply))


def the_first(vhost: VirtualHost, exchange: Exchange, how: str) -> bool:
    """Is its alternate the one that it had when it was first asked?"""
    now, known = vhost.exchanges.get(exchange.alternate), memory(vhost, "alternates", dict)
    return now is not None and known.setdefault(exchange, now) is now


walks(
    "byways.alternate-of-the-first",
    "an exchange that another one leads to does not use its alternate",
    lambda vhost, exchange, how: how != BOUND,
    "ROUTE-012",
)
walks(
    "byways.alternate-ends-there",
    "an alternate exchange does not use its own alternate",
    lambda vhost, exchange, how: how != ALTERNATE,
    "ROUTE-012",
)
walks(
    "byways.headers-without-alternate",
    "headers exchanges do not use their alternate",
    lambda vhost, exchange, how: exchange.TYPE != "headers",
    "ROUTE-012",
)
walks(
    "byways.onward-or-alternate",
    "an exchange that leads to another one does not use its alternate",
    lambda vhost, exchange, how: not any(isinstance(one.destination, Exchange) for one in exchange.bindings),
    "ROUTE-012",
)
walks("byways.alternate-renewed", "an alternate that is declared anew is not used any more", the_first, "ROUTE-012")


class AllOnward(Headers):
    """To other exchanges it leads what has all headers."""

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        present = {name: (letter, value) for name, letter, value in headers}
        for binding, arguments in self.bindings.items():
            every = [one for one in arguments if one[0] != "x-match"]
            if headers_match(every if isinstance(binding.destination, Exchange) else arguments, present):
                yield binding.destination


@replaces("vhost.add_exchange", "byways.all-onward", "bindings to exchanges always want all headers", "ROUTE-010")
def all_onward(self: VirtualHost, exchange: Exchange) -> None:
    if type(exchange) is Headers:
        exchange.__class__ = AllOnward
    VirtualHost.add_exchange(self, exchange)


class AnyOfNothing(Headers):
    """Any of no headers is found in every message."""

    def matches(self, key: str, headers: FieldTable) -> Iterable[Destination]:
        yield from super().matches(key, headers)
        yield from (binding.destination for binding, arguments in self.bindings.items() if not _asks(arguments))


def _asks(arguments: FieldTable) -> bool:
    return any(not name.startswith("x-") for name, _, _ in arguments)


@replaces("vhost.add_exchange", "byways.any-of-nothing", "x-match any without a header matches all", "ROUTE-007")
def any_of_nothing(self: VirtualHost, exchange: Exchange) -> None:
    if type(exchange) is Headers:
        exchange.__class__ = AnyOfNothing
    VirtualHost.add_exchange(self, exchange)


@changes("byways.unbound-by-position", "an unbind compares arguments in their order", "BIND-012")
def unbound_by_position(parts: Parts) -> None:
    below = parts.vhost

    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        known = source.bindings.get(Binding(source, destination, key, canonical(arguments)), arguments)
        if list(known) == list(arguments):
            below.unbind(self, source, destination, key, arguments)

    parts.override("vhost", unbind=unbind)


@changes("byways.bound-twice", "a binding that was made twice has to be removed twice", "ROUTE-014")
def bound_twice(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        counts, known = _counts(self), (source, destination, key, canonical(arguments))
        counts[known] = counts.get(known, 0) + 1 if self.is_bound(source.name, destination, key, arguments) else 1
        below.bind(self, source, destination, key, arguments)

    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        counts, known = _counts(self), (source, destination, key, canonical(arguments))
        counts[known] = counts.get(known, 1) - 1
        if counts[known] <= 0:
            VirtualHost.unbind(self, source, destination, key, arguments)

    parts.override("vhost", bind=bind, unbind=unbind)


def _counts(vhost: VirtualHost) -> dict[tuple[Any, ...], int]:
    found: dict[tuple[Any, ...], int] = memory(vhost, "counts", dict)
    return found


@changes("byways.second-exchange-stays", "an auto-delete exchange that is declared anew stays", "EXCH-010")
def second_exchange_stays(parts: Parts) -> None:
    below = parts.vhost

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        first = memory(self, "firsts", dict).setdefault(exchange.name, exchange)
        memory(exchange, "second", lambda: first is not exchange)
        below.add_exchange(self, exchange)

    def drop_binding(self: VirtualHost, binding: Binding) -> None:
        source, auto_delete = binding.source, binding.source.auto_delete
        source.auto_delete = auto_delete and not memory(source, "second", bool)
        below.drop_binding(self, binding)
        source.auto_delete = auto_delete

    parts.override("vhost", add_exchange=add_exchange, drop_binding=drop_binding)


@changes(
    "byways.goes-though-never-bound",
    "an auto-delete exchange that never had a binding goes when one is removed that was not there",
    "EXCH-010",
    "EXCH-006",
)
def goes_though_never_bound(parts: Parts) -> None:
    below = parts.vhost

    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        below.unbind(self, source, destination, key, arguments)
        if source.auto_delete and not source.bindings and source.name in self.exchanges:
            self.delete_exchange(source)

    parts.override("vhost", unbind=unbind)


@changes(
    "byways.former-alternate",
    "an exchange that is declared anew without an alternate has that of the former",
    "ROUTE-015",
)
def former_alternate(parts: Parts) -> None:
    below = parts.vhost

    def add_exchange(self: VirtualHost, exchange: Exchange) -> None:
        below.add_exchange(self, exchange)
        known = memory(self, "alternates", dict)
        exchange.alternate = exchange.alternate or known.get(exchange.name, "")
        known[exchange.name] = exchange.alternate

    parts.override("vhost", add_exchange=add_exchange)


@changes(
    "byways.made-again-leads-nowhere",
    "a binding that was removed and is made again leads nowhere",
    *("ROUTE-001", "ROUTE-002", "ROUTE-003"),
)
def made_again_leads_nowhere(parts: Parts) -> None:
    below = parts.vhost

    def bind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        below.bind(self, source, destination, key, arguments)
        again = Binding(source, destination, key, canonical(arguments))
        if again in memory(self, "removed", set):
            source.remove(again)
            source.bindings.pop(again)
            self.bound_to[destination].pop(again)

    def unbind(self: VirtualHost, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        below.unbind(self, source, destination, key, arguments)
        memory(self, "removed", set).add(Binding(source, destination, key, canonical(arguments)))

    parts.override("vhost", bind=bind, unbind=unbind)

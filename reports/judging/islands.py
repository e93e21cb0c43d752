"""Islands: the parts of a history whose connections share nothing with the rest, no queue and no exchange.

Islands are judged separately, with the same result. A history of ours is one island. A capture has one history for
everything that talks to a broker. It has as many islands as there are groups of programs that share something in one
virtual host. If a virtual host was not seen, hosts are not told apart: an island that is too large costs time, one
that is too small would make verdicts wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conformance.history import events as ev
from conformance.history.events import Event

HOST, MEETS, WHOLE = "host", "meets", "whole"
_BESIDE = (ev.OPEN, ev.END, ev.JOINED, ev.GAP, ev.CUT)

Link = tuple[str, str, str]


def links(event: Event) -> Iterator[tuple[str, str]]:
    """What an event says of where its connection meets others."""
    if event.kind == ev.OBSERVED:
        return
    if not event.connection or (event.direction == ev.LOCAL and event.kind not in _BESIDE):
        yield WHOLE, ""
    yield MEETS, ""
    if event.method == "connection.open":
        yield HOST, str(event.args.get("virtual_host", "/"))
    if event.direction == ev.TO_BROKER or event.method == "queue.declare-ok":
        yield from ((MEETS, name) for name in _named(event))


def _named(event: Event) -> Iterator[str]:
    if event.queue:
        yield f"queue {event.queue}"
    if event.exchange:
        yield f"exchange {event.exchange}"
    elif event.method == "basic.publish":
        yield f"queue {event.routing_key}"
    if event.method.startswith("exchange.") or event.method == "queue.declare":
        yield from (f"exchange {name}" for name in (event.args.get("source"), event.args.get("destination")) if name)
        yield from _led_to(event.args.get("arguments") or {})


def _led_to(arguments: Mapping[str, Any]) -> Iterator[str]:
    """Where a queue sends what it drops, and an exchange what it cannot route."""
    for name in ("x-dead-letter-exchange", "alternate-exchange"):
        if arguments.get(name):
            yield f"exchange {arguments[name]}"
    if arguments.get("x-dead-letter-routing-key"):
        yield f"queue {arguments['x-dead-letter-routing-key']}"


def apart(links: Iterable[Link]) -> list[tuple[str, str]]:
    """Connection and the name of its island, the least of its connections; none where there is but one island. What
    is said of the whole history, on the empty connection, is on every island."""
    hosts: dict[str, str] = {}
    met: dict[str, set[str]] = {}
    for connection, what, name in links:
        if what == WHOLE:
            return []
        if what == HOST:
            hosts[connection] = min(name, hosts.get(connection, name))
        else:
            met.setdefault(connection, set()).update(filter(None, [name]))
    groups = _groups(met, hosts if len(hosts) == len(met) else {})
    if len(groups) == 1:
        return []
    named = sorted((min(group), group) for group in groups)
    return [(connection, island) for island, group in named for connection in ("", *sorted(group))]


def _groups(met: Mapping[str, set[str]], hosts: Mapping[str, str]) -> list[list[str]]:
    """The connections, those together that meet, also by way of others."""
    parent: dict[tuple[str, str], tuple[str, str]] = {}

    def root(item: tuple[str, str]) -> tuple[str, str]:
        while parent.setdefault(item, item) != item:
            parent[item] = parent[parent[item]]
            item = parent[item]
        return item

    for connection, names in met.items():
        for name in names:
            parent[root((f"in {hosts.get(connection)}", name))] = root((connection, ""))
    groups: dict[tuple[str, str], list[str]] = {}
    for connection in met:
        groups.setdefault(root((connection, "")), []).append(connection)
    return list(groups.values())

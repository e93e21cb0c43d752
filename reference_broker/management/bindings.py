"""Bindings, and the paths between two ends: e for an exchange, q for a queue."""

from __future__ import annotations

from typing import Any, Literal

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Binding, Destination
from reference_broker.core.vhost import VirtualHost
from reference_broker.management.answers import views
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Refusal, Route, route
from reference_broker.management.topology import BINDING, arguments, direct, known_exchange, known_queue

ROUTES: list[Route] = []
End = Literal["q", "e"]
BETWEEN = "/api/bindings/{vhost}/e/{source}"
ENDS: tuple[tuple[End, str], ...] = (("q", "queue"), ("e", "exchange"))


def bindings_of(vhost: VirtualHost) -> list[dict[str, Any]]:
    by_name = [views.default_binding(one) for one in vhost.queues.values()]
    return by_name + [
        views.binding(one, table, vhost.name)
        for exchange in vhost.exchanges.values()
        for one, table in exchange.bindings.items()
    ]


@route(ROUTES, "GET", "/api/bindings", "All bindings.", shape="Binding[]")
def bindings(ask: Ask) -> Answer:
    return Answer([one for vhost in ask.vhosts() for one in bindings_of(vhost)])


@route(ROUTES, "GET", "/api/bindings/{vhost}", "The bindings of one virtual host.", shape="Binding[]")
def vhost_bindings(ask: Ask) -> Answer:
    return Answer(bindings_of(ask.vhost()))


@route(ROUTES, "GET", "/api/queues/{vhost}/{queue}/bindings", "What leads to a queue.", shape="Binding[]")
def queue_bindings(ask: Ask) -> Answer:
    queue = known_queue(ask)
    return Answer([views.default_binding(queue), *leading_to(ask.vhost(), queue)])


@route(
    ROUTES,
    "GET",
    "/api/exchanges/{vhost}/{exchange}/bindings/source",
    "What leads away from an exchange.",
    shape="Binding[]",
)
def from_exchange(ask: Ask) -> Answer:
    exchange = known_exchange(ask, ask.path["exchange"])
    return Answer([views.binding(one, table, ask.path["vhost"]) for one, table in exchange.bindings.items()])


@route(
    ROUTES,
    "GET",
    "/api/exchanges/{vhost}/{exchange}/bindings/destination",
    "What leads to an exchange.",
    shape="Binding[]",
)
def to_exchange(ask: Ask) -> Answer:
    return Answer(leading_to(ask.vhost(), known_exchange(ask, ask.path["exchange"])))


def leading_to(vhost: VirtualHost, destination: Destination) -> list[dict[str, Any]]:
    return [views.binding(one, one.source.bindings[one], vhost.name) for one in vhost.bound_to.get(destination, ())]


# -- between two ends


def between(ask: Ask) -> list[tuple[Binding, FieldTable]]:
    source = known_exchange(ask, ask.path["source"])
    end = known_queue(ask) if "queue" in ask.path else known_exchange(ask, ask.path["exchange"])
    return [(one, table) for one, table in source.bindings.items() if one.destination is end]


def by_key(ask: Ask) -> tuple[Binding, FieldTable]:
    for one, table in between(ask):
        if ask.path["properties_key"] in (views.properties_key(one.key, table), one.key if not table else None):
            return one, table
    raise Refusal(*NOT_FOUND)


def shown_between(ask: Ask) -> Answer:
    return Answer([views.binding(one, table, ask.path["vhost"]) for one, table in between(ask)])


def show_binding(ask: Ask) -> Answer:
    return Answer(views.binding(*by_key(ask), ask.path["vhost"]))


def bind(ask: Ask) -> Answer:
    key, table, source = ask.given["routing_key"], arguments(ask), ask.path["source"]
    with direct(ask) as channel:
        if "queue" in ask.path:
            channel.do(m.QueueBind(1, 0, ask.path["queue"], source, key, arguments=table))
        else:
            channel.do(m.ExchangeBind(1, 0, ask.path["exchange"], source, key, arguments=table))
    return Answer(status=201)


def unbind(ask: Ask) -> Answer:
    one, table = by_key(ask)
    with direct(ask) as channel:
        if isinstance(one.destination, Queue):
            channel.do(m.QueueUnbind(1, 0, one.destination.name, one.source.name, one.key, table))
        else:
            channel.do(m.ExchangeUnbind(1, 0, one.destination.name, one.source.name, one.key, arguments=table))
    return Answer(status=204)


for _letter, _end in ENDS:
    _path = f"{BETWEEN}/{_letter}/{{{_end}}}"
    route(ROUTES, "GET", _path, f"Bindings from an exchange to one {_end}.", shape="Binding[]")(shown_between)
    route(ROUTES, "POST", _path, f"Bind a {_end}.".replace("a e", "an e"), fields=BINDING, statuses=(201,))(bind)
    route(ROUTES, "GET", f"{_path}/{{properties_key}}", "One binding.", shape="Binding")(show_binding)
    route(ROUTES, "DELETE", f"{_path}/{{properties_key}}", "Remove a binding.", statuses=(204,))(unbind)

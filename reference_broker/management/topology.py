"""Queues, exchanges and bindings: listed, declared, bound, purged and deleted as a client would do it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import codec
from codec import methods as m
from codec import values
from reference_broker.core.queues.queue import Queue
from reference_broker.core.routing import Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.management.answers import views
from reference_broker.management.node import WirelessChannel
from reference_broker.management.route import NOT_FOUND, Answer, Ask, Field, Refusal, Route, bad_request, route

ROUTES: list[Route] = []
DURABLE = Field("boolean", "does it outlive the broker?", True)
AUTO_DELETE = Field("boolean", "does it go with the last that used it?", False)
ARGUMENTS = Field("object", "optional arguments", {})
QUEUE = {"durable": DURABLE, "auto_delete": AUTO_DELETE, "arguments": ARGUMENTS}
EXCHANGE = {
    "type": Field("string", "direct, fanout, topic or headers", "direct"),
    "durable": DURABLE,
    "auto_delete": AUTO_DELETE,
    "internal": Field("boolean", "only for bindings, not for publishing?", False),
    "arguments": ARGUMENTS,
}
BINDING = {"routing_key": Field("string", "binding key", ""), "arguments": ARGUMENTS}


@contextmanager
def direct(ask: Ask) -> Iterator[WirelessChannel]:
    channel = WirelessChannel(ask.vhost(), ask.user, ask.node.broker)
    try:
        yield channel
    finally:
        channel.end()


def do(ask: Ask, method: codec.Method) -> None:
    with direct(ask) as channel:
        channel.do(method)


def arguments(ask: Ask) -> values.FieldTable:
    try:
        table = values.table(ask.given["arguments"])
        m.QueueDeclare(1, 0, "", arguments=table).encode()
    except (TypeError, ValueError, OverflowError) as problem:
        raise bad_request(f"arguments cannot be a field table: {problem}") from None
    return table


def known_queue(ask: Ask) -> Queue:
    queue = ask.vhost().queues.get(ask.path["queue"])
    if queue is None:
        raise Refusal(*NOT_FOUND)
    return queue


def known_exchange(ask: Ask, name: str) -> Exchange:
    exchange = ask.vhost().exchanges.get(name)
    if exchange is None:
        raise Refusal(*NOT_FOUND)
    return exchange


# -- queues


def queues_of(ask: Ask, vhosts: list[VirtualHost]) -> Answer:
    unacked = views.outstanding(ask.node.broker)
    return Answer([views.queue(one, unacked[one]) for vhost in vhosts for one in vhost.queues.values()])


@route(ROUTES, "GET", "/api/queues", "All queues.", shape="Queue[]")
def queues(ask: Ask) -> Answer:
    return queues_of(ask, ask.vhosts())


@route(ROUTES, "GET", "/api/queues/{vhost}", "The queues of one virtual host.", shape="Queue[]")
def vhost_queues(ask: Ask) -> Answer:
    return queues_of(ask, [ask.vhost()])


@route(ROUTES, "GET", "/api/queues/{vhost}/{queue}", "One queue.", shape="Queue")
def queue(ask: Ask) -> Answer:
    one = known_queue(ask)
    return Answer(views.queue(one, views.outstanding(ask.node.broker)[one]))


@route(ROUTES, "PUT", "/api/queues/{vhost}/{queue}", "Declare a queue.", fields=QUEUE, statuses=(201, 204))
def put_queue(ask: Ask) -> Answer:
    name, given = ask.path["queue"], ask.given
    new = name not in ask.vhost().queues
    do(
        ask,
        m.QueueDeclare(
            1, 0, name, durable=given["durable"], auto_delete=given["auto_delete"], arguments=arguments(ask)
        ),
    )
    return Answer(status=201 if new else 204)


@route(
    ROUTES,
    "DELETE",
    "/api/queues/{vhost}/{queue}",
    "Delete a queue; ?if-empty=true and ?if-unused=true.",
    statuses=(204,),
)
def delete_queue(ask: Ask) -> Answer:
    only = {name: ask.query.get(name) == "true" for name in ("if-unused", "if-empty")}
    do(ask, m.QueueDelete(1, 0, known_queue(ask).name, only["if-unused"], only["if-empty"]))
    return Answer(status=204)


@route(ROUTES, "DELETE", "/api/queues/{vhost}/{queue}/contents", "Purge a queue.", statuses=(204,))
def purge(ask: Ask) -> Answer:
    do(ask, m.QueuePurge(1, 0, known_queue(ask).name))
    return Answer(status=204)


# -- exchanges


def exchanges_of(vhosts: list[VirtualHost]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for vhost in vhosts:
        found.append(views.default_exchange(vhost.name))
        found += [views.exchange(one, vhost) for one in vhost.exchanges.values()]
    return found


@route(ROUTES, "GET", "/api/exchanges", "All exchanges.", shape="Exchange[]")
def exchanges(ask: Ask) -> Answer:
    return Answer(exchanges_of(ask.vhosts()))


@route(ROUTES, "GET", "/api/exchanges/{vhost}", "The exchanges of one virtual host.", shape="Exchange[]")
def vhost_exchanges(ask: Ask) -> Answer:
    return Answer(exchanges_of([ask.vhost()]))


@route(ROUTES, "GET", "/api/exchanges/{vhost}/{exchange}", "One exchange.", shape="Exchange")
def exchange(ask: Ask) -> Answer:
    if ask.path["exchange"] == "amq.default":
        return Answer(views.default_exchange(ask.vhost().name))
    return Answer(views.exchange(known_exchange(ask, ask.path["exchange"]), ask.vhost()))


@route(ROUTES, "PUT", "/api/exchanges/{vhost}/{exchange}", "Declare an exchange.", fields=EXCHANGE, statuses=(201, 204))
def put_exchange(ask: Ask) -> Answer:
    name, given = ask.path["exchange"], ask.given
    new = name not in ask.vhost().exchanges
    do(
        ask,
        m.ExchangeDeclare(
            1,
            0,
            name,
            given["type"],
            durable=given["durable"],
            auto_delete=given["auto_delete"],
            internal=given["internal"],
            arguments=arguments(ask),
        ),
    )
    return Answer(status=201 if new else 204)


@route(ROUTES, "DELETE", "/api/exchanges/{vhost}/{exchange}", "Delete an exchange; ?if-unused=true.", statuses=(204,))
def delete_exchange(ask: Ask) -> Answer:
    name = known_exchange(ask, ask.path["exchange"]).name
    do(ask, m.ExchangeDelete(1, 0, name, ask.query.get("if-unused") == "true"))
    return Answer(status=204)

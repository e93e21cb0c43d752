"""DUR, definitions: which queues, exchanges and bindings are there after a restart, and as what.

Whether something is there is asked passively, and its name proves something as long as nobody has declared or changed
it since the restart. To declare it again, just as it was, shows whether it is still the same: but only where it was
seen to be there, else the declaration makes another one. Bindings show by mandatory publishes in confirm mode: what was
bound takes the message, what was not lets it return.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER, TO_CLIENT, Event
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Confirmed, Killed, Passed, Started, Stopping
from conformance.oracle.monitors.messages.deadletters.deaths import DeadLettering
from conformance.oracle.monitors.messages.kept import (
    DELETED,
    EXCLUSIVE,
    KEPT,
    TRANSIENT,
    ExistenceQuestion,
    Kept,
    Name,
    Place,
    answered,
    fate,
    place_of,
    sure,
)
from conformance.oracle.monitors.messages.remains import Remains
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology.outlived import Outlived
from conformance.oracle.topology import Binding, Exchange, Message, NamedQueue, Topology, explain, route
from conformance.oracle.topology.explaining import ALTERNATE, ONWARD
from conformance.oracle.topology.matching import MATCHERS
from conformance.oracle.topology.state import PREDECLARED, Actor

QUEUE, SAME_QUEUE, EXCHANGE, SAME_EXCHANGE = "DUR-001", "DUR-002", "DUR-003", "DUR-004"
BINDING, BETWEEN, OTHERWISE = "DUR-005", "DUR-006", "DUR-007"
NO_QUEUE, NO_EXCLUSIVE, NO_EXCHANGE, STAYS_DELETED = "DUR-008", "DUR-009", "DUR-010", "DUR-011"
OF_THE_BROKER, NAMES = "DUR-012", "DUR-021"
NOT_FOUND, LOCKED, UNEQUAL = 404, 405, 406
MOST = 1024
"""Publishes, ways and names that are remembered."""
OF_QUEUES = {KEPT: QUEUE, TRANSIENT: NO_QUEUE, EXCLUSIVE: NO_EXCLUSIVE, DELETED: STAYS_DELETED}
OF_EXCHANGES = {KEPT: EXCHANGE, TRANSIENT: NO_EXCHANGE, DELETED: STAYS_DELETED}
DEFINED = (*OF_QUEUES.values(), SAME_QUEUE, EXCHANGE, SAME_EXCHANGE, NO_EXCHANGE, OF_THE_BROKER, NAMES)
WORDS = {
    KEPT: "it is durable",
    TRANSIENT: "it was not durable",
    EXCLUSIVE: "it was exclusive",
    DELETED: "it had been deleted",
}


Like = tuple[str, str, str, str]
"""What a route depends on: the virtual host, the exchange, the routing key, and the headers."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the broker must do with a mandatory publish, by the `rule`; nothing `reached`: it comes back. Before the
    restart there is no rule, and it is noted what it does."""

    like: Like
    rule: str
    exchange: str
    reached: tuple[str, ...]


@dataclass(slots=True)
class Routed:
    """By the number of the event that published it; and what came back, by channel and message."""

    expected: OrderedDict[int, Ruling] = field(default_factory=OrderedDict)
    returned: set[tuple[Place, str]] = field(default_factory=set)
    came_back: dict[Like, bool] = field(default_factory=dict)
    """Whether such a publish came back before the restart."""
    generated: set[Name] = field(default_factory=set)
    """Names that the broker has made."""

    def note(self, like: Like, returned: bool) -> None:
        """This became of such a publish; as many are remembered as there is room for."""
        if len(self.came_back) < MOST:
            self.came_back[like] = returned


@follows(
    "queue.declare-ok",
    "exchange.declare-ok",
    "channel.close",
    rules=DEFINED,
)
def told(fact: Passed, notes: Notes) -> None:
    """The answer to a question."""
    event, kept = fact.event, notes.memory(Kept)
    if event.direction != TO_CLIENT:
        kept.asked.pop(place_of(event), None)
        return
    request = answered(kept, event)
    if request is None or request.method == "basic.get":
        return
    code = int(event.args.get("reply_code") or 0)
    if request.method == "queue.declare" and not request.name:
        _named(fact, kept, notes)
    elif not kept.started:
        _before(fact, request, code, kept)
    elif code in (0, NOT_FOUND, LOCKED, UNEQUAL):
        judge = _queue if request.method == "queue.declare" else _exchange
        judge(fact, request, code, kept, notes)


def _before(fact: Passed, request: ExistenceQuestion, code: int, kept: Kept) -> None:
    """Before the restart: what is there and can be declared again, so that it means something if it cannot later."""
    vhost, name = fact.connection.vhost, request.name
    if code:
        return
    if request.method == "exchange.declare" and request.has("passive"):
        if name in PREDECLARED:
            kept.predeclared.add((vhost, name))
        return
    queue, exchange = fact.topology.queue(vhost, name), fact.topology.exchange(vhost, name)
    if request.method == "queue.declare":
        again = queue is not None and sure(queue) and queue.made.sent < request.seq and same_queue(request, queue)
    else:
        again = exchange is not None and sure(exchange) and exchange.made.sent < request.seq
        again = again and exchange is not None and same_exchange(request, exchange)
    if again and not request.has("passive") and len(kept.equal) < MOST:
        kept.equal.add((request.method, name))


def same_queue(request: ExistenceQuestion, before: NamedQueue) -> bool:
    """Is it declared as it was?"""
    same = _flags(request) == (before.durable, before.auto_delete) and not request.has("exclusive")
    return same and before.arguments == request.arguments


def same_exchange(request: ExistenceQuestion, before: Exchange) -> bool:
    """The same of an exchange."""
    same = _flags(request) == (before.durable, before.auto_delete)
    same = same and request.has("internal") == before.internal and request.kind == before.kind
    return same and before.arguments == request.arguments


def _named(fact: Passed, kept: Kept, notes: Notes) -> None:
    """A queue whose name the broker has made: none that is there has it."""
    name, made = (fact.connection.vhost, fact.event.queue or ""), notes.memory(Routed).generated
    if kept.started and name in made and fate_of(kept.queues.get(name)) == KEPT and name not in kept.touched:
        notes.find(NAMES, fact.event, "a name that no queue has", f"{name[1]}, the name of a queue from before")
    elif kept.started and any(one in kept.found for one in made):
        notes.exercise(NAMES)
    if kept.started:
        kept.touched.add(name)
    if len(made) < MOST:
        made.add(name)


def fate_of(thing: NamedQueue | Exchange | None) -> str:
    """The same of what may not be known."""
    return "" if thing is None else fate(thing)


def _queue(fact: Passed, request: ExistenceQuestion, code: int, kept: Kept, notes: Notes) -> None:
    name = fact.connection.vhost, request.name
    before = kept.queues.get(name)
    if before is None or name in kept.touched:
        return
    if request.has("passive"):
        wanted = fate(before)
        if code == 0 and wanted == KEPT:
            kept.found.add(name)
        if wanted != EXCLUSIVE or code != UNEQUAL:
            _compare(fact, f"queue {name[1]}", OF_QUEUES.get(wanted), wanted, code, notes)
        return
    same = same_queue(request, before)
    equal = same and name in kept.found and (request.method, name[1]) in kept.equal
    _again(fact, f"queue {name[1]}", SAME_QUEUE if equal else "", code, notes)
    if not same or name not in kept.found:
        kept.touched.add(name)


def _exchange(fact: Passed, request: ExistenceQuestion, code: int, kept: Kept, notes: Notes) -> None:
    name = fact.connection.vhost, request.name
    before = kept.exchanges.get(name)
    if name[1] in PREDECLARED and request.has("passive") and name in kept.predeclared:
        _compare(fact, f"exchange {name[1]}", OF_THE_BROKER, KEPT, code, notes)
        if code == 0:
            kept.exchanges_found.add(name)
    if before is None or name in kept.touched or name[1] in PREDECLARED:
        return
    if request.has("passive"):
        wanted = fate(before)
        if code == 0 and wanted == KEPT:
            kept.exchanges_found.add(name)
        _compare(fact, f"exchange {name[1]}", OF_EXCHANGES.get(wanted), wanted, code, notes)
        return
    same = same_exchange(request, before)
    equal = same and name in kept.exchanges_found and (request.method, name[1]) in kept.equal
    _again(fact, f"exchange {name[1]}", SAME_EXCHANGE if equal else "", code, notes)
    if not same or name not in kept.exchanges_found:
        kept.touched.add(name)


def _flags(request: ExistenceQuestion) -> tuple[bool, bool]:
    return request.has("durable"), request.has("auto_delete")


def _compare(fact: Passed, what: str, rule: str | None, wanted: str, code: int, notes: Notes) -> None:
    """It is there, or it is not: is that what a restart makes of it?"""
    there = code in (0, LOCKED)
    if rule is None or (code and code not in (NOT_FOUND, LOCKED)):
        return
    if there == (wanted == KEPT):
        notes.exercise(rule)
        return
    said = fact.event.method if code == 0 else f"channel.close {code}"
    be = "is there" if wanted == KEPT else "is not there"
    notes.find(rule, fact.event, f"after the restart {what} {be}: {WORDS[wanted]}", said)


def _again(fact: Passed, what: str, rule: str, code: int, notes: Notes) -> None:
    """It was declared again as it had been declared before."""
    if rule and code == 0:
        notes.exercise(rule)
    elif rule and code == UNEQUAL:
        text = f"channel.close {code} {fact.event.args.get('reply_text')}"
        notes.find(rule, fact.event, f"after the restart {what} is what it was declared as before", text)


# -- bindings


@judges(Stopping)
def forget_publishes(fact: Stopping, notes: Notes) -> None:
    """What was published before says nothing of what is there afterwards."""
    notes.memory(Routed).expected.clear()


@judges(Killed)
def forget_all(fact: Killed, notes: Notes) -> None:
    """What was under way is lost, what was transient is gone, and names may be chosen again."""
    notes.remember_only()


@judges(Started)
def begin_anew(fact: Started, notes: Notes) -> None:
    """Of what is lost in a restart only these families know; to all others nothing is known of the queues now."""
    notes.remember_only(Kept, Remains, Routed, DeadLettering, Lives, Outlived)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """Where does it go now; or, after a restart, where by what was bound before?"""
    event, kept = fact.event, notes.memory(Kept)
    if not event.exchange or not event.has("mandatory"):
        return
    channel = fact.connection.channels.get(event.channel)
    if channel is None or channel.state != OPEN or not channel.confirm or '"CC"' in event.arguments:
        return
    headers = json.dumps(event.args["properties"].get("headers"), sort_keys=True)
    like = fact.connection.vhost, event.exchange, event.routing_key or "", headers
    routed, found = notes.memory(Routed), Ruling(like, "", event.exchange, ())
    if kept.started:
        expected = _expected(kept, kept.routes, channel, event, like) if kept.routes is not None else None
        if expected is None or routed.came_back.get(like) is not (not expected.reached):
            return
        found = expected
    routed.expected[event.seq] = found
    if len(routed.expected) > MOST:
        routed.expected.popitem(last=False)


def _expected(kept: Kept, routes: Topology, actor: Actor, event: Event, like: Like) -> Ruling | None:
    name, message = event.exchange or "", Message(event.routing_key or "", event.arguments)
    vhost = actor.connection.vhost
    way = route(routes, actor, name, message)
    if isinstance(way, str) or (vhost, name) not in kept.exchanges_found:
        return None
    if not way:
        source = routes.exchange(vhost, name)
        if source is not None and source.shared:
            return None  # others may have bound what nobody here knows
        matcher: Callable[..., bool | None] | None = MATCHERS.get(source.kind) if source is not None else None
        removed = kept.removed.get((vhost, name), ())
        was_bound = matcher is not None and any(matcher(one.terms, message) for one in removed)
        standing = source.bindings if source is not None else ()
        rule = STAYS_DELETED if was_bound else _of_bindings(standing) if standing else ""
        return Ruling(like, rule, name, ()) if rule else None
    if any((vhost, queue.name) not in kept.found for queue in way):
        return None
    explained = explain(routes, actor, name, message)
    labels = [set(ways) for ways in explained.reached.values()] if explained is not None else []
    if not labels:
        return None
    rule = OTHERWISE if all(ALTERNATE in one for one in labels) else BINDING
    rule = BETWEEN if rule == BINDING and all(ONWARD in one for one in labels) else rule
    return Ruling(like, rule, name, tuple(queue.name for queue in way))


def _of_bindings(standing: Iterable[Binding]) -> str:
    """The rule about what these are still to want: none of them fits, so none may lead on."""
    return BETWEEN if all(isinstance(one.to, Exchange) for one in standing) else BINDING


@follows("basic.return")
def came_back(fact: Passed, notes: Notes) -> None:
    """No queue took it."""
    routed = notes.memory(Routed)
    if fact.event.direction != TO_BROKER and routed.expected:
        if len(routed.returned) > MOST:
            routed.returned.clear()
            routed.expected.clear()
        routed.returned.add((place_of(fact.event), fact.event.message or ""))


@judges(Confirmed, BINDING, BETWEEN, OTHERWISE, STAYS_DELETED)
def resolved(fact: Confirmed, notes: Notes) -> None:
    """The broker has routed it, and what comes back has come back before."""
    routed = notes.memory(Routed)
    for publication in fact.resolved if routed.expected else ():
        one = routed.expected.pop(publication.seq, None)
        if one is None or fact.event.method != "basic.ack":
            continue
        returned = (place_of(fact.event), publication.message) in routed.returned
        routed.returned.discard((place_of(fact.event), publication.message))
        if not one.rule:
            routed.note(one.like, returned)
        elif returned == (not one.reached):
            notes.exercise(*((one.rule,) if one.reached or one.rule == STAYS_DELETED else ()))
        else:
            _find_route(fact, one, publication.message, returned, notes)


def _find_route(fact: Confirmed, one: Ruling, message: str, returned: bool, notes: Notes) -> None:
    to = ", ".join(one.reached) or "no queue for this"
    said = "basic.return" if returned else "basic.ack without basic.return"
    allowed = f"exchange {one.exchange} leads to {to}, as before the restart"
    notes.find(one.rule, fact.event, allowed, f"{said} of {message}")

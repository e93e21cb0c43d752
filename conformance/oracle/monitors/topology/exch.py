"""EXCH: declaring and deleting exchanges, and what the broker must refuse.

Each rule is a question about the tables at the moment when the client asks (`topology.preconditions`). An exchange that
this history has not declared may be there or not, so no rule speaks of it; the predeclared ones are there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Answered, ClosedUnasked, ConnectionFailed, Passed
from conformance.oracle.model.records import Request
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.state import PREDECLARED, Exchange

MISSING, OTHER, OTHER_FLAGS, OTHER_ALTERNATE = "EXCH-001", "EXCH-002", "EXCH-003", "EXCH-004"
SAME, FOUND, STANDARD, RESERVED = "EXCH-005", "EXCH-006", "EXCH-007", "EXCH-008"
IN_USE, ABANDONED, DEFAULT, FOREVER, INTERNAL = "EXCH-009", "EXCH-010", "EXCH-011", "EXCH-012", "EXCH-013"
TYPES, NO_MORE, TOPIC, MATCH, REMOVED = "EXCH-014", "EXCH-015", "EXCH-016", "EXCH-017", "EXCH-018"
PREFIX = "amq."
OF_THE_BROKER = "amq.rabbitmq."
"""Exchanges of these names some brokers have beside the predeclared ones."""
REQUIRED = frozenset({"amq.direct", "amq.fanout"})
ALTERNATE = "alternate-exchange"
STANDARD_TYPES = frozenset({"direct", "fanout", "topic", "headers"})
REFUSALS = frozenset({403, 404, 406, 502, 503, 530, 540})
NOT_ALLOWED, UNNAMED = 530, (405,)
"""The text names a code for another type alone, and asks for a channel exception otherwise."""
MOST = 64


@refuses(ABANDONED, "exchange.declare", code=404, what="a passive declaration of an auto-delete exchange that is gone")
def abandoned(asked: Asked) -> bool | None:
    """Has its last binding been removed?"""
    exchange = asked.exchange() if asked.event.has("passive") else None
    return exchange is not None and exchange.abandoned(asked.actor, asked.event.time_ns)


@refuses(MISSING, "exchange.declare", code=404, what="a passive declaration of an exchange that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such exchange, where it must be there?"""
    return absent(asked.exchange_there()) if asked.event.has("passive") else False


def absent(there: bool | None) -> bool | None:
    """The other way round."""
    return None if there is None else not there


@refuses(OTHER, "exchange.declare", code=406, also=UNNAMED, hard=(NOT_ALLOWED,), what="a declaration with another type")
def other_type(asked: Asked) -> bool | None:
    """Is there one of this name of another type? The text calls that not allowed, which costs the connection."""
    return _differs(asked, lambda exchange: exchange.kind != asked.event.args.get("type"))


@refuses(OTHER, "exchange.declare", code=406, also=UNNAMED, what="a declaration with another durability")
def other_durability(asked: Asked) -> bool | None:
    """Is there one of this name that is durable where this one is not, or the other way round?"""
    return _differs(asked, lambda exchange: exchange.durable != asked.event.has("durable"))


@refuses(OTHER_FLAGS, "exchange.declare", code=406, what="a declaration with other flags")
def other_flags(asked: Asked) -> bool | None:
    """Is it to be deleted otherwise, or published to otherwise?"""
    flags = asked.event.has("auto_delete"), asked.event.has("internal")
    return _differs(asked, lambda exchange: (exchange.auto_delete, exchange.internal) != flags)


@refuses(
    OTHER_ALTERNATE, "exchange.declare", code=406, also=UNNAMED, what="a declaration with another alternate exchange"
)
def other_alternate(asked: Asked) -> bool | None:
    """Has it another alternate exchange, or arguments about which nothing is said?"""
    given = asked.event.args.get("arguments") or {}

    def other(exchange: Exchange) -> bool | None:
        if exchange.arguments.get(ALTERNATE) != given.get(ALTERNATE):
            return True
        return None if exchange.arguments != given else False

    return _differs(asked, other)


def _differs(asked: Asked, other: Callable[[Exchange], bool | None]) -> bool | None:
    """Asks about the exchange that is there; where none is, and where it is only looked for, nothing differs."""
    if asked.event.has("passive"):
        return False
    exchange = asked.exchange()
    if exchange is None and (asked.event.exchange or "").startswith(PREFIX):
        return False
    there = exchange.there_for(asked.actor) if exchange is not None else None
    return other(exchange) if exchange is not None and there else there


@refuses(RESERVED, "exchange.declare", code=403, what="a declaration of a new exchange whose name begins with amq.")
def reserved(asked: Asked) -> bool | None:
    """Is it a name that clients may not choose? One that is there may be refused for that as well."""
    name = asked.event.exchange or ""
    if asked.event.has("passive") or not name.startswith(PREFIX):
        return False
    if name in PREDECLARED:
        others = other_type, other_durability, other_flags, other_alternate
        return None if any(other(asked) for other in others) else False
    known = asked.exchange_there() is not False and asked.exchange() is not None
    return None if name.startswith(OF_THE_BROKER) or known else True


@refuses(
    DEFAULT,
    "exchange.declare",
    "exchange.delete",
    code=403,
    what="a declaration or deletion of the default exchange",
)
def default(asked: Asked) -> bool | None:
    """Is it the exchange without a name?"""
    return not asked.event.exchange


@refuses(FOREVER, "exchange.delete", code=403, what="the deletion of a predeclared exchange")
def forever(asked: Asked) -> bool | None:
    """Is it one of those that are always there?"""
    name = asked.event.exchange or ""
    return True if name in PREDECLARED else None if name.startswith(PREFIX) else False


@refuses(IN_USE, "exchange.delete", code=406, what="the deletion with if-unused of an exchange that has bindings")
def in_use(asked: Asked) -> bool | None:
    """Does a binding lead away from it?"""
    exchange = asked.exchange() if asked.event.has("if_unused") else None
    if exchange is None:
        return None if asked.event.has("if_unused") else False
    there = exchange.there_for(asked.actor)
    return asked.topology.in_use(exchange, asked.actor) if there else there


@refuses(INTERNAL, "basic.publish", code=403, what="a publish to an internal exchange")
def internal(asked: Asked) -> bool | None:
    """May only other exchanges hand messages to it?"""
    exchange = asked.exchange() if asked.event.exchange else None
    if exchange is None or not exchange.internal:
        return False
    return exchange.there_for(asked.actor)


@grants(SAME, "exchange.declare")
def same(asked: Asked) -> bool:
    """It is there, and declared as it was."""
    return not asked.event.has("passive") and asked.exchange_there() is True


@grants(FOUND, "exchange.declare")
def found(asked: Asked) -> bool:
    """It is looked for, and there."""
    exchange = asked.exchange()
    if exchange is None or exchange.made.outlasts or exchange.spared == IN_USE:
        return False  # of that another rule speaks
    return asked.event.has("passive") and asked.event.exchange not in PREDECLARED and asked.exchange_there() is True


@grants(IN_USE, "exchange.declare", asking=FOUND)
def spared(asked: Asked) -> bool:
    """It is looked for after its deletion was refused."""
    exchange = asked.exchange()
    there = exchange is not None and exchange.spared == IN_USE and asked.exchange_there() is True
    return there and asked.event.has("passive")


@grants(STANDARD, "exchange.declare", asking=FOUND)
def standard(asked: Asked) -> bool:
    """It is one of the two that every broker has."""
    return asked.event.exchange in REQUIRED and _looked_for_as_it_is(asked)


@grants(TOPIC, "exchange.declare", asking=FOUND)
def topic(asked: Asked) -> bool:
    """It is the topic exchange that every broker has which has any."""
    return asked.event.exchange == "amq.topic" and _looked_for_as_it_is(asked)


@grants(MATCH, "exchange.declare", asking=FOUND)
def match(asked: Asked) -> bool:
    """It is such a headers exchange."""
    return asked.event.exchange == "amq.match" and _looked_for_as_it_is(asked)


def _looked_for_as_it_is(asked: Asked) -> bool:
    """By its type, too: a broker that compares the type although it is only to look is wrong in another way."""
    event = asked.event
    return event.has("passive") and event.args.get("type") == PREDECLARED[event.exchange or ""]


@grants(NO_MORE, "exchange.delete")
def no_more(asked: Asked) -> bool:
    """It was there, and is gone."""
    return bool(asked.event.exchange) and asked.exchange_there() is False


@grants(REMOVED, "exchange.delete")
def removed(asked: Asked) -> bool:
    """It is there, has a binding, and no condition is made."""
    exchange = asked.exchange()
    if exchange is None or asked.event.has("if_unused") or not exchange.there_for(asked.actor):
        return False
    return any(one.stands_for(asked.actor) for one in exchange.bindings)


# -- types


@dataclass(slots=True)
class Unknown:
    """Declarations of types that nobody knows, each with its type; what was certainly not there then; refused ones of
    those; and who looks for these."""

    asked: dict[int, str] = field(default_factory=dict)
    new: dict[int, tuple[str, str]] = field(default_factory=dict)
    refused: dict[tuple[str, str], int] = field(default_factory=dict)
    looked: dict[int, int] = field(default_factory=dict)


@follows("exchange.declare")
def of_a_type(fact: Passed, notes: Notes) -> None:
    """The client declares an exchange of a type that is neither standard nor begins with x-."""
    event, memory = fact.event, notes.memory(Unknown)
    kind, name = str(event.args.get("type") or ""), (fact.connection.vhost, event.exchange or "")
    if event.direction != TO_BROKER:
        return
    if event.has("passive"):
        if name in memory.refused:
            memory.looked[event.seq] = memory.refused[name]
        return
    memory.refused.pop(name, None)
    if kind in STANDARD_TYPES or kind.startswith("x-") or not kind or not name[1] or name[1].startswith(PREFIX):
        return
    memory.asked[event.seq] = kind
    channel = fact.connection.channels.get(event.channel)
    if channel is not None and Asked(fact.topology, channel, event, notes.profile).exchange_there() is False:
        memory.new[event.seq] = name
    for table in (memory.asked, memory.new, memory.looked):
        if len(table) > MOST:
            del table[next(iter(table))]


@judges(Answered, TYPES)
def of_any_type(fact: Answered, notes: Notes) -> None:
    """It is made all the same."""
    memory = notes.memory(Unknown)
    kind, refused = memory.asked.pop(fact.request.seq, None), memory.looked.pop(fact.request.seq, 0)
    if kind is not None:
        notes.find(TYPES, fact.event, f"no exchange of the type {kind!r}", fact.event.method, fact.request.seq)
    elif refused:
        allowed = "channel.close 404: the declaration of the exchange was refused for its type"
        notes.find(TYPES, fact.event, allowed, fact.event.method, refused, fact.request.seq)


@judges(ClosedUnasked, TYPES)
def type_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """It costs the channel."""
    _type_refused(fact.channel.pending(), fact.event, notes)


@judges(ConnectionFailed, TYPES)
def type_costs_all(fact: ConnectionFailed, notes: Notes) -> None:
    """It costs the connection."""
    if fact.event.kind == METHOD:
        pending = [one for channel in fact.connection.open_channels() for one in channel.pending()]
        _type_refused(pending, fact.event, notes)


def _type_refused(pending: list[Request], event: Event, notes: Notes) -> None:
    memory = notes.memory(Unknown)
    for request in pending if memory.asked else ():
        named = ids_of(event) == (request.class_id, request.method_id)
        if named and memory.asked.pop(request.seq, None) is not None and event.args.get("reply_code") in REFUSALS:
            notes.exercise(TYPES)
            name = memory.new.pop(request.seq, None)
            if name is not None:
                memory.refused[name] = request.seq
                if len(memory.refused) > MOST:
                    del memory.refused[next(iter(memory.refused))]

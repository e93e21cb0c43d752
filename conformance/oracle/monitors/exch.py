"""EXCH: declaring and deleting exchanges, and what the broker must refuse.

Each rule is a question about the tables at the moment when the client asks (`topology.preconditions`). An exchange that
this history has not declared may be there or not, so no rule speaks of it; the predeclared ones are there.
"""

from __future__ import annotations

from collections.abc import Callable

from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.state import PREDECLARED, Exchange

MISSING, OTHER, OTHER_FLAGS, OTHER_ALTERNATE = "EXCH-001", "EXCH-002", "EXCH-003", "EXCH-004"
SAME, FOUND, STANDARD, RESERVED = "EXCH-005", "EXCH-006", "EXCH-007", "EXCH-008"
IN_USE, ABANDONED, DEFAULT, FOREVER, INTERNAL = "EXCH-009", "EXCH-010", "EXCH-011", "EXCH-012", "EXCH-013"
PREFIX = "amq."
OF_THE_BROKER = "amq.rabbitmq."
"""Exchanges of these names some brokers have beside the predeclared ones."""
REQUIRED = frozenset({"amq.direct", "amq.fanout"})
ALTERNATE = "alternate-exchange"


@refuses(ABANDONED, "exchange.declare", code=404, what="a passive declaration of an auto-delete exchange that is gone")
def abandoned(asked: Asked) -> bool | None:
    """Has its last binding been removed?"""
    exchange = asked.exchange() if asked.event.has("passive") else None
    return exchange is not None and exchange.abandoned(asked.actor)


@refuses(MISSING, "exchange.declare", code=404, what="a passive declaration of an exchange that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such exchange, where it must be there?"""
    return absent(asked.exchange_there()) if asked.event.has("passive") else False


def absent(there: bool | None) -> bool | None:
    """The other way round."""
    return None if there is None else not there


@refuses(OTHER, "exchange.declare", code=406, what="a declaration with another type or durability")
def otherwise(asked: Asked) -> bool | None:
    """Is there one of this name that is declared otherwise?"""
    declared = asked.event.args.get("type"), asked.event.has("durable")
    return _differs(asked, lambda exchange: (exchange.kind, exchange.durable) != declared)


@refuses(OTHER_FLAGS, "exchange.declare", code=406, what="a declaration with other flags")
def other_flags(asked: Asked) -> bool | None:
    """Is it to be deleted otherwise, or published to otherwise?"""
    flags = asked.event.has("auto_delete"), asked.event.has("internal")
    return _differs(asked, lambda exchange: (exchange.auto_delete, exchange.internal) != flags)


@refuses(OTHER_ALTERNATE, "exchange.declare", code=406, what="a declaration with another alternate exchange")
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
        return None if otherwise(asked) or other_flags(asked) or other_alternate(asked) else False
    return None if name.startswith(OF_THE_BROKER) or asked.exchange_there() is not None else True


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
    return asked.event.has("passive") and asked.event.exchange not in PREDECLARED and asked.exchange_there() is True


@grants(STANDARD, "exchange.declare")
def standard(asked: Asked) -> bool:
    """It is one of the two that every broker has."""
    return asked.event.has("passive") and asked.event.exchange in REQUIRED

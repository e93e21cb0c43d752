"""QUEUE, EXCH and BIND, where numbers and arguments matter: how much there is room for, and what must be taken.

A queue whose name the broker chooses is new for certain, so what is said of arguments is said of those. A number of
things is claimed only well below what the text names, for others may use the same virtual host.
"""

from __future__ import annotations

from typing import Any

from conformance.oracle.model.facts import Answered
from conformance.oracle.monitors import fate
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.table import judges
from conformance.oracle.topology.matching import FORMS
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.state import Actor, Thing

AT_ONCE, NOUGHT, MANY, FREE = "QUEUE-026", "QUEUE-027", "QUEUE-029", "QUEUE-030"
FALSE, LONG, LARGE = "QUEUE-033", "QUEUE-034", "QUEUE-036"
SEVERAL, UNBOUND, ABSENT, FORM = "EXCH-020", "EXCH-022", "EXCH-023", "BIND-015"
DECLARE = "queue.declare"
LIMITS = frozenset({"x-max-length", "x-max-length-bytes", "x-message-ttl"})
LENGTHS, TIMES = ("x-max-length", "x-max-length-bytes"), ("x-message-ttl", "x-expires")
MUCH, MOST = 1 << 31, {**dict.fromkeys(LENGTHS, 1 << 40), **dict.fromkeys(TIMES, 1 << 32)}
"""Numbers from here on are large, and up to those they must be taken."""
QUEUES = range(128, 240)
"""The text asks for 256 in a virtual host."""
EXCHANGES = range(5, 9)
"""The text asks for 16, of which seven or so are there from the beginning."""


def _given(asked: Asked) -> dict[str, Any]:
    return asked.event.args.get("arguments") or {}


def _number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _new(asked: Asked) -> bool:
    """Is a queue declared whose name the broker is to choose?"""
    return not asked.event.queue and not asked.event.has("passive")


@refuses(AT_ONCE, DECLARE, code=406, what="a declaration with an x-expires of 0")
def at_once(asked: Asked) -> bool | None:
    """Is the queue to expire before it could be used?"""
    expires = _given(asked).get("x-expires")
    return not asked.event.has("passive") and _number(expires) and expires == 0


@grants(NOUGHT, DECLARE)
def nought(asked: Asked) -> bool:
    """A limit, or a time for messages, of nought."""
    given = {name: value for name, value in _given(asked).items() if name != "x-queue-type"}
    zeros = all(_number(value) and value == 0 for value in given.values())
    return _new(asked) and bool(given) and zeros and LIMITS.issuperset(given)


@grants(LARGE, DECLARE)
def large(asked: Asked) -> bool:
    """Limits and times that do not fit into 32 bits with a sign, or into 32 bits at all."""
    given = {name: value for name, value in _given(asked).items() if name != "x-queue-type"}
    return _new(asked) and bool(given) and all(_large(name, one) for name, one in given.items())


def _large(name: str, value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and MUCH <= value <= MOST.get(name, 0)


@grants(FALSE, DECLARE)
def false(asked: Asked) -> bool:
    """Something that a client may switch on, switched off."""
    given = {name: value for name, value in _given(asked).items() if name != "x-queue-type"}
    return _new(asked) and given == {"x-single-active-consumer": False}


@grants(MANY, DECLARE)
def many(asked: Asked) -> bool:
    """There are many, and not as many as there must be room for."""
    known = asked.topology.queues
    if len(known) < QUEUES.start or not _new(asked) or _given(asked):
        return False
    return _there(known, asked.actor) in QUEUES


@grants(SEVERAL, "exchange.declare")
def several(asked: Asked) -> bool:
    """There are some, and not as many as there must be room for."""
    if asked.event.has("passive") or _given(asked) or asked.exchange_there() is not False:
        return False
    known = {key: one for key, one in asked.topology.exchanges.items() if not one.shared}
    return _there(known, asked.actor) in EXCHANGES


def _there(known: dict[tuple[str, str], Any], actor: Actor) -> int:
    """How many of these are certainly there, in its virtual host?"""
    things: list[Thing] = [one for (vhost, _), one in known.items() if vhost == actor.connection.vhost]
    return sum(one.there_for(actor) is True for one in things)


@grants(FREE, "queue.delete", unless=fate.STAYING)
def free(asked: Asked) -> bool:
    """The conditions that are made hold. A broker where cancelled consumers stay has some of which nobody knows."""
    event, stock = asked.event, asked.stock
    if not (event.has("if_unused") or event.has("if_empty")) or stock is None or asked.queue_there() is not True:
        return False
    return (not event.has("if_unused") or stock.unused()) and (not event.has("if_empty") or stock.bare())


@grants(UNBOUND, "exchange.delete")
def unbound(asked: Asked) -> bool:
    """The condition that is made holds."""
    exchange = asked.exchange() if asked.event.has("if_unused") else None
    if exchange is None or exchange.there_for(asked.actor) is not True:
        return False
    return asked.topology.in_use(exchange, asked.actor) is False


@grants(ABSENT, "exchange.declare")
def absent_alternate(asked: Asked) -> bool:
    """A new exchange, with an alternate that is not there."""
    given = _given(asked)
    alternate = given.get("alternate-exchange")
    if asked.event.has("passive") or set(given) != {"alternate-exchange"} or not isinstance(alternate, str):
        return False
    return asked.exchange_there() is False and bool(alternate) and asked.exchange_there(alternate) is False


@refuses(FORM, "queue.bind", code=406, what="a binding of a headers exchange with an x-match that nobody knows")
def unknown_form(asked: Asked) -> bool | None:
    """Is it bound to a headers exchange, with an x-match that is neither of those that there are?"""
    exchange, given = asked.exchange(), _given(asked)
    if exchange is None or exchange.kind != "headers" or "x-match" not in given:
        return False
    if isinstance(given["x-match"], str) and given["x-match"] in FORMS:
        return False
    both = asked.queue_there() is True and exchange.there_for(asked.actor) is True
    return True if both and isinstance(given["x-match"], str) else None


@judges(Answered, LONG)
def purged(fact: Answered, notes: Notes) -> None:
    """The queue was long, and the broker has come to an end with it."""
    if fact.request.rule == LONG:
        notes.exercise(LONG)

"""QUEUE, EXCH and BIND, where names matter: which may be chosen, and what the empty one stands for.

That a new name is taken can be claimed only where the history proves that nothing has it: it was deleted, or looked
for and not found. Else somebody else may have declared it in another way.
"""

from __future__ import annotations

import re

from conformance.catalogue.rules.features import DURABLE
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.topology.bind import bound
from conformance.oracle.monitors.topology.exch import absent
from conformance.oracle.monitors.topology.queue import NAMELESS, lengthy
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.transitions import LATEST

PLAIN, LONG, LAST_DELETED, TOLD = "QUEUE-022", "QUEUE-023", "QUEUE-028", "QUEUE-035"
EXCHANGE, LAST_UNBOUND, KEY = "EXCH-019", "BIND-010", "BIND-016"
CHARACTERS = re.compile(r"[a-zA-Z0-9_.:-]{1,127}", re.ASCII)
"""What the XML lets names consist of, and how long it lets them be."""
NOTHING_SAID = frozenset({"", "classic", "quorum"})
SHORT = 64
"""Names up to this length, of letters and digits, every broker takes."""


def unheard_of(asked: Asked) -> bool:
    """Is a queue declared of which the history proves that it is not there, and about which nothing special is said?
    It is durable, unless the broker has no such."""
    event, given = asked.event, asked.event.args.get("arguments") or {}
    if event.has("passive") or not event.queue or asked.queue_there() is not False:
        return False
    lacks = DURABLE in {*asked.profile.refused, *asked.profile.shunned}
    shared = (event.has("durable") or lacks) and not (event.has("exclusive") or event.has("auto_delete"))
    return shared and set(given) <= {"x-queue-type"} and given.get("x-queue-type", "") in NOTHING_SAID


def unusual(name: str) -> bool:
    """Has it signs, or is it long? That others are taken shows nothing."""
    return len(name) > SHORT or ":" in name or "_" in name


@grants(PLAIN, "queue.declare")
def plain_name(asked: Asked) -> bool:
    """It has the characters and the length that the XML names; or it was that of an exclusive queue of another
    connection, which has been deleted."""
    name, former = asked.event.queue or "", asked.queue()
    freed = former is not None and former.owner not in (None, asked.actor.connection)
    return CHARACTERS.fullmatch(name) is not None and (unusual(name) or freed) and unheard_of(asked)


@grants(LONG, "queue.declare")
def long_name(asked: Asked) -> bool:
    """It has others, or is longer. That line breaks are taken nobody says."""
    name = asked.event.queue or ""
    return (not name.isascii() or lengthy(name)) and name.isprintable() and unheard_of(asked)


@refuses(
    TOLD,
    "queue.declare",
    code=404,
    also=(406,),
    what="a passive declaration of a queue of a long name that does not exist",
)
def told(asked: Asked) -> bool | None:
    """Is there no such queue?"""
    passive = asked.event.has("passive") and not asked.event.has("no_wait")
    return absent(asked.queue_there()) if passive and lengthy(asked.event.queue or "") else False


@refuses(TOLD, "queue.declare", code=406, what="a name that is longer than the text lets names be")
def too_long(asked: Asked) -> bool | None:
    """May a broker say that instead?"""
    return None if told(asked) else False


@grants(EXCHANGE, "exchange.declare")
def exchange_name(asked: Asked) -> bool:
    """It has the characters and the length that the XML names."""
    name, event = asked.event.exchange or "", asked.event
    if CHARACTERS.fullmatch(name) is None or not unusual(name) or event.args.get("arguments"):
        return False
    plain = event.args.get("type") in ("direct", "fanout") and not event.has("internal")
    return plain and not event.has("passive") and asked.exchange_there() is False


@grants(KEY, "queue.bind", "exchange.bind")
def long_key(asked: Asked) -> bool:
    """It is longer than names may be, and there is no such binding yet."""
    return lengthy(asked.event.routing_key or "") and bound(asked)


@refuses(LAST_DELETED, "queue.delete", code=404, what=NAMELESS, counts=False)
def none_to_delete(asked: Asked) -> bool | None:
    """Has this channel declared a queue?"""
    return none_declared(asked)


@refuses(
    LAST_UNBOUND,
    "queue.unbind",
    code=404,
    hard=(404,),
    what=NAMELESS,
    counts=False,
)
def none_to_unbind(asked: Asked) -> bool | None:
    """Has this channel declared a queue? The text wants the connection closed where an unbinding fails."""
    return none_declared(asked)


def none_declared(asked: Asked) -> bool | None:
    """Does the empty name stand for nothing? What had the channel's number before may have declared one."""
    last, actor = asked.topology.last, asked.actor
    if asked.event.queue or actor in last:
        return False
    if actor.previous in last:
        return None
    return True if actor.connection.whole and len(last) < LATEST else None


@grants(LAST_DELETED, "queue.delete")
def last_deleted(asked: Asked) -> bool:
    """The channel has declared one, and it is there."""
    free = not (asked.event.has("if_unused") or asked.event.has("if_empty"))
    return not asked.event.queue and free and asked.queue_there() is True


@grants(LAST_UNBOUND, "queue.unbind")
def last_unbound(asked: Asked) -> bool:
    """The channel has declared one, and it is there, as is the exchange."""
    return not asked.event.queue and asked.queue_there() is True and asked.exchange_there() is True

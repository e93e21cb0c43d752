"""QUEUE: declaring, sharing, emptying and deleting queues, and what the broker must refuse.

Most rules are questions about the tables at the moment when the client asks (`topology.preconditions`). A queue that
this history has not declared may be there or not, so no rule speaks of it.

A memory of the family: the names that declarations have asked for, and those that the broker has chosen.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from string import ascii_letters, digits
from typing import Any

from conformance.history.events import TO_BROKER
from conformance.oracle.model.facts import Answered, Passed
from conformance.oracle.model.queues.stock import Stock
from conformance.oracle.monitors.connections.chan import BY_LAST_NAME, OF_MESSAGES, OF_QUEUES
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.monitors.topology.bind import binding_stands
from conformance.oracle.monitors.topology.exch import PREFIX, absent
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.state import NamedQueue
from conformance.oracle.topology.transitions import LATEST

MISSING, FOUND, SAME, OTHER_FLAGS = "QUEUE-001", "QUEUE-002", "QUEUE-003", "QUEUE-004"
OTHER_ARGUMENTS, OTHER_OWNER, LOCKED, ORPHANED = "QUEUE-005", "QUEUE-006", "QUEUE-007", "QUEUE-008"
RESERVED, CHOSEN, NAMED, IN_USE = "QUEUE-009", "QUEUE-010", "QUEUE-011", "QUEUE-012"
NOT_EMPTY, GONE, LAST, SENSELESS = "QUEUE-013", "QUEUE-014", "QUEUE-015", "QUEUE-016"
NAMELESS = "the empty name on a channel that has declared no queue"
REMOVED, NO_MORE, COUNTED, UNUSED = "QUEUE-017", "QUEUE-018", "QUEUE-020", "QUEUE-021"
OTHER_END = "QUEUE-037"
DECLARE = "queue.declare"
UNBIND = "queue.unbind"
USES = DECLARE, "queue.bind", UNBIND, "queue.purge", "queue.delete", "basic.get", "basic.consume"
COMPARED = (
    "x-max-length",
    "x-max-length-bytes",
    "x-message-ttl",
    "x-expires",
    "x-overflow",
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
)
UNNAMED = (405,)
"""The text asks for a channel exception, and names no code: 406 is that of the guide."""
LIMITS = ("x-max-length", "x-message-ttl", "x-expires")
LINE_BREAKS = frozenset("\r\n")
"""RabbitMQ takes them out of names."""
SIGNS = frozenset(ascii_letters + digits + "-_.:")
"""What the text lets a name of a queue have."""
MOST = 1024
TRESPASSES = 64
"""This many of them are remembered."""
USUAL = 127


def _passive(asked: Asked) -> bool:
    return asked.event.has("passive")


def _given(asked: Asked) -> dict[str, Any]:
    return asked.event.args.get("arguments") or {}


@refuses(ORPHANED, DECLARE, code=404, what="a passive declaration of an exclusive queue whose connection is closed")
def orphaned(asked: Asked) -> bool | None:
    """Has its connection taken it along?"""
    queue = asked.queue() if _passive(asked) else None
    return queue is not None and queue.orphaned(asked.actor, asked.event.time_ns)


@refuses(MISSING, DECLARE, code=404, what="a passive declaration of a queue that does not exist")
def missing(asked: Asked) -> bool | None:
    """Is there no such queue, where it must be there? Of nowait another family speaks, and of long names another
    rule."""
    if not _passive(asked) or asked.event.has("no_wait") or lengthy(asked.event.queue or ""):
        return False
    return absent(asked.queue_there())


def lengthy(name: str) -> bool:
    """Is it longer than the text lets names be?"""
    return len(name.encode()) > USUAL


@refuses(LOCKED, *USES, code=405, what="the use of a queue that is exclusive to another connection")
def locked(asked: Asked) -> bool | None:
    """Does it belong to somebody else who is still there? To unbind what is not bound, a broker may refuse or not."""
    queue = asked.queue()
    if queue is None or queue.owner in (None, asked.actor.connection):
        return False
    if queue.orphaned(asked.actor, asked.event.time_ns):
        return False
    if asked.event.method == UNBIND and not binding_stands(asked):
        return None
    return queue.there_for(asked.actor)


@dataclass(slots=True)
class Trespasses:
    """By exclusive queue, when another connection asked to delete it. That must be refused."""

    asked: OrderedDict[str, int] = field(default_factory=OrderedDict)


@follows("queue.delete", rules=(LOCKED,))
def trespassed(fact: Passed, notes: Notes) -> None:
    """It would be gone with its consumers."""
    name = fact.event.queue or ""
    queue = fact.topology.queue(fact.connection.vhost, name)
    if fact.event.direction == TO_BROKER and queue is not None and queue.owner not in (None, fact.connection):
        asked = notes.memory(Trespasses).asked
        asked[name] = fact.event.seq
        if len(asked) > TRESPASSES:
            asked.popitem(last=False)


def trespass_on(name: str, notes: Notes) -> int:
    """When another connection asked last to delete this queue; 0: none did."""
    return notes.memory(Trespasses).asked.get(name, 0)


@grants(LOCKED, "queue.purge", "basic.get", "basic.consume", unless=(CHOSEN,), counts=False)
def unlocked(asked: Asked) -> bool:
    """It belongs to this connection, whichever of its channels asks, and was never consumed from."""
    queue, event = asked.queue(), asked.event
    if queue is None or queue.owner is not asked.actor.connection or event.has("no_wait") or not event.queue:
        return False
    if event.method == "basic.consume" and (event.has("exclusive") or event.args.get("arguments")):
        return False
    return queue.there_for(asked.actor) is True and not (queue.used and event.method == "basic.consume")


@refuses(
    OTHER_OWNER, DECLARE, code=405, also=(406,), what="a declaration that says otherwise whether the queue is exclusive"
)
def other_owner(asked: Asked) -> bool | None:
    """Is it this connection's, or everybody's, and declared as the other?"""

    def other(queue: NamedQueue) -> bool:
        mine = queue.owner is None or queue.owner is asked.actor.connection
        return mine and (queue.owner is not None) != asked.event.has("exclusive")

    return _differs(asked, other)


@refuses(OTHER_FLAGS, DECLARE, code=406, also=UNNAMED, what="a declaration with other flags")
def other_flags(asked: Asked) -> bool | None:
    """Is it durable where the client says otherwise? Another exclusive is another flag, too."""

    def other(queue: NamedQueue) -> bool | None:
        if queue.durable == asked.event.has("durable"):
            return None if (queue.owner is not None) != asked.event.has("exclusive") else False
        return None if queue.owner is not None else True

    return _differs(asked, other)


@refuses(OTHER_END, DECLARE, code=406, what="a declaration with another auto-delete")
def other_end(asked: Asked) -> bool | None:
    """Is it deleted by itself where the client says otherwise?"""
    return _differs(asked, lambda queue: queue.auto_delete != asked.event.has("auto_delete"))


@refuses(OTHER_ARGUMENTS, DECLARE, code=406, also=UNNAMED, what="a declaration with other arguments")
def other_arguments(asked: Asked) -> bool | None:
    """Does one that says what becomes of messages differ, or one about which nothing is known?"""
    given = _given(asked)

    def other(queue: NamedQueue) -> bool | None:
        if any(queue.arguments.get(name) != given.get(name) for name in COMPARED):
            return True
        return None if queue.arguments != given else False

    return _differs(asked, other)


def _differs(asked: Asked, other: Any) -> bool | None:
    """Asks about the queue that is there; where none is, and where it is only looked for, nothing differs."""
    if _passive(asked):
        return False
    queue, name = asked.queue(), asked.event.queue or ""
    if queue is None or not name:
        return None if name and not name.startswith(PREFIX) else False
    there = queue.there_for(asked.actor)
    found: bool | None = other(queue) if there else there
    return found


@refuses(RESERVED, DECLARE, code=403, what="a declaration of a new queue whose name begins with amq.")
def reserved(asked: Asked) -> bool | None:
    """Is it a name that clients may not choose? Brokers do not agree about those that are there already."""
    if _passive(asked) or not (asked.event.queue or "").startswith(PREFIX):
        return False
    return True if asked.queue() is None else absent(asked.queue_there()) or None


@refuses(SENSELESS, DECLARE, code=406, what="a declaration with a limit or a time that makes no sense")
def senseless(asked: Asked) -> bool | None:
    """Is it negative, or no number? A float is a number for some."""
    if _passive(asked):
        return False
    values = [_given(asked)[name] for name in LIMITS if name in _given(asked)]
    if any(isinstance(one, str) or (isinstance(one, int) and one < 0) for one in values):
        return True
    return None if any(isinstance(one, bool) or not isinstance(one, int) for one in values) else False


@refuses(LAST, *OF_QUEUES, code=404, what=NAMELESS, counts=False)
@refuses(LAST, *OF_MESSAGES, code=404, hard=(530,), what=NAMELESS, counts=False)
def none_declared(asked: Asked) -> bool | None:
    """Has this channel declared a queue? Of the one that had its number before, CHAN-007 speaks."""
    if asked.event.queue or asked.actor in asked.topology.last:
        return False
    if asked.actor.previous in asked.topology.last:
        return None
    return True if asked.actor.connection.whole and len(asked.topology.last) < LATEST else None


@refuses(GONE, "queue.purge", code=404, what="the purge of a queue that does not exist")
def gone(asked: Asked) -> bool | None:
    """Is there no such queue? Of nowait another family speaks."""
    return False if asked.event.has("no_wait") else absent(asked.queue_there())


@refuses(IN_USE, "queue.delete", code=406, what="the deletion with if-unused of a queue that has consumers")
def in_use(asked: Asked) -> bool | None:
    """Has it a consumer?"""
    if not asked.event.has("if_unused"):
        return False
    return asked.stock.consumed() if asked.stock is not None and asked.queue_there() else None


@refuses(NOT_EMPTY, "queue.delete", code=406, what="the deletion with if-empty of a queue that has messages")
def not_empty(asked: Asked) -> bool | None:
    """Is a message ready in it?"""
    if not asked.event.has("if_empty"):
        return False
    return asked.stock.filled() if asked.stock is not None and asked.queue_there() else None


@grants(FOUND, DECLARE)
def found(asked: Asked) -> bool:
    """It is looked for, and there, with no argument that somebody may not know."""
    queue, known = asked.queue(), all(name in COMPARED for name in _given(asked))
    if queue is None or (queue.heir and queue.owner) or (queue.auto_delete and queue.used):
        return False  # of those other rules speak
    if queue.made.outlasts or queue.spared:
        return False  # and of these
    return _passive(asked) and known and asked.queue_there() is True


@grants(IN_USE, DECLARE, asking=FOUND)
def spared_in_use(asked: Asked) -> bool:
    """It is looked for after its deletion was refused."""
    return _spared(asked, IN_USE)


@grants(NOT_EMPTY, DECLARE, asking=FOUND)
def spared_not_empty(asked: Asked) -> bool:
    """The same."""
    return _spared(asked, NOT_EMPTY)


def _spared(asked: Asked, rule: str) -> bool:
    queue = asked.queue()
    there = queue is not None and queue.spared == rule and asked.queue_there() is True
    return there and _passive(asked) and not _given(asked)


@grants(SAME, DECLARE)
def same(asked: Asked) -> bool:
    """It is there, and declared as it was."""
    return not _passive(asked) and bool(asked.event.queue) and asked.queue_there() is True


@grants(LAST, *BY_LAST_NAME)
def last(asked: Asked) -> bool:
    """The channel has declared one, and it is there. A consumer is not to be alone, nor is one that is there."""
    bound = asked.event.method != "queue.bind" or asked.exchange_there() is True
    consumes, stock = asked.event.method == "basic.consume", asked.stock
    if consumes and (stock is None or stock.contested(asked.event.has("exclusive"))):
        return False
    return not asked.event.queue and bound and asked.queue_there() is True


@grants(REMOVED, "queue.delete")
def removed(asked: Asked) -> bool:
    """It is there, has a consumer or a message, and no condition is made."""
    if asked.event.has("if_unused") or asked.event.has("if_empty") or asked.queue_there() is not True:
        return False
    return asked.stock is not None and (asked.stock.consumed() is True or asked.stock.filled() is True)


@grants(NO_MORE, "queue.delete")
def no_more(asked: Asked) -> bool:
    """It was there, and is gone."""
    return bool(asked.event.queue) and asked.queue_there() is False


@grants(UNUSED, DECLARE, asking=FOUND)
def unused(asked: Asked) -> bool:
    """It is looked for, and was never consumed from."""
    queue = asked.queue()
    waits = queue is not None and queue.auto_delete and not queue.used and queue.owner is None
    return _passive(asked) and waits and not _given(asked) and asked.queue_there() is True


@judges(Answered, COUNTED)
def counts_consumers(fact: Answered, notes: Notes) -> None:
    """declare-ok counts those that were there when it was asked, and are still; and none that had certainly left by
    then, be it the last."""
    request, least = fact.request, fact.request.consumers
    if request.method != DECLARE or request.source is None or least < (0 if request.source.joined else 1):
        return
    stock = Stock(request.source, fact.channel, timed=False, asked_ns=request.sent_ns)
    count, there = int(fact.event.args.get("consumer_count", 0)), stock.consumers()
    if there < least:
        return
    if count < least or (there == stock.remaining() < count):
        allowed = f"queue.declare-ok with {least} consumers"
        notes.find(COUNTED, fact.event, allowed, f"queue.declare-ok with {count}", request.seq)
    elif least or not count:
        notes.exercise(COUNTED)


@dataclass(slots=True)
class Names:
    """What was asked for by the declarations that are under way, and what the broker has chosen and not deleted."""

    asked: dict[int, str] = field(default_factory=dict)
    chosen: dict[str, int] = field(default_factory=dict)


@follows(DECLARE, "queue.delete")
def asked_for(fact: Passed, notes: Notes) -> None:
    """A declaration asks for a name; a deletion frees one."""
    event, memory = fact.event, notes.memory(Names)
    if event.direction != TO_BROKER:
        return
    if event.method == "queue.delete":
        memory.chosen.pop(event.queue or "", None)
        return
    memory.asked[event.seq] = event.queue or ""
    if len(memory.asked) > MOST:
        del memory.asked[next(iter(memory.asked))]


@judges(Answered, CHOSEN, NAMED)
def named(fact: Answered, notes: Notes) -> None:
    """declare-ok tells the name: the one that was asked for, or one that no other queue has."""
    memory, request, event = notes.memory(Names), fact.request, fact.event
    asked = memory.asked.pop(request.seq, None) if request.method == DECLARE else None
    if asked is None:
        return
    name = event.queue or ""
    if asked and not LINE_BREAKS & set(asked):
        if name == asked:
            notes.exercise(NAMED)
        else:
            notes.find(NAMED, event, f"queue.declare-ok of {asked}", f"queue.declare-ok of {name!r}", request.seq)
    elif not asked:
        _chosen(fact, name, memory, notes)


def _chosen(fact: Answered, name: str, memory: Names, notes: Notes) -> None:
    if not name:
        notes.find(CHOSEN, fact.event, "a name that the broker chooses", "an empty name", fact.request.seq)
    elif name in memory.chosen:
        allowed = "a name that no other queue has"
        notes.find(CHOSEN, fact.event, allowed, f"{name} once more", fact.request.seq, memory.chosen[name])
    elif not set(name) <= SIGNS:
        allowed = "a name of letters, digits and the four signs that names may have"
        notes.find(CHOSEN, fact.event, allowed, repr(name), fact.request.seq)
    else:
        notes.exercise(CHOSEN)
        memory.chosen[name] = fact.event.seq
        if len(memory.chosen) > MOST:
            del memory.chosen[next(iter(memory.chosen))]

"""BIND: what can be bound, and what binding and unbinding must be carried out.

Where the new bindings lead, ROUTE says; BIND-007, that the bindings of what was deleted lead nowhere, is judged there
as well (`route`).
"""

from __future__ import annotations

import re

from conformance.oracle.monitors.refusals import grants, refuses
from conformance.oracle.monitors.topology.exch import absent
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.state import Exchange, NamedQueue, Terms

NO_QUEUE, NO_EXCHANGE, NO_END = "BIND-001", "BIND-002", "BIND-003"
AGAIN, NOT_BOUND, DEFAULT, BOUND, SEVERAL = "BIND-004", "BIND-005", "BIND-006", "BIND-008", "BIND-009"
GONE, HASHES = "BIND-011", "BIND-017"
ENOUGH = 3
ENDS = "source", "destination"
WORDS = re.compile(r"(?:(?:[A-Za-z0-9]+|[*#])(?:\.(?:[A-Za-z0-9]+|[*#]))*)?")
"""What the text lets a key of a topic exchange be: words of letters and digits, stars and hashes, with dots between. A
broker may refuse other keys."""


@refuses(NO_QUEUE, "queue.bind", code=404, what="a binding of a queue that does not exist")
def no_queue(asked: Asked) -> bool | None:
    """Is there no such queue?"""
    return absent(asked.queue_there())


@refuses(NO_EXCHANGE, "queue.bind", code=404, what="a binding to an exchange that does not exist")
def no_exchange(asked: Asked) -> bool | None:
    """Is there no such exchange? The default one is."""
    return absent(asked.exchange_there()) if asked.event.exchange else False


@refuses(NO_END, "exchange.bind", code=404, what="a binding of an exchange that does not exist")
def no_end(asked: Asked) -> bool | None:
    """Is one of its ends not there?"""
    there = [asked.exchange_there(name) for name in _ends(asked) if name]
    return True if False in there else None if None in there else False


@refuses(
    DEFAULT,
    "queue.bind",
    "queue.unbind",
    "exchange.bind",
    "exchange.unbind",
    code=403,
    what="a binding of the default exchange",
)
def default(asked: Asked) -> bool | None:
    """Is one of its exchanges the one without a name?"""
    names = _ends(asked) if asked.event.method.startswith("exchange.") else (asked.event.exchange or "",)
    return "" in names


def _ends(asked: Asked) -> tuple[str, ...]:
    return tuple(str(asked.event.args.get(end) or "") for end in ENDS)


@grants(AGAIN, "queue.bind", "exchange.bind")
def again(asked: Asked) -> bool:
    """There is such a binding already."""
    return binding_stands(asked) is True


@grants(BOUND, "queue.bind", "exchange.bind")
def bound(asked: Asked) -> bool:
    """There is none, and it asks for nothing special. Of a queue that it does not name QUEUE-015 speaks."""
    named = bool(asked.event.queue) or asked.event.method == "exchange.bind"
    return named and new(asked) and not _several_hashes(asked)


@grants(HASHES, "queue.bind", "exchange.bind")
def hashes(asked: Asked) -> bool:
    """There is none, and its key has several of those words."""
    return new(asked) and _several_hashes(asked)


def _several_hashes(asked: Asked) -> bool:
    source = _pair(asked)[0]
    return source is not None and source.kind == "topic" and (asked.key or "").split(".").count("#") > 1


def new(asked: Asked) -> bool:
    """There is no such binding, and nothing in its key or its arguments that a broker might not know."""
    arguments = asked.event.args.get("arguments") or {}
    source = _pair(asked)[0]
    if source is not None and source.kind == "topic" and not WORDS.fullmatch(asked.key or ""):
        return False
    return binding_stands(asked) is False and not any(name.startswith("x-") for name in arguments)


@grants(SEVERAL, "queue.bind")
def several(asked: Asked) -> bool:
    """The queue has three bindings, and not this one yet, which asks for nothing else that may be too much."""
    queue = asked.queue()
    if not bound(asked) or queue is None or "#" in (asked.key or ""):
        return False
    around = [one for other in asked.topology.exchanges.values() for one in other.bindings if one.to is queue]
    return sum(one.stands_for(asked.actor) is True for one in around) >= ENOUGH


@grants(NOT_BOUND, "queue.unbind", "exchange.unbind")
def not_bound(asked: Asked) -> bool:
    """There is none that could be removed, between things that are there."""
    source, to = _pair(asked)
    both = source is not None and to is not None and source.there_for(asked.actor) and to.there_for(asked.actor)
    return bool(both) and binding_stands(asked) is False


@grants(GONE, "queue.unbind", "exchange.unbind")
def gone(asked: Asked) -> bool:
    """One of its ends, or both, have certainly been deleted; the other is there."""
    ends = _pair(asked)
    return None not in ends and any(one is not None and one.there_for(asked.actor) is False for one in ends)


def _pair(asked: Asked) -> tuple[Exchange | None, NamedQueue | Exchange | None]:
    if asked.event.method.startswith("queue."):
        return asked.exchange(), asked.queue()
    source, destination = _ends(asked)
    return asked.exchange(source), asked.exchange(destination)


def binding_stands(asked: Asked) -> bool | None:
    """Does this very binding stand?"""
    source, to = _pair(asked)
    if source is None or to is None or source.shared or source.opaque:
        return None
    terms = Terms(asked.key, asked.event.args.get("arguments") or {}, {})
    stands = [one.stands_for(asked.actor) for one in source.bindings if one.same(to, terms)]
    return True if True in stands else None if None in stands else False

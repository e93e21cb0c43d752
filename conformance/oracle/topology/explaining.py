"""Why a publish reaches a queue, or does not: the ways that lead there, and the bindings that bar it.

The same walk as `routing.route`, for those who must name the rule that is at stake. A certain route alone is explained.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.oracle.topology.matching import MATCHERS, WITH_X, Message
from conformance.oracle.topology.routing import route
from conformance.oracle.topology.state import Actor, Binding, Exchange, NamedQueue, Topology

DIRECT, FANOUT, TOPIC, STAR, HASH = "direct", "fanout", "topic", "topic *", "topic #"
ALL, ANY, HEADERS_X, FORM_X = "headers all", "headers any", "headers x-", "headers with x-"
EMPTY, VOID = "topic, empty word", "headers, any value"
MATCHED = frozenset({TOPIC, STAR, HASH, EMPTY, ALL, ANY, HEADERS_X, FORM_X, VOID})
"""Ways that hang on what a binding matches, which a broker may see otherwise."""
DELICATE = frozenset({EMPTY, VOID})
ONWARD, TWICE, CYCLE, ALTERNATE = "onward", "twice", "cycle", "alternate"
UNBOUND, SPARED, FORMER = "unbound", "spared", "former"
APART, UNTIED = "told apart by arguments", "exchanges unbound"
LEFT, KEPT, ROLLED_BACK = "left behind", "kept", "rolled back"
"""Ways, and what bars one: a binding that was removed, an alternate exchange that is not needed, and a binding of
something that was deleted and has a namesake. Where another binding of a queue was removed, that one still leads there
is at stake as well: be it one that only its arguments tell apart, be it one between exchanges. So it is where the
connection that bound the queue has ended, where its channel has rolled back, and where the exchange was declared again.
"""


@dataclass(slots=True)
class Explained:
    """By the names of queues."""

    reached: dict[str, list[str]] = field(default_factory=dict)
    """All ways that lead there."""
    barred: dict[str, str] = field(default_factory=dict)
    """What keeps it from there, where a binding leads there that does not match, or that is gone."""
    delicate: bool = False
    """On the way a match was met that brokers see differently: of an empty word, of which no text speaks, or of a
    header with any value."""


def explain(topology: Topology, actor: Actor, exchange: str, message: Message) -> Explained | None:
    """The ways of a publish now sent on this channel; None: its route is not certain."""
    found = route(topology, actor, exchange, message)
    start = topology.exchange(actor.connection.vhost, exchange)
    if isinstance(found, str) or start is None:
        return None
    walk = _Walk(topology, actor, message)
    walk.through(start, ())
    walk.result.barred = {name: why for name, why in walk.result.barred.items() if name not in walk.result.reached}
    return walk.result


class _Walk:
    """One walk over the exchanges."""

    def __init__(self, topology: Topology, actor: Actor, message: Message) -> None:
        self.result = Explained()
        self._topology, self._actor, self._message = topology, actor, message
        self._met: set[Exchange] = set()

    def through(self, exchange: Exchange, ways: tuple[str, ...]) -> None:
        """Takes every binding of the exchange; `ways` led here."""
        self._met.add(exchange)
        taken, passed = set[str](), set[str]()
        for binding in exchange.bindings:
            way = way_of(exchange, binding, self._message.keys)
            self.result.delicate |= way in DELICATE
            matches = bool(MATCHERS[exchange.kind](binding.terms, self._message))
            stands = bool(binding.stands_for(self._actor))
            if stands:
                (taken if matches else passed).add(way)
            if stands and matches:
                self._take(binding, (*ways, way, *self._beside(exchange, binding)))
            elif binding.to.there_for(self._actor):
                self._pass(exchange, binding, (*ways, way), matches, stands)
            elif matches:
                self._outlive(binding)
        for binding in exchange.former:
            if MATCHERS[exchange.kind](binding.terms, self._message):
                self._outlive(binding)
        self._turn(exchange, ways, taken, passed)

    def _pass(self, exchange: Exchange, binding: Binding, ways: tuple[str, ...], matches: bool, stands: bool) -> None:
        """The binding does not lead there: it does not match, or is gone."""
        to, way = binding.to, ways[-1]
        if isinstance(to, NamedQueue):
            nearest = next((one for one in ways if one in DELICATE), ONWARD if ONWARD in ways else way)
            if matches:
                self.result.barred[to.name] = gone_of(exchange, binding)
            self.result.barred.setdefault(to.name, nearest)
        elif matches:
            self._bar(to, UNTIED)
        elif stands:
            self._bar(to, way)

    def _turn(self, exchange: Exchange, ways: tuple[str, ...], taken: set[str], passed: set[str]) -> None:
        """To the alternate exchange if no binding was taken; who sees a delicate match otherwise goes the other way."""
        alternate = self._alternate(exchange)
        if alternate is None or alternate in self._met:
            return
        if taken:
            self._bar(alternate, SPARED if taken - DELICATE else min(taken))
        else:
            self.through(alternate, (*ways, *sorted(passed & DELICATE), ALTERNATE))

    def _take(self, binding: Binding, ways: tuple[str, ...]) -> None:
        to = binding.to
        if isinstance(to, NamedQueue):
            known = self.result.reached.setdefault(to.name, [])
            known.extend(one for one in (*ways, *([TWICE] if known else [])) if one not in known)
        elif to in self._met:
            for known in self.result.reached.values():
                known.append(CYCLE)
        else:
            self.through(to, (*ways, ONWARD))

    def _outlive(self, binding: Binding) -> None:
        """The binding went with what it led to, or with its exchange; a queue or an exchange of this name is there."""
        vhost, name = self._actor.connection.vhost, binding.to.name
        if isinstance(binding.to, NamedQueue):
            queue = self._topology.queue(vhost, name)
            if queue is not None and queue.there_for(self._actor):
                self.result.barred.setdefault(queue.name, FORMER)
        else:
            heir = self._topology.exchange(vhost, name)
            if heir is not None and heir is not binding.to and heir.there_for(self._actor):
                self._bar(heir, FORMER)

    def _bar(self, exchange: NamedQueue | Exchange, why: str) -> None:
        """No way leads to this exchange, so none leads to its queues."""
        for binding in exchange.bindings if isinstance(exchange, Exchange) else ():
            if isinstance(binding.to, NamedQueue) and binding.to.there_for(self._actor):
                self.result.barred.setdefault(binding.to.name, why)

    def _beside(self, exchange: Exchange, binding: Binding) -> list[str]:
        """What else is at stake where this binding still leads there."""
        found = [LEFT] if binding.added.outlasts else []
        if binding.added.undone:
            found.append(ROLLED_BACK)
        if exchange.again is not None and exchange.again.known > binding.added.sent:
            found.append(KEPT)
        removed = [one for one in exchange.bindings if one.removed and one.to is binding.to]
        if any(one.terms.key == binding.terms.key for one in removed):
            found.append(APART)
        elif removed:
            found.append(UNBOUND if isinstance(binding.to, NamedQueue) else UNTIED)
        return found

    def _alternate(self, exchange: Exchange) -> Exchange | None:
        if exchange.alternate is None:
            return None
        return self._topology.exchange(self._actor.connection.vhost, exchange.alternate)


def gone_of(exchange: Exchange, binding: Binding) -> str:
    """What the removal of this binding is an example of."""
    others = (one for one in exchange.bindings if one is not binding and one.to is binding.to)
    return APART if any(one.terms.key == binding.terms.key and not one.removed for one in others) else UNBOUND


def way_of(exchange: Exchange, binding: Binding, keys: tuple[str, ...]) -> str:
    """What this binding is an example of, for a message with these keys. That a key has words which are empty, no text
    speaks of; the empty key has none, but may be taken for one that is empty."""
    if exchange.kind == "topic":
        words = binding.terms.key.split(".")
        if _empty(words) or any(_empty(key.split(".")) or (not key and "*" in words) for key in keys):
            return EMPTY
        return HASH if "#" in words else STAR if "*" in words else TOPIC
    if exchange.kind == "headers":
        if None in binding.terms.arguments.values():
            return VOID
        form = str(binding.terms.arguments.get("x-match", "all"))
        if form in WITH_X:
            return FORM_X
        counted = any(name.startswith("x-") for name in binding.terms.arguments if name != "x-match")
        return HEADERS_X if counted else ANY if form == "any" else ALL
    return exchange.kind


def _empty(words: list[str]) -> bool:
    return len(words) > 1 and "" in words

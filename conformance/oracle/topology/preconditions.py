"""What a method needs: the mistakes for which the broker must refuse it, and the claims that it must be carried out.

A family of rules enters both here, each as a question about the tables at the moment when the client sends. A mistake
is certain (True), possible (None), or none (False). The broker must refuse a method if one mistake is certain, with a
code of any mistake that is not excluded. It must carry out a method whose mistakes are all excluded: then every claim
that applies counts. In between nothing is claimed; nor where an argument is given that this broker was seen to refuse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from conformance.catalogue.profiles import Profile
from conformance.history.events import Event
from conformance.oracle.topology.rights import Granted
from conformance.oracle.topology.state import Actor, Exchange, NamedQueue, Thing, Topology

Scope = Literal["channel", "connection"]
ACCESS_REFUSED = 403


class StockView(Protocol):
    """What a queue holds, who consumes from it, and whether a get has a message of it, as far as that is certain."""

    def filled(self) -> bool | None: ...

    def bare(self) -> bool: ...

    def consumed(self) -> bool | None: ...

    def contested(self, exclusive: bool) -> bool: ...

    def unused(self) -> bool: ...

    def monopolised(self) -> bool | None: ...

    def lent(self) -> bool: ...

    def abandoned(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A method at the moment when it is sent, and what was there then."""

    topology: Topology
    actor: Actor
    event: Event
    profile: Profile
    stock: StockView | None = None
    """What the queue that it names holds, where the method depends on that."""

    @property
    def limited(self) -> bool:
        """May its user lack a right? Of connections that are overheard nobody knows the rights; of others it is told
        when one is taken away."""
        connection = self.actor.connection
        return connection.overheard or bool(connection.unreadable) or not all(one.everything for one in self.held)

    @property
    def makes(self) -> bool:
        """May it make something new? A broker may have no room for that, and say so by 403."""
        if self.event.has("passive"):
            return False
        if self.event.method == "queue.declare":
            return not self.event.queue or self.queue_there() is not True
        return self.event.method == "exchange.declare" and self.exchange_there() is not True

    @property
    def unoffered(self) -> bool:
        """Is an argument given that this broker refuses wherever it comes? How it does that is told apart."""
        refused = self.profile.refused
        return bool(refused) and not refused.keys().isdisjoint(self.event.args.get("arguments") or ())

    @property
    def held(self) -> Sequence[Granted]:
        """The rights that its user may be held to; empty where nothing is known of them."""
        connection = self.actor.connection
        return self.topology.rights.held(connection.user, connection.vhost, connection.entered)

    @property
    def vhost(self) -> str:
        return self.actor.connection.vhost

    @property
    def queue_name(self) -> str:
        """The queue that it names; the empty name stands for the last one that the channel declared."""
        return self.event.queue or self.topology.last.get(self.actor, "")

    def queue(self) -> NamedQueue | None:
        """The queue that it names, where anything is known of it."""
        return self.topology.queue(self.vhost, self.queue_name)

    @property
    def key(self) -> str:
        """The routing key that it names; where a binding names neither queue nor key, the last queue's name is both."""
        nameless = self.event.method in ("queue.bind", "queue.unbind") and not self.event.queue
        return self.event.routing_key or (self.queue_name if nameless else "")

    def exchange(self, name: str | None = None) -> Exchange | None:
        """The exchange that it names, where anything is known of it."""
        return self.topology.exchange(self.vhost, self.event.exchange or "" if name is None else name)

    def queue_there(self) -> bool | None:
        """Is the queue that it names there? One that goes with its last consumer is, while it has one."""
        queue = self.queue()
        if queue is None:
            return None
        used = queue.auto_delete and queue.owner is None and self.stock is not None and self.stock.consumed() is True
        return Thing.there_for(queue, self.actor) if used else queue.there_for(self.actor)

    def bound(self) -> bool:
        """May something be bound to the queue that it names?"""
        queue, exchanges = self.queue(), self.topology.exchanges.values()
        leads = (one for exchange in exchanges for one in exchange.bindings if one.to is queue)
        return any(one.stands_for(self.actor) is not False for one in leads)

    def exchange_there(self, name: str | None = None) -> bool | None:
        """Is the exchange that it names there?"""
        exchange = self.exchange(name)
        return exchange.there_for(self.actor) if exchange is not None else None


Mistaken = Callable[[Asked], "bool | None"]
Applies = Callable[[Asked], bool]


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something for which the broker must refuse a method."""

    rule: str
    codes: tuple[int, ...]
    """0: no text names one."""
    what: str
    scope: Scope
    made: Mistaken
    hard: tuple[int, ...] = ()
    """Codes by which it may cost the connection instead: where the texts say so, or leave it open."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The broker must refuse it: this rule says so, and any of these codes is right; 0 stands for any at all."""

    rule: str
    codes: tuple[int, ...]
    what: str
    scope: Scope
    hard: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Grant:
    """The broker must carry it out: these rules say so."""

    rules: tuple[str, ...]


MISTAKES: dict[str, list[Mistake]] = {}
CLAIMS: dict[str, list[tuple[str, Applies]]] = {}


def enter_mistake(methods: Iterable[str], mistake: Mistake) -> None:
    """Adds a mistake that these methods may make."""
    for method in methods:
        MISTAKES.setdefault(method, []).append(mistake)


def enter_claim(methods: Iterable[str], rule: str, applies: Applies) -> None:
    """Adds a claim that these methods must be carried out."""
    for method in methods:
        CLAIMS.setdefault(method, []).append((rule, applies))


def weigh(asked: Asked) -> Refusal | Grant | None:
    """What the broker must do with it; None: that is open, or no rule speaks of it."""
    if asked.unoffered:
        return None
    method = asked.event.method
    possible = [(one, made) for one in MISTAKES.get(method, ()) if (made := one.made(asked)) is not False]
    certain = next((one for one, made in possible if made), None)
    if certain is not None:
        refused = [ACCESS_REFUSED] if (asked.limited or asked.makes) and certain.scope == "channel" else []
        others = [code for one, _ in possible if one.scope == certain.scope for code in one.codes]
        codes = dict.fromkeys([*certain.codes, *others, *refused])
        hard = dict.fromkeys(code for one, _ in possible for code in one.hard)
        named = (0,) if 0 in codes else tuple(codes)
        return Refusal(certain.rule, named, certain.what, certain.scope, tuple(hard))
    if possible:
        return None
    return Grant(tuple(dict.fromkeys(rule for rule, applies in CLAIMS.get(method, ()) if applies(asked))))

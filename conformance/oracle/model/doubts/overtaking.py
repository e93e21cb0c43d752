"""Methods under way when another channel changes what they are about: the broker may make the change first.

What a method needs is weighed when it is sent (`topology.preconditions`). If another channel then declares, deletes,
binds, or takes consumers or messages away under one of the names in it, before an answer shows that it was handled,
the outcome is open: nobody says any more that it must be carried out, or that it must be refused. What became of a
method that may have been refused is not known either, nor what becomes of its channel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections.channels import CLOSED, FAILING, NEVER, ChannelLife
from conformance.oracle.model.doubts import races

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

TAKES = frozenset({"basic.get", "queue.purge"})
CHANGES = frozenset(topology.TRANSITIONS) | TAKES
LEAVES = frozenset({"basic.cancel", "channel.close"})
BINDINGS = frozenset({"queue.bind", "queue.unbind", "exchange.bind", "exchange.unbind"})
"""They stand in the way of nothing but the deletion of an exchange."""


def names_in(event: Event) -> frozenset[str]:
    """The queues and exchanges that a method names."""
    ends = (event.args.get("source"), event.args.get("destination")) if event.method.startswith("exchange.") else ()
    return frozenset(name for name in (event.queue, event.exchange, *ends) if name)


def changed(model: Model, by: ChannelLife, event: Event) -> None:
    """This channel has sent a method that may come before what others have sent already."""
    if event.method in CHANGES:
        _overtake(model, by, names_in(event), binds=event.method in BINDINGS)
    elif event.method in LEAVES:
        ended = (one.source.name for one in by.ended.values())
        _overtake(model, by, frozenset((*ended, *(one.queue for one in by.consumers.values()))))


def left(model: Model, connection: Connection) -> None:
    """This connection ends, and with it go its consumers and its exclusive queues."""
    owned = {one.name for one in model.topology.queues.values() if one.owner is connection}
    used = {one.queue for channel in connection.channels.values() for one in channel.consumers.values()}
    _overtake(model, None, frozenset(owned | used))


def _overtake(model: Model, by: ChannelLife | None, names: frozenset[str], *, binds: bool = False) -> None:
    if model.open or not names:
        return
    channels = (channel for connection in model.connections.values() for channel in connection.channels.values())
    at_stake = [one for one in channels if one is not by and _at_stake(one)]
    if at_stake:
        names |= _bound_to(model, names)
    for channel in at_stake:
        _disclaim(channel, names, binds=binds)
        _reprieve(model, channel, names)


def _at_stake(channel: ChannelLife) -> bool:
    """Is anything said of what it has under way?"""
    if channel.state == FAILING:
        return channel.method_error is not None
    return channel.state != CLOSED and any(one.claims for pending in channel.requests.values() for one in pending)


def _bound_to(model: Model, names: frozenset[str]) -> frozenset[str]:
    """Exchanges with bindings that lead there, and go with it."""
    exchanges = model.topology.exchanges.values()
    return frozenset(one.name for one in exchanges if any(binding.to.name in names for binding in one.bindings))


def _disclaim(channel: ChannelLife, names: frozenset[str], *, binds: bool) -> None:
    """Nobody says any more that these methods must be carried out."""
    for (method, _), pending in channel.requests.items():
        if binds and method != "exchange.delete":
            continue
        for request in pending:
            if request.claims and not names.isdisjoint(request.names):
                request.claims = ()


def _reprieve(model: Model, channel: ChannelLife, names: frozenset[str]) -> None:
    """The mistake may be none by the time that the broker comes to it: nobody knows whether the channel has failed."""
    error = channel.method_error
    if channel.state != FAILING or error is None or error.seq <= channel.handled or names.isdisjoint(error.names):
        return
    channel.method_error, channel.forgiven, channel.adopted = None, NEVER, True
    races.lift(channel)
    vhost = channel.connection.vhost
    for name in error.names:
        if name in model.queues:
            model.queues[name].forget()
        for thing in (model.topology.queue(vhost, name), model.topology.exchange(vhost, name)):
            if thing is not None:
                thing.gone, thing.doubtful = None, True

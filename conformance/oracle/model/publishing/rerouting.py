"""Publishes under way when exchanges, queues or bindings change elsewhere: the broker may make the change first.

A publish is under way from its sending until a confirm, its return, its delivery or a later answer on its channel
shows that it was handled. If another channel changes meanwhile what its route depends on, it may take either route:
nobody owes its messages, whether it is returned is open, and the queues that the change leads it to may hold it. The
same channel does both in order, so its own changes come after the publish for certain.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import CLOSED, ChannelLife
from conformance.oracle.model.publishing import routing
from conformance.oracle.model.queues import dropping
from conformance.oracle.model.records import PUBLISHED, Publication

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues.queue import Queue

LEADS_ON = frozenset({"exchange.declare", "exchange.bind"})
"""Changes that may lead a publish anywhere."""


def changed(model: Model, by: ChannelLife | None, event: Event) -> None:
    """This method has changed the tables, or the end of a connection has, `by` no channel."""
    if model.open:
        return
    for connection in model.connections.values():
        for channel in connection.channels.values():
            if channel is not by and channel.state != CLOSED and (channel.publishing or channel.transactional):
                _look_again(model, channel, event)


def _look_again(model: Model, channel: ChannelLife, event: Event) -> None:
    for publication in {id(one): one for one in _under_way(channel)}.values():
        certain = publication.routed is not None
        if certain and not _as_before(model, channel, publication):
            _leave_open(channel, publication)
            certain = False
        if not certain:
            _lead_on(model, publication, event)


def _as_before(model: Model, channel: ChannelLife, publication: Publication) -> bool:
    """Does it certainly still go where it went?"""
    way = routing.route(model, channel, publication.exchange, publication.routing_key, publication.content)
    queues = {copy.queue for copy in publication.copies}
    return isinstance(way, list) and (not queues or {*way} == queues)


def _under_way(channel: ChannelLife) -> Iterator[Publication]:
    """Publishes of the channel that the broker may not have handled yet."""
    waiting = (copy for entries in channel.unsynced.values() for _, copy in entries if copy.entry == PUBLISHED)
    sent = (copy.publication for copy in waiting if copy.publication is not None)
    for one in chain(channel.unpublished, channel.unconfirmed.values(), *channel.recent.values(), sent):
        handled = one.resolved or one.returned or any(copy.seen for copy in one.copies)
        if not handled and channel.handled < max(one.seq, *(copy.entered for copy in one.copies), 0):
            yield one


def _leave_open(channel: ChannelLife, publication: Publication) -> None:
    """It may go where it was to go, or not."""
    publication.routed = publication.full = None
    queues = {copy.queue for copy in publication.copies}
    for copy in publication.copies:
        copy.queue.disturbed = True
        copy.queue.unsettle(copy, indeterminate=False)
    for later in channel.unconfirmed.values():
        if later.full in queues:
            later.full = None


def _lead_on(model: Model, publication: Publication, event: Event) -> None:
    """Where else may it go, by this change?"""
    if event.method == "queue.declare":
        if not publication.exchange and publication.routing_key == event.queue:
            _open(model.queue(publication.routing_key))
    elif not publication.exchange:
        return
    elif event.method == "queue.bind":
        _open(model.queue(event.queue or ""))
    elif event.method in LEADS_ON or any(one.alternate for one in model.topology.exchanges.values()):
        model.publish_somewhere()


def _open(queue: Queue) -> None:
    """It may hold a message that we do not know of."""
    queue.opaque = True
    dropping.overflow(queue)

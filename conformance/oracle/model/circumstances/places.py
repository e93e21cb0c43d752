"""Where circumstances are noted: one life of a channel, a queue, a connection, one delivery or message, or the whole
history."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.facts import TimeoutOverdue
from conformance.oracle.model.records import Copy, Delivery

if TYPE_CHECKING:
    from conformance.oracle.model.queues.queue import Queue

EVERYWHERE = ""

Found = Iterator[tuple[str, str]]
"""Places, and the names of the circumstances that have arisen there."""


def places_of(fact: Any) -> Iterator[str]:
    """Where a fact is, the narrowest first: its delivery, its channels, queues and connections."""
    channels = [one for one in (getattr(fact, "channel", None), *_channels(fact)) if one is not None]
    if isinstance(fact, TimeoutOverdue):
        yield out(fact.delivery)
    if fact.event.message:
        yield message(fact.event.message)
    for channel in channels:
        yield life(channel)
    for copy in _copies(fact):
        yield at_kill(copy.survives, copy.queue)
    for queue in _queues(fact):
        if queue is not None:
            yield declared(queue)
            yield f"queue {queue.name}"
    for channel in channels:
        yield f"connection {channel.connection.name}"
    for connection in (fact.event.connection, getattr(getattr(fact, "obligation", None), "connection", "")):
        if connection:
            yield f"connection {connection}"
    yield EVERYWHERE


def _queues(fact: Any) -> Iterator[Queue | None]:
    """Its own, those of its consumer, and those to which its publish went."""
    yield getattr(fact, "queue", None)
    for owner in (getattr(fact, "consumer", None), getattr(fact, "ended", None)):
        yield getattr(owner, "source", None)
    for copy in getattr(getattr(fact, "publication", None), "copies", ()):
        yield copy.queue


def _channels(fact: Any) -> Iterator[ChannelLife | None]:
    """Those that had to do with the messages of a fact before."""
    for one in _copies(fact):
        yield one.publisher
        for known in (one.holder, one.settlement):
            yield known.channel if known is not None else None


def _copies(fact: Any) -> list[Copy]:
    """The messages of a fact; a few of them, where there are many."""
    copies: list[Copy] = list(getattr(fact, "copies", ()))
    if isinstance(copy := getattr(fact, "copy", None), Copy):
        copies.append(copy)
    return copies[:5]


def at_kill(seq: int, queue: Queue) -> str:
    """A queue as one kill found it: at the next it may be old."""
    return f"queue {queue.name} at kill {seq}"


def declared(queue: Queue) -> str:
    """One queue, and not that which has its name later."""
    return f"queue {queue.name} of {queue.declared}"


def out(delivery: Delivery) -> str:
    return f"delivery {delivery.tag} on {life(delivery.channel)}"


def message(name: str) -> str:
    """A message, in whatever queue it comes to."""
    return f"message {name}"


def on(channel: ChannelLife, name: str) -> Found:
    """What may cost the channel, or its connection."""
    yield life(channel), name
    yield f"connection {channel.connection.name}", name


def life(channel: ChannelLife) -> str:
    return f"channel {channel.connection.name} {channel.number} {channel.opened}"

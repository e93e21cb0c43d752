"""Circumstances of direct replies: what brokers are known to mistake about requesters and their addresses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import CLOSED, ChannelLife
from conformance.oracle.model.consumers.delivering import REPLIES

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

ADDRESS = re.compile(re.escape(REPLIES) + r"\.[\w+/=.-]+")
"""What addresses look like that begin with the name of the pseudo-queue."""
LONG_TAG = 200
EVERYWHERE = ""
Found = Iterator[tuple[str, str]]


def looked(connection: Connection, event: Event) -> Found:
    """A declaration of a name that only begins like an address."""
    name = event.queue or ""
    if name.startswith(f"{REPLIES}.") and not ADDRESS.fullmatch(name):
        yield f"connection {connection.name}", "made-up-address"


def consumed(model: Model, connection: Connection, event: Event) -> Found:
    """A requester, beside others."""
    if event.queue != REPLIES:
        return
    if len((event.consumer_tag or "").encode()) > LONG_TAG:
        yield f"connection {connection.name}", "long-tag-of-requester"
    for one in model.connections.values():
        for channel in one.channels.values():
            here = one is connection and channel.number == event.channel
            for consumer in channel.consumers.values():
                if consumer.queue == REPLIES and here:
                    yield f"channel {one.name} {channel.number} {channel.opened}", "second-requester"
                if consumer.queue == REPLIES and consumer.tag == event.consumer_tag and not here:
                    yield EVERYWHERE, "requesters-share-a-tag"
            if _was_requester(channel, event.consumer_tag) or _was_requester(channel.previous, event.consumer_tag):
                yield EVERYWHERE, "requesters-share-a-tag"


def _was_requester(channel: ChannelLife | None, tag: str | None) -> bool:
    """Did a requester of this tag end in this life of a channel, or with it?"""
    if channel is None or not tag:
        return False
    ended = channel.ended.get(tag)
    consumer = channel.consumers.get(tag) if channel.state == CLOSED else None
    return (ended is not None and ended.source.name == REPLIES) or (consumer is not None and consumer.queue == REPLIES)

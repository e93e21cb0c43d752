"""Circumstances of users who may not do everything: what they try that brokers are known to weigh in other ways.

Each is noted at the channel that a method is sent on; that a user is deleted concerns the whole history.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.topology import Asked

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

LONG_QUEUE = "limited-names-long-queue"
"""It may cost the connection, where a broker cannot say why it refuses."""
LONG = 150
"""A refusal that names so much of a queue is about as long as a short string can be."""


def arisen(model: Model, event: Event) -> Iterator[tuple[ChannelLife, str]]:
    """Those that this method of a client completes."""
    connection = model.connections.get(event.connection) if event.direction == TO_BROKER else None
    channel = connection.channels.get(event.channel) if connection is not None else None
    if channel is None or not event.method:
        return
    asked = Asked(model.topology, channel, event, model.profile)
    if asked.held and asked.limited:
        for name in _tried(asked):
            yield channel, name


def _tried(asked: Asked) -> Iterator[str]:
    event, arguments = asked.event, asked.event.args.get("arguments") or {}
    if event.method in ("queue.declare", "exchange.declare") and not event.has("passive"):
        there = asked.queue_there() if event.method == "queue.declare" else asked.exchange_there()
        if there is not False:
            yield "limited-declares-again"
        if "x-dead-letter-exchange" in arguments:
            yield "limited-names-dead-letters"
        if "alternate-exchange" in arguments:
            yield "limited-names-alternate"
    if event.method == "basic.publish" and not event.exchange:
        yield "limited-publishes-to-queues"
    if event.method == "basic.publish" and event.exchange and any(one in event.arguments for one in ('"CC"', '"BCC"')):
        yield "limited-names-more-keys"
    if len((event.queue or "").encode()) > LONG:
        yield LONG_QUEUE

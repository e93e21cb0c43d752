"""What it means that a deadline has passed: what is owed is missing, and nobody waits for it any longer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections import closing, endings
from conformance.oracle.model.connections.channels import CLOSED, GIVEN_UP, ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import timeouts
from conformance.oracle.model.doubts import crash
from conformance.oracle.model.facts import Fact, Forsaken, HeartbeatMissed, Missing, StillThere, Unanswered
from conformance.oracle.model.owed import (
    BLOCKING,
    CLOSE,
    CONFIRM,
    DELIVERY,
    HANDSHAKE,
    HARD_CLOSE,
    IN_TURN,
    NOTICE,
    forsaken,
    owed_by,
)

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


def passed(model: Model, event: Event) -> Iterable[Fact]:
    """A deadline has passed: for what the event names, or for all that is owed."""
    return _OF.get(str(event.args.get("for")), _unanswered)(model, event)


def _of_a_drain(model: Model, event: Event) -> Iterator[Fact]:
    queue = model.queues.get(str(event.queue or event.args.get("queue") or ""))
    if queue is not None and all(receiver.lost for receiver in queue.receivers):
        copies = list(queue.absent())
        yield (Forsaken if forsaken(queue) else Missing)(event, queue, copies)
        for copy in copies:
            queue.unsettle(copy, indeterminate=False)


def _of_an_end(model: Model, event: Event) -> Iterator[Fact]:
    yield StillThere(event, model.connection(str(event.args.get("connection"))))


def _of_heartbeats(model: Model, event: Event) -> Iterator[Fact]:
    yield HeartbeatMissed(event, model.connection(str(event.args.get("connection"))))


def _unanswered(model: Model, event: Event) -> Iterator[Fact]:
    hushed = {name for name, one in model.connections.items() if one.hushed}
    for obligation, channel, consumer in list(owed_by(model.connections.values())):
        fact = Unanswered(event, obligation, channel, consumer=consumer)
        if channel is not None:
            fact.error = channel.settlement_error
            fact.request = next((one for one in channel.pending() if one.seq == obligation.since_seq), None)
        connection = model.connections[obligation.connection]
        fact.unread = connection.erred_after_close()
        fact.connection_error, fact.claims = connection.error, connection.handshake.claims.get(obligation.what, ())
        if obligation.connection not in hushed:
            yield from crash.unrecovered(fact) if model.killed else (fact,)
        connection.hushed |= obligation.kind in IN_TURN
        _give_up(connection, fact)


_OF: dict[str, Callable[[Model, Event], Iterable[Fact]]] = {
    "drain": _of_a_drain,
    "end": _of_an_end,
    "heartbeats": _of_heartbeats,
    "timeouts": timeouts.overdue,
}


def _give_up(connection: Connection, fact: Unanswered) -> None:
    """Nobody waits for this any longer, and what depends on it is not judged."""
    kind = fact.obligation.kind
    if kind == HARD_CLOSE:
        connection.error = None
    elif kind == BLOCKING:
        connection.blocking.owed = 0
    elif kind == HANDSHAKE:
        connection.handshake.give_up()
    elif fact.channel is None:
        closing.lose_connection(connection, fact.event.seq)
    else:
        _give_up_on(fact.channel, fact)


def _give_up_on(channel: ChannelLife, fact: Unanswered) -> None:
    kind, consumer = fact.obligation.kind, fact.consumer
    if kind == CLOSE:
        endings.overlook(channel)
    elif kind == CONFIRM:
        channel.unconfirmed.clear()
        channel.forgiven = max(channel.forgiven, channel.published)
    elif kind in (NOTICE, DELIVERY):
        if consumer is not None:
            consumer.state = GIVEN_UP
            for copy in [*consumer.source.waiting()][: kind == DELIVERY]:
                copy.queue.miss(copy)
    elif fact.request is not None:
        channel.answered(fact.request.method, fact.request.consumer_tag)
        if fact.request.method in ("channel.close", "channel.open"):
            channel.state = CLOSED
        endings.blur(channel)

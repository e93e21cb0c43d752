"""What happens beside methods: how connections begin and end, octets that are no frame, and what the driver notes.

A table leads from the kind of an event to what the model learns from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from conformance.history import events
from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model import deadlines, memory
from conformance.oracle.model.connections import alarms, closing, handshaking, octets
from conformance.oracle.model.doubts import crash, gaps, overtaking
from conformance.oracle.model.facts import (
    DroppedSilently,
    Fact,
    HeartbeatReceived,
    Killed,
    Policed,
    SocketClosed,
    Started,
    Stopping,
)
from conformance.oracle.model.publishing import rerouting
from conformance.oracle.model.queues import policing

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


def read(model: Model, event: Event) -> Iterable[Fact]:
    """The facts in an event that is no method."""
    handler = _HANDLERS.get(event.kind)
    return handler(model, event) if handler is not None else ()


def _opened(model: Model, event: Event) -> Iterable[Fact]:
    connection = model.connection(event.connection)
    connection.whole = True
    handshaking.opened(connection)
    return ()


def _header(model: Model, event: Event) -> Iterable[Fact]:
    connection = model.connection(event.connection)
    connection.whole = True
    if event.direction != TO_BROKER:
        connection.handshake.header = event.raw
    elif not handshaking.greet(connection, event) and connection.handshake.begun():
        octets.sent(connection, event)
    return ()


def _ended(model: Model, event: Event) -> Iterator[Fact]:
    connection = model.connection(event.connection)
    yield SocketClosed(event, connection)
    connection.handshake.crossed = 0
    connection.hung_up_ns = event.time_ns
    if connection.ended:
        memory.connection_ended(model, connection)
        return
    cause = str(event.args.get("cause"))
    if cause in events.UNEXPECTED and not connection.closing:
        if connection.heartbeat and connection.error is None:
            dropped = DroppedSilently(event, connection, model.pauses.none_before(connection, event.time_ns))
            if not dropped.at_once:
                yield dropped
                cause = "heartbeat"
        yield from closing.close_connection(model, connection, event, cause)
    closing.lose_connection(connection, event.seq, cause)
    connection.handshake.give_up()
    overtaking.left(model, connection)
    rerouting.changed(model, None, event)
    memory.connection_ended(model, connection)


def _heartbeat(model: Model, event: Event) -> Iterator[Fact]:
    connection = model.connection(event.connection)
    if event.direction == TO_BROKER:
        model.pauses.client_speaks(connection, event.time_ns)
        connection.handshake.beat_at = event.time_ns
        octets.sent(connection, event)
        return
    connection.torn = False
    model.pauses.broker_speaks(event.time_ns)
    yield HeartbeatReceived(event, connection)
    if event.channel:
        yield model.unlawful(event, "heartbeats on channel 0", f"a heartbeat on channel {event.channel}")


def _malformed(model: Model, event: Event) -> Iterator[Fact]:
    if event.direction != TO_BROKER:
        yield model.unlawful(event, str(event.args.get("expected")), str(event.args.get("found")))
        return
    connection = model.connection(event.connection)
    if not handshaking.greet(connection, event):
        octets.sent(connection, event)


def _torn(model: Model, event: Event) -> Iterable[Fact]:
    gaps.tear(model, model.connection(event.connection), event, _BROKEN[event.kind])
    return ()


def _observed(model: Model, event: Event) -> Iterable[Fact]:
    gaps.observed(model, event)
    return ()


def _scene(model: Model, event: Event) -> Iterable[Fact]:
    model.queue_type = str(event.args.get("queue_type") or "")
    return ()


def _policy(model: Model, event: Event) -> Iterator[Fact]:
    """A policy changes: of one queue's consumer timeout, or of all that it fits."""
    if "queue" in event.args:
        model.settings.policy(event)
        return
    policing.told(model, event)
    yield Policed(event, model.topology)


def _settings(model: Model, event: Event) -> Iterable[Fact]:
    model.settings.broker(event)
    return ()


def _killed(model: Model, event: Event) -> Iterator[Fact]:
    yield Killed(event)
    model.killed = event.seq
    crash.killed(model, event)


def _restarted(model: Model, event: Event) -> Iterator[Fact]:
    if event.args.get("state") == "started":
        yield Started(event)
        return
    yield Stopping(event, model.topology, model.queues)
    model.killed = event.seq
    crash.stopped(model, event)


def _alarm(model: Model, event: Event) -> Iterable[Fact]:
    alarms.changed(model.connections.values(), event)
    return ()


def _rights(model: Model, event: Event) -> Iterable[Fact]:
    """A user may do something else than before: in this virtual host, or of one queue, or nothing at all."""
    about = event.args
    if "of" in about:
        model.connection(str(about["of"])).unreadable.add(str(about.get("queue")))
        return ()
    user, vhost, gone = about.get("user"), about.get("vhost"), bool(about.get("gone"))
    if not gone:
        model.topology.rights.told(event.seq, about)
    for one in model.connections.values():
        if one.user == user and (gone or one.vhost == vhost):
            one.regranted, one.banished = event.seq, event.seq if gone else one.banished
    return ()


def _known(model: Model, event: Event) -> Iterable[Fact]:
    handshaking.known(model.connection(str(event.args.get("of"))), event)
    return ()


_BROKEN = {events.JOINED: gaps.BEFORE, events.GAP: gaps.LOST, events.CUT: gaps.CUT_OFF}
_HANDLERS: dict[str, Callable[[Model, Event], Iterable[Fact]]] = {
    events.OPEN: _opened,
    events.PROTOCOL: _header,
    events.END: _ended,
    events.HEARTBEAT: _heartbeat,
    events.MALFORMED: _malformed,
    **dict.fromkeys(_BROKEN, _torn),
    events.OBSERVED: _observed,
    events.SCENE: _scene,
    events.DEADLINE: deadlines.passed,
    events.POLICY: _policy,
    events.SETTINGS: _settings,
    events.KILLED: _killed,
    events.RESTARTED: _restarted,
    events.ALARM: _alarm,
    events.RIGHTS: _rights,
    events.KNOWN: _known,
}

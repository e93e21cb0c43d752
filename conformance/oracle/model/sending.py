"""What the model learns from the client's methods. Nothing is judged here: a client may send anything.

`send` looks at where a method stands: on a connection, a channel that is open, one that is not. What the broker handles
is weighed (`topology.weigh`): may it be refused, must it be carried out? Then the handler of its kind notes what it
changes. A method that is sent after a mistake must have no effect (`ignoring`); after a mistake that costs the
connection, nothing about the connection is certain any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import alarms, endings, handshaking, ignoring, opening, requests
from conformance.oracle.model.connections.channels import CLOSED, CLOSING, FAILING, ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import cancelling, consuming, settling
from conformance.oracle.model.consumers.settling import SETTLING
from conformance.oracle.model.doubts import gaps, overtaking
from conformance.oracle.model.publishing import publishes, rerouting, transacting
from conformance.oracle.model.queues import defining
from conformance.oracle.model.queues.stock import stock_of
from conformance.oracle.model.records import ClientError

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

Handler = Callable[["Model", ChannelLife, Event], None]


def send(model: Model, connection: Connection, event: Event) -> None:
    """One method of the client."""
    if handshaking.sent(connection, event):
        return
    if connection.ended or connection.closing:
        return
    if event.channel == 0:
        _on_channel_0(model, connection, event)
        return
    if event.method.startswith("connection."):
        opening.on_a_channel(connection, event)
        return
    if event.method == "channel.open":
        opening.apply(connection, event)
        return
    if event.method == "basic.publish":
        alarms.published(connection, event)
    channel = connection.met(event.channel, event.seq)
    if channel is not None and channel.requests:
        transacting.hurry(channel, event)
    if event.method == "channel.close-ok":
        connection.unasked_close_ok |= channel is None or not channel.discarding
        if channel is not None:
            channel.discarding = False
        return
    _on_channel(model, connection, channel, event)


def _on_channel(model: Model, connection: Connection, channel: ChannelLife | None, event: Event) -> None:
    """What a method is on this channel: one that is not open, one after a mistake, or an open one."""
    if channel is None or (channel.state in (CLOSED, CLOSING) and not channel.discarding):
        ignoring.unopened(model, connection, channel, event)
    elif channel.state == FAILING or channel.discarding:
        ignoring.ignored(model, channel, event)
    elif event.method in SETTLING:
        settling.apply(settling.settlement_of(event, channel), channel)
    else:
        ids = event.class_id, event.method_id
        earlier, channel.sent[ids] = channel.sent.get(ids, 0), event.seq
        _carry_out(model, channel, event, earlier)


def _on_channel_0(model: Model, connection: Connection, event: Event) -> None:
    """What is about the connection itself."""
    of_the_connection = _OF_THE_CONNECTION.get(event.method)
    if of_the_connection is not None:
        of_the_connection(model, connection, event)
    elif not event.method.startswith("connection."):
        opening.on_channel_0(connection, event)


def _start_ok(model: Model, connection: Connection, event: Event) -> None:
    connection.whole = True
    cancelling.announce(connection, event)
    alarms.announce(connection, event, model.connections.values())
    connection.user = _user(event)


def _tune_ok(model: Model, connection: Connection, event: Event) -> None:
    connection.heartbeat = int(event.args.get("heartbeat", 0))
    connection.channel_max = int(event.args.get("channel_max", 0))


def _open_connection(model: Model, connection: Connection, event: Event) -> None:
    connection.vhost, connection.entered = str(event.args.get("virtual_host") or "/"), event.seq


def _update_secret(model: Model, connection: Connection, event: Event) -> None:
    cancelling.renew(connection, event.seq)


def _user(event: Event) -> str:
    """Who logs in by PLAIN; other mechanisms do not tell."""
    response = event.args.get("response") if event.args.get("mechanism") == "PLAIN" else None
    return response.split("\0")[1] if isinstance(response, str) and response.count("\0") == 2 else ""


def _carry_out(model: Model, channel: ChannelLife, event: Event, earlier: int) -> None:
    """A method that the broker handles: what it needs is weighed before it has any effect. `earlier` is the same method
    before, if that may not be handled yet."""
    gaps.meet(model, channel, event)
    stock = (
        stock_of(model, channel, topology.in_full(model.topology, channel, event)) if _depends_on_stock(event) else None
    )
    must = None if model.open else topology.weigh(topology.Asked(model.topology, channel, event, model.profile, stock))
    if isinstance(must, topology.Refusal):
        _refuse(channel, event, must)
        return
    if must is None:
        channel.dubious[event.class_id, event.method_id] = event.seq
    event = topology.in_full(model.topology, channel, event)
    _HANDLERS.get(event.method, _request)(model, channel, event)
    overtaking.changed(model, channel, event)
    if event.method in topology.TRANSITIONS:
        rerouting.changed(model, channel, event)
    rules = must.rules if isinstance(must, topology.Grant) else ()
    if event.has("no_wait"):
        requests.claim_quietly(channel, event, rules)
    else:
        requests.claim(channel, event, rules, earlier)


def _depends_on_stock(event: Event) -> bool:
    """Does it matter to the method what its queue holds, or who consumes from that?"""
    return event.method in ("queue.delete", "basic.consume") or event.has("passive")


def _refuse(channel: ChannelLife, event: Event, refusal: topology.Refusal) -> None:
    code, *also = refusal.codes
    if refusal.scope == "channel":
        number = channel.published + 1 if channel.confirm and event.method == "basic.publish" else 0
        hard = refusal.hard + consuming.mistaken_too(channel, event)
        requests.fail_channel(channel, event, refusal.rule, code, refusal.what, number, tuple(also), hard)
        return
    ids = event.class_id, event.method_id
    error = ClientError(event.seq, refusal.rule, code, *ids, refusal.what, also=tuple(also))
    requests.fail_connection(channel.connection, error)


def _close_connection(model: Model, connection: Connection, event: Event) -> None:
    connection.closing = event.seq
    for channel in connection.open_channels():
        channel.closed_with = event.seq
        channel.end = channel.end or "connection.close"
        endings.release(channel, event.seq)
    overtaking.left(model, connection)
    rerouting.changed(model, None, event)


_OF_THE_CONNECTION: dict[str, Callable[[Model, Connection, Event], None]] = {
    "connection.close": _close_connection,
    "connection.start-ok": _start_ok,
    "connection.tune-ok": _tune_ok,
    "connection.open": _open_connection,
    "connection.update-secret": _update_secret,
}


def _request(model: Model, channel: ChannelLife, event: Event) -> None:
    requests.request(channel, event)


def _close(model: Model, channel: ChannelLife, event: Event) -> None:
    endings.release(channel, event.seq)
    channel.end = "close"
    channel.state, channel.close_sent, channel.closed_with = CLOSING, event.seq, event.seq
    channel.expect(requests.new_request(event))


def _flow(model: Model, channel: ChannelLife, event: Event) -> None:
    channel.paused = "active" not in event.flags
    for consumer in channel.consumers.values() if channel.paused else ():
        consumer.suspended = True
    _request(model, channel, event)


_HANDLERS: dict[str, Handler] = {
    "channel.close": _close,
    "channel.flow": _flow,
    "basic.publish": publishes.publish,
    "basic.consume": consuming.consume,
    "channel.flow-ok": lambda model, channel, event: None,
    "basic.cancel": consuming.cancel,
    "basic.cancel-ok": consuming.cancel_ok,
    "basic.get": consuming.get,
    "basic.qos": consuming.qos,
    "basic.recover": consuming.recover,
    "basic.recover-async": consuming.recover,
    "confirm.select": publishes.confirm_select,
    "tx.select": transacting.select,
    "tx.commit": transacting.commit,
    "tx.rollback": transacting.rollback,
    "queue.declare": defining.declare,
    "queue.delete": defining.delete,
    "queue.purge": defining.purge,
    "queue.bind": defining.arrange,
    "queue.unbind": defining.arrange,
    "exchange.declare": defining.arrange,
    "exchange.delete": defining.arrange,
    "exchange.bind": defining.arrange,
    "exchange.unbind": defining.arrange,
}

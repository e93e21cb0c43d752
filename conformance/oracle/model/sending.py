"""What the model learns from the client's methods. Nothing is judged here: a client may send anything.

A method that is sent after a mistake must have no effect. So publishes become VOID, and requests are marked as ones
that must not be answered. After a mistake that costs the connection, nothing about the connection is certain any more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model import (
    alarms,
    cancelling,
    counts,
    declaring,
    endings,
    handshaking,
    memory,
    opening,
    overtaking,
    publishing,
    races,
    requests,
    rerouting,
    settling,
    timeouts,
    transacting,
    windows,
)
from conformance.oracle.model.channels import (
    CANCELLING,
    CLOSED,
    CLOSING,
    FAILING,
    LIVE,
    STARTING,
    TIMED,
    Channel,
    Consumer,
)
from conformance.oracle.model.connections import Connection
from conformance.oracle.model.records import (
    RECOVERED,
    VOID,
    Census,
    ClientError,
    Copy,
    Delivery,
    PotentialReceiver,
    Request,
    Settlement,
)
from conformance.oracle.model.stock import stock_of
from conformance.oracle.topology import Change

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues import Queue

Handler = Callable[["Model", Channel, Event], None]
LONG = 256
"""From so many messages on the purge of a queue is work."""
SETTLING = frozenset({"basic.ack", "basic.nack", "basic.reject"})


def send(model: Model, connection: Connection, event: Event) -> None:
    """One method of the client."""
    if handshaking.sent(connection, event):
        return
    if connection.ended or connection.closing:
        return
    if event.channel == 0:
        if event.method == "connection.close":
            _close_connection(connection, event.seq)
            overtaking.left(model, connection)
            rerouting.changed(model, None, event)
        elif event.method == "connection.start-ok":
            connection.whole = True
            cancelling.announce(connection, event)
            alarms.announce(connection, event)
            connection.user = _user(event)
        elif event.method == "connection.tune-ok":
            connection.heartbeat = int(event.args.get("heartbeat", 0))
            connection.channel_max = int(event.args.get("channel_max", 0))
        elif event.method == "connection.open":
            connection.vhost, connection.entered = str(event.args.get("virtual_host") or "/"), event.seq
        elif event.method == "connection.update-secret":
            cancelling.renew(connection, event.seq)
        elif not event.method.startswith("connection."):
            opening.on_channel_0(connection, event)
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
        if channel is not None:
            channel.discarding = False
        return
    if channel is None or (channel.state in (CLOSED, CLOSING) and not channel.discarding):
        _unopened(model, connection, channel, event)
    elif channel.state == FAILING or channel.discarding:
        _ignored(model, channel, event)
    elif event.method in SETTLING:
        settling.apply(settling.settlement_of(event, channel), channel)
    else:
        ids = event.class_id, event.method_id
        earlier, channel.sent[ids] = channel.sent.get(ids, 0), event.seq
        _carry_out(model, channel, event, earlier)


def _user(event: Event) -> str:
    """Who logs in by PLAIN; other mechanisms do not tell."""
    response = event.args.get("response") if event.args.get("mechanism") == "PLAIN" else None
    return response.split("\0")[1] if isinstance(response, str) and response.count("\0") == 2 else ""


def _carry_out(model: Model, channel: Channel, event: Event, earlier: int) -> None:
    """A method that the broker handles: what it needs is weighed before it has any effect. `earlier` is the same method
    before, if that may not be handled yet."""
    stock = stock_of(model, channel, event) if event.method == "queue.delete" or event.has("passive") else None
    must = None if model.open else topology.weigh(topology.Asked(model.topology, channel, event, model.profile, stock))
    if isinstance(must, topology.Refusal):
        _refuse(channel, event, must)
        return
    event = topology.in_full(model.topology, channel, event)
    _HANDLERS.get(event.method, _request)(model, channel, event)
    overtaking.changed(model, channel, event)
    if event.method in topology.TRANSITIONS:
        rerouting.changed(model, channel, event)
    if isinstance(must, topology.Grant):
        requests.claim(channel, event, must.rules, earlier)


def _refuse(channel: Channel, event: Event, refusal: topology.Refusal) -> None:
    code, *also = refusal.codes
    if refusal.scope == "channel":
        number = channel.published + 1 if channel.confirm and event.method == "basic.publish" else 0
        requests.fail_channel(channel, event, refusal.rule, code, refusal.what, number, tuple(also))
        return
    ids = event.class_id, event.method_id
    error = ClientError(event.seq, refusal.rule, code, *ids, refusal.what, also=tuple(also))
    requests.fail_connection(channel.connection, error)


def _close_connection(connection: Connection, seq: int) -> None:
    connection.closing = seq
    for channel in connection.open_channels():
        channel.closed_with = seq
        channel.end = channel.end or "connection.close"
        endings.release(channel, seq)


def _unopened(model: Model, connection: Connection, channel: Channel | None, event: Event) -> None:
    """A method on a channel that is not open costs the connection, unless the number was in use just before.

    A broker may still be winding up the channel that was closed, and discard what comes for it. One that takes no
    notice of the close carries it out: what becomes of the queue then is no further fault.
    """
    queue = model.queues.get(event.queue or "")
    if queue is not None and event.method in _MAY_HAPPEN:
        _MAY_HAPPEN[event.method](queue, channel or Channel(connection, event.channel, event.seq), event)
    if channel is not None:
        channel.indeterminate = True
        connection.misused = event.seq
    ids = event.class_id, event.method_id
    requests.fail_connection(
        connection,
        ClientError(
            event.seq,
            "ERR-010",
            504,
            *ids,
            f"{event.method} on channel {event.channel}, which is not open",
            optional=channel is not None,
        ),
    )


def _may_delete(queue: Queue, channel: Channel, event: Event) -> None:
    queue.doubt()
    queue.disinherit()
    queue.deleted = event.seq
    queue.deletion = queue.deletion or Change(channel, event.seq)


def _may_purge(queue: Queue, channel: Channel, event: Event) -> None:
    queue.doubt()
    queue.purged = event.seq


def _may_take(queue: Queue, channel: Channel, event: Event) -> None:
    receiver = queue.taken_by(PotentialReceiver(event.seq, "no_ack" in event.flags, get=event.method == "basic.get"))
    queue.lose(receiver)


_MAY_HAPPEN: dict[str, Callable[[Queue, Channel, Event], None]] = {
    "queue.delete": _may_delete,
    "queue.purge": _may_purge,
    "basic.consume": _may_take,
    "basic.get": _may_take,
}


def _ignored(model: Model, channel: Channel, event: Event) -> None:
    if event.method == "basic.publish":
        channel.uncounted += channel.confirm
        queue = model.queues.get(event.routing_key or "")
        if not event.exchange and queue is not None and event.message and event.message not in queue.copies:
            copy = Copy(event.message, queue, event.seq, channel, place=VOID, entered=event.seq)
            queue.copies[copy.id] = copy
            queue.voided.append(copy)
            channel.voided.append(copy)
    elif event.method == "channel.close":
        channel.close_sent = event.seq
        requests.request(channel, event)
    elif event.method in SETTLING:
        settling.ignored(channel, event)
    else:
        requests.request(channel, event, ignored=True)


def _request(model: Model, channel: Channel, event: Event) -> None:
    requests.request(channel, event)


def _close(model: Model, channel: Channel, event: Event) -> None:
    endings.release(channel, event.seq)
    channel.end = "close"
    channel.state, channel.close_sent, channel.closed_with = CLOSING, event.seq, event.seq
    channel.expect(requests.new_request(event))


def _consume(model: Model, channel: Channel, event: Event) -> None:
    tag, queue = event.consumer_tag or "", model.queue(event.queue or "")
    present = channel.consumers.get(tag)
    refusal = timeouts.refusal(model, event, queue.kind, event.args.get("arguments") or {})
    if refusal:
        requests.fail_channel(
            channel, event, refusal, 406, f"basic.consume from a {queue.kind} queue with {timeouts.ARGUMENT}"
        )
        return
    if tag and present is not None and present.state == TIMED:
        what = f"basic.consume with the tag {tag!r}, of a consumer that has timed out"
        requests.fail_connection(
            channel.connection, ClientError(event.seq, "TMO-014", 530, 60, 20, what, optional=True)
        )
    elif (
        tag
        and present is not None
        and present.state != CANCELLING
        and present.source.declared
        and (not present.source.deleted)
    ):
        accepted = model.profile.choices.get("duplicate_consumer_tag") == "accepted"
        what = f"basic.consume with the tag {tag!r}, which is in use"
        requests.fail_connection(channel.connection, ClientError(event.seq, "ERR-009", 530, 60, 20, what, accepted))
        if not accepted:
            return
    elif tag and present is not None and present.state != CANCELLING:
        what = f"basic.consume with the tag {tag!r}, of a consumer whose queue may be gone"
        requests.fail_connection(channel.connection, ClientError(event.seq, "", 530, 60, 20, what, optional=True))
    no_ack = "no_ack" in event.flags
    receiver = queue.taken_by(PotentialReceiver(event.seq, no_ack, get=False))
    waits = "no_wait" not in event.flags
    consumer = channel.consumers[tag] = Consumer(
        tag,
        queue.name,
        no_ack,
        STARTING if waits else LIVE,
        queue,
        receiver,
        channel.prefetch,
        channel.prefetch_at,
        channel.prefetch_global,
        since=event.seq,
        quiet=not waits,
        rank=_rank(event),
    )
    receiver.consumer = consumer
    channel.joined += 1
    queue.joined += 1
    timeouts.started(model, channel, consumer, event)
    error = windows.refuses(model, channel, event, queue)
    if error is not None:
        requests.fail_connection(channel.connection, error)
    if queue.kind != "classic":
        windows.lose(channel)
    topology.apply(model.topology, channel, event, Change(channel, event.seq))
    request = requests.request(channel, event)
    if request is not None:
        request.source = queue
    cancelling.started(channel, consumer, request)


def _rank(event: Event) -> int:
    """The priority that a consumer asks for."""
    value = (event.args.get("arguments") or {}).get("x-priority")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _cancel(model: Model, channel: Channel, event: Event) -> None:
    cancelling.cancel(channel, event.consumer_tag or "", event, requests.request(channel, event))


def _cancel_ok(model: Model, channel: Channel, event: Event) -> None:
    consumer = channel.consumers.get(event.consumer_tag or "")
    if consumer is not None and consumer.state == TIMED:
        cancelling.end(channel, consumer, cancelling.AGREED, event.seq)
        return
    what = "a basic.cancel-ok of the client"
    requests.fail_connection(channel.connection, ClientError(event.seq, "CAN-017", 503, 60, 31, what, optional=True))


def _get(model: Model, channel: Channel, event: Event) -> None:
    queue, request = model.queue(event.queue or ""), requests.new_request(event)
    channel.fetched = True
    census = counts.asked(model, queue, event)
    request.source, request.no_ack = queue, "no_ack" in event.flags
    request.receiver = queue.taken_by(PotentialReceiver(event.seq, request.no_ack, get=True))
    request.census = counts.sent(census)
    channel.expect(request)


def _qos(model: Model, channel: Channel, event: Event) -> None:
    size = int(event.args.get("prefetch_size", 0))
    if size != channel.octets:
        channel.octets, channel.octets_at = size, event.seq
    if size:
        requests.fail_connection(
            channel.connection, ClientError(event.seq, "ERR-009", 540, 60, 10, f"prefetch_size {size}", True)
        )
    again = windows.is_set(channel, event)
    windows.set_limit(model, channel, event)
    request = requests.request(channel, event)
    if request is not None:
        request.again = again


def _recover(model: Model, channel: Channel, event: Event) -> None:
    if "requeue" not in event.flags:
        requests.fail_connection(
            channel.connection,
            ClientError(
                event.seq,
                "ERR-009",
                540,
                60,
                event.method_id,
                "basic.recover without requeue",
                True,
            ),
        )
        endings.blur(channel)
    else:
        _recover_all(channel, event)
    _request(model, channel, event)


def _recover_all(channel: Channel, event: Event) -> None:
    everything = list(channel.unacked.values())
    recover = Settlement(
        event.seq,
        event.method,
        event.method_id,
        0,
        True,
        True,
        channel,
        covered=everything,
    )
    races.begin(channel, recover)
    channel.gave_back = event.seq
    for delivery in everything:
        settling.release(delivery, recover)
        windows.given_back(delivery, recover, event.seq)
        delivery.recovered = event.seq
        channel.gets_recovered += delivery.consumer is None
        _give_back(delivery, event.seq, recover)


def _give_back(delivery: Delivery, seq: int, recover: Settlement) -> None:
    copy = delivery.copy
    if copy.holder is not delivery:
        return
    if copy.indeterminate:
        copy.queue.unsettle(copy, indeterminate=True)
        return
    copy.queue.back(copy, RECOVERED, seq, recover)
    delivery.channel.await_proof(copy, seq)


def _flow(model: Model, channel: Channel, event: Event) -> None:
    channel.paused = "active" not in event.flags
    _request(model, channel, event)


def _delete(model: Model, channel: Channel, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    change, census = Change(channel, event.seq), counts.asked(model, queue, event)
    topology.apply(model.topology, channel, event, change)
    if queue is not None and (event.has("if_unused") or event.has("if_empty")):
        queue.forget()
    elif queue is not None:
        queue.doubt()
        queue.disinherit()
        queue.deleted = event.seq
        queue.deletion = queue.deletion or change
        cancelling.delete(model.connections.values(), queue, queue.deletion)
        memory.queue_deleted(model, queue)
        change = queue.deletion
    _change(channel, event, change, census)


def _purge(model: Model, channel: Channel, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    census = counts.asked(model, queue, event)
    long = queue is not None and len(queue.fresh) >= LONG
    if queue is not None:
        queue.doubt()
        queue.purged = event.seq
        queue.purging += "no_wait" not in event.flags
    request = requests.request(channel, event)
    if request is not None:
        request.source, request.census = queue, counts.sent(census)
        request.rule = "QUEUE-034" if long else ""


def _declare(model: Model, channel: Channel, event: Event) -> None:
    arguments = event.args.get("arguments") or {}
    kind = str(arguments.get("x-queue-type") or "classic")
    refusal = timeouts.refusal(model, event, kind, arguments) if "passive" not in event.flags else ""
    if refusal:
        requests.fail_channel(channel, event, refusal, 406, f"queue.declare of a {kind} queue with {timeouts.ARGUMENT}")
        return
    model.settings.timed = model.settings.timed or timeouts.ARGUMENT in arguments
    census, change = counts.asked(model, model.queues.get(event.queue or ""), event), Change(channel, event.seq)
    topology.apply(model.topology, channel, event, change)
    if "passive" not in event.flags and event.queue:
        declaring.declare(model, event.queue, event, channel, change)
    request = _change(channel, event, change, census)
    if request is not None and (stock := stock_of(model, channel, event)) is not None:
        request.source, request.consumers = stock.queue, stock.consumers()


def _change(channel: Channel, event: Event, change: Change, census: Census | None = None) -> Request | None:
    """The answer to this method, where there is one, makes the change certain; else that to a later one does."""
    request = requests.request(channel, event)
    if request is not None:
        request.change, request.census = change, counts.sent(census)
    else:
        channel.untold.append(change)
    return request


def _topology(model: Model, channel: Channel, event: Event) -> None:
    change = Change(channel, event.seq)
    topology.apply(model.topology, channel, event, change)
    _change(channel, event, change)


_HANDLERS: dict[str, Handler] = {
    "channel.close": _close,
    "channel.flow": _flow,
    "basic.publish": publishing.publish,
    "basic.consume": _consume,
    "channel.flow-ok": lambda model, channel, event: None,
    "basic.cancel": _cancel,
    "basic.cancel-ok": _cancel_ok,
    "basic.get": _get,
    "basic.qos": _qos,
    "basic.recover": _recover,
    "basic.recover-async": _recover,
    "confirm.select": publishing.confirm_select,
    "tx.select": transacting.select,
    "tx.commit": transacting.commit,
    "tx.rollback": transacting.rollback,
    "queue.declare": _declare,
    "queue.delete": _delete,
    "queue.purge": _purge,
    "queue.bind": _topology,
    "queue.unbind": _topology,
    "exchange.declare": _topology,
    "exchange.delete": _topology,
    "exchange.bind": _topology,
    "exchange.unbind": _topology,
}

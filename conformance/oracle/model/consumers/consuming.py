"""What the client asks to be given: by consumers and gets, within limits, and all that it holds once more.

A consumer or a get is a receiver of its queue from the moment that it is sent, for the broker may serve it before it
answers. What the client may not ask for is noted as its mistake, with what that costs; where brokers differ, the
mistake is optional, and the request is followed as if it were right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import endings, requests
from conformance.oracle.model.connections.channels import (
    CANCELLING,
    LIVE,
    STARTING,
    TIMED,
    ChannelLife,
    Consumer,
    unnamed,
)
from conformance.oracle.model.consumers import cancelling, clocks, settling, taking, timeouts, windows
from conformance.oracle.model.doubts import races
from conformance.oracle.model.queues import counts
from conformance.oracle.model.queues.stock import excludes
from conformance.oracle.model.records import RECOVERED, ClientError, Delivery, PotentialReceiver, Settlement
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model


NOT_ALLOWED = 530


def mistaken_too(channel: ChannelLife, event: Event) -> tuple[int, ...]:
    """The code by which a consumer that is refused anyway may cost the connection: its tag may be in use as well, and
    no text says which of two mistakes a broker looks for first."""
    in_use = event.method == "basic.consume" and (event.consumer_tag or "") in channel.consumers
    return (NOT_ALLOWED,) if in_use else ()


def consume(model: Model, channel: ChannelLife, event: Event) -> None:
    tag, queue = event.consumer_tag or unnamed(event.seq), model.queue(event.queue or "")
    present = channel.consumers.get(tag)
    refusal = timeouts.refusal(model, event, queue.kind, event.args.get("arguments") or {})
    if refusal:
        requests.fail_channel(
            channel, event, refusal, 406, f"basic.consume from a {queue.kind} queue with {clocks.ARGUMENT}"
        )
        return
    if present is not None and present.state == TIMED:
        what = f"basic.consume with the tag {tag!r}, of a consumer that has timed out"
        requests.fail_connection(
            channel.connection, ClientError(event.seq, "TMO-014", NOT_ALLOWED, 60, 20, what, optional=True)
        )
    elif (
        present is not None and present.state != CANCELLING and present.source.declared and (not present.source.deleted)
    ):
        accepted = model.profile.choices.get("duplicate_consumer_tag") == "accepted"
        what = f"basic.consume with the tag {tag!r}, which is in use"
        taken = ClientError(event.seq, "ERR-009", NOT_ALLOWED, 60, 20, what, accepted)
        requests.fail_connection(channel.connection, taken)
        if not accepted:
            return
    elif present is not None and present.state != CANCELLING:
        what = f"basic.consume with the tag {tag!r}, of a consumer whose queue may be gone"
        taken = ClientError(event.seq, "", NOT_ALLOWED, 60, 20, what, optional=True)
        requests.fail_connection(channel.connection, taken)
    if excludes(queue, exclusive=event.has("exclusive")):
        endings.dare(channel, event)
    no_ack = "no_ack" in event.flags
    receiver = taking.begin(queue, PotentialReceiver(event.seq, no_ack, get=False))
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
        exclusive=event.has("exclusive"),
        suspended=channel.paused,
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
    topology.apply(model.topology, channel, event, TopologyChange(channel, event.seq))
    request = requests.request(channel, event)
    if request is not None:
        request.source = queue
    cancelling.started(channel, consumer, request)


def _rank(event: Event) -> int:
    """The priority that a consumer asks for."""
    value = (event.args.get("arguments") or {}).get("x-priority")
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def cancel(model: Model, channel: ChannelLife, event: Event) -> None:
    cancelling.cancel(channel, event.consumer_tag or "", event, requests.request(channel, event))


def cancel_ok(model: Model, channel: ChannelLife, event: Event) -> None:
    consumer = channel.consumers.get(event.consumer_tag or "")
    if consumer is not None and consumer.state == TIMED:
        cancelling.end(channel, consumer, cancelling.AGREED, event)
        return
    what = "a basic.cancel-ok of the client"
    requests.fail_connection(channel.connection, ClientError(event.seq, "CAN-017", 503, 60, 31, what, optional=True))


def get(model: Model, channel: ChannelLife, event: Event) -> None:
    queue, request = model.queue(event.queue or ""), requests.new_request(event)
    channel.fetched = True
    census = counts.asked(model, queue, event)
    request.source, request.no_ack = queue, "no_ack" in event.flags
    request.receiver = taking.begin(queue, PotentialReceiver(event.seq, request.no_ack, get=True))
    request.census = counts.sent(census)
    channel.expect(request)


def qos(model: Model, channel: ChannelLife, event: Event) -> None:
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


def recover(model: Model, channel: ChannelLife, event: Event) -> None:
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
    requests.request(channel, event)


def _recover_all(channel: ChannelLife, event: Event) -> None:
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
    if any(delivery.copy.queue.deleted for delivery in everything):
        channel.connection.recovered_gone = event.seq
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

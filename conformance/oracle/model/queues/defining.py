"""What the client changes of what there is: queues, exchanges and bindings, and what a queue holds.

A change counts from when it is sent, and is certain from its answer on: the request carries it until then. What a
removal may hit is doubted at once. What the declaration of a queue means for its messages is in `declaring`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model import memory
from conformance.oracle.model.connections import endings, requests
from conformance.oracle.model.connections.channels import ChannelLife
from conformance.oracle.model.consumers import cancelling, clocks, timeouts
from conformance.oracle.model.queues import counts, declaring, dropping
from conformance.oracle.model.queues.emptied import QuietPurge
from conformance.oracle.model.queues.stock import stock_of
from conformance.oracle.model.records import Census, Request
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

LONG = 256
"""From so many messages on the purge of a queue is work."""


def declare(model: Model, channel: ChannelLife, event: Event) -> None:
    arguments = event.args.get("arguments") or {}
    kind = str(arguments.get("x-queue-type") or "classic")
    refusal = timeouts.refusal(model, event, kind, arguments) if "passive" not in event.flags else ""
    if refusal:
        requests.fail_channel(channel, event, refusal, 406, f"queue.declare of a {kind} queue with {clocks.ARGUMENT}")
        return
    model.settings.timed = model.settings.timed or clocks.ARGUMENT in arguments
    census, change = counts.asked(model, model.queues.get(event.queue or ""), event), TopologyChange(channel, event.seq)
    topology.apply(model.topology, channel, event, change)
    if "passive" not in event.flags and event.queue:
        declaring.declare(model, event.queue, event, channel, change)
    request = _change(channel, event, change, census)
    if request is not None and (stock := stock_of(model, channel, event)) is not None:
        request.source, request.consumers = stock.queue, stock.consumers()


def delete(model: Model, channel: ChannelLife, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    change, census = TopologyChange(channel, event.seq), counts.asked(model, queue, event)
    topology.apply(model.topology, channel, event, change)
    if queue is not None and (event.has("if_unused") or event.has("if_empty")):
        queue.forget()
        queue.spared = event.seq
        endings.dare(channel, event)
    elif queue is not None:
        queue.doubt()
        dropping.disinherit(queue)
        queue.deleted = event.seq
        queue.deletion = queue.deletion or change
        cancelling.delete(model.connections.values(), queue, queue.deletion)
        memory.queue_deleted(model, queue)
        change = queue.deletion
    _change(channel, event, change, census)


def purge(model: Model, channel: ChannelLife, event: Event) -> None:
    queue = model.queues.get(event.queue or "")
    census = counts.asked(model, queue, event)
    long = queue is not None and len(queue.fresh) >= LONG
    if queue is not None:
        queue.doubt()
        queue.purged, queue.cleared = event.seq, 0
        queue.emptied = 0 if queue.receivers or queue.purging else event.seq
        queue.purging += "no_wait" not in event.flags
    request = requests.request(channel, event)
    if request is not None:
        request.source, request.census = queue, counts.sent(census)
        request.rule = "QUEUE-034" if long else ""
    elif queue is not None:
        channel.untold.append(QuietPurge(event.seq, queue))


def arrange(model: Model, channel: ChannelLife, event: Event) -> None:
    """Exchanges and bindings: where publishes go from now on."""
    change = TopologyChange(channel, event.seq)
    topology.apply(model.topology, channel, event, change)
    _change(channel, event, change)


def _change(channel: ChannelLife, event: Event, change: TopologyChange, census: Census | None = None) -> Request | None:
    """The answer to this method, where there is one, makes the change certain; else that to a later one does."""
    request = requests.request(channel, event)
    if request is not None:
        request.change, request.census = change, counts.sent(census)
    else:
        channel.untold.append(change)
    return request

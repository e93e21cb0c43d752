"""Circumstances of what ends: channels, connections, the broker itself; and of what comes before or after its life."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found, at_kill, declared, life, message, out
from conformance.oracle.model.connections.channels import BUFFERING, CLOSED, ChannelLife
from conformance.oracle.model.connections.handshake import FRAME_MIN
from conformance.oracle.model.records import OUT, WAITING, Delivery

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

LARGER_MIN = 8192
"""Octets of the least frame, where tokens do not fit into that of the texts."""
YOUNG = 2_000_000_000
"""Nanoseconds: so young is a queue that was declared right before. Measured: half a second is, a second is not."""
APPLIES = 500_000_000
"""Nanoseconds: so long a channel may keep settlements back. Measured: 5 milliseconds after its answer it did so, and 20
milliseconds after it not, on a busy machine."""


def killed(model: Model, event: Event) -> Found:
    yield from _expiring(model)
    for queue in model.queues.values():
        if queue.declared and event.time_ns - queue.declared_ns < YOUNG:
            yield at_kill(event.seq, queue), "killed-young"


def _expiring(model: Model) -> Found:
    """What is persistent, has an expiration, and may be in a queue that is kept. Its dead letter has its name."""
    for queue in model.queues.values():
        for copy in queue.copies.values() if queue.durable and queue.kind == "classic" else ():
            one, here = copy.publication, copy.indeterminate or copy.place in (WAITING, OUT)
            if here and one is not None and one.persistent and "expiration" in one.content:
                yield message(copy.id), "expiring-message-restarted"


def restarted(model: Model) -> Found:
    yield from _expiring(model)
    if any(not one.durable and one.gone is None for one in model.topology.exchanges.values()):
        yield EVERYWHERE, "transient-exchange-restarted"
    for queue in model.queues.values():
        copies = [copy for copy in queue.copies.values() if queue.durable and copy.publication is not None]
        if any(copy.place == OUT for copy in copies):
            yield EVERYWHERE, "delivered-restarted"
        classic = [copy for copy in copies if queue.kind == "classic" and copy.place in (WAITING, OUT)]
        if any(copy.publication is not None and not copy.publication.persistent for copy in classic):
            yield declared(queue), "transient-message-restarted"


def channel_opened(model: Model, connection: Connection, event: Event) -> Found:
    former = connection.channels.get(event.channel)
    if former is not None and former.close_seen:
        yield f"channel {connection.name} {event.channel} {event.seq}", "opened-after-failure"


def tuned(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction == TO_BROKER and FRAME_MIN <= int(event.args.get("frame_max", 0)) < LARGER_MIN:
        yield f"connection {connection.name}", "frame-max-below-8192"


def channel_closed(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    ours = event.direction == TO_BROKER
    if channel.discarding if ours else channel.close_sent:
        yield life(channel), "closes-cross"
    if ours:
        yield from _ends(channel, event)
        return
    yield from deadlines(model, channel)
    if len({one.consumer for one in _overdue(channel, event)}) > 1:
        yield life(channel), "timed-out-together"


def _overdue(channel: ChannelLife, event: Event) -> Iterator[Delivery]:
    """Deliveries that may have timed out by now, though the first of them ended the channel a while ago."""
    for one in (channel.unacked or channel.deliveries).values():
        if one.settlement is None and one.timer is not None and one.timer.possible(event.time_ns):
            yield one


def connection_closed(model: Model, connection: Connection, event: Event) -> Found:
    handshake = connection.handshake
    ours = event.direction == TO_BROKER
    if ours and event.channel:
        yield f"connection {connection.name}", "close-on-a-channel"
    if event.kind == METHOD and (handshake.kicked and not handshake.agreed if ours else connection.closing):
        yield f"connection {connection.name}", "connection-closes-cross"
    for channel in connection.channels.values():
        yield from _ends(channel, event)


def _ends(channel: ChannelLife, event: Event) -> Found:
    if channel.state == CLOSED:
        return
    if channel.may_buffer() and (channel.unproven or _unapplied(channel, event)):
        yield life(channel), "settlements-kept-back"
    if True in channel.modes and channel.last_tag > BUFFERING:
        yield life(channel), "automatic-kept-back"
    if channel.publishing or channel.unconfirmed:
        yield life(channel), "publish-before-end"


def _unapplied(channel: ChannelLife, event: Event) -> bool:
    """May its last settlement not have reached the queue? What the channel answers does not show that it has; the
    confirm of a later publish does."""
    last = channel.last_settlement
    return last is not None and last.seq > channel.confirmed_from and event.time_ns - last.time_ns < APPLIES


def unopened(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if event.direction == TO_BROKER and (channel is None or channel.state == CLOSED):
        yield f"connection {connection.name}", "unopened-work"


def deadlines(model: Model, channel: ChannelLife) -> Found:
    """Something ends here, maybe because its time was over: what else on its queues has a deadline?"""
    if not model.settings.timed:
        return
    here = {one.queue for one in channel.unacked.values() if one.timer is not None}
    timed = [one for one in outstanding(model) if one.timer is not None and one.queue in here]
    for one in timed:
        if any(other is not one and other.queue == one.queue for other in timed):
            yield out(one), "several-deadlines"
        yield from _after_another(one)


def waited(model: Model) -> Found:
    """The client waited for timeouts in vain."""
    for one in outstanding(model) if model.settings.timed else ():
        yield from _after_another(one)


def _after_another(delivery: Delivery) -> Found:
    if delivery.timer is not None and delivery.timer.alone:
        yield out(delivery), "deadline-after-settled"


def outstanding(model: Model) -> Iterator[Delivery]:
    for connection in model.connections.values():
        for channel in connection.channels.values():
            yield from channel.unacked.values()

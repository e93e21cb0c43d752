"""Consumers that end while their channel lives: because the client cancels them, or because their queue is gone.

The broker answers the client's cancel with cancel-ok, unless nowait was set. The broker's notification is a
basic.cancel of its own. The two may cross, and the tag may be in use again before the second one comes. So the model
remembers every end by its tag, and gives each frame to the consumer that it can belong to.

A cancel without answer is proven in two steps. An answer to something sent later shows that the channel has handled the
cancel. But deliveries that were already waiting may still follow. So the consumer counts as ended only when something
that was sent after that answer has also been answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model import memory
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import CANCELLING, LIVE, TIMED, ChannelLife, Consumer
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import taking
from conformance.oracle.model.facts import ConsumerEndProven, Fact, Notified, UnnotifiedConsumer
from conformance.oracle.model.records import Request
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.queues.queue import Queue

CANCELLED, NOTIFIED, SILENT = "cancel-ok", "notification", "cancel without answer"
AGREED = "the client's cancel-ok"
"""Its answer to the notification of a timeout, which asks for none."""
NOTICE = "consumer_cancel_notify"


@dataclass(slots=True, eq=False, repr=False)
class Ended:
    """A consumer that has ended, and how its client learned of it."""

    tag: str
    source: Queue
    how: str
    at: int
    asked: int = 0
    """When the client sent its cancel."""
    noticed: int = 0
    """When the broker's notification came."""


# -- what the two sides say of themselves


def introduce(connection: Connection, event: Event) -> None:
    """The broker's connection.start."""
    connection.offers = capability(event.args.get("server_properties"))


def announce(connection: Connection, event: Event) -> None:
    """The client's start-ok. Only the boolean counts: JSON keeps it apart from 1 and from the word."""
    connection.notices = capability(event.args.get("client_properties"))


def capability(properties: object, name: str = NOTICE) -> bool:
    """Is this among the capabilities that a side announces?"""
    capabilities = properties.get("capabilities") if isinstance(properties, Mapping) else None
    return isinstance(capabilities, Mapping) and capabilities.get(name) is True


# -- what the client asks for


def started(channel: ChannelLife, consumer: Consumer, request: Request | None) -> None:
    """basic.consume was sent."""
    channel.joining.append(consumer)
    if request is None:
        return
    if consumer.tag in channel.ended:
        request.rule = "CAN-013"
    elif any(consumer.tag in other.consumers for other in channel.connection.channels.values() if other is not channel):
        request.rule = "CAN-018"
    elif channel.of_before(consumer.tag):
        request.rule = "ERR-007"


def cancel(channel: ChannelLife, tag: str, event: Event, request: Request | None) -> None:
    """basic.cancel was sent; `request` is None where it wants no answer."""
    consumer = channel.consumers.get(tag)
    if request is not None:
        request.rule = _rule_of(channel, tag)
        request.source = consumer.source if consumer is not None else None
    if consumer is None:
        return
    consumer.asked = event.seq
    if request is None and consumer.state != CANCELLING:
        channel.silent.append(consumer)
    consumer.state = CANCELLING
    if not consumer.source.semantics.cancelok_ends:
        taking.lose(consumer.source, consumer.receiver)


def _rule_of(channel: ChannelLife, tag: str) -> str:
    """The rule by which this cancel is answered."""
    consumer = channel.consumers.get(tag)
    if consumer is None:
        return "CAN-006" if tag in channel.ended or channel.adopted else "CAN-007"
    if consumer.state == CANCELLING:
        return "CAN-006"
    if consumer.state == TIMED:
        return "TMO-013"
    if not consumer.source.deleted:
        return "CAN-005"
    deletion = consumer.source.deletion
    told = deletion is not None and deletion.known and not channel.connection.notices
    return "CAN-006" if told else "CAN-008"


def delete(connections: Iterable[Connection], queue: Queue, deletion: TopologyChange) -> None:
    """The deletion of a queue was sent: it crosses the cancels that are under way, and may fail who asks for it."""
    for connection in connections:
        for channel in connection.channels.values():
            for request in channel.pending():
                if request.source is not queue:
                    continue
                if request.method == "basic.cancel":
                    request.rule = "CAN-008"
                elif deletion.by is not channel:
                    endings.risk(channel, request.seq)


def contested(channel: ChannelLife, tag: str) -> bool:
    """May this tag stand for a consumer whose cancel is still under way, beside the one that has it now?"""
    if not (channel.requests or channel.silent):
        return False
    consumer = channel.consumers.get(tag)
    if consumer is None or consumer.state == CANCELLING:
        return False
    return bool(channel.requests.get(("basic.cancel", tag))) or any(one.tag == tag for one in channel.silent)


def renew(connection: Connection, at: int) -> None:
    """New credentials were sent: what the user may no longer read, its consumers may be ended for."""
    for channel in connection.channels.values():
        for consumer in channel.consumers.values():
            if consumer.queue in connection.unreadable and consumer.state == LIVE:
                consumer.revoked = at


# -- what comes of it


def established(consumer: Consumer, event: Event) -> None:
    """The queue certainly knows this consumer."""
    consumer.established = consumer.established or event.seq


def answered(channel: ChannelLife, event: Event, request: Request) -> None:
    """cancel-ok"""
    consumer = channel.consumers.get(request.consumer_tag)
    if consumer is None or consumer.state != CANCELLING or consumer.receiver.start > request.seq:
        return
    end(channel, consumer, CANCELLED, event)
    if consumer.source.semantics.cancelok_ends:
        taking.end(consumer.source, consumer.receiver, event.seq, blind=False)


def end(channel: ChannelLife, consumer: Consumer, how: str, event: Event) -> None:
    """The consumer is no more, and its client knows."""
    tag, at = consumer.tag, event.seq
    if channel.consumers.get(tag) is consumer:
        del channel.consumers[tag]
    ended = Ended(tag, consumer.source, how, at, consumer.asked, consumer.noticed)
    memory.consumer_ended(channel, ended)
    channel.bereaved = channel.bereaved or how == NOTIFIED
    if how in (CANCELLED, SILENT):
        consumer.source.part(event.time_ns)
    channel.unrested.append(ended)
    if not consumer.full():
        consumer.source.left[how] = at


def notified(channel: ChannelLife, event: Event) -> Iterator[Fact]:
    """The broker's own basic.cancel."""
    tag = event.consumer_tag or ""
    consumer, ended = channel.consumer_of(tag), channel.ended.get(tag)
    former = _former(channel, tag, consumer, event.seq)
    if former is not None and (consumer is None or not consumer.source.deleted):
        consumer, ended = None, former
    elif ended is not None and _late(ended, consumer):
        consumer = None
    yield Notified(event, channel, tag, consumer, None if consumer is not None else ended)
    if consumer is None:
        if ended is not None:
            ended.noticed = event.seq
        return
    again, consumer.noticed = consumer.noticed, consumer.noticed or event.seq
    if consumer.source.deleted:
        if consumer.state != CANCELLING:
            end(channel, consumer, NOTIFIED, event)
            taking.end(consumer.source, consumer.receiver, event.seq, blind=False)
    elif not again:
        _timed_out(channel, consumer)


def _former(channel: ChannelLife, tag: str, consumer: Consumer | None, at: int) -> Ended | None:
    """The owner of the tag before this one, whose cancel is under way and whose queue is gone: it may be told of that
    until its cancel is handled."""
    for one in channel.silent:
        if one.tag == tag and one is not consumer and one.source.deleted and not one.noticed:
            one.noticed = at
            return Ended(tag, one.source, SILENT, 0, one.asked)
    if consumer is None:
        return None
    for request in channel.requests.get(("basic.cancel", tag), ()):
        if request.seq < consumer.receiver.start and request.source is not None and request.source.deleted:
            return Ended(tag, request.source, CANCELLED, 0, request.seq)
    return None


def _late(ended: Ended, consumer: Consumer | None) -> bool:
    """Does the notification belong to the former owner of the tag, whose end it crossed?"""
    return consumer is None or (ended.source.deleted > 0 and not ended.noticed and not consumer.source.deleted)


def _timed_out(channel: ChannelLife, consumer: Consumer) -> None:
    """The broker ends a consumer whose queue is there, for reasons that we cannot tell: what it holds may go back."""
    consumer.state = CANCELLING
    taking.lose(consumer.source, consumer.receiver)
    for delivery in channel.unacked.values():
        if delivery.consumer is consumer:
            delivery.indeterminate = True
            consumer.source.unsettle(delivery.copy, indeterminate=True)


def rest(channel: ChannelLife, sent: int, event: Event) -> Iterator[Fact]:
    """An answer to what was sent then: who has begun or ended by now?"""
    if channel.joining:
        for consumer in channel.joining:
            if consumer.receiver.start < sent and consumer.state == LIVE:
                established(consumer, event)
        channel.joining = [one for one in channel.joining if not one.established and one.state != CANCELLING]
    for consumer in [one for one in channel.silent if one.asked < sent]:
        if not consumer.handled:
            consumer.handled = event.seq
        elif consumer.handled < sent:
            channel.silent.remove(consumer)
            end(channel, consumer, SILENT, event)
            if consumer.source.semantics.cancelok_ends:
                taking.end(consumer.source, consumer.receiver, event.seq, blind=False)
    for ended in [one for one in channel.unrested if one.at < sent]:
        channel.unrested.remove(ended)
        yield ConsumerEndProven(event, channel, ended)
    if channel.connection.notices is False:
        yield from _bereft(channel, sent, event)


def _bereft(channel: ChannelLife, sent: int, event: Event) -> Iterator[Fact]:
    for consumer in channel.consumers.values():
        deletion = consumer.source.deletion
        if deletion is not None and 0 < deletion.known < sent and not consumer.bereft:
            yield UnnotifiedConsumer(event, channel, consumer)
            consumer.bereft = True

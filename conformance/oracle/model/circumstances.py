"""The circumstances in which something happened: races and combinations in which brokers are known to fail.

A known deviation excuses a finding only in its own circumstance; that the words are the same is not enough. Each
circumstance has a name and a place: one life of a channel, a queue, a connection, or the whole history. It is noted
when the event that completes it comes, before the model learns from that event, and only from what the wire shows. A
finding has all circumstances that were noted at the places of its fact. Each is given with its name and the narrowest
of these places.

The model also counts how often each circumstance arose. Only together with this number does it mean something how often
a race goes wrong.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from conformance.history.events import END, KILLED, MALFORMED, METHOD, RESTARTED, RIGHTS, TO_BROKER, Event
from conformance.oracle.model import narrow, octets, ranking, requesting, routing
from conformance.oracle.model.channels import CANCELLING, CLOSED, Channel
from conformance.oracle.model.facts import Fact, Overdue
from conformance.oracle.model.handshake import FRAME_MIN
from conformance.oracle.model.records import OUT, WAITING, Copy, Delivery
from conformance.oracle.topology import meeting

if TYPE_CHECKING:
    from conformance.oracle.model.connections import Connection
    from conformance.oracle.model.model import Model
    from conformance.oracle.model.queues import Queue

NO_NUMBER = re.compile(r'"(?:-?inf|nan)"')
"""How an event has a float that is infinite, or no number."""
PLACES = 4096
"""This many places are remembered."""
EVERYWHERE = ""
LARGER_MIN = 8192
"""Octets of the least frame, where tokens do not fit into that of the texts."""
DEAD = "x-dead-letter-exchange"
USUAL_NAME = 127
"""Octets of a name that leave room for words of a refusal."""
YOUNG = 2_000_000_000
"""Nanoseconds: so young is a queue that was declared right before. Measured: half a second is, a second is not."""

APPLIES = 500_000_000
"""Nanoseconds: so long a channel may keep settlements back. Measured: 5 milliseconds after its answer it did so, and 20
milliseconds after it not, on a busy machine."""

NOTICED = 500_000_000
"""Nanoseconds: so long ago a client may have hung up, and its broker not know it. Measured: of 1000 times it took no
more than 6 milliseconds."""


class Circumstances:
    """Of one history: which have arisen, and at which places."""

    __slots__ = ("_at", "_met")

    def __init__(self, met: Counter[str]) -> None:
        """`met`: where it is counted that they arose."""
        self._at: dict[str, set[str]] = {}
        self._met = met

    def note(self, model: Model, event: Event) -> None:
        """The event may complete some; the model has not read it yet."""
        arisen: set[str] = set()
        for place, name in _completed(model, event):
            self._at.setdefault(place, set()).add(name)
            arisen.add(name)
        for name in arisen:
            self._met[name] += 1
        if len(self._at) > PLACES:
            del self._at[next(iter(self._at))]

    def of(self, fact: Fact) -> tuple[str, ...]:
        """Those in which the fact stands, as `NAME PLACE`."""
        found: dict[str, str] = {}
        for place in _places(fact) if self._at else ():
            for name in self._at.get(place, ()):
                found.setdefault(name, place)
        return tuple(f"{name} {place}" for name, place in sorted(found.items()))


Found = Iterator[tuple[str, str]]
"""Places and names."""


# -- places


def _places(fact: Any) -> Iterator[str]:
    """Where a fact is, the narrowest first: its delivery, its channels, queues and connections."""
    channels = [one for one in (getattr(fact, "channel", None), *_channels(fact)) if one is not None]
    if isinstance(fact, Overdue):
        yield _out(fact.delivery)
    for channel in channels:
        yield _life(channel)
    for copy in _copies(fact):
        yield _kill(copy.survives, copy.queue)
    for queue in _queues(fact):
        if queue is not None:
            yield f"queue {queue.name}"
    for channel in channels:
        yield f"connection {channel.connection.name}"
    for connection in (fact.event.connection, getattr(getattr(fact, "obligation", None), "connection", "")):
        if connection:
            yield f"connection {connection}"
    yield EVERYWHERE


def _queues(fact: Any) -> Iterator[Queue | None]:
    """Its own, those of its consumer, and those to which its publish went."""
    yield getattr(fact, "queue", None)
    for owner in (getattr(fact, "consumer", None), getattr(fact, "ended", None)):
        yield getattr(owner, "source", None)
    for copy in getattr(getattr(fact, "publication", None), "copies", ()):
        yield copy.queue


def _channels(fact: Any) -> Iterator[Channel | None]:
    """Those that had to do with the messages of a fact before."""
    for one in _copies(fact):
        yield one.publisher
        for known in (one.holder, one.settlement):
            yield known.channel if known is not None else None


def _copies(fact: Any) -> list[Copy]:
    """The messages of a fact; a few of them, where there are many."""
    copies: list[Copy] = list(getattr(fact, "copies", ()))
    if isinstance(copy := getattr(fact, "copy", None), Copy):
        copies.append(copy)
    return copies[:5]


def _kill(seq: int, queue: Queue) -> str:
    """A queue as one kill found it: at the next it may be old."""
    return f"queue {queue.name} at kill {seq}"


def _out(delivery: Delivery) -> str:
    return f"delivery {delivery.tag} on {_life(delivery.channel)}"


def _on(channel: Channel, name: str) -> Found:
    """What may cost the channel, or its connection."""
    yield _life(channel), name
    yield f"connection {channel.connection.name}", name


def _life(channel: Channel) -> str:
    return f"channel {channel.connection.name} {channel.number} {channel.opened}"


# -- what completes them


def _completed(model: Model, event: Event) -> Found:
    if event.kind == KILLED:
        yield from _killed(model, event)
    if event.kind == RESTARTED and event.args.get("state") == "stopping":
        yield from _restarted(model)
    if event.channel == 0 and event.method and not event.method.startswith("connection."):
        yield f"connection {event.connection}", "method-on-channel-0"
    if model.topology.rights.states:
        for channel, name in narrow.arisen(model, event):
            yield from _on(channel, name) if name == narrow.LONG_QUEUE else ((_life(channel), name),)
    if event.kind == RIGHTS and event.args.get("gone"):
        yield EVERYWHERE, "user-deleted"
    handler = _HANDLERS.get(event.method or event.kind)
    connection = model.connections.get(event.connection) if handler is not None else None
    if handler is not None and connection is not None:
        yield from handler(model, connection, event)


def _killed(model: Model, event: Event) -> Found:
    for queue in model.queues.values():
        if queue.declared and event.time_ns - queue.declared_ns < YOUNG:
            yield _kill(event.seq, queue), "killed-young"


def _restarted(model: Model) -> Found:
    if any(not one.durable and one.gone is None for one in model.topology.exchanges.values()):
        yield EVERYWHERE, "transient-exchange-restarted"
    for queue in model.queues.values():
        copies = [copy for copy in queue.copies.values() if queue.durable and copy.publication is not None]
        if any(copy.place == OUT for copy in copies):
            yield EVERYWHERE, "delivered-restarted"
        classic = [copy for copy in copies if queue.kind == "classic" and copy.place in (WAITING, OUT)]
        if any(copy.publication is not None and not copy.publication.persistent for copy in classic):
            yield EVERYWHERE, "transient-message-restarted"


def _opened(model: Model, connection: Connection, event: Event) -> Found:
    former = connection.channels.get(event.channel)
    if former is not None and former.close_seen:
        yield f"channel {connection.name} {event.channel} {event.seq}", "opened-after-failure"


def _channel_closed(model: Model, connection: Connection, event: Event) -> Found:
    yield from _unopened(model, connection, event)
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    ours = event.direction == TO_BROKER
    if channel.discarding if ours else channel.close_sent:
        yield _life(channel), "closes-cross"
    yield from _ends(channel, event) if ours else _deadlines(model, channel)


def _connection_closed(model: Model, connection: Connection, event: Event) -> Found:
    handshake = connection.handshake
    ours = event.direction == TO_BROKER
    if event.kind == METHOD and (handshake.kicked and not handshake.agreed if ours else connection.closing):
        yield f"connection {connection.name}", "connection-closes-cross"
    for channel in connection.channels.values():
        yield from _ends(channel, event)


def _tuned(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction == TO_BROKER and FRAME_MIN <= int(event.args.get("frame_max", 0)) < LARGER_MIN:
        yield f"connection {connection.name}", "frame-max-below-8192"


def _ends(channel: Channel, event: Event) -> Found:
    if channel.state == CLOSED:
        return
    if channel.may_buffer() and (channel.unproven or _unapplied(channel, event)):
        yield _life(channel), "settlements-kept-back"
    if channel.publishing or channel.unconfirmed:
        yield _life(channel), "publish-before-end"


def _unapplied(channel: Channel, event: Event) -> bool:
    """May its last settlement not have reached the queue? What the channel answers does not show that it has; the
    confirm of a later publish does."""
    last = channel.last_single
    return last is not None and last.seq > channel.confirmed_from and event.time_ns - last.time_ns < APPLIES


def _cancelled(model: Model, connection: Connection, event: Event) -> Found:
    channel, tag = connection.channels.get(event.channel), event.consumer_tag or ""
    if channel is None:
        return
    if event.direction != TO_BROKER:
        yield from _deadlines(model, channel)
        return
    consumer, ended = channel.consumers.get(tag), channel.ended.get(tag)
    if consumer is not None and consumer.source.single_active:
        yield f"queue {consumer.queue}", "single-active-cancelled"
    known = consumer or ended
    if known is not None and known.source.deleted:
        yield _life(channel), "cancel-meets-deletion"
        yield f"connection {connection.name}", "cancel-meets-deletion"
    if consumer is not None and (consumer.source.fresh or consumer.source.returned or consumer.source.held):
        yield _life(channel), "cancel-amid-deliveries"
        yield f"queue {consumer.queue}", "cancel-amid-deliveries"


def _cancel_agreed(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction == TO_BROKER:
        yield f"connection {connection.name}", "client-cancel-ok"


def _about_queue(model: Model, connection: Connection, event: Event) -> Found:
    yield from _unopened(model, connection, event)
    yield from _nameless(model, connection, event)


def _nameless(model: Model, connection: Connection, event: Event) -> Found:
    """By the empty name; does another channel of the connection know what that may stand for?"""
    channel, last = connection.channels.get(event.channel), model.topology.last
    if event.queue or channel is None or channel in last:
        return
    if any(one.connection is connection for one in last):
        yield from _on(channel, "last-queue-elsewhere")


def _bound(model: Model, connection: Connection, event: Event) -> Found:
    yield from _about_queue(model, connection, event)
    if None in (event.args.get("arguments") or {}).values():
        yield f"queue {event.queue}", "binding-without-value"


def _got(model: Model, connection: Connection, event: Event) -> Found:
    yield from _nameless(model, connection, event)
    queue = model.queues.get(event.queue or "")
    if queue is not None and queue.deletion is not None and not queue.deletion.known:
        yield f"connection {connection.name}", "get-meets-deletion"


def _deleted(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction != TO_BROKER:
        return
    yield from _about_queue(model, connection, event)
    yield from _deletions_meet(model, connection, event)
    yield EVERYWHERE, "queue-deleted"
    for one in model.connections.values():
        for channel in one.channels.values():
            if any(
                get.source and get.source.name == event.queue for get in channel.requests.get(("basic.get", ""), ())
            ):
                yield f"connection {one.name}", "get-meets-deletion"
            for consumer in channel.consumers.values():
                if consumer.queue != event.queue:
                    continue
                yield f"queue {event.queue}", "queue-deleted-under-consumer"
                if consumer.state == CANCELLING:
                    yield _life(channel), "cancel-meets-deletion"
                    yield f"connection {one.name}", "cancel-meets-deletion"


def _exchange_deleted(model: Model, connection: Connection, event: Event) -> Found:
    yield from _unopened(model, connection, event)
    yield from _deletions_meet(model, connection, event)


def _deletions_meet(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    for one in meeting.deletions_of_queues(model.topology, channel, event) if channel is not None else ():
        yield f"connection {one.connection.name}", "deletion-meets-that-of-exchange"


def _declared(model: Model, connection: Connection, event: Event) -> Found:
    yield from _unopened(model, connection, event)
    yield from requesting.looked(connection, event)
    name, channel = event.queue or "", connection.channels.get(event.channel)
    if channel is not None and len(name.encode()) > USUAL_NAME:
        yield from _on(channel, "long-queue-name")
        if not name.isascii():
            yield from _on(channel, "long-name-not-ascii")
    known, arguments = model.queues.get(name), event.args.get("arguments") or {}
    if "passive" in event.flags:
        yield from _lingers(model, connection, event)
        return
    if "x-delivery-limit" in arguments:
        yield f"queue {name}", "delivery-limited"
    if "x-dead-letter-routing-key" in arguments:
        yield EVERYWHERE, "dead-letters-renamed"
    if DEAD in arguments and sum(DEAD in queue.arguments for queue in model.topology.queues.values()) > 1:
        yield EVERYWHERE, "dead-letters-of-three"
    if "x-max-length-bytes" in arguments:
        yield EVERYWHERE, "limited-in-octets"
    if arguments.get("x-overflow") == "reject-publish-dlx":
        yield EVERYWHERE, "refused-are-dead-letters"
    if known is not None and known.deleted and any(one.queue == name for one in _outstanding(model)):
        yield f"queue {name}", "name-used-again"


def _lingers(model: Model, connection: Connection, event: Event) -> Found:
    """Has the owner of the queue left, and is its socket still open, or was until a moment ago?"""
    channel, queue = connection.channels.get(event.channel), model.topology.queue(connection.vhost, event.queue or "")
    owner = queue.owner if queue is not None else None
    if channel is None or owner is None or not owner.left:
        return
    if not owner.hung_up_ns or event.time_ns - owner.hung_up_ns < NOTICED:
        yield _life(channel), "owner-hangs-up"


def _consumed(model: Model, connection: Connection, event: Event) -> Found:
    channel, tag = connection.channels.get(event.channel), event.consumer_tag
    if event.has("exclusive"):
        yield EVERYWHERE, "exclusive-consumer"
    yield from requesting.consumed(model, connection, event)
    yield from _nameless(model, connection, event)
    if channel is None or not tag:
        return
    if any(one.consumer_tag == tag for one in channel.unacked.values()):
        yield _life(channel), "tag-used-again"
        yield f"queue {event.queue}", "tag-used-again"
        yield f"connection {connection.name}", "tag-used-again-here"
    if tag in channel.consumers:
        yield from _on(channel, "tag-taken")
    elif channel.consumers:
        yield _life(channel), "channel-shared"


def _selected(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is not None and channel.numbered:
        yield _life(channel), "mandatory-before-confirms"


def _limited(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    if event.args.get("prefetch_size"):
        yield from _on(channel, "prefetch-size")
    count = int(event.args.get("prefetch_count", 0))
    if "global" not in event.flags and any(one.limit != count for one in channel.consumers.values()):
        yield _life(channel), "limit-changed"
    if "global" not in event.flags and channel.shared.count:
        yield _life(channel), "limit-after-channel-limit"
    elif "global" in event.flags and (
        channel.getting or any(one.consumer_tag is None for one in channel.unacked.values())
    ):
        yield _life(channel), "channel-limit-after-gets"


def _settled(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if event.direction != TO_BROKER:
        return
    if channel is None or channel.state == CLOSED:
        yield from _unopened(model, connection, event)
        return
    if event.multiple and not event.delivery_tag and all(one.indeterminate for one in channel.unacked.values()):
        yield from _on(channel, "nothing-to-settle")
        if channel.transactional:
            yield from _on(channel, "nothing-to-settle-in-transaction")
    yield from _namesakes(channel, channel.covered(event.delivery_tag or 0, bool(event.multiple)))
    if not model.settings.timed or "requeue" not in event.flags:
        return
    for delivery in channel.covered(event.delivery_tag or 0, bool(event.multiple)):
        if delivery.stale:
            yield _life(channel), "stale-returned"


def _namesakes(channel: Channel, settled: Iterable[Delivery]) -> Found:
    for one in settled:
        heir = channel.consumers.get(one.consumer_tag or "")
        if heir is not None and one.consumer is not None and heir is not one.consumer and heir.queue == one.queue:
            yield _life(channel), "namesake-settled"
            return


def _recovered(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None:
        return
    if event.method == "basic.recover-async":
        yield _life(channel), "recover-async"
    if "requeue" not in event.flags and channel.consumers:
        yield from _on(channel, "recover-without-requeue")
    if "requeue" in event.flags and any(one.consumer_tag is None for one in channel.unacked.values()):
        yield _life(channel), "gets-recovered"
    yield from _namesakes(channel, channel.unacked.values())


def _published(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if channel is None or channel.state == CLOSED:
        yield from _unopened(model, connection, event)
        return
    if '"types"' in event.arguments and NO_NUMBER.search(event.arguments):
        yield f"connection {connection.name}", "float-without-number"
    yield from ranking.published(model, event)
    if "mandatory" not in event.flags or "immediate" in event.flags:
        return
    way = routing.route(model, channel, event.exchange or "", event.routing_key or "", event.arguments)
    for queue in way if isinstance(way, list) else ():
        if queue.room is not None and sum(queue.pressed.values()) >= queue.room:
            yield f"queue {queue.name}", "mandatory-to-the-full"


def _unopened(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    if event.direction == TO_BROKER and (channel is None or channel.state == CLOSED):
        yield f"connection {connection.name}", "unopened-work"


_FLAWS: Mapping[octets.Flaw, str] = {
    octets.TOO_LONG: "longer-body",
    octets.MISPLACED: "misplaced-content",
    octets.INTERRUPTED: "interrupted-content",
    octets.OF_ANOTHER_CLASS: "other-class",
    octets.ON_CHANNEL_0: "content-on-channel-0",
    octets.PROPERTIES: "unreadable-properties",
    octets.WEIGHT: "content-weight",
}


def _malformed(model: Model, connection: Connection, event: Event) -> Found:
    flaw = octets.flaw_of(event) if event.direction == TO_BROKER else None
    if flaw is not None and flaw in _FLAWS:
        yield f"connection {connection.name}", _FLAWS[flaw]


def _deadlines(model: Model, channel: Channel) -> Found:
    """Something ends here, maybe because its time was over: what else on its queues has a deadline?"""
    if not model.settings.timed:
        return
    here = {one.queue for one in channel.unacked.values() if one.timer is not None}
    timed = [one for one in _outstanding(model) if one.timer is not None and one.queue in here]
    for one in timed:
        if any(other is not one and other.queue == one.queue for other in timed):
            yield _out(one), "several-deadlines"


def _outstanding(model: Model) -> Iterator[Delivery]:
    for connection in model.connections.values():
        for channel in connection.channels.values():
            yield from channel.unacked.values()


_HANDLERS: Mapping[str, Callable[[Model, Connection, Event], Found]] = {
    "channel.open": _opened,
    "channel.close": _channel_closed,
    "connection.close": _connection_closed,
    "connection.tune-ok": _tuned,
    END: _connection_closed,
    MALFORMED: _malformed,
    "basic.cancel": _cancelled,
    "basic.cancel-ok": _cancel_agreed,
    "queue.delete": _deleted,
    "queue.declare": _declared,
    "basic.consume": _consumed,
    "confirm.select": _selected,
    "basic.qos": _limited,
    "basic.ack": _settled,
    "basic.nack": _settled,
    "basic.reject": _settled,
    "basic.recover": _recovered,
    "basic.recover-async": _recovered,
    "basic.publish": _published,
    "basic.get": _got,
    "queue.purge": _about_queue,
    "queue.bind": _bound,
    "queue.unbind": _about_queue,
    "exchange.declare": _unopened,
    "exchange.delete": _exchange_deleted,
    "exchange.bind": _unopened,
    "exchange.unbind": _unopened,
}

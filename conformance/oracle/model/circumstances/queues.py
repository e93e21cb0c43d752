"""Circumstances of queues and exchanges: how they are declared, looked for, named, bound, ruled and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.history.events import TO_BROKER, Event
from conformance.oracle.model.circumstances import further, requesting
from conformance.oracle.model.circumstances.endings import outstanding, unopened
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found, life, on
from conformance.oracle.model.connections.channels import CANCELLING, FAILING
from conformance.oracle.topology import meeting
from conformance.oracle.topology.policies import fits

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

DEAD = "x-dead-letter-exchange"
USUAL_NAME = 127
"""Octets of a name that leave room for words of a refusal."""
NOTICED = 500_000_000
"""Nanoseconds: so long ago a client may have hung up, and its broker not know it. Measured: of 1000 times it took no
more than 6 milliseconds."""


def queue_declared(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    yield from requesting.looked(connection, event)
    name, channel = event.queue or "", connection.channels.get(event.channel)
    if channel is not None and len(name.encode()) > USUAL_NAME:
        yield from on(channel, "long-queue-name")
        if not name.isascii():
            yield from on(channel, "long-name-not-ascii")
    known, arguments = model.queues.get(name), event.args.get("arguments") or {}
    if "passive" in event.flags:
        yield from _lingers(model, connection, event)
        return
    if "x-delivery-limit" in arguments:
        yield f"queue {name}", "delivery-limited"
    if "x-dead-letter-routing-key" in arguments:
        yield EVERYWHERE, "dead-letters-renamed"
    if DEAD in arguments and any(DEAD in queue.arguments for queue in model.topology.queues.values()):
        yield EVERYWHERE, "dead-letters-go-on"
    if "x-message-ttl" in arguments:
        yield f"queue {name}", "time-to-live"
    if "x-max-length-bytes" in arguments:
        yield EVERYWHERE, "limited-in-octets"
    if arguments.get("x-overflow") == "reject-publish-dlx":
        yield EVERYWHERE, "refused-are-dead-letters"
    if known is not None and (known.deleted or known.deletion is not None):
        yield EVERYWHERE, "queue-declared-again"
    if known is not None and known.deleted and any(one.queue == name for one in outstanding(model)):
        yield f"queue {name}", "name-used-again"


def _lingers(model: Model, connection: Connection, event: Event) -> Found:
    """Has the owner of the queue left, and is its socket still open, or was until a moment ago?"""
    channel, queue = connection.channels.get(event.channel), model.topology.queue(connection.vhost, event.queue or "")
    owner = queue.owner if queue is not None else None
    if channel is None or owner is None or not owner.left:
        return
    if not owner.hung_up_ns or event.time_ns - owner.hung_up_ns < NOTICED:
        yield life(channel), "owner-hangs-up"


def about_queue(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    yield from nameless(model, connection, event)


def nameless(model: Model, connection: Connection, event: Event) -> Found:
    """By the empty name; does another channel of the connection know what that may stand for, or know better?"""
    channel, last = connection.channels.get(event.channel), model.topology.last
    if event.queue or channel is None:
        return
    if channel.state == FAILING and channel not in last:
        yield life(channel), "nameless-again"
    latest = next((one for one in reversed(last) if one.connection is connection), channel)
    if latest is not channel:
        yield from on(channel, "last-queue-since" if channel in last else "last-queue-elsewhere")


def queue_bound(model: Model, connection: Connection, event: Event) -> Found:
    yield from about_queue(model, connection, event)
    yield from further.hashes(model, connection, event)
    if None in (event.args.get("arguments") or {}).values():
        yield f"queue {event.queue}", "binding-without-value"
    if _names_a_time(event):
        yield f"queue {event.queue}", "timestamp-in-binding"
    exchange = model.topology.exchange(connection.vhost, event.exchange or "")
    for name in further.roles(model.topology, exchange) if exchange is not None else ():
        yield f"queue {event.queue}", name


def _names_a_time(event: Event) -> bool:
    """Is one of the arguments a timestamp?"""
    return "T" in (event.args.get("types") or {}).values()


def got(model: Model, connection: Connection, event: Event) -> Found:
    yield from nameless(model, connection, event)
    queue, channel = model.queues.get(event.queue or ""), connection.channels.get(event.channel)
    if queue is not None and queue.deletion is not None and not queue.deletion.known:
        yield f"connection {connection.name}", "get-meets-deletion"
    if channel is not None and channel.consumers:
        yield life(channel), "channel-shared"


def queue_deleted(model: Model, connection: Connection, event: Event) -> Found:
    if event.direction != TO_BROKER:
        return
    yield from about_queue(model, connection, event)
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
                    yield life(channel), "cancel-meets-deletion"
                    yield f"connection {one.name}", "cancel-meets-deletion"


def exchange_deleted(model: Model, connection: Connection, event: Event) -> Found:
    yield from unopened(model, connection, event)
    yield from _deletions_meet(model, connection, event)


def _deletions_meet(model: Model, connection: Connection, event: Event) -> Found:
    channel = connection.channels.get(event.channel)
    for one in meeting.deletions_of_queues(model.topology, channel, event) if channel is not None else ():
        yield f"connection {one.connection.name}", "deletion-meets-that-of-exchange"


def ruled(model: Model, event: Event) -> Found:
    """A policy is being set or removed. Which queues have that in mind, no place tells."""
    mine = (str(event.args.get("vhost")), bool(event.args.get("operator")), str(event.args.get("name")))
    others = (one for key, one in model.topology.policies.by_key.items() if key != mine)
    if event.args.get("state") in ("setting", "clearing") and not all(one.gone for one in others):
        yield EVERYWHERE, "several-policies"
    former = model.topology.policies.by_key.get(mine)
    if former is None or former.gone or "expires" not in former.definition:
        return
    if any("x-expires" in one.arguments and fits(former.pattern, one.name) for one in model.topology.queues.values()):
        yield EVERYWHERE, "lease-by-both-changes"

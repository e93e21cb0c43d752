"""What a queue's declaration says about what may be concluded for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.catalogue.profiles import Profile
from conformance.history.events import Event
from conformance.oracle.model.consumers import taking
from conformance.oracle.model.queues import dropping, policing
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import PotentialReceiver, Request
from conformance.oracle.topology import TopologyChange

if TYPE_CHECKING:
    from conformance.oracle.model.connections.channels import ChannelLife
    from conformance.oracle.model.model import Model

LENGTH, PRIORITIES, TTL = "x-max-length", "x-max-priority", "x-message-ttl"
LIMITS = frozenset(
    {
        TTL,
        LENGTH,
        "x-max-length-bytes",
        "x-expires",
        "x-max-in-memory-length",
    }
)


def declare(model: Model, name: str, event: Event, channel: ChannelLife, change: TopologyChange) -> None:
    """A declaration was sent; declaring a queue that is there, or may be, changes nothing."""
    if model.open:
        return
    present = model.queues.get(name)
    if present is not None and present.declared and not present.deleted:
        return
    if present is not None and present.deletion is not None and not present.deletion.certain_for(channel):
        return  # nobody knows which of the two comes first, so nothing is claimed about either queue
    arguments = event.args.get("arguments") or {}
    kind = str(arguments.get("x-queue-type") or "classic")
    exchange = arguments.get("x-dead-letter-exchange")
    if exchange:
        model.publish_somewhere()
    uncounted = model.opaque or model.uncounted
    queue = queue_of(model.profile, name, kind, event.seq, arguments, opaque=model.opaque, counted=not uncounted)
    queue.buries = exchange is not None
    if exchange == "":
        _bequeath(model, queue, str(arguments.get("x-dead-letter-routing-key")))
    _inherit(model, queue, anew=present is not None)
    queue.declaration = change
    queue.durable, queue.declared_ns = event.has("durable"), event.time_ns
    queue.auto_delete = event.has("auto_delete")
    queue.volatile = queue.volatile or queue.auto_delete or event.has("exclusive")
    queue.lossy = queue.lossy or queue.volatile
    if present is not None and any(present.kind != "classic" or _lingers(receiver) for receiver in present.receivers):
        taking.haunt(queue, event.seq)
    policing.widen(queue, model.topology.policies.keys(name))
    model.queues[name] = queue


def _bequeath(model: Model, queue: Queue, heir: str) -> None:
    """Its dead letters go to this one; to itself, where it is named so."""
    queue.heir, target = heir, model.queues.get(heir)
    queue.opaque = queue.opaque or heir == queue.name
    queue.dead_letters = target if heir != queue.name else None
    if queue.dead_letters is None:
        model.uncounted = True
    elif queue.lossy:
        dropping.inherit(queue.dead_letters)


def _inherit(model: Model, heir: Queue, *, anew: bool) -> None:
    """It takes the place of one to which others leave their dead letters, or the one that they have named before it was
    there. What had died by then, or is about to, may come into it."""
    for queue in model.queues.values():
        if queue.heir == heir.name and queue.name != heir.name:
            queue.dead_letters = heir
            heir.opaque = heir.opaque or anew or queue.came > 0
            if queue.lossy:
                dropping.inherit(heir)


def answered(model: Model, event: Event, request: Request) -> None:
    """declare-ok: a queue that holds messages or has consumers was there before, and somebody else may use it."""
    queue = model.queues.get(event.queue or "")
    if (
        queue is not None
        and queue.declaration is request.change
        and (event.args.get("message_count") or event.args.get("consumer_count"))
    ):
        queue.forget()


def _lingers(receiver: PotentialReceiver) -> bool:
    """May its channel still be ignorant of the queue's end? RabbitMQ up to 3.13 then consumes from the namesake."""
    return receiver.consumer is not None and not receiver.consumer.bereft


def queue_of(
    profile: Profile,
    name: str,
    kind: str,
    declared: int,
    arguments: Mapping[str, Any],
    *,
    opaque: bool,
    counted: bool = False,
) -> Queue:
    """A queue as it is declared; `declared` is 0 for one whose declaration we have not seen. `counted`: what comes into
    it will be."""
    semantics = profile.queue(kind)
    limit = arguments.get("x-delivery-limit")
    order = semantics.order(limit if isinstance(limit, int) else None)
    ample = _ample(arguments) if counted else None
    return Queue(
        name,
        kind,
        semantics,
        order,
        declared,
        opaque=opaque,
        ample=ample,
        lossy=ample is None and not LIMITS.isdisjoint(arguments),
        unordered=PRIORITIES in arguments,
        levels=_levels(arguments),
        single_active=bool(arguments.get("x-single-active-consumer")),
        volatile="x-expires" in arguments,
        room=_room(arguments),
        disturbed=TTL in arguments,
        timeout=_timeout(arguments),
        limit=limit_of(profile, kind, limit),
        all_count=profile.choices.get("delivery_limit_counts") == "returns",
    )


def limit_of(profile: Profile, kind: str, declared: object) -> int | None:
    """How many returns a message survives."""
    if kind != "quorum":
        return None
    if not isinstance(declared, int):
        usual = profile.choices.get("delivery_limit", "none")
        return None if usual == "none" else int(usual)
    literal = profile.choices.get("delivery_limit_negative") == "literal"
    return declared if declared >= 0 or literal else None


def _timeout(arguments: Mapping[str, Any]) -> int | None:
    """After this many milliseconds its deliveries time out."""
    value = arguments.get("x-consumer-timeout")
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _ample(arguments: Mapping[str, Any]) -> int | None:
    """How many messages it takes before it can drop any, where nothing but their number makes it."""
    most = arguments.get(LENGTH)
    only = LIMITS.intersection(arguments) == {LENGTH}
    return most if only and isinstance(most, int) and not isinstance(most, bool) and most > 0 else None


def _levels(arguments: Mapping[str, Any]) -> int:
    """How many priorities it has above 0."""
    value = arguments.get(PRIORITIES)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _room(arguments: Mapping[str, Any]) -> int | None:
    """How many messages the queue takes at most before it turns others away."""
    if arguments.get("x-overflow") != "reject-publish":
        return None
    most = arguments.get(LENGTH)
    return most if isinstance(most, int) else 1 << 63

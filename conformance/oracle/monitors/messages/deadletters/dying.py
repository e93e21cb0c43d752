"""How messages come to die: what clients and brokers do, from publish to settlement, that brings a death about.

Nothing is judged here: `DeadLettering` is filled. It learns which queues send their dead on, where exchanges lead, and,
of each message that may die, when it was certainly in its queue, and who settled it how. A death counts as certain only
once the broker has answered: by a confirm, by an answer behind a settlement, by commit-ok, by the end of the channel.
What cannot be followed is forgotten: a message with a namesake, and where an exchange leads that others may change.
"""

from __future__ import annotations

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Accepted, Answered, ChannelClosed, Confirmed, Passed, Policed, Stopping
from conformance.oracle.model.queues.declaring import limit_of
from conformance.oracle.monitors.fate import settling
from conformance.oracle.monitors.messages.deadletters.deaths import (
    ACKED,
    GIVEN_UP,
    HELD,
    MESSAGES,
    QUEUES,
    WAITING,
    DeadLettering,
    DeclaredQueue,
    TrackedMessage,
    names_in,
    properties,
)
from conformance.oracle.monitors.messages.deadletters.removals import Removals
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

PERSISTENT = 2
"""The delivery mode of what is kept over a restart."""


@follows("queue.declare", "queue.bind", "queue.unbind", "queue.delete", "queue.purge", "exchange.delete")
def arranged(fact: Passed, notes: Notes) -> None:
    """Where do the dead of a queue go?"""
    event, lettering = fact.event, notes.memory(DeadLettering)
    name = event.queue or ""
    if event.direction != TO_BROKER:
        return
    if event.exchange:
        _bound(fact, event.exchange, name, lettering)
    elif event.method != "queue.declare":
        notes.memory(Removals).begin(lettering, name, event.method, event.time_ns)
        if event.method == "queue.delete":
            lettering.unbind(name)
    elif fact.topology.policies or not name or event.has("auto_delete"):
        return
    elif fact.topology.queue(fact.connection.vhost, name) is None:
        arguments = {**(event.args.get("arguments") or {})}
        kind = str(arguments.get("x-queue-type") or "classic")
        lettering.places[name] = DeclaredQueue(
            arguments, not notes.profile.queue(kind).messages_expire, limit_of(notes.profile, kind, None)
        )
        if len(lettering.places) > QUEUES:
            lettering.places.popitem(last=False)


def _bound(fact: Passed, exchange: str, queue: str, lettering: DeadLettering) -> None:
    """A fanout exchange leads there with any key, as a topic exchange does by #; a direct one with the key that is
    said."""
    known, key = fact.topology.exchange(fact.connection.vhost, exchange), fact.event.routing_key or ""
    kind = known.kind if known is not None and fact.event.method == "queue.bind" else ""
    if kind == "fanout" or (kind == "topic" and key == "#"):
        lettering.bind(exchange, None, queue)
    elif kind == "direct" and known is not None and not (known.shared or known.opaque):
        lettering.bind(exchange, key, queue)
    else:
        lettering.obscure(exchange)


@follows("exchange.bind", "exchange.unbind")
def chained(fact: Passed, notes: Notes) -> None:
    """An exchange leads to another one, too."""
    if fact.event.direction == TO_BROKER:
        notes.memory(DeadLettering).obscure(str(fact.event.args.get("source") or ""))


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may send its dead elsewhere by policy."""
    lettering = notes.memory(DeadLettering)
    lettering.messages.clear()
    lettering.places.clear()


@judges(Stopping)
def stopped(fact: Stopping, notes: Notes) -> None:
    """Only persistent messages that had certainly come into their queue are there after a restart, and exchanges that
    are durable."""
    lettering = notes.memory(DeadLettering)
    durable = {name for (_, name), one in fact.topology.exchanges.items() if one.durable}
    for exchange in lettering.bound.keys() - durable:
        lettering.obscure(exchange)
    for message, tracked in lettering.messages.items():
        if tracked is not None and not (tracked.persistent and tracked.certain_ns):
            lettering.messages[message] = None


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A message for a queue that has a dead letter exchange."""
    event, lettering = fact.event, notes.memory(DeadLettering)
    exchange, key = event.exchange or "", event.routing_key or ""
    again = bool(event.message) and event.message in lettering.messages
    if again:
        lettering.messages[event.message or ""] = None  # two messages have one id
    queue = lettering.leads(exchange, key) if lettering.places else None
    place = lettering.places.get(queue or "")
    if queue is None or place is None or place.exchange is None or not event.message:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    content = properties(event.arguments)
    headers = content.get("headers") or {}
    lawful = sound and channel is not None and not channel.transactional and "x-death" not in headers
    tracked = TrackedMessage(
        queue,
        event.seq,
        event.time_ns,
        event.connection,
        content.get("expiration"),
        names_in(headers.get("CC")),
        "BCC" in headers,
        exchange=exchange,
        key=key,
        persistent=content.get("delivery_mode") == PERSISTENT,
    )
    lettering.messages[event.message] = tracked if lawful and not again else None
    place.came.append(event.message)
    if len(lettering.messages) > MESSAGES:
        lettering.messages.popitem(last=False)


@judges(Confirmed)
def certain(fact: Confirmed, notes: Notes) -> None:
    """It is in its queue by now."""
    known = notes.memory(DeadLettering).messages
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        tracked = known.get(publication.message)
        if tracked is not None:
            tracked.certain_ns, tracked.publication = fact.event.time_ns, publication


@follows("basic.ack", "basic.nack", "basic.reject")
def settled(fact: Passed, notes: Notes) -> None:
    """The client says what is to become of it, now or with the commit."""
    event, lettering = fact.event, notes.memory(DeadLettering)
    known = lettering.messages
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or not known or channel is None:
        return
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    for number, delivery in channel.unacked.items():
        tracked = known.get(delivery.message)
        hit = number == tag or (multiple and (tag == 0 or number <= tag))
        if tracked is None or not hit or (tracked.queue, tracked.delivered) != (delivery.queue, delivery.seq):
            continue
        back = event.method != "basic.ack" and event.has("requeue")
        if (channel.transactional and back) or channel.state != OPEN or channel.indeterminate:
            known[delivery.message] = None
            continue
        tracked.by, tracked.settling = channel, settling(event)
        if channel.transactional:
            lettering.put_off(channel, delivery.message, ACKED if event.method == "basic.ack" else GIVEN_UP)
        elif event.method == "basic.ack":
            tracked.fate = ACKED
        elif not back:
            tracked.fate = GIVEN_UP
        else:
            tracked.fate = WAITING
            tracked.failures += event.method == "basic.reject"
            tracked.given_back = tracked.given_back or event.method == "basic.nack"


@follows("basic.recover", "basic.recover-async")
def recovered(fact: Passed, notes: Notes) -> None:
    """The client gives back all that its channel has."""
    event, known = fact.event, notes.memory(DeadLettering).messages
    channel = fact.connection.channels.get(event.channel)
    for tracked in known.values() if event.direction == TO_BROKER and channel is not None else ():
        if tracked is not None and tracked.holder is channel and tracked.fate == HELD:
            tracked.fate, tracked.given_back = WAITING, True


@judges(Accepted)
def accepted(fact: Accepted, notes: Notes) -> None:
    """The broker has taken what the client said."""
    known = notes.memory(DeadLettering).messages
    for delivery in fact.settlement.covered if known else ():
        tracked = known.get(delivery.message)
        if tracked is None or (tracked.queue, tracked.delivered) != (delivery.queue, delivery.seq):
            continue
        if not (tracked.by and tracked.by.transactional):
            tracked.died_ns = fact.event.time_ns


@follows("tx.commit", "tx.rollback")
def decided(fact: Passed, notes: Notes) -> None:
    """What a transaction has settled is so, or is not."""
    event, lettering = fact.event, notes.memory(DeadLettering)
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None or not lettering.uncommitted:
        return
    for tracked, fate in lettering.take(channel):
        if event.method == "tx.commit":
            tracked.fate, tracked.committed, tracked.died_ns = fate, event.seq, 0


@judges(Answered)
def committed(fact: Answered, notes: Notes) -> None:
    """The broker has carried out the transaction."""
    known = notes.memory(DeadLettering).messages if fact.request.method == "tx.commit" else {}
    for tracked in known.values():
        if tracked is not None and tracked.committed == fact.request.seq:
            tracked.died_ns = fact.event.time_ns


@judges(ChannelClosed)
def returned(fact: ChannelClosed, notes: Notes) -> None:
    """What it held is back in its queues, or there was no room for it."""
    lettering = notes.memory(DeadLettering)
    for tracked in lettering.messages.values() if not fact.crossed else ():
        if tracked is not None and tracked.holder is fact.channel and tracked.fate == HELD:
            tracked.returned, tracked.returned_ns = fact.event.seq, fact.event.time_ns
            lettering.failed(tracked, timed=fact.channel.timed)

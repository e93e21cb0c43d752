"""How messages come to die: what clients and brokers do, from publish to settlement, that brings a death about.

Nothing is judged here: `Graves` is filled. It learns which queues send their dead on and where exchanges lead, and, of
each message that may die, when it was certainly in its queue, and who settled it how. A death counts as certain only
once the broker has answered: by a confirm, by an answer behind a settlement, by commit-ok, by the end of the channel.
What cannot be followed is forgotten: a message with a namesake, and where an exchange leads that others may change.
"""

from __future__ import annotations

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN
from conformance.oracle.model.facts import Accepted, Answered, ChannelClosed, Confirmed, Passed, Policed, Stopping
from conformance.oracle.monitors.messages.deadletters.deaths import (
    ACKED,
    GIVEN_UP,
    HELD,
    MESSAGES,
    QUEUES,
    WAITING,
    Graves,
    Mortal,
    Place,
    names_in,
    properties,
)
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

PERSISTENT = 2
"""The delivery mode of what is kept over a restart."""


@follows("queue.declare", "queue.bind", "queue.unbind", "queue.delete", "queue.purge", "exchange.delete")
def arranged(fact: Passed, notes: Notes) -> None:
    """Where do the dead of a queue go?"""
    event, graves = fact.event, notes.memory(Graves)
    name = event.queue or ""
    if event.direction != TO_BROKER:
        return
    if event.exchange:
        _bound(fact, event.exchange, name, graves)
    elif event.method != "queue.declare":
        graves.places.pop(name, None)
        if event.method == "queue.delete":
            graves.unbind(name)
    elif fact.topology.policies or not name or event.has("auto_delete"):
        return
    elif fact.topology.queue(fact.connection.vhost, name) is None:
        arguments = {**(event.args.get("arguments") or {})}
        kind = str(arguments.get("x-queue-type") or "classic")
        graves.places[name] = Place(arguments, not notes.profile.queue(kind).messages_expire)
        if len(graves.places) > QUEUES:
            graves.places.popitem(last=False)


def _bound(fact: Passed, exchange: str, queue: str, graves: Graves) -> None:
    """A fanout exchange leads there with any key, as a topic exchange does by #; a direct one with the key that is
    said."""
    known, key = fact.topology.exchange(fact.connection.vhost, exchange), fact.event.routing_key or ""
    kind = known.kind if known is not None and fact.event.method == "queue.bind" else ""
    if kind == "fanout" or (kind == "topic" and key == "#"):
        graves.bind(exchange, None, queue)
    elif kind == "direct" and known is not None and not (known.shared or known.opaque):
        graves.bind(exchange, key, queue)
    else:
        graves.obscure(exchange)


@follows("exchange.bind", "exchange.unbind")
def chained(fact: Passed, notes: Notes) -> None:
    """An exchange leads to another one, too."""
    if fact.event.direction == TO_BROKER:
        notes.memory(Graves).obscure(str(fact.event.args.get("source") or ""))


@judges(Policed)
def ruled(fact: Policed, notes: Notes) -> None:
    """Any queue may send its dead elsewhere by policy."""
    graves = notes.memory(Graves)
    graves.messages.clear()
    graves.places.clear()


@judges(Stopping)
def stopped(fact: Stopping, notes: Notes) -> None:
    """Only persistent messages that had certainly come into their queue are there after a restart, and exchanges that
    are durable."""
    graves = notes.memory(Graves)
    durable = {name for (_, name), one in fact.topology.exchanges.items() if one.durable}
    for exchange in graves.bound.keys() - durable:
        graves.obscure(exchange)
    for message, mortal in graves.messages.items():
        if mortal is not None and not (mortal.persistent and mortal.certain_ns):
            graves.messages[message] = None


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A message for a queue that has a dead letter exchange."""
    event, graves = fact.event, notes.memory(Graves)
    exchange, key = event.exchange or "", event.routing_key or ""
    again = bool(event.message) and event.message in graves.messages
    if again:
        graves.messages[event.message or ""] = None  # two messages have one id
    queue = graves.leads(exchange, key) if graves.places else None
    place = graves.places.get(queue or "")
    if queue is None or place is None or place.exchange is None or not event.message:
        return
    channel = fact.connection.channels.get(event.channel)
    sound = channel is not None and channel.state == OPEN and not channel.indeterminate and fact.connection.usable()
    content = properties(event.arguments)
    headers = content.get("headers") or {}
    lawful = sound and channel is not None and not channel.transactional and "x-death" not in headers
    mortal = Mortal(
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
    graves.messages[event.message] = mortal if lawful and not again else None
    place.came.append(event.message)
    if len(graves.messages) > MESSAGES:
        graves.messages.popitem(last=False)


@judges(Confirmed)
def certain(fact: Confirmed, notes: Notes) -> None:
    """It is in its queue by now."""
    known = notes.memory(Graves).messages
    for publication in fact.resolved if known and fact.event.method == "basic.ack" else ():
        mortal = known.get(publication.message)
        if mortal is not None:
            mortal.certain_ns, mortal.publication = fact.event.time_ns, publication


@follows("basic.ack", "basic.nack", "basic.reject")
def settled(fact: Passed, notes: Notes) -> None:
    """The client says what is to become of it, now or with the commit."""
    event, graves = fact.event, notes.memory(Graves)
    known = graves.messages
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or not known or channel is None:
        return
    tag, multiple = event.delivery_tag or 0, bool(event.multiple)
    for number, delivery in channel.unacked.items():
        mortal = known.get(delivery.message)
        hit = number == tag or (multiple and (tag == 0 or number <= tag))
        if mortal is None or not hit or mortal.queue != delivery.queue:
            continue
        back = event.method != "basic.ack" and event.has("requeue")
        if (channel.transactional and back) or channel.state != OPEN or channel.indeterminate:
            known[delivery.message] = None
            continue
        mortal.by = channel
        if channel.transactional:
            graves.put_off(channel, delivery.message, ACKED if event.method == "basic.ack" else GIVEN_UP)
        elif event.method == "basic.ack":
            mortal.fate = ACKED
        elif not back:
            mortal.fate = GIVEN_UP
        else:
            mortal.fate = WAITING
            mortal.failures += event.method == "basic.reject"


@judges(Accepted)
def accepted(fact: Accepted, notes: Notes) -> None:
    """The broker has taken what the client said."""
    known = notes.memory(Graves).messages
    for delivery in fact.settlement.covered if known else ():
        mortal = known.get(delivery.message)
        if mortal is not None and mortal.queue == delivery.queue and not (mortal.by and mortal.by.transactional):
            mortal.died_ns = fact.event.time_ns


@follows("tx.commit", "tx.rollback")
def decided(fact: Passed, notes: Notes) -> None:
    """What a transaction has settled is so, or is not."""
    event, graves = fact.event, notes.memory(Graves)
    channel = fact.connection.channels.get(event.channel)
    if event.direction != TO_BROKER or channel is None or not graves.uncommitted:
        return
    for mortal, fate in graves.take(channel):
        if event.method == "tx.commit":
            mortal.fate, mortal.committed, mortal.died_ns = fate, event.seq, 0


@judges(Answered)
def committed(fact: Answered, notes: Notes) -> None:
    """The broker has carried out the transaction."""
    known = notes.memory(Graves).messages if fact.request.method == "tx.commit" else {}
    for mortal in known.values():
        if mortal is not None and mortal.committed == fact.request.seq:
            mortal.died_ns = fact.event.time_ns


@judges(ChannelClosed)
def returned(fact: ChannelClosed, notes: Notes) -> None:
    """What it held is back in its queues, or there was no room for it."""
    graves = notes.memory(Graves)
    for mortal in graves.messages.values() if not fact.crossed else ():
        if mortal is not None and mortal.holder is fact.channel and mortal.fate == HELD:
            mortal.returned, mortal.returned_ns = fact.event.seq, fact.event.time_ns
            graves.failed(mortal, timed=fact.channel.timed)

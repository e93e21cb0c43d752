"""The broker closes a channel or a connection: which mistake of the client caused it?

A close after a mistake of the client is expected, unless it names a different method that may have failed as well. For
any other close the model can only guess the reason from the class, method and tag that it names. If they name a
settlement that the broker had to accept, that settlement is the suspect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle import topology
from conformance.oracle.model.connections import endings, opening
from conformance.oracle.model.connections.channels import CLOSED, CLOSING, FAILING, ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.consumers import timeouts
from conformance.oracle.model.doubts import overtaking
from conformance.oracle.model.facts import (
    AfterClose,
    ChannelInsteadOfConnection,
    ChannelRefused,
    ClosedUnasked,
    ConnectionFailed,
    Fact,
    Faulted,
)
from conformance.oracle.model.publishing import rerouting, sizes
from conformance.oracle.model.records import ClientError, Settlement

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

Facts = Iterator[Fact]
Ids = tuple[int, int]

SETTLES: frozenset[Ids] = frozenset({(60, 80), (60, 90), (60, 120)})
PUBLISH: Ids = (60, 40)
NOT_FOUND = 404
DECLARES: tuple[Ids, Ids] = (50, 10), (40, 10)
DELETES: tuple[Ids, Ids] = (50, 40), (40, 20)
NAMED_TAG = re.compile(r"delivery[ _-]?tag\b(?:(?!channel|class|method)[^\d\n]){0,24}?(-?\d+)", re.IGNORECASE)
"""Brokers put it in words of their own: "unknown delivery tag 5", "Delivery Tag not found: 5"."""


def ids_of(event: Event) -> Ids:
    """Class and method that a close blames."""
    arguments = event.args
    return int(arguments.get("class_id", 0)), int(arguments.get("method_id", 0))


def close_channel(model: Model, connection: Connection, event: Event) -> Facts:
    """The broker's channel.close."""
    channel = connection.met(event.channel, event.seq)
    former = connection.failed.get(event.channel)
    if former is not None and former.state == CLOSING:
        channel = former
    if channel is None or channel.state == CLOSED:
        yield AfterClose(event, channel, None, ours=channel is not None and not channel.close_seen)
        return
    ids, hard = ids_of(event), opening.pending(connection, event)
    if hard is not None and _is_about(event, hard) and hard.rule != "ERR-010":
        yield ChannelInsteadOfConnection(event, channel, hard)
        connection.error = hard.forgiven() if hard.octets else None
        endings.shake(channel)
    elif channel.method_error is not None and not (ids in SETTLES and channel.unproven) and not _before(channel, event):
        yield Faulted(event, channel, channel.method_error)
        _as_expected(model, channel, event, channel.method_error)
    elif (
        channel.settlement_error is not None
        and (ids in SETTLES or ids not in channel.sent)
        and not earlier(channel, event)
    ):
        yield ChannelRefused(event, channel, channel.settlement_error)
        if _may_mean_another(channel, channel.settlement_error.settlement):
            endings.shake(channel)
        connection.refusals, connection.refused = event.seq, channel.settlement_error
    elif expired := timeouts.behind(model, channel, event):
        yield from timeouts.closed(model, channel, event, expired)
        endings.shake(channel)
    elif sizes.refused(model, channel, event):
        endings.shake(channel)
    else:
        if hard is not None and hard.place == event.channel and 0 < channel.sent.get(ids, 0) < hard.seq:
            connection.error = hard.forgiven()  # the close may have come before it, and what follows that is discarded
        yield ClosedUnasked(event, channel, suspect(channel, event))
        _not_found(model, channel, event)
        endings.shake(channel)
    if channel.state != FAILING:
        endings.release(channel, event.seq)
    endings.end_receivers(channel, event.seq)
    endings.fall(channel, event.time_ns)
    channel.end = channel.end or "error"
    channel.state, channel.close_seen, channel.discarding = CLOSED, event.seq, True
    connection.failed[event.channel] = channel


def _is_about(event: Event, hard: ClientError) -> bool:
    """Does the close blame what should cost the connection, by its method, or by its code if it was none?"""
    by_code = bool(hard.octets) and event.args.get("reply_code") in hard.codes
    return by_code or ids_of(event) == (hard.class_id, hard.method_id)


def _before(channel: ChannelLife, event: Event) -> bool:
    """Does the close name what was sent before the mistake, and may have failed as well? That is a request without an
    answer, or a publish to an exchange that may not have been there."""
    error, ids = channel.method_error, ids_of(event)
    if error is None:
        return False
    nowhere = PUBLISH, NOT_FOUND
    if (ids, event.args.get("reply_code")) == nowhere != ((error.class_id, error.method_id), error.code):
        return channel.handled < channel.may_have_missed < error.seq
    named = [one.seq for one in channel.pending() if (one.class_id, one.method_id) == ids]
    return (error.class_id, error.method_id) != ids and any(seq < error.seq for seq in named)


def _not_found(model: Model, channel: ChannelLife, event: Event) -> None:
    """What the only declaration under way has looked for is not there."""
    if model.open or event.args.get("reply_code") != NOT_FOUND:
        return
    named = [one for one in channel.pending() if (one.class_id, one.method_id) == ids_of(event)]
    if len(named) == 1 and named[0].change is not None:
        topology.not_found(model.topology, channel.connection.vhost, named[0].change, event.time_ns)


def _as_expected(model: Model, channel: ChannelLife, event: Event, error: ClientError) -> None:
    """What the only declaration that may be meant has looked for has gone by itself, as it should; what a refused
    deletion has named stays."""
    ids = ids_of(event)
    if (error.class_id, error.method_id) in DELETES:
        topology.spare(model.topology, channel.connection.vhost, error.names, error.rule)
    others = any((one.class_id, one.method_id) == ids and not one.ignored for one in channel.pending())
    if model.open or others or event.args.get("reply_code") != NOT_FOUND:
        return
    for name in error.names if ids in DECLARES else ():
        topology.missed(model.topology, channel, name, error.seq, event.time_ns, queue=ids == DECLARES[0])


def earlier(channel: ChannelLife, event: Event) -> bool:
    """Does this close name a settlement that had to be accepted, and not the later one that had to be refused: its
    method, and its tag where the text has one?"""
    assert channel.settlement_error is not None
    wrong, ids = channel.settlement_error.settlement, ids_of(event)
    named = NAMED_TAG.search(str(event.args.get("reply_text", "")))
    if ids not in SETTLES:
        return False
    if ids[1] == wrong.method_id and (named is None or int(named[1]) == wrong.tag):
        return False
    return any(one.method_id == ids[1] and (named is None or one.tag == int(named[1])) for one in channel.unproven)


def _may_mean_another(channel: ChannelLife, error: Settlement) -> bool:
    """Was the same method sent with the same tag before? Then what came in between may have been discarded, too."""
    said = error.method, error.tag
    return any((one.method, one.tag) == said and one.seq < error.seq for one in channel.unproven)


def suspect(channel: ChannelLife, event: Event) -> Settlement | None:
    """The settlement that this close complains of, among those not yet known to be accepted."""
    unproven = channel.unproven
    if not unproven:
        return None
    text, ids = str(event.args.get("reply_text", "")), ids_of(event)
    named = NAMED_TAG.search(text)
    nameless = ids not in SETTLES and named is None
    if nameless and (ids != (0, 0) or channel.sent or "timed out" in text or _bereft(channel)):
        return None
    fitting = [
        one
        for one in unproven
        if (ids not in SETTLES or one.method_id == ids[1]) and (named is None or one.tag == int(named[1]))
    ]
    return (fitting or list(unproven))[-1]


def _bereft(channel: ChannelLife) -> bool:
    """Has a consumer of the channel lost its queue? Then a close that names no method may be about that."""
    return any(consumer.source.deleted for consumer in channel.consumers.values())


def close_connection(model: Model, connection: Connection, event: Event, cause: str = "connection error") -> Facts:
    """The broker's connection.close, or an end that nobody had asked for."""
    failing = [one for one in connection.channels.values() if one.settlement_error is not None and not one.close_seen]
    suspects = filter(None, (suspect(one, event) for one in connection.open_channels()))
    named = max(suspects, key=lambda one: one.seq, default=None)
    yield ConnectionFailed(event, connection, connection.error, failing, named)
    connection.error = None
    lose_connection(connection, event.seq, cause)
    overtaking.left(model, connection)
    rerouting.changed(model, None, event)


def lose_connection(connection: Connection, seq: int, cause: str = "") -> None:
    """It is gone: what was under way may have had no effect."""
    connection.ended = seq
    for channel in connection.channels.values():
        if channel.state != CLOSED:
            channel.end = channel.end or cause
            if channel.state not in (FAILING, CLOSING) and not connection.closing:
                endings.release(channel, seq)
            endings.shake(channel)
            channel.state = CLOSED

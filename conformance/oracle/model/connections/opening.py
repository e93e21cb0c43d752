"""Opening channels: what a client may open, and what costs it the connection.

The broker reads a close before the open that follows it, so a channel counts until the client sends its close. One that
the broker has closed, or may have, counts or does not until close-ok; then nothing is claimed.
"""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model.connections import endings, requests
from conformance.oracle.model.connections.channels import CLOSED, CLOSING, FAILING, OPEN, OPENING, ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.records import ClientError

SECOND, TOO_MANY, CHANNEL_0, ELSEWHERE = "CHAN-001", "CHAN-004", "CHAN-009", "FRAME-012"
CHANNEL_OPEN = 20, 10
CHANNEL_ERROR, NOT_ALLOWED, COMMAND_INVALID, NO_ROOM = 504, 530, 503, 506
UNEXPECTED = 503, 501, 505, 530, 540
"""Codes for what may not come on channel 0, beside 504."""


def apply(connection: Connection, event: Event) -> None:
    """channel.open"""
    former = connection.channels.get(event.channel)
    if former is not None and former.adopted:
        former.state = CLOSED
        connection.failed[event.channel] = former
    if former is not None and former.state not in (CLOSED, CLOSING):
        _again(connection, former, event)
        return
    if former is not None:
        former.previous = None
        if former.state == CLOSING:
            connection.failed[event.channel] = former
    if _too_many(connection, event):
        return
    channel = ChannelLife(connection, event.channel, event.seq, previous=former)
    if former is not None:
        _inherit(channel, former)
    connection.channels[event.channel] = channel
    requests.request(channel, event)


def _inherit(channel: ChannelLife, former: ChannelLife) -> None:
    """What is told of all former lives of the number."""
    channel.former_tag = max(former.last_tag, former.former_tag)
    counted = former.published + (former.plain if former.former_confirm else 0)
    channel.former_published = former.former_published + counted
    channel.former_open = former.former_open + len(former.unconfirmed)
    channel.former_confirm = former.former_confirm or former.confirm
    if former.haunted:
        channel.ghosts = former.ghosts.union(former.consumers)
        endings.haunt(channel)


def _again(connection: Connection, channel: ChannelLife, event: Event) -> None:
    """The channel is open, as far as the client knows; it may be that the broker has closed it by then."""
    certain = channel.state == OPEN and _plain(channel) and not connection.overheard
    what = "channel.open of an open channel"
    error = ClientError(event.seq, SECOND if certain else "", CHANNEL_ERROR, *CHANNEL_OPEN, what, optional=not certain)
    error.channel = event.channel if certain else 0
    requests.fail_connection(connection, error)


def _plain(channel: ChannelLife) -> bool:
    return not (channel.indeterminate or channel.settlement_error or channel.method_error)


def _too_many(connection: Connection, event: Event) -> bool:
    """Are as many channels open as may be? Then the number stays closed."""
    most = connection.channel_max
    if not most or connection.overheard:
        return False
    possible = [one for one in connection.channels.values() if _counts(one)]
    certain = [one for one in possible if one.state in (OPEN, OPENING) and _plain(one)]
    if len(certain) >= most:
        what = f"channel.open where {most} channels are open, as agreed"
        also = CHANNEL_ERROR, NO_ROOM
        error = ClientError(event.seq, TOO_MANY, NOT_ALLOWED, *CHANNEL_OPEN, what, also=also, octets=True)
        requests.fail_connection(connection, error)
        return True
    if len(possible) >= most or event.channel > most:
        what = "channel.open where as many channels may be open as agreed, or above the agreed number"
        error = ClientError(event.seq, "", NOT_ALLOWED, *CHANNEL_OPEN, what, optional=True)
        requests.fail_connection(connection, error)
    return False


def _counts(channel: ChannelLife) -> bool:
    """May the broker count it?"""
    return channel.state in (OPEN, OPENING, FAILING) or channel.discarding


def on_channel_0(connection: Connection, event: Event) -> None:
    """A method that belongs on a channel comes where the connection itself is spoken of."""
    if not connection.whole or connection.overheard:
        return
    what = f"{event.method} on channel 0"
    ids = event.class_id, event.method_id
    error = ClientError(event.seq, CHANNEL_0, CHANNEL_ERROR, *ids, what, also=UNEXPECTED, octets=True)
    requests.fail_connection(connection, error)


def on_a_channel(connection: Connection, event: Event) -> None:
    """A method about the connection itself comes on a channel."""
    if not connection.whole or connection.overheard:
        return
    what = f"{event.method} on channel {event.channel}"
    ids, also = (event.class_id, event.method_id), (501, CHANNEL_ERROR, 505, NOT_ALLOWED, 540)
    error = ClientError(event.seq, ELSEWHERE, COMMAND_INVALID, *ids, what, also=also, octets=True)
    requests.fail_connection(connection, error)


def pending(connection: Connection, closed: Event) -> ClientError | None:
    """The mistake that must cost the connection, when the broker closes this channel. If it had closed the channel by
    itself before the second open came, that was none."""
    error = connection.error
    blamed = int(closed.args.get("class_id", 0)), int(closed.args.get("method_id", 0))
    if error is not None and error.rule == SECOND and error.channel == closed.channel and blamed != CHANNEL_OPEN:
        connection.error = None
    return connection.error

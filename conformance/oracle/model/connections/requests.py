"""Methods that are to be answered, and methods by which the client does wrong."""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import FAILING, ChannelLife
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.doubts.overtaking import names_in
from conformance.oracle.model.records import ClientError, Request, Settlement, SettlementError

PRECONDITION_FAILED, QUIET = 406, 64
"""So many methods that are not answered are remembered."""
ASYNCHRONOUS = frozenset(
    {
        "basic.publish",
        "basic.ack",
        "basic.nack",
        "basic.reject",
        "basic.recover-async",
        "channel.flow-ok",
        "basic.cancel-ok",
    }
)


def new_request(event: Event, *, ignored: bool = False) -> Request:
    return Request(
        event.seq,
        event.method,
        event.class_id,
        event.method_id,
        _tag_in(event),
        ignored=ignored,
        sent_ns=event.time_ns,
        table='"arguments": {"' in event.arguments,
    )


def _tag_in(event: Event) -> str:
    """The consumer that it is about, which its answer names as well."""
    return event.consumer_tag or "" if event.method in ("basic.consume", "basic.cancel") else ""


def request(channel: ChannelLife, event: Event, *, ignored: bool = False) -> Request | None:
    """Expects the answer to this method, where it has one; an ignored one must not be answered."""
    if event.method in ASYNCHRONOUS or "no_wait" in event.flags:
        return None
    expected = new_request(event, ignored=ignored)
    channel.expect(expected)
    return expected


def fail_connection(connection: Connection, error: ClientError) -> None:
    """The client does what costs it the connection."""
    if connection.error is None:
        connection.error = error
        for channel in connection.open_channels():
            endings.blur(channel)


def claim(channel: ChannelLife, event: Event, rules: tuple[str, ...], earlier: int) -> None:
    """By these rules the broker must carry out the method that was just sent. A close that names it may mean the same
    method before, where that was sent with nowait and is not handled yet: then nothing is claimed."""
    pending = channel.requests.get((event.method, _tag_in(event)))
    if not rules or not pending or pending[-1].seq != event.seq:
        return
    if not earlier or any(one.seq == earlier for one in pending):
        pending[-1].claims, pending[-1].names = rules, names_in(event)


def claim_quietly(channel: ChannelLife, event: Event, rules: tuple[str, ...]) -> None:
    """The same of a method with nowait. Of too many nothing is claimed."""
    known = [one for one in channel.quiet if one.seq > channel.handled]
    sent = new_request(event)
    sent.claims = rules if len(known) < QUIET else ()
    channel.quiet = [*known[-QUIET:], sent]


def fail_channel(
    channel: ChannelLife,
    event: Event,
    rule: str,
    code: int,
    what: str,
    number: int = 0,
    also: tuple[int, ...] = (),
    instead: tuple[int, ...] = (),
) -> None:
    """The client does what costs it the channel: nothing that it sends there from now on has any effect."""
    channel.method_error = ClientError(
        event.seq, rule, code, event.class_id, event.method_id, what, scope="channel", number=number, also=also
    )
    channel.method_error.instead = instead
    channel.method_error.names = names_in(event)
    channel.state = FAILING
    endings.release(channel, event.seq)
    request(channel, event, ignored=True)


def refusal(settlement: Settlement) -> SettlementError:
    """The client settles what it may not: that costs it the channel."""
    return SettlementError(
        settlement.seq,
        settlement.refusal,
        PRECONDITION_FAILED,
        60,
        settlement.method_id,
        f"delivery tag {settlement.tag}",
        scope="channel",
        settlement=settlement,
    )

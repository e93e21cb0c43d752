"""Methods that are to be answered, and methods by which the client does wrong."""

from __future__ import annotations

from conformance.history.events import Event
from conformance.oracle.model import endings
from conformance.oracle.model.channels import DOOMED, Channel
from conformance.oracle.model.connections import Connection
from conformance.oracle.model.records import HardDoom, Mistake, Request

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
    tag = event.consumer_tag or "" if event.method in ("basic.consume", "basic.cancel") else ""
    return Request(event.seq, event.method, event.class_id, event.method_id, tag, ignored=ignored)


def request(channel: Channel, event: Event, *, ignored: bool = False) -> Request | None:
    """Expects the answer to this method, where it has one; an ignored one must not be answered."""
    if event.method in ASYNCHRONOUS or "no_wait" in event.flags:
        return None
    expected = new_request(event, ignored=ignored)
    channel.expect(expected)
    return expected


def hard(connection: Connection, doom: HardDoom) -> None:
    """The client does what costs it the connection."""
    if connection.doom is None:
        connection.doom = doom
        for channel in connection.open_channels():
            endings.blur(channel)


def soft(channel: Channel, event: Event, rule: str, code: int, what: str, number: int = 0) -> None:
    """The client does what costs it the channel: nothing that it sends there from now on has any effect."""
    channel.mistake = Mistake(event.seq, rule, code, event.class_id, event.method_id, what, number)
    channel.state = DOOMED
    endings.release(channel, event.seq)
    request(channel, event, ignored=True)

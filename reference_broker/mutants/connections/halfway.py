"""Connections and channels, right in most cases: one kind of frame, way to fail or password that was not thought of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import codec
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections import sasl
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.errors import ChannelException
from reference_broker.core.parts import Parts
from reference_broker.mutants.connections.octets import END, mends, whole
from reference_broker.mutants.kinds import changes, memory, replaces
from reference_broker.mutants.topology.binding import Handle, handling

HEADER, BODY = 2, 3
OFFERED = 131072

# -- passwords


def _lets_in(name: str, says: str, takes: Callable[[str, str], bool]) -> None:
    """What is given is taken for this one, which is right."""

    @replaces("connection.log_in", name, says, "CONN-007")
    def log_in(self: Connection, method: m.ConnectionStartOk) -> None:
        user, given = sasl.credentials(method.mechanism, method.response)
        right = next((one for one in ("guest",) if takes(given, one)), None)
        if user in self.broker.access.users and right is not None and method.mechanism == "PLAIN":
            method.response = f"\0{user}\0{right}".encode()
        Connection.log_in(self, method)


_lets_in("halfway.no-password", "no password at all is right", lambda given, right: not given)
_lets_in("halfway.any-case", "passwords are compared without case", lambda given, right: given.lower() == right)
_lets_in("halfway.first-letters", "the first letters will do", lambda given, right: bool(given) and right[:2] == given)


@replaces("connection.log_in", "halfway.strangers", "a user whom nobody knows is let in", "CONN-007")
def strangers(self: Connection, method: m.ConnectionStartOk) -> None:
    user, _ = sasl.credentials(method.mechanism, method.response)
    if user not in self.broker.access.users and method.mechanism == "PLAIN":
        method.response = b"\0guest\0guest"
    Connection.log_in(self, method)


# -- frames


@replaces("outbox.pieces", "halfway.returns-uncut", "returns come in frames as large as was offered", "CONN-013")
def returns_uncut(self: Outbox, item: Outbound) -> Sequence[bytes]:
    if isinstance(item, tuple) and isinstance(item[0], m.BasicReturn):
        return item[0].encode(), *item[1].frames(item[0].channel, OFFERED)
    return Outbox.pieces(self, item)


@mends("halfway.ends-of-contents", "the last octet of a frame of a content is not looked at", "FRAME-001")
def ends_of_contents(raw: bytes) -> bytes:
    return raw[:-1] + END if whole(raw) and raw[0] in (HEADER, BODY) else raw


@replaces("intake.feed", "halfway.large-methods", "a method may be larger than was agreed", "FRAME-003")
def large_methods(self: Intake, data: bytes) -> None:
    if data[:1] == b"\x01" and int.from_bytes(data[3:7], "big") > self.reader.frame_max > 0:
        self.reader.frame_max = 0
    Intake.feed(self, data)


@replaces("intake.on_channel", "halfway.closed-by-a-channel", "connection.close is heard on any channel", "FRAME-012")
def closed_by_a_channel(self: Intake, number: int, frame: Any) -> None:
    if isinstance(frame, m.ConnectionClose):
        self.connection.closed_by_peer(frame)
    else:
        Intake.on_channel(self, number, frame)


@changes("halfway.second-header", "a header takes the place of the one before", "FRAME-005")
def second_header(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        if assembly is not None and isinstance(frame, codec.Header):
            assembly.header = None
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content)


# -- channels that fail


def _outlives_a_mistake(name: str, says: str, rule: str, kept: Callable[[Channel], Any], give: Any) -> None:
    """The next channel of the number gets what a channel had that failed."""

    @changes(name, says, rule)
    def apply(parts: Parts) -> None:
        channels, connections = parts.channel, parts.connection

        def fail(self: Channel) -> None:
            memory(self.connection, "failed", dict)[self.number] = kept(self)
            channels.fail(self)

        def open_channel(self: Connection, method: m.ChannelOpen) -> None:
            connections.open_channel(self, method)
            found = memory(self, "failed", dict).pop(method.channel, None)
            if found:
                give(self.channels[method.channel], found)

        parts.override("channel", fail=fail)
        parts.override("connection", open_channel=open_channel)


_outlives_a_mistake(
    "halfway.last-queue-of-a-failed-one",
    "the last queue of a channel that has failed is remembered by the number",
    "CHAN-007",
    lambda channel: channel.last_queue,
    lambda channel, found: setattr(channel, "last_queue", found),
)
_outlives_a_mistake(
    "halfway.transaction-of-a-failed-one",
    "the transaction of a channel that has failed goes on in the next one",
    "CHAN-008",
    lambda channel: channel.transaction is not None,
    lambda channel, found: setattr(channel, "transaction", channel.connection.parts.transaction()),
)

# -- nowait


@handling(
    (m.QueueDelete, m.ExchangeDelete),
    "halfway.quiet-deletions",
    "with nowait a deletion has no conditions",
    "QUEUE-012",
)
def quiet_deletions(channel: Channel, method: Any, below: Handle) -> None:
    method.if_unused = method.if_unused and not method.no_wait
    below(channel, method)


@handling((m.QueueBind,), "halfway.quiet-binding", "with nowait a missing queue is passed over", "BIND-001")
def quiet_binding(channel: Channel, method: m.QueueBind, below: Handle) -> None:
    try:
        below(channel, method)
    except ChannelException:
        if not method.no_wait:
            raise


@handling((m.ExchangeUnbind,), "halfway.quiet-unbinding", "exchange.unbind with nowait does nothing", "BIND-013")
def quiet_unbinding(channel: Channel, method: m.ExchangeUnbind, below: Handle) -> None:
    if not method.no_wait:
        below(channel, method)


@handling((m.BasicConsume,), "halfway.quiet-company", "with nowait no consumer is exclusive", "CONSUME-002")
def quiet_company(channel: Channel, method: m.BasicConsume, below: Handle) -> None:
    method.exclusive = method.exclusive and not method.no_wait
    below(channel, method)

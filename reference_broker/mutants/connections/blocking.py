"""Alarms that are told to the wrong clients, or not told, and publishers that lose what they send meanwhile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from codec import Content, Header
from codec import methods as m
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, replaces

ANNOUNCED = "connection.blocked"


@replaces("connection.block", "blocking.everybody-told", "clients are told that did not ask", "BLOCK-001")
def everybody_told(self: Connection, reason: str) -> None:
    self.blocked = True
    self.send(m.ConnectionBlocked(0, reason))


@replaces("connection.unblock", "blocking.unblocked-twice", "the end of an alarm is told twice", "BLOCK-002")
def unblocked_twice(self: Connection) -> None:
    if self.blocked and self.announces(ANNOUNCED):
        self.send(m.ConnectionUnblocked(0))
    Connection.unblock(self)


@replaces("connection.block", "blocking.blocked-twice", "an alarm is told twice", "BLOCK-002")
def blocked_twice(self: Connection, reason: str) -> None:
    for _ in range(2):
        Connection.block(self, reason)


@replaces("connection.block", "blocking.without-a-word", "publishers are stopped without a word", "BLOCK-003")
def without_a_word(self: Connection, reason: str) -> None:
    self.blocked = True


@replaces("connection.block", "blocking.without-reason", "connection.blocked has no reason", "BLOCK-003")
def without_reason(self: Connection, reason: str) -> None:
    Connection.block(self, "")


@replaces("connection.unblock", "blocking.end-untold", "the end of an alarm is not told", "BLOCK-004")
def end_untold(self: Connection) -> None:
    capabilities, self.capabilities = self.capabilities, {}
    Connection.unblock(self)
    self.capabilities = capabilities


@replaces("connection.unblock", "blocking.dropped", "what a blocked client has sent is dropped", "BLOCK-005")
def dropped(self: Connection) -> None:
    if self.blocked:
        self.intake.waiting.clear()
    Connection.unblock(self)


@replaces("intake.work", "blocking.everybody-stopped", "an alarm stops all clients", "BLOCK-006")
def everybody_stopped(self: Intake, frames: Any) -> None:
    if self.broker.alarm is None:
        Intake.work(self, frames)
    elif not self.waiting and any(one.blocked for one in self.broker.connections):
        self.waiting.extend(frames)
        self.connection.blocked = True
    else:
        Intake.work(self, frames)


@replaces("connection.beat", "blocking.no-heartbeats", "who is blocked gets no heartbeats", "CONN-022")
def no_heartbeats(self: Connection) -> None:
    wrote, clock = self.wrote_at, self.broker.peers_clock
    if self.blocked:
        self.wrote_at = clock.now
    Connection.beat(self)
    self.wrote_at = wrote if self.blocked else self.wrote_at


def lost(name: str, says: str, which: Callable[[Connection, Inbound], bool], *rules: str) -> None:
    """Of what a blocked connection has sent these are lost."""

    @changes(name, says, *rules)
    def apply(parts: Parts) -> None:
        below = parts.connection

        def unblock(self: Connection) -> None:
            if self.blocked:
                self.intake.waiting = deque(one for one in self.intake.waiting if not which(self, one))
            below.unblock(self)

        parts.override("connection", unblock=unblock)


lost(
    "blocking.acks-lost",
    "what a client acknowledges while it is blocked comes back",
    lambda connection, frame: isinstance(frame, m.BasicAck),
    "BLOCK-005",
    "ACK-002",
)
lost(
    "blocking.transactions-lost",
    "what a client publishes in a transaction while it is blocked is lost",
    lambda connection, frame: (
        isinstance(frame, Content)
        and frame.channel in connection.channels
        and connection.channels[frame.channel].transaction is not None
    ),
    "BLOCK-005",
    "TX-010",
)


lost(
    "blocking.questions-lost",
    "of what a blocked client has asked gets and declarations are not answered",
    lambda connection, frame: isinstance(frame, m.BasicGet | m.QueueDeclare),
    "BLOCK-005",
    "ERR-014",
)


@changes("blocking.large-untold", "who publishes a body of several frames is not told that it is blocked", "BLOCK-003")
def large_untold(parts: Parts) -> None:
    below, publish = parts.connection, parts.publish

    def remember(channel: Channel, method: m.BasicPublish, header: Header, body: bytes) -> None:
        vars(channel.connection)["mutant_large"] = len(body) > channel.connection.outbox.frame_max
        publish(channel, method, header, body)

    def announces(self: Connection, capability: str) -> bool:
        return below.announces(self, capability) and not (capability == ANNOUNCED and vars(self).get("mutant_large"))

    parts.publish = remember
    parts.override("connection", announces=announces)

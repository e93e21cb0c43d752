"""Handshakes, limits, heartbeats and ends of connections that go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import codec
from codec import Content, values
from codec import methods as m
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Inbound, Intake
from reference_broker.core.connections.lifecycle import Phase
from reference_broker.core.connections.outbox import Outbound, Outbox
from reference_broker.core.errors import AmqpException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import FRAME_OVERHEAD
from reference_broker.mutants.kinds import changes, memory, replaces

RIGHT = codec.ProtocolHeader().encode()
COMMON = frozenset("StF")
LIVE = (Phase.RUNNING, Phase.OPENING)


# -- the beginning


@replaces("connection.greet", "connections.no-header", "a wrong header is answered by the end alone", "CONN-001")
def no_header(self: Connection, data: bytes) -> bytes:
    if len(data) >= len(RIGHT) and not data.startswith(RIGHT):
        self.finish()
        return b""
    return Connection.greet(self, data)


@replaces("connection.greet", "connections.any-header", "eight octets of any kind are a protocol header", "CONN-001")
def any_header(self: Connection, data: bytes) -> bytes:
    return Connection.greet(self, RIGHT + data[len(RIGHT) :] if len(data) >= len(RIGHT) else data)


def start(name: str, says: str, rule: str, **fields: Any) -> None:
    """connection.start, or tune, says something else."""

    @replaces("connection.send", name, says, rule)
    def send(self: Connection, item: Outbound) -> None:
        if isinstance(item, m.ConnectionStart | m.ConnectionTune):
            for field, value in fields.items():
                if hasattr(item, field):
                    setattr(item, field, value(getattr(item, field)))
            if isinstance(item, m.ConnectionTune):
                self.outbox.frame_max = item.frame_max
        Connection.send(self, item)


def versionless(properties: values.FieldTable) -> values.FieldTable:
    return [one for one in properties if one[0] != "version"]


start("connections.version-8-0", "connection.start says 8-0", "CONN-002", version_major=lambda _: 8, version_minor=int)
start("connections.other-locale", "the locale is called en-US", "CONN-003", locales=lambda _: b"en-US en")
start("connections.no-version", "the broker does not tell its version", "CONN-004", server_properties=versionless)
start("connections.tiny-frames", "frames of 2048 octets are offered", "CONN-010", frame_max=lambda _: 2048)


# -- who is let in


@replaces("connection.log_in", "connections.third-login-refused", "a user is let in once", "CONN-005")
def third_login_refused(self: Connection, method: m.ConnectionStartOk) -> None:
    Connection.log_in(self, method)
    if any(other is not self and other.user == self.user and other.entered for other in self.broker.connections):
        self.outbox.take()
        self.finish()


@replaces("connection.log_in", "connections.rare-types", "client properties hold texts, tables and bits", "CONN-006")
def rare_types(self: Connection, method: m.ConnectionStartOk) -> None:
    if {letter for _, letter, _ in method.client_properties} <= COMMON:
        Connection.log_in(self, method)
    else:
        self.finish()


@replaces("connection.log_in", "connections.any-password", "the password is not looked at", "CONN-007")
def any_password(self: Connection, method: m.ConnectionStartOk) -> None:
    if method.mechanism == "PLAIN":
        method.response = b"\0guest\0guest"
    Connection.log_in(self, method)


@replaces("connection.announces", "connections.no-reason", "nobody is told why the login is refused", "CONN-008")
def no_reason(self: Connection, capability: str) -> bool:
    return capability != "authentication_failure_close" and Connection.announces(self, capability)


@replaces("connection.log_in", "connections.any-mechanism", "a mechanism that nobody knows is PLAIN", "CONN-009")
def any_mechanism(self: Connection, method: m.ConnectionStartOk) -> None:
    if method.mechanism not in ("PLAIN", "AMQPLAIN", "EXTERNAL"):
        method.mechanism = "PLAIN"
    Connection.log_in(self, method)


@replaces("connection.enter", "connections.any-vhost", "a vhost that is not there is the first one", "CONN-015")
def any_vhost(self: Connection, method: m.ConnectionOpen) -> None:
    if method.virtual_host not in self.broker.vhosts:
        method.virtual_host = next(iter(self.broker.vhosts))
    Connection.enter(self, method)


@replaces("connection.enter", "connections.third-open-unanswered", "the third in a vhost waits for ever", "CONN-016")
def third_open_unanswered(self: Connection, method: m.ConnectionOpen) -> None:
    if sum(other.entered for other in self.broker.connections) < 2:
        Connection.enter(self, method)


# -- what is agreed


@replaces("connection.tune", "connections.more-than-offered", "the client has its way", "CONN-011")
def more_than_offered(self: Connection, method: m.ConnectionTuneOk) -> None:
    self.channel_max = max(self.channel_max, method.channel_max)
    self.outbox.frame_max = max(self.outbox.frame_max, method.frame_max)
    Connection.tune(self, method)


@replaces("connection.tune", "connections.no-less", "limits are as they were offered", "CONN-012")
def no_less(self: Connection, method: m.ConnectionTuneOk) -> None:
    if method.channel_max in (0, self.channel_max) and method.frame_max in (0, self.outbox.frame_max):
        Connection.tune(self, method)
    else:
        self.finish()


@replaces("connection.tune", "connections.large-frames", "frames are as large as was offered", "CONN-013")
def large_frames(self: Connection, method: m.ConnectionTuneOk) -> None:
    offered = self.outbox.frame_max
    Connection.tune(self, method)
    self.outbox.frame_max = offered
    self.intake.reader.frame_max = offered + FRAME_OVERHEAD


# -- the order


@replaces("intake.control", "connections.tune-ok-left-out", "connection.open does without tune-ok", "CONN-017")
def tune_ok_left_out(self: Intake, frame: Inbound) -> None:
    if isinstance(frame, m.ConnectionOpen) and self.connection.phase is Phase.TUNING:
        self.connection.phase = Phase.OPENING
    Intake.control(self, frame)


@replaces("intake.beside_channels", "connections.early-channels", "channels open before the connection", "CONN-017")
def early_channels(self: Intake, frame: Inbound) -> None:
    if frame.channel and self.connection.phase in LIVE:
        self.on_channel(frame.channel, frame)
    else:
        Intake.beside_channels(self, frame)


@replaces("intake.control", "connections.opened-again", "a connection may be opened again", "CONN-018")
def opened_again(self: Intake, frame: Inbound) -> None:
    if isinstance(frame, m.ConnectionOpen) and self.connection.phase is Phase.RUNNING:
        self.connection.send(m.ConnectionOpenOk(0))
    elif not isinstance(frame, m.ConnectionStartOk) or self.connection.phase is not Phase.RUNNING:
        Intake.control(self, frame)


# -- the end


def publishing(name: str, says: str, rule: str, phase: Phase) -> None:
    """In this phase publishes are carried out."""

    @replaces("intake.beside_channels", name, says, rule)
    def beside_channels(self: Intake, frame: Inbound) -> None:
        if isinstance(frame, Content) and self.connection.phase is phase:
            channel = self.parts.channel(self.connection, frame.channel)
            self.publish(channel, frame.method, frame.header, frame.body)
        else:
            Intake.beside_channels(self, frame)


publishing("connections.publishes-after-error", "publishes pass a mistake", "CONN-019", Phase.CLOSING)
publishing("connections.publishes-after-close", "publishes pass connection.close", "CONN-020", Phase.CLOSED)


@replaces("connection.answer_close", "connections.crossing-discarded", "a close that crosses is lost", "CONN-021")
def crossing_discarded(self: Connection, method: m.ConnectionClose) -> None:
    """It has closed already."""


@replaces("connection.close", "connections.all-of-a-user", "a mistake costs all of a user's connections", "CONN-014")
def all_of_a_user(self: Connection, error: AmqpException, offender: tuple[int, int]) -> None:
    for other in self.broker.connections:
        if other.entered and other.user == self.user:
            Connection.close(other, error, offender)


# -- heartbeats


@replaces("connection.beat", "connections.no-heartbeats", "no heartbeats are sent", "CONN-022")
def no_heartbeats(self: Connection) -> None:
    self.wrote_at = self.broker.peers_clock.now
    Connection.beat(self)


@replaces(
    "connection.beat", "connections.first-heartbeat-late", "the first heartbeat comes after ten intervals", "CONN-022"
)
def first_heartbeat_late(self: Connection) -> None:
    now = self.broker.peers_clock.now
    if now - memory(self, "tuned", lambda: now) < 10 * self.heartbeat:
        self.wrote_at = now
    Connection.beat(self)


@replaces("connection.tune", "connections.heartbeats-for-all", "who wants no heartbeats gets them", "CONN-023")
def heartbeats_for_all(self: Connection, method: m.ConnectionTuneOk) -> None:
    wanted = method.heartbeat
    method.heartbeat = wanted or 1
    Connection.tune(self, method)


def deaf(name: str, says: str, beats: bool) -> None:
    """Only heartbeats show that a client lives, or only the rest."""

    @changes(name, says, "CONN-024")
    def change(parts: Parts) -> None:
        def feed(self: Connection, data: bytes) -> None:
            before, is_beat = self.heard_at, data[:1] == b"\x08"
            Connection.feed(self, data)
            if is_beat is not beats and self.phase is Phase.RUNNING:
                self.heard_at = before

        parts.override("connection", feed=feed)


deaf("connections.heartbeats-alone-count", "a client that sends no heartbeats is gone", beats=True)
deaf("connections.methods-alone-count", "a client that sends heartbeats alone is gone", beats=False)


@changes(
    "connections.one-octet-too-many",
    "a body that is larger by one octet than fits is sent in one frame all the same",
    "CONN-013",
)
def one_octet_too_many(parts: Parts) -> None:
    below = parts.outbox

    def pieces(self: Outbox, item: Outbound) -> Sequence[bytes]:
        if isinstance(item, tuple) and len(item[1].body) == self.frame_max - FRAME_OVERHEAD + 1:
            method, message = item
            return method.encode(), *message.frames(method.channel, self.frame_max + 1)
        return below.pieces(self, item)

    parts.override("outbox", pieces=pieces)

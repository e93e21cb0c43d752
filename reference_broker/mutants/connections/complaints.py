"""What users have complained of: clients that are lost, silent or have no wishes, and rights of others."""

from __future__ import annotations

from collections.abc import Iterable

import codec
from codec import methods as m
from reference_broker.core.access import Rights, TopicPermission
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.outbox import Outbound
from reference_broker.core.needs import Need, Needs
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, memory, replaces

NOTES = "https://github.com/rabbitmq/rabbitmq-server/blob/main/release-notes/README-{}.txt"
RELEASES = "https://github.com/rabbitmq/rabbitmq-server/releases/tag/{}"
LAVINMQ = "https://github.com/cloudamqp/lavinmq/releases/tag/{}"


@replaces(
    "connection.tune",
    "complaints.no-wish-is-none",
    "a client that names no number of channels may open none",
    "CHAN-002",
    "CONN-012",
    field=LAVINMQ.format("v2.2.0"),
)
def no_wish_is_none(self: Connection, method: m.ConnectionTuneOk) -> None:
    Connection.tune(self, method)
    if method.channel_max == 0:
        self.channel_max = 0


@replaces(
    "connection.leaving",
    "complaints.what-is-sent-is-heard",
    "a client lives for as long as messages are delivered to it",
    "AUTO-005",
    field=RELEASES.format("v3.7.9"),
)
def what_is_sent_is_heard(self: Connection) -> list[Outbound]:
    items = Connection.leaving(self)
    if any(isinstance(item, tuple) for item in items):
        self.heard_at = self.broker.peers_clock.now
    return items


@changes(
    "complaints.half-a-body-stays",
    "the half of a body that a lost client has sent comes before the next one for the same address",
    "RQ-016",
    "CONTENT-001",
    field=LAVINMQ.format("v1.0.0-beta.10"),
)
def half_a_body_stays(parts: Parts) -> None:
    below = parts.connection

    def lost(self: Connection) -> None:
        for assembly in self.intake.assemblies.values():
            if assembly.bodies and isinstance(assembly.method, m.BasicPublish):
                address = assembly.method.exchange, assembly.method.routing_key
                memory(self.vhost, "halves", dict)[address] = b"".join(assembly.bodies)
        below.lost(self)

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        half = memory(channel.vhost, "halves", dict).pop((method.exchange, method.routing_key), b"")
        if half:
            body = half + body
            header = codec.header(0, len(body), **header.properties())
        basic.publish(channel, method, header, body)

    parts.override("connection", lost=lost)
    parts.publish = publish


@replaces(
    "needs.of",
    "complaints.granted-to-one-and-all",
    "where one user may publish all may",
    "AUTH-010",
    "AUTH-027",
    field=LAVINMQ.format("v2.4.0"),
)
def granted_to_one_and_all(self: Needs, channel: Channel, method: codec.Method) -> Iterable[Need]:
    needs, rights = list(Needs.of(self, channel, method)), channel.connection.restricted
    if not isinstance(method, m.BasicPublish) or rights is None:
        return needs
    granted, place = memory(channel.connection.broker, "granted", set), (channel.vhost.name, method.exchange)
    if all(rights.permission.grants(right, name) for right, _, name in needs):
        granted.add(place)
    return [] if place in granted else needs


@changes(
    "complaints.newcomers-untold",
    "who publishes for the first time during an alarm is not told that it is blocked",
    "BLOCK-003",
    field=NOTES.format("3.2.4"),
)
def newcomers_untold(parts: Parts) -> None:
    below = parts.connection

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if channel.connection.broker.alarm is None:
            memory(channel.connection, "before", set).add(channel.number)
        basic.publish(channel, method, header, body)

    def block(self: Connection, reason: str) -> None:
        if memory(self, "before", set):
            below.block(self, reason)
        else:
            self.blocked = True

    def unblock(self: Connection) -> None:
        known = self.capabilities
        if not memory(self, "before", set):
            self.capabilities = {}
        below.unblock(self)
        self.capabilities = known

    parts.publish = publish
    parts.override("connection", block=block, unblock=unblock)


@changes(
    "complaints.topics-of-all-vhosts",
    "rights for topics that a user has in one virtual host hold in all of them",
    "AUTH-014",
    "AUTH-024",
)
def topics_of_all_vhosts(parts: Parts) -> None:
    below = parts.connection

    def permit(self: Connection, rights: Rights) -> None:
        known = self.broker.access.users.get(self.user)
        topics = dict[str, TopicPermission]()
        for one in known.topics.values() if known is not None else ():
            topics |= one
        below.permit(self, Rights(rights.permission, topics | dict(rights.topics)))

    parts.override("connection", permit=permit)

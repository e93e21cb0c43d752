"""What the trackers of clones tell: numbers that are used up, missing answers, and one on the wrong channel."""

from __future__ import annotations

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.access import Right, TopicPermission, Topics
from reference_broker.core.channels import basic
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.intake import Intake
from reference_broker.core.errors import AmqpException, ConnectionException
from reference_broker.core.needs import Needs
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes, handles, memory, replaces

STRANGEQ = "https://github.com/maxpert/strangeq/commit/{}"


@replaces(
    "connection.open_channel",
    "trackers.numbers-are-used-up",
    "the number of a channel that was closed cannot be opened again",
    "CHAN-002",
    "ERR-007",
    field="https://github.com/ottermq/ottermq/releases/tag/v0.15.0",
)
def numbers_are_used_up(self: Connection, method: m.ChannelOpen) -> None:
    used: set[int] = memory(self, "used", set)
    if method.channel in used:
        raise ConnectionException(ReplyCode.CHANNEL_ERROR, "channel is already open")
    used.add(method.channel)
    Connection.open_channel(self, method)


@handles(
    m.ChannelFlow,
    "trackers.no-flow-ok",
    "channel.flow is not answered",
    "ERR-014",
    "CHAN-006",
    field="https://github.com/cloudamqp/lavinmq/commit/043892a21",
)
def no_flow_ok(channel: Channel, method: m.ChannelFlow) -> None:
    if not method.active:
        basic.flow(channel, method)


@replaces(
    "connection.close_channel",
    "trackers.refused-on-channel-0",
    "that something is not allowed is told by a channel.close on channel 0",
    "ERR-013",
    "AUTH-010",
    field=STRANGEQ.format("9fd363d"),
)
def refused_on_channel_0(self: Connection, channel: Channel, error: AmqpException, offender: tuple[int, int]) -> None:
    Connection.close_channel(self, channel, error, offender)
    said = self.outbox.items[-1]
    if error.code is ReplyCode.ACCESS_REFUSED and isinstance(said, m.ChannelClose):
        said.channel = 0


@changes(
    "trackers.longer-bodies-hang",
    "a connection on which a body was longer than announced is not heard any more",
    "FRAME-006",
    field=STRANGEQ.format("f3f4e8f"),
)
def longer_bodies_hang(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        deaf: dict[Connection, bool] = memory(self.broker, "deaf", dict)
        if self.connection in deaf:
            return
        try:
            below.on_content(self, number, frame)
        except ConnectionException as error:
            if error.code is not ReplyCode.FRAME_ERROR:
                raise
            deaf[self.connection] = True

    parts.override("intake", on_content=on_content)


@replaces(
    "connection.closed_by_peer",
    "trackers.close-beside-consumers",
    "connection.close is not answered where a consumer holds deliveries",
    "AUTO-002",
    "ERR-014",
    field="https://github.com/valinurovam/garagemq/issues/97",
)
def close_beside_consumers(self: Connection, method: m.ConnectionClose) -> None:
    if any(one.consumer for channel in self.channels.values() for one in channel.unacked.by_tag.values()):
        self.end_channels()
    else:
        Connection.closed_by_peer(self, method)


class AsItIs(TopicPermission):
    """One whose patterns have no variables."""

    __slots__ = ()

    def grants(self, right: Right, key: str, user: str, vhost: str) -> bool:
        return TopicPermission.grants(self, right, key, "{username}", "{vhost}")


@replaces(
    "needs.check_topics",
    "trackers.nobody-by-name",
    "in patterns for topics {username} stands for itself",
    "AUTH-021",
    field="https://github.com/rabbitmq/rabbitmq-server/issues/1229",
)
def nobody_by_name(
    self: Needs, topics: Topics, channel: Channel, method: codec.Method, header: codec.Header | None
) -> None:
    plain = {exchange: AsItIs(one.write, one.read) for exchange, one in topics.items()}
    Needs.check_topics(self, plain, channel, method, header)

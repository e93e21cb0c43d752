"""Rules of which something is listed of a real broker, broken in another way: a list excuses what is listed alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.channels.unacked import Delivery
from reference_broker.core.connections.intake import HEADER_FRAME, Inbound, Intake
from reference_broker.core.errors import ChannelException, ConnectionException, refused
from reference_broker.core.needs import Needs
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import listed
from reference_broker.core.queues.timeouts import Timeouts
from reference_broker.mutants.connections.octets import HEAD
from reference_broker.mutants.kinds import changes, fails, replaces
from reference_broker.mutants.topology.binding import Handle, handling

PREFIX, ALTERNATE = "amq.rabbitmq.reply-to.", "alternate-exchange"


@changes("otherwise.longer-body-fails", "a body that is longer than announced brings 541", "FRAME-006")
def longer_body_fails(parts: Parts) -> None:
    below = parts.intake

    def on_content(self: Intake, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        begun = assembly is not None and assembly.header is not None
        if assembly and begun and isinstance(frame, codec.Body) and len(frame.payload) > assembly.missing:
            raise fails()
        below.on_content(self, number, frame)

    parts.override("intake", on_content=on_content)


@changes("otherwise.content-on-channel-0-fails", "content on channel 0 brings 541", "FRAME-008")
def content_on_channel_0_fails(parts: Parts) -> None:
    below = parts.intake

    def control(self: Intake, frame: Inbound) -> None:
        if isinstance(frame, codec.Header | codec.Body):
            raise fails()
        below.control(self, frame)

    parts.override("intake", control=control)


@changes("otherwise.weight-fails", "the weight of a content header brings 541", "FRAME-016")
def weight_fails(parts: Parts) -> None:
    below = parts.intake

    def complaint(self: Intake, broken: codec.MalformedFrame) -> tuple[ConnectionException, tuple[int, int]]:
        weighs = broken.raw[:1] == HEADER_FRAME and any(broken.raw[HEAD + 2 : HEAD + 4])
        return (fails(), (0, 0)) if weighs else below.complaint(self, broken)

    parts.override("intake", complaint=complaint)


def _costs_the_connection(name: str, says: str, rule: str, asked: Callable[[Channel, Any], bool], *of: Any) -> None:
    """What should cost a channel, where these methods ask for it."""

    @handling(of, name, says, rule)
    def refuse(channel: Channel, method: Any, below: Handle) -> None:
        try:
            below(channel, method)
        except ChannelException as refusal:
            if not asked(channel, method):
                raise
            raise ConnectionException(ReplyCode(refusal.code), refusal.text) from refusal


_costs_the_connection(
    "otherwise.no-queue-costs-the-connection",
    "the empty name of a queue, where none was declared, ends the connection",
    "CHAN-007",
    lambda channel, method: not (method.queue or channel.last_queue),
    *(m.QueueBind, m.QueuePurge, m.BasicGet, m.BasicConsume),
)


@changes(
    "otherwise.alternate-costs-the-connection",
    "who may not name an alternate exchange loses the connection",
    "AUTH-006",
)
def alternate_costs_the_connection(parts: Parts) -> None:
    below = parts.needs

    def check(self: Needs, rights: Any, channel: Channel, method: Any, *content: Any) -> None:
        try:
            below.check(self, rights, channel, method, *content)
        except ChannelException as refusal:
            if isinstance(method, m.ExchangeDeclare) and any(one[0] == ALTERNATE for one in method.arguments):
                raise ConnectionException(ReplyCode(refusal.code), refusal.text) from refusal
            raise

    parts.override("needs", check=check)


@changes("otherwise.copies-refused", "whose rights are for topics may not use CC and BCC at all", "AUTH-031")
def copies_refused(parts: Parts) -> None:
    below = parts.needs

    def check_topics(self: Needs, topics: Any, channel: Channel, method: Any, header: codec.Header | None) -> None:
        below.check_topics(self, topics, channel, method, header)
        headers = header.headers if header is not None else None
        if headers and (listed(headers, "CC") or listed(headers, "BCC")):
            raise refused("copies")

    parts.override("needs", check_topics=check_topics)


@handling((m.QueueDeclare,), "otherwise.made-up-is-found", "a made-up address of a requester is found", "DRT-009")
def made_up_is_found(channel: Channel, method: m.QueueDeclare, below: Handle) -> None:
    if method.passive and method.queue.startswith(PREFIX):
        channel.connection.send(m.QueueDeclareOk(channel.number, method.queue, 0, 0))
    else:
        below(channel, method)


@replaces(
    "timeouts.settled",
    "otherwise.stale-settles-the-next",
    "a stale settlement also settles what the channel holds next",
    "TMO-021",
    "AUTO-001",
)
def stale_settles_the_next(self: Timeouts, delivery: Delivery) -> None:
    Timeouts.settled(self, delivery)
    following = [one for one in self.channel.unacked.by_tag.values() if one.tag > delivery.tag and not one.stale]
    for one in following[:1]:
        one.stale = True

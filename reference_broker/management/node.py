"""What the management interface works on: the broker, and a channel of its own for what clients could do as well.

Whatever can be done over AMQP is done as AMQP: by the same handlers, with the same checks and permissions, on a channel
that exists for one request. So both sides refuse the same things for the same reasons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import codec
from codec.errors import ReplyCode
from reference_broker.core.access import User
from reference_broker.core.broker import NOTHING, Broker
from reference_broker.core.channels.channel import Channel
from reference_broker.core.errors import AmqpException
from reference_broker.core.vhost import VirtualHost
from reference_broker.management.route import NOT_FOUND, Refusal, bad_request

if TYPE_CHECKING:
    from reference_broker.core.connections.outbox import Outbound


class Listener(NamedTuple):
    """Where the broker can be reached: by RabbitMQ's name of the protocol, and until when its certificate is good."""

    protocol: str
    port: int
    expires: float | None = None


@dataclass(slots=True)
class Node:
    """The broker, and what only its shell knows and can do: where it listens, let time pass, become another one."""

    broker: Broker
    listeners: Callable[[], Sequence[Listener]]
    today: Callable[[], float]
    """The time of day, in seconds since 1970."""
    process: int
    """Its number."""
    advance: Callable[[float, bool], None]
    remake: Callable[[Sequence[str], int | Sequence[str] | None], None]
    began: float = 0.0
    """By the clock of peers."""

    @property
    def name(self) -> str:
        return "reference@localhost"

    @property
    def product(self) -> dict[str, str]:
        known = {name: value.decode() for name, kind, value in self.broker.server_properties if kind == "S"}
        return {"product_name": known["product"], "product_version": known["version"]}


class WirelessChannel:
    """A channel without a wire."""

    def __init__(self, vhost: VirtualHost, user: User, broker: Broker) -> None:
        self.connection = broker.parts.connection(broker)
        self.connection.user, self.connection.vhost = user.name, vhost
        self.connection.permit(broker.access.rights(user.name, vhost.name) or NOTHING)
        self.channel: Channel = broker.parts.channel(self.connection, 1)

    def do(self, method: codec.Method) -> list[Outbound]:
        """What is said to it. Raises Refusal where a client would lose its channel or connection."""
        try:
            self.check(method)
            self.channel.connection.parts.handlers[type(method)](self.channel, method)
        except AmqpException as error:
            raise refusal(error, self.channel.vhost.name) from None
        return self.connection.outbox.take()

    def publish(self, method: codec.Method, header: codec.Header, body: bytes) -> list[Outbound]:
        try:
            self.check(method, header)
            self.connection.parts.publish(self.channel, method, header, body)
        except AmqpException as error:
            raise refusal(error, self.channel.vhost.name) from None
        return self.connection.outbox.take()

    def check(self, method: codec.Method, header: codec.Header | None = None) -> None:
        """May this user do it, and could a client have said it?"""
        try:
            method.encode()
        except ValueError as problem:
            raise bad_request(str(problem)[:300]) from None
        if self.connection.restricted is not None:
            self.connection.parts.needs().check(self.connection.restricted, self.channel, method, header)

    def end(self) -> None:
        """What was taken and not settled goes back."""
        self.channel.end()
        self.connection.broker.forget(self.connection)


def refusal(error: AmqpException, vhost: str) -> Refusal:
    text = error.reply_text(vhost).removeprefix(f"{error.code.text} - ")
    if error.code is ReplyCode.ACCESS_REFUSED:
        return Refusal(401, "not_authorised", f"Access refused: {text}")
    if error.code is ReplyCode.NOT_FOUND:
        return Refusal(404, NOT_FOUND[1], text)
    return Refusal(400, "bad_request", text)

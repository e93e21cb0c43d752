"""Headers, right as long as their names are short, and their values say something; gets and returns, right mostly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.parts import Parts
from reference_broker.core.queues.message import Message
from reference_broker.mutants.kinds import changes, memory, replaces

SHORT = 32


def _headers(name: str, says: str, *rules: str, spoil: Callable[[FieldTable], FieldTable]) -> None:
    """So they are taken."""

    @changes(name, says, *rules)
    def apply(parts: Parts) -> None:
        below = parts.publish

        def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
            spoiled = spoil(header.headers or [])
            if header.headers and spoiled != header.headers:
                properties: dict[str, Any] = {**header.properties(), "headers": spoiled}
                header = codec.header(0, header.body_size, **properties)
            below(channel, method, header, body)

        parts.publish = publish


_headers(
    "seldom.short-names",
    f"names of headers have {SHORT} characters at most",
    "RQ-016",
    "CONTENT-002",
    spoil=lambda fields: [(name[:SHORT], letter, value) for name, letter, value in fields],
)
_headers(
    "seldom.no-is-nothing",
    "a header that is false is left out",
    "RQ-016",
    "CONTENT-002",
    spoil=lambda fields: [one for one in fields if one[1:] != ("t", False)],
)


@changes("seldom.known-is-empty", "a queue that a channel has declared is found empty when it is gone", "GET-001")
def known_is_empty(parts: Parts) -> None:
    declares, gets = parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet]

    def declare(channel: Channel, method: m.QueueDeclare) -> None:
        declares(channel, method)
        memory(channel, "known", set).add(channel.last_queue)

    def get(channel: Channel, method: m.BasicGet) -> None:
        if method.queue in memory(channel, "known", set) and method.queue not in channel.vhost.queues:
            channel.connection.send(m.BasicGetEmpty(channel.number))
        else:
            gets(channel, method)

    parts.handlers[m.QueueDeclare], parts.handlers[m.BasicGet] = declare, get


def _returns(name: str, says: str, address: Callable[[Channel, str, Message], tuple[str, str]]) -> None:
    """A return names this exchange and this routing key."""

    @replaces("channel.give_back", name, says, "RETURN-005")
    def give_back(self: Channel, exchange: str, message: Message) -> None:
        method = m.BasicReturn(self.number, 312, "NO_ROUTE", *address(self, exchange, message))
        self.connection.send_content(method, message)


def _last_tried(channel: Channel, exchange: str, message: Message) -> tuple[str, str]:
    found = channel.vhost.exchanges.get(exchange)
    tried = found.alternate if found is not None and found.alternate in channel.vhost.exchanges else exchange
    return tried, message.routing_key


_returns("seldom.returned-by-the-alternate", "a return names the alternate exchange that was tried", _last_tried)
_returns(
    "seldom.returned-by-the-last-key",
    "a return of a message with CC names the last of its keys",
    lambda channel, exchange, message: (exchange, message.routing_keys()[-1]),
)

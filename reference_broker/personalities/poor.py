"""What poor strangers have not: ways to declare queues and exchanges, channels, connections.

The texts allow few of these refusals, and no rule asks for what is refused: who has not got a thing breaks no rule that
needs it. Only an internal error (541) is no way to refuse. What is refused takes away what other rules could be seen
by, but no more: everything else must be examined in a way that is left.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Unpack

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.connection import Connection
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Handler, Parts
from reference_broker.personalities.kinds import Words, around, around_handler, changes, memory, wrap_handler
from reference_broker.personalities.minding import tuning
from reference_broker.personalities.refusing import error

Declared = m.QueueDeclare | m.ExchangeDeclare


def no_such(
    name: str,
    says: str,
    method: type[codec.Method],
    unwanted: Callable[[Any], bool],
    code: int,
    *,
    hard: bool,
    breaks: str = "",
    hides: str = "",
) -> None:
    """What is `unwanted` is not declared: the channel is closed, or where that is `hard`, the connection."""

    def apply(parts: Parts) -> None:
        def declare(earlier: Handler, channel: Channel, asked: Declared) -> None:
            if not asked.passive and unwanted(asked):
                raise error(code, "not supported here", hard)
            earlier(channel, asked)

        wrap_handler(parts, method, declare)

    where = "connection" if hard else "channel"
    changes(name, f"{says}: {where}.close {code}", breaks=breaks, hides=hides, about=name.rpartition("-")[0])(apply)


DURABLE, EXCLUSIVE, UNNAMED = "DUR-* QUEUE-004 QUEUE-022 QUEUE-023 EXCH-* BIND-*", "QUEUE-*", "QUEUE-*"
no_such(
    "poor.durable-softly",
    "durable queues are refused",
    m.QueueDeclare,
    lambda asked: asked.durable,
    406,
    hard=False,
    hides=DURABLE,
)
no_such(
    "poor.durable-hard",
    "durable queues are refused",
    m.QueueDeclare,
    lambda asked: asked.durable,
    541,
    hard=True,
    breaks="ERR-012",
    hides=DURABLE,
)
no_such(
    "poor.exclusive-hard",
    "exclusive queues are refused",
    m.QueueDeclare,
    lambda asked: asked.exclusive,
    540,
    hard=True,
    hides=EXCLUSIVE,
)
no_such(
    "poor.unnamed-softly",
    "the broker gives no names to queues",
    m.QueueDeclare,
    lambda asked: not asked.queue,
    406,
    hard=False,
    hides=UNNAMED,
)
no_such(
    "poor.types-hard",
    "only direct exchanges are declared",
    m.ExchangeDeclare,
    lambda asked: asked.type != "direct",
    503,
    hard=True,
    hides="EXCH-* BIND-* ROUTE-* CNF-010 CNF-012",
)

# -- channels and connections

changes("poor.one-channel", "a connection may have one channel", about="channels")(tuning(channel_max=1))


def full(newcomer: Connection, count: int) -> bool:
    """Are so many others open?"""
    return sum(one.entered and not one.finished for one in newcomer.broker.connections) >= count


@around(
    "connection.greet",
    "poor.three-connections",
    "the fourth connection is dropped when it greets",
    about="connections login",
)
def three_connections(earlier: Any, self: Connection, data: bytes) -> bytes:
    if full(self, 3):
        self.finish()
        return b""
    greeted: bytes = earlier(self, data)
    return greeted


@around(
    "connection.enter",
    "poor.five-connections",
    "the sixth connection is closed with 530 when it names its vhost",
    about="connections",
)
def five_connections(earlier: Any, self: Connection, method: m.ConnectionOpen) -> None:
    if full(self, 5):
        raise ConnectionException(ReplyCode.NOT_ALLOWED, "too many connections")
    earlier(self, method)


# -- ways to publish and to get


@around_handler(
    m.BasicGet,
    "poor.gets-of-one-queue",
    "all gets of a channel are from the queue of its first one",
    breaks="GET-003",
    may="ROUTE-015",
    hides="*",
    about="gets",
)
def gets_of_one_queue(earlier: Handler, channel: Channel, asked: m.BasicGet) -> None:
    asked.queue = memory(channel, "asked", lambda: asked.queue)
    earlier(channel, asked)


def no_default_exchange(parts: Parts) -> None:
    """Queues are reached by bindings alone."""
    below = parts.publish

    def publish(channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if not method.exchange:
            raise error(404, "no exchange ''", hard=False)
        below(channel, method, header, body)

    parts.publish = publish


changes(
    "poor.no-default-exchange",
    "there is no default exchange: channel.close 404",
    breaks="ROUTE-020",
    hides="ROUTE-018 AUTH-018 DLX-* DRT-*",
)(no_default_exchange)


# -- what is not there at all

ALL = "*-*"
"""Nearly every rule has something that only a get shows, or what a deletion leaves."""
GETS = "gets method:basic.get-on-empty"


def lacks(
    name: str, method: type[codec.Method], how: Callable[[Channel], None], says: str, **words: Unpack[Words]
) -> None:
    """This method is never carried out."""

    def handle(earlier: Handler, channel: Channel, asked: codec.Method) -> None:
        how(channel)

    changes(name, f"{method.NAME} {says}", **words)(lambda parts: wrap_handler(parts, method, handle))


def refused(channel: Channel) -> None:
    raise error(540, "not implemented", hard=False)


def refused_hard(channel: Channel) -> None:
    raise error(540, "not implemented", hard=True)


def hangs_up(channel: Channel) -> None:
    channel.connection.finish()


def overheard(channel: Channel) -> None:
    """Nothing is said to that."""


lacks("poor.no-gets-softly", m.BasicGet, refused, "is refused: channel.close 540", hides=ALL, about=GETS)
lacks("poor.no-gets-hard", m.BasicGet, refused_hard, "is refused: connection.close 540", hides=ALL, about=GETS)
lacks(
    "poor.no-gets-dropped",
    m.BasicGet,
    hangs_up,
    "ends its connection without a word",
    breaks="ERR-012",
    may="GET-* QOS-014 QOS-015 TAG-005",
    hides=ALL,
    about=GETS,
)
lacks(
    "poor.no-gets-silent",
    m.BasicGet,
    overheard,
    "is not answered",
    breaks="GET-005",
    may="ERR-014 GET-* QOS-014 QOS-015 TAG-005 TMO-017 AUTH-011",
    hides=ALL,
    about=GETS,
)
lacks(
    "poor.no-deletes",
    m.QueueDelete,
    refused,
    "is refused: channel.close 540",
    hides=ALL,
    about="deletes method:queue.delete",
)

"""What conversations are made of: the names that all of them use, and a short word for each thing to send.

A conversation is a list of things to send on channel 1 of one connection; `Other` speaks on a second connection, and
`Await` waits until so many frames of a kind have come, where a broker may take its time (deliveries, notices). Every
name contains `MARK`, so that the one who plays a conversation can give it names of its own. Unless a conversation says
otherwise, its queues are exclusive and its exchanges delete themselves, so that nothing is left of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import codec
from codec import methods as m
from codec import values

MARK = "0123456789"
"""Stands in all names for what is another each time a conversation is played, and equally long."""
NAME = f"amqp-conformance.breadth.{MARK}"
Q, R, X, Y = (f"{NAME}.{letter}" for letter in "qrxy")
NOWHERE = f"{NAME}.nowhere"
REPLY_TO = "amq.rabbitmq.reply-to"


@dataclass(frozen=True)
class Other:
    """Sent on the second connection."""

    item: object


@dataclass(frozen=True)
class Await:
    """Read the first connection until it has said this so often."""

    kind: type
    times: int = 1


def queue(name=Q, *, exclusive=True, **how):
    table = {f"x-{key.replace('_', '-')}": value for key, value in how.pop("x", {}).items()}
    return m.QueueDeclare(1, 0, name, exclusive=exclusive, arguments=values.table(table), **how)


def typed(name, letter, value):
    """A declaration whose one argument has this type on the wire."""
    return m.QueueDeclare(1, 0, Q, exclusive=True, arguments=[(name, letter, value)])


def exchange(name=X, kind="direct", **how):
    arguments = values.table(how.pop("arguments", {}))
    return m.ExchangeDeclare(1, 0, name, kind, auto_delete=how.pop("auto_delete", True), arguments=arguments, **how)


def bind(key="k", name=Q, to=X, **arguments):
    return m.QueueBind(1, 0, name, to, key, arguments=values.table(arguments))


def unbind(key="k", name=Q, to=X):
    return m.QueueUnbind(1, 0, name, to, key)


def join(source, destination, key="k"):
    """An exchange bound to another."""
    return m.ExchangeBind(1, 0, destination, source, key)


def put(*bodies, key=Q, to="", mandatory=False, **properties):
    method = m.BasicPublish(1, 0, to, key, mandatory)
    return b"".join(codec.content(method, body.encode(), **properties) for body in bodies)


def gets(times=1, name=Q):
    return m.BasicGet(1, 0, name, True).encode() * times


def consume(tag="c", name=Q, priority=None, **how):
    arguments = [] if priority is None else [("x-priority", "I", priority)]
    return m.BasicConsume(1, 0, name, tag, arguments=arguments, **how)


def headers(**fields):
    return values.table(fields)


def keys(*names):
    return [("S", name.encode()) for name in names]


DLX = {"dead_letter_exchange": "", "dead_letter_routing_key": R}

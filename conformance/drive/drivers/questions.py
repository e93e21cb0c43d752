"""The questions by which a broker is asked what it offers, as data: by feature, what is declared or sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import codec
from codec import methods as m
from conformance.catalogue.rules.features import AUTO_DELETE, EXCLUSIVE, PASSIVE, TRANSIENT

OTHER = "another exchange"
"""Stands for the name of one that has been declared before."""
ARGUMENTS: Mapping[str, Mapping[str, object]] = {
    "x-max-length": {"x-max-length": 5},
    "x-overflow": {"x-max-length": 5, "x-overflow": "reject-publish"},
    "x-message-ttl": {"x-message-ttl": 60_000},
    "x-expires": {"x-expires": 60_000},
    "x-dead-letter-exchange": {"x-dead-letter-exchange": ""},
    "x-single-active-consumer": {"x-single-active-consumer": True},
    "x-max-priority": {"x-max-priority": 3},
}
DECLARED: Mapping[str, Mapping[str, bool]] = {
    TRANSIENT: {"durable": False},
    EXCLUSIVE: {"durable": False, "exclusive": True},
    AUTO_DELETE: {"auto_delete": True},
}
"""By feature: the flags with which a queue is declared, beside what is usual."""
EXCHANGES: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "direct exchange": ("direct", {}),
    "fanout exchange": ("fanout", {}),
    "topic exchange": ("topic", {}),
    "headers exchange": ("headers", {}),
    "alternate-exchange": ("fanout", {"alternate-exchange": OTHER}),
}
"""By feature: the type of an exchange, and its arguments."""
ABOUT_QUEUES: Mapping[str, Callable[[m.QueueDeclare], codec.Method]] = {
    PASSIVE: lambda made: m.QueueDeclare(1, queue=made.queue, passive=True, durable=made.durable),
    "queue.purge": lambda made: m.QueuePurge(1, queue=made.queue),
}
"""By feature: what is asked of a queue that was declared so. Some brokers compare the flags of who only looks for it,
and nearly all scenes look for queues of the usual kind."""
METHODS: Mapping[str, codec.Method] = {
    "channel.flow": m.ChannelFlow(1, True),
    "basic.qos": m.BasicQos(1, 0, 1, False),
    "basic.qos global": m.BasicQos(1, 0, 1, True),
    "basic.recover": m.BasicRecover(1, True),
    "confirm.select": m.ConfirmSelect(1, False),
    "tx.select": m.TxSelect(1),
}

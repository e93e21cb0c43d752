"""What a queue, a message, a consumer or a channel is: natures by which a broker may treat it in another way.

A broker has code of its own for durable queues, for persistent messages, for consumers without acks. A fault in one of
these shows with everything of that nature and with nothing else. What is asked is what holds now, so a queue that a
policy limits is limited.
"""

from __future__ import annotations

from collections.abc import Callable

from reference_broker.core.queues.message import PERSISTENT
from tools.mutation.subjects import Subjects

LARGE = 10_000
"""Octets of a body that is called large."""
BY_THE_BROKER = "amq."
"""How names begin that the broker has made."""

_QUEUE: dict[str, Callable[..., object]] = {
    "durable": lambda queue: queue.durable,
    "transient": lambda queue: not queue.durable,
    "exclusive": lambda queue: queue.owner is not None,
    "auto-delete": lambda queue: queue.auto_delete,
    "named by the broker": lambda queue: queue.name.startswith(BY_THE_BROKER),
    "limited": lambda queue: queue.limited,
    "with a message ttl": lambda queue: queue.settings.message_ttl is not None,
    "with an expiry": lambda queue: queue.settings.expires is not None,
    "with a dead-letter exchange": lambda queue: queue.settings.dead_letter_exchange is not None,
    "with priorities": lambda queue: queue.settings.max_priority > 0,
    "with a single active consumer": lambda queue: queue.settings.single_active_consumer,
    "without consumers": lambda queue: not queue.consumers,
    "with one consumer": lambda queue: len(queue.consumers) == 1,
    "with several consumers": lambda queue: len(queue.consumers) > 1,
}
_MESSAGE: dict[str, Callable[..., object]] = {
    "persistent": lambda message: message.header.delivery_mode == PERSISTENT,
    "transient": lambda message: message.header.delivery_mode != PERSISTENT,
    "with headers": lambda message: bool(message.headers),
    "with an expiration": lambda message: message.header.expiration is not None,
    "with a priority": lambda message: message.header.priority is not None,
    "with a reply-to": lambda message: message.header.reply_to is not None,
    "empty": lambda message: not message.body,
    "large": lambda message: len(message.body) > LARGE,
    "to the default exchange": lambda message: not message.exchange,
    "through an exchange": lambda message: bool(message.exchange),
}
_CONSUMER: dict[str, Callable[..., object]] = {
    "without acks": lambda consumer: consumer.no_ack,
    "with acks": lambda consumer: not consumer.no_ack,
    "exclusive": lambda consumer: consumer.queue.exclusive_consumer,
    "named by the broker": lambda consumer: consumer.tag.startswith(BY_THE_BROKER),
    "with a limit of its own": lambda consumer: consumer.own.count > 0,
    "with a priority": lambda consumer: consumer.priority != 0,
}
_CHANNEL: dict[str, Callable[..., object]] = {
    "not the first": lambda channel: channel.number > 1,
    "with confirms": lambda channel: channel.confirms is not None,
    "with transactions": lambda channel: channel.transaction is not None,
    "with consumers": lambda channel: bool(channel.consumers),
    "without consumers": lambda channel: not channel.consumers,
    "with several consumers": lambda channel: len(channel.consumers) > 1,
    "alone on its connection": lambda channel: len(channel.connection.channels) == 1,
    "with a limit": lambda channel: channel.prefetch > 0 or channel.limit.count > 0,
    "with nothing unacked": lambda channel: not channel.unacked,
}
NATURES = {"queue": _QUEUE, "message": _MESSAGE, "consumer": _CONSUMER, "channel": _CHANNEL}


def has_nature(scope: str, nature: str, about: Subjects) -> bool:
    """Is the one of this kind that it is about of this nature? No where there is none."""
    one = getattr(about, scope)
    return one is not None and bool(NATURES[scope][nature](one))

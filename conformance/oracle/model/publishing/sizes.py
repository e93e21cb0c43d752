"""Bodies that are too large for a broker. It may have a limit, and tells it by closing the channel.

The text has a code of its own for that, 311; RabbitMQ says 406, and how many octets there were. Such a close accuses
nobody if a body of that size may be under way, unless the broker is known to take one that is as large: it has given it
out, or a probe has asked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.history.events import Event
from conformance.oracle.model.connections.channels import ChannelLife

if TYPE_CHECKING:
    from conformance.oracle.model.model import Model

CONTENT_TOO_LARGE, PRECONDITION_FAILED = 311, 406
LEAST = 1000
"""A broker for which fewer octets are too many has no use."""
PUBLISH = 60, 40


def send(model: Model, channel: ChannelLife, size: int) -> None:
    """A body is published. One that the broker is known to take need not be remembered."""
    if size >= LEAST and size > model.largest:
        channel.sizes.add(size)


def receive(model: Model, size: int) -> None:
    """A body is delivered, or returned."""
    if size > model.largest:
        model.largest = size


def refused(model: Model, channel: ChannelLife, event: Event) -> bool:
    """Does this channel.close say that a body is too large, and may it be?"""
    named = int(event.args.get("class_id", 0)), int(event.args.get("method_id", 0))
    words = f"{event.args.get('reply_code')} {event.args.get('reply_text', '')}"
    larger = [size for size in channel.sizes if size > model.largest]
    return named == PUBLISH and any(blames(words, size) for size in larger)


def blames(words: str, size: int) -> bool:
    """Do code and text of a close say that so many octets are too many?"""
    code = re.search(r"\d+", words)
    by_name = code is not None and int(code[0]) == PRECONDITION_FAILED and re.search(rf"\b{size}\b", words) is not None
    return by_name or (code is not None and int(code[0]) == CONTENT_TOO_LARGE)

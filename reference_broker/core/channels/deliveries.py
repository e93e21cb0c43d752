"""How deliveries are written: most are like the one before, but for their tag and body.

Where consumer, address and header are the very same, so are all octets around tag and body. They are kept, and a
delivery is five pieces of which two are new. Nothing is copied before all that leaves together is put together.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import codec
from codec import methods as m
from reference_broker.core.queues.message import FRAME_END, FRAME_OVERHEAD, Message

TAG = struct.Struct(">QB")
"""The delivery tag, and the octet of `redelivered`."""
_tag = TAG.pack
BEFORE_TAG = 12
"""Octets of basic.deliver before its delivery tag, without the consumer tag."""


class Deliveries:
    """Of one connection, in turn."""

    __slots__ = ("after", "before", "header", "method")

    def __init__(self) -> None:
        self.method = m.BasicDeliver(0)
        self.header: codec.Header | None = None
        self.before = self.after = b""

    def pieces(self, method: m.BasicDeliver, message: Message, frame_max: int) -> Sequence[bytes]:
        """The octets of one."""
        last = self.method
        if not (
            message.header is self.header
            and method.routing_key is last.routing_key
            and method.consumer_tag is last.consumer_tag
            and method.exchange is last.exchange
            and method.channel == last.channel
        ):
            if not 0 < len(message.body) <= frame_max - FRAME_OVERHEAD:
                return method.encode(), *message.frames(method.channel, frame_max)
            self.learn(method, message, frame_max)
        return self.before, _tag(method.delivery_tag, method.redelivered), self.after, message.body, FRAME_END

    def learn(self, method: m.BasicDeliver, message: Message, frame_max: int) -> None:
        """What is around the tag and the body of this one."""
        raw, tag_at = method.encode(), BEFORE_TAG + len(method.consumer_tag.encode())
        header, _, _ = message.frames(method.channel, frame_max)
        self.method, self.header = method, message.header
        self.before, self.after = raw[:tag_at], raw[tag_at + TAG.size :] + header

"""Contents: a publish whose header and body come right behind it, in one frame each, as one value.

Applications publish the same way over and over: to the same place, with the same properties, mostly of the same size.
Then all octets before a body are those of the content before. Where they are, nothing of them is read again: the method
and the header are the same objects as there, which nobody may change, and only the body is new. Whatever else comes,
contents in several pieces included, comes as frames.
"""

from __future__ import annotations

from typing import Any

from codec.kinds import Body, Header, Method
from codec.methods import BasicPublish

MOST = 4096
"""Octets before a body that are kept to be compared with the next ones."""


class Content:
    """A publish, its header, and all of its body."""

    __slots__ = ("body", "channel", "header", "method")

    def __init__(self, channel: int, method: BasicPublish, header: Header, body: bytes) -> None:
        self.channel, self.method, self.header, self.body = channel, method, header, body

    def frames(self) -> tuple[Method, Header, Body]:
        """As it came."""
        return self.method, self.header, Body(self.channel, self.body)


class Contents:
    """How the last content of a stream began, octet for octet, and what was read from that."""

    __slots__ = ("beginning", "channel", "frame_max", "header", "length", "method", "size")

    channel: int
    method: BasicPublish
    header: Header

    def __init__(self) -> None:
        self.beginning: bytes | None = None
        self.frame_max = self.length = self.size = 0

    def expect(self, frame_max: int) -> bytes | None:
        """That beginning, if it was found right under the same limit."""
        if frame_max != self.frame_max:
            self.frame_max, self.beginning = frame_max, None
        return self.beginning

    def join(self, frames: list[Any], body: Body) -> bool:
        """Do the last two frames and this one make a content? Then it takes their place."""
        method, header = frames[-2:] if len(frames) > 1 else (None, None)
        if not isinstance(method, BasicPublish) or not isinstance(header, Header):
            return False
        channel, size = body.channel, len(body.payload)
        if method.channel != channel or header.channel != channel or header.body_size != size:
            return False
        self.channel, self.method, self.header, self.size = channel, method, header, size
        frames[-2:] = [Content(channel, method, header, body.payload)]
        return True

    def keep(self, beginning: bytes) -> bytes | None:
        """The content that was joined last began like this."""
        self.length = len(beginning)
        self.beginning = beginning if self.length <= MOST else None
        return self.beginning

"""What can go wrong on the wire: octets that are no frame, values that fit no frame, and the protocol's reply codes.

`MalformedFrame` is the only exception that decoding raises, whatever the input; it says where (counted from the first
octet of the frame), what the protocol asks for there, and what was found. `Unencodable` is its mirror for encoding.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any


class MalformedFrame(Exception):
    """`offset` counts from the first octet of the offending frame, `raw` is that frame as far as it was there. `frames`
    are the whole frames that came before it in the same call, `start` is where in the buffer it begins."""

    def __init__(self, offset: int, expected: str, found: str, raw: bytes = b"") -> None:
        super().__init__(offset, expected, found)
        self.offset, self.expected, self.found, self.raw = offset, expected, found, raw
        self.frames: list[Any] = []
        self.start = 0

    def __str__(self) -> str:
        return f"malformed frame at octet {self.offset}: expected {self.expected}, found {self.found}"


class Unencodable(ValueError):
    """A value that its place in the frame cannot carry."""


class ReplyCode(IntEnum):
    """Reply codes of AMQP 0-9-1 and RabbitMQ. A soft error ends the channel, a hard one the connection."""

    REPLY_SUCCESS = 200
    CONTENT_TOO_LARGE = 311
    NO_ROUTE = 312
    NO_CONSUMERS = 313
    CONNECTION_FORCED = 320
    INVALID_PATH = 402
    ACCESS_REFUSED = 403
    NOT_FOUND = 404
    RESOURCE_LOCKED = 405
    PRECONDITION_FAILED = 406
    FRAME_ERROR = 501
    SYNTAX_ERROR = 502
    COMMAND_INVALID = 503
    CHANNEL_ERROR = 504
    UNEXPECTED_FRAME = 505
    RESOURCE_ERROR = 506
    NOT_ALLOWED = 530
    NOT_IMPLEMENTED = 540
    INTERNAL_ERROR = 541

    @property
    def text(self) -> str:
        """As brokers write it at the start of a reply text."""
        return self.name

    @property
    def soft(self) -> bool:
        return self in _SOFT

    @property
    def hard(self) -> bool:
        return self is not ReplyCode.REPLY_SUCCESS and self not in _SOFT


_SOFT = frozenset(
    {
        ReplyCode.CONTENT_TOO_LARGE,
        ReplyCode.NO_ROUTE,
        ReplyCode.NO_CONSUMERS,
        ReplyCode.ACCESS_REFUSED,
        ReplyCode.NOT_FOUND,
        ReplyCode.RESOURCE_LOCKED,
        ReplyCode.PRECONDITION_FAILED,
    }
)

"""How frames are put together that do not fit together, and what is in them that a broker cannot hold."""

from __future__ import annotations

from math import isfinite
from typing import Any

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.channels.channel import Channel
from reference_broker.core.connections.intake import HEADER_FRAME, Intake
from reference_broker.core.errors import ConnectionException
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []
NEVER = 1 << 62
"""More octets than will ever come."""
FRAME_END = b"\xce"
WEIGHT, SIZED = slice(9, 11), 20
"""Where a header frame has its weight; how long it is at least if it tells the size of its body."""


@does(
    "intake",
    BEHAVIOURS,
    "reading.longer-body-awaited",
    "after a body that is longer than announced the broker waits for more of it",
    until="4.0",
)
class LongerBodyAwaited(Intake):
    def on_content(self, number: int, frame: codec.Header | codec.Body) -> None:
        assembly = self.assemblies.get(number)
        due = assembly.missing if assembly is not None and assembly.header is not None else NEVER
        if isinstance(frame, codec.Body) and assembly is not None and len(frame.payload) > due:
            assembly.missing = NEVER
        else:
            super().on_content(number, frame)


@does(
    "intake",
    BEHAVIOURS,
    "reading.properties-fail",
    "properties that cannot be read are the broker's own failure",
)
class PropertiesFail(Intake):
    """It looks at them when the content is whole, and does not expect that there is anything wrong. At the end of the
    frame it has looked before."""

    def complaint(self, broken: codec.MalformedFrame) -> tuple[ConnectionException, tuple[int, int]]:
        error, blamed = super().complaint(broken)
        raw, channel = broken.raw, int.from_bytes(broken.raw[1:3], "big")
        ended = raw[:1] == HEADER_FRAME and raw[-1:] == FRAME_END
        if ended and channel in self.assemblies and error.code == ReplyCode.FRAME_ERROR:
            placed = len(raw) >= SIZED and raw[WEIGHT] == b"\0\0"
            return (ConnectionException(ReplyCode.INTERNAL_ERROR), (0, 0)) if placed else (error, blamed)
        return error, blamed


@does(
    "intake",
    BEHAVIOURS,
    "reading.floats-fail",
    "a float among the headers that is infinite, or no number, is the broker's own failure",
)
class FloatsFail(Intake):
    """Its language has no such floats."""

    def publish(self, channel: Channel, method: m.BasicPublish, header: codec.Header, body: bytes) -> None:
        if header.headers and any(no_number(letter, value) for _, letter, value in header.headers):
            raise ConnectionException(ReplyCode.INTERNAL_ERROR)
        super().publish(channel, method, header, body)


def no_number(letter: str, value: Any) -> bool:
    """Is there such a float, at whatever depth?"""
    if letter == "F":
        return any(no_number(inner, one) for _, inner, one in value)
    if letter == "A":
        return any(no_number(inner, one) for inner, one in value)
    return letter in "df" and not isfinite(value)

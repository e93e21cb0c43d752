"""Headers, right as long as their names are short, and their values say something."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import codec
from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.channels.channel import Channel
from reference_broker.core.parts import Parts
from reference_broker.mutants.kinds import changes

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

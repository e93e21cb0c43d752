"""Headers exchanges: what of a message they compare with their bindings."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.queues.message import Message
from reference_broker.core.vhost import VirtualHost
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "vhost",
    BEHAVIOURS,
    "matching.times-in-milliseconds",
    "a timestamp of a message is compared in milliseconds, and that of a binding in seconds",
    since="4.0",
)
class TimesInMilliseconds(VirtualHost):
    def headers_to_match(self, message: Message) -> FieldTable:
        headers = super().headers_to_match(message)
        return [(name, letter, value * 1000 if letter == "T" else value) for name, letter, value in headers]

"""Exchanges: what of a message they compare with their bindings, and which bindings they take."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.errors import precondition
from reference_broker.core.queues.message import Message
from reference_broker.core.routing import Destination, Exchange
from reference_broker.core.vhost import VirtualHost
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []
HASHES = 2


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


@does("vhost", BEHAVIOURS, "matching.few-hashes", "a key of a topic exchange has two words # at most", since="4.3")
class FewHashes(VirtualHost):
    def bind(self, source: Exchange, destination: Destination, key: str, arguments: FieldTable) -> None:
        number = key.split(".").count("#") if source.TYPE == "topic" else 0
        if number > HASHES:
            text = f"Topic binding key '{key}' uses {number} '#' wildcards, at most {HASHES} are allowed"
            raise precondition(text)
        super().bind(source, destination, key, arguments)

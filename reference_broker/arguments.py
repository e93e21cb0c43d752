"""The optional arguments of queue.declare: what they mean, which are refused, when two are equal.

Times are seconds inside the broker and milliseconds on the wire. An argument nobody knows is
ignored, as RabbitMQ does; one that we know of but do not offer is refused, so that nobody believes
to have a priority or quorum queue while having none.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from codec.values import FieldTable
from reference_broker.errors import ChannelException, precondition

INTEGERS = frozenset("bBsuUIilL")
COUNTS = ("x-message-ttl", "x-expires", "x-max-length", "x-max-length-bytes")
TEXTS = ("x-overflow", "x-dead-letter-exchange", "x-dead-letter-routing-key", "x-queue-type")
CHOICES = {"x-overflow": ("drop-head", "reject-publish"), "x-queue-type": ("classic",)}
NOT_OFFERED = (
    "x-max-priority",
    "x-single-active-consumer",
    "x-delivery-limit",
    "x-consumer-timeout",
    "x-quorum-initial-group-size",
)
DEFAULTS = {"x-queue-type": b"classic"}
TYPE_NAMES = {
    "S": "longstr",
    "I": "signedint",
    "l": "long",
    "L": "long",
    "t": "bool",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "i": "unsignedint",
}


@dataclass(frozen=True, slots=True)
class QueueArguments:
    message_ttl: float | None = None
    expires: float | None = None
    max_length: int | None = None
    max_octets: int | None = None
    reject_publish: bool = False
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None

    def length_limited(self) -> bool:
        return self.max_length is not None or self.max_octets is not None


def parse(table: FieldTable, queue: str) -> QueueArguments:
    found = {name: _checked(name, letter, value, queue) for name, letter, value in table if _known(name)}
    if "x-dead-letter-routing-key" in found and "x-dead-letter-exchange" not in found:
        raise _invalid("x-dead-letter-routing-key", queue, "routing_key_but_no_dlx_defined")
    if found.get("x-expires") == 0:
        raise _invalid("x-expires", queue, "{value_zero,0}")
    return QueueArguments(
        message_ttl=_seconds(found.get("x-message-ttl")),
        expires=_seconds(found.get("x-expires")),
        max_length=found.get("x-max-length"),
        max_octets=found.get("x-max-length-bytes"),
        reject_publish=found.get("x-overflow") == "reject-publish",
        dead_letter_exchange=found.get("x-dead-letter-exchange"),
        dead_letter_routing_key=found.get("x-dead-letter-routing-key"),
    )


def check_equal(received: FieldTable, current: FieldTable, queue: str) -> None:
    """Refuse a declaration that differs from the first one in an argument that means something."""
    for name in (*COUNTS, *TEXTS):
        if _plain(received, name) != _plain(current, name):
            raise unequal(f"arg '{name}'", f"queue '{queue}'", _words(received, name), _words(current, name))


def unequal(what: str, thing: str, received: str, current: str) -> ChannelException:
    text = f"inequivalent {what} for {thing} in vhost '/': received {received} but current is {current}"
    return precondition(text)


def _known(name: str) -> bool:
    return name in COUNTS or name in TEXTS or name in NOT_OFFERED


def _checked(name: str, letter: str, value: Any, queue: str) -> Any:
    if name in NOT_OFFERED:
        raise precondition(
            f"invalid arg '{name}' for queue '{queue}' in vhost '/' of queue type rabbit_classic_queue"
        )
    if name in COUNTS:
        if letter not in INTEGERS:
            raise _invalid(name, queue, f"{{unacceptable_type,{TYPE_NAMES.get(letter, letter)}}}")
        if value < 0:
            raise _invalid(name, queue, f"{{value_negative,{value}}}")
        return value
    if letter != "S":
        raise _invalid(name, queue, f"{{unacceptable_type,{TYPE_NAMES.get(letter, letter)}}}")
    text = value.decode(errors="replace")
    if text not in CHOICES.get(name, (text,)):
        raise _invalid(name, queue, f"{{unsupported_value,'{text}'}}")
    return text


def _invalid(name: str, queue: str, why: str) -> ChannelException:
    return precondition(f"invalid arg '{name}' for queue '{queue}' in vhost '/': {why}")


def _seconds(milliseconds: Any) -> float | None:
    return None if milliseconds is None else milliseconds / 1000


def _plain(table: FieldTable, name: str) -> Any:
    return next((value for key, _, value in table if key == name), DEFAULTS.get(name))


def _words(table: FieldTable, name: str) -> str:
    for key, letter, value in table:
        if key == name:
            text = value.decode(errors="replace") if isinstance(value, bytes) else value
            return f"the value '{text}' of type '{TYPE_NAMES.get(letter, letter)}'"
    return "none"

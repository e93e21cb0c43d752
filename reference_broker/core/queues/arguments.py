"""The optional arguments of queue.declare: what they mean, which are refused, when two are equal.

Times are seconds inside the broker and milliseconds on the wire. An argument nobody knows is
ignored, as RabbitMQ does; one that only means something to another type of queue is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from codec import methods as m
from codec.values import FieldTable
from reference_broker.core.errors import ChannelException, precondition

INTEGERS = frozenset("bBsuUIilL")
LARGEST = 10 * 365 * 86_400_000
"""Ten years, in milliseconds."""
TIMES = ("x-message-ttl", "x-expires")
TIMEOUT = "x-consumer-timeout"
ONLY_QUORUM_COUNTS = ("x-quorum-initial-group-size", "x-max-in-memory-length", "x-max-in-memory-bytes")
COUNTS = ("x-max-length", "x-max-length-bytes", *ONLY_QUORUM_COUNTS)
TEXTS = (
    "x-dead-letter-exchange",
    "x-dead-letter-routing-key",
    "x-overflow",
    "x-queue-type",
    "x-dead-letter-strategy",
    "x-queue-leader-locator",
)
DEAD_LETTERS = ("x-dead-letter-exchange", "x-dead-letter-routing-key")
QUEUE_TYPES = ("classic", "quorum")
KNOWN = (
    *TIMES,
    *COUNTS,
    *DEAD_LETTERS,
    "x-overflow",
    "x-queue-type",
    "x-queue-mode",
    "x-max-priority",
    "x-single-active-consumer",
    "x-delivery-limit",
    TIMEOUT,
    "x-quorum-initial-group-size",
)
OF_STREAMS = ("x-max-age", "x-stream-max-segment-size-bytes", "x-initial-cluster-size")
FOREIGN = {
    "classic": ("x-delivery-limit", TIMEOUT, "x-dead-letter-strategy", *ONLY_QUORUM_COUNTS, *OF_STREAMS),
    "quorum": ("x-max-priority", "x-queue-mode", "x-queue-version", *OF_STREAMS),
}
MOST_PRIORITIES = 255
CHOICES = {
    "x-overflow": (("drop-head", "reject-publish", "reject-publish-dlx"), "invalid_overflow"),
    "x-dead-letter-strategy": (("at-most-once", "at-least-once"), "invalid_dlx_strategy"),
    "x-queue-leader-locator": (("client-local", "balanced", "random", "least-leaders"), "invalid_queue_locator_arg"),
}
"""What these may say, and what RabbitMQ calls it when they say something else."""
DEFAULTS = {"x-queue-type": b"classic"}
TYPE_NAMES = {
    "t": "bool",
    "b": "byte",
    "B": "unsignedbyte",
    "s": "short",
    "u": "unsignedshort",
    "I": "signedint",
    "i": "unsignedint",
    "l": "long",
    "L": "long",
    "f": "float",
    "d": "double",
    "D": "decimal",
    "S": "longstr",
    "x": "binary",
    "A": "array",
    "T": "timestamp",
    "F": "table",
    "V": "void",
}


@dataclass(frozen=True, slots=True)
class QueueArguments:
    message_ttl: float | None = None
    expires: float | None = None
    max_length: int | None = None
    max_octets: int | None = None
    overflow: str | None = None
    dead_letter_exchange: str | None = None
    dead_letter_routing_key: str | None = None
    quorum: bool = False
    delivery_limit: int | None = None
    single_active_consumer: bool = False
    max_priority: int = 0

    def length_limited(self) -> bool:
        return self.max_length is not None or self.max_octets is not None

    @property
    def reject_publish(self) -> bool:
        """Does a full queue refuse what comes?"""
        return self.overflow is not None and self.overflow.startswith("reject-publish")

    @property
    def dead_letter_refused(self) -> bool:
        """Does a message that a full queue refuses go where its dead ones go?"""
        return self.overflow == "reject-publish-dlx"


class Arguments:
    """What the optional arguments of a queue, and of its consumers, may say."""

    def parse(self, table: FieldTable, queue: str) -> QueueArguments:
        """Raises the exception that refuses the first argument that is wrong."""
        queue_type = kind_of(table, queue)
        foreign_names = self.foreign_to(queue_type)
        for name, _, _ in table:
            if name in foreign_names:
                raise foreign(name, queue, queue_type)
        found = {name: self.checked(name, letter, value, queue) for name, letter, value in table}
        if DEAD_LETTERS[1] in found and DEAD_LETTERS[0] not in found:
            raise invalid(DEAD_LETTERS[1], queue, "routing_key_but_no_dlx_defined")
        limit = found.get("x-delivery-limit")
        return QueueArguments(
            message_ttl=_seconds(found.get("x-message-ttl")),
            expires=_seconds(found.get("x-expires")),
            max_length=found.get("x-max-length"),
            max_octets=found.get("x-max-length-bytes"),
            overflow=found.get("x-overflow"),
            dead_letter_exchange=found.get("x-dead-letter-exchange"),
            dead_letter_routing_key=found.get("x-dead-letter-routing-key"),
            quorum=queue_type == "quorum",
            delivery_limit=limit if isinstance(limit, int) else None,
            single_active_consumer=found.get("x-single-active-consumer", False),
            max_priority=found.get("x-max-priority", 0),
        )

    def foreign_to(self, queue_type: str) -> Collection[str]:
        """Known arguments that the queues of a type refuse."""
        return FOREIGN[queue_type]

    def checked(self, name: str, letter: str, value: Any, queue: str) -> Any:
        """The value of one argument, or the exception that refuses it."""
        if name in TIMES or name in COUNTS or name in ("x-max-priority", TIMEOUT):
            return number(name, letter, value, queue)
        if name == "x-single-active-consumer" and letter != "t":
            raise wrong_type(name, letter, queue)
        if name in TEXTS:
            if letter != "S":
                raise wrong_type(name, letter, queue)
            return choice(name, value.decode(errors="replace"), queue)
        if name == "x-queue-version" and integer(name, letter, value, queue) not in (1, 2):
            raise invalid(name, queue, f"\"unsupported queue version '{value}'\"")
        return value

    def consumer_timeout(self, table: FieldTable, queue: str, quorum: bool) -> int | None:
        """Milliseconds: the timeout that a consumer of this queue wants for itself."""
        for name, letter, value in table:
            if name == TIMEOUT:
                if not quorum:
                    raise foreign(name, queue, "classic")
                return number(name, letter, value, queue)
        return None

    def check_quorum(self, method: m.QueueDeclare) -> None:
        """A quorum queue outlives its connections and is known by a name."""
        wrong = {
            "non-durable": not method.durable,
            "exclusive-owner": method.exclusive,
            "auto-delete": method.auto_delete,
        }
        for name, found in wrong.items():
            if found:
                raise precondition(f"invalid property '{name}' for queue '{method.queue}' in vhost '/'")
        self.check_name(method)

    def check_name(self, method: m.QueueDeclare) -> None:
        if not method.queue:
            raise precondition("Cannot declare a server-named queue for type rabbit_quorum_queue")


def with_policy(own: QueueArguments, definition: Mapping[str, Any]) -> QueueArguments:
    """What arguments and policy say together: of two numbers the smaller holds, of two texts the argument's."""
    if not definition:
        return own
    numbers = {
        "message_ttl": _seconds(definition.get("message-ttl")),
        "expires": _seconds(definition.get("expires")),
        "max_length": definition.get("max-length"),
        "max_octets": definition.get("max-length-bytes"),
        "delivery_limit": definition.get("delivery-limit"),
    }
    found = {name: _smaller(getattr(own, name), value) for name, value in numbers.items()}
    return replace(
        own,
        **found,
        overflow=_first(own.overflow, definition.get("overflow")),
        dead_letter_exchange=_first(own.dead_letter_exchange, definition.get("dead-letter-exchange")),
        dead_letter_routing_key=_first(own.dead_letter_routing_key, definition.get("dead-letter-routing-key")),
    )


def _smaller(one: Any, other: Any) -> Any:
    known = [value for value in (one, other) if isinstance(value, int | float)]
    return min(known, default=None)


def _first(one: str | None, other: Any) -> str | None:
    return one if one is not None or not isinstance(other, str) else other


def kind_of(table: FieldTable, queue: str) -> str:
    letter, value = _find(table, "x-queue-type")
    if letter not in ("", "S"):
        raise wrong_type("x-queue-type", letter, queue)
    text: str = value.decode(errors="replace")
    if text not in QUEUE_TYPES:
        raise invalid("x-queue-type", queue, f"\"unsupported queue type '{text}'\"")
    return text


def integer(name: str, letter: str, value: Any, queue: str) -> int:
    if letter not in INTEGERS:
        raise invalid(name, queue, f'"expected integer, got {TYPE_NAMES[letter]}"')
    return int(value)


def number(name: str, letter: str, given: Any, queue: str) -> int:
    value = integer(name, letter, given, queue)
    if value < 0:
        raise invalid(name, queue, f"{{value_negative,{value}}}")
    if name == "x-expires" and value == 0:
        raise invalid(name, queue, "{value_zero,0}")
    if name in TIMES and value > LARGEST:
        raise invalid(name, queue, f"{{value_too_large,{value}}}")
    if name == "x-max-priority" and value > MOST_PRIORITIES:
        raise invalid(name, queue, f"{{max_value_exceeded,{value}}}")
    return value


def choice(name: str, text: str, queue: str) -> str:
    known, complaint = CHOICES.get(name, ((text,), ""))
    if text not in known:
        raise invalid(name, queue, complaint)
    return text


def foreign(name: str, queue: str, queue_type: str) -> ChannelException:
    kind = f"rabbit_{queue_type}_queue"
    return precondition(f"invalid arg '{name}' for queue '{queue}' in vhost '/' of queue type {kind}")


def wrong_type(name: str, letter: str, queue: str) -> ChannelException:
    kind = TYPE_NAMES[letter]
    if name == DEAD_LETTERS[0]:
        return precondition(f"invalid type '{kind}' for arg '{name}' in queue '{queue}' in vhost '/'")
    return invalid(name, queue, f"{{unacceptable_type,{kind}}}")


def check_exchange(table: FieldTable, exchange: str) -> None:
    """Raises ChannelException if the arguments of an exchange are not what they have to be."""
    letter, _ = _find(table, "alternate-exchange")
    if letter not in ("", "S"):
        kind = TYPE_NAMES[letter]
        raise precondition(f"invalid type '{kind}' for arg 'alternate-exchange' in exchange '{exchange}' in vhost '/'")


def invalid(name: str, queue: str, why: str) -> ChannelException:
    return precondition(f"invalid arg '{name}' for queue '{queue}' in vhost '/': {why}")


def check_equal(received: FieldTable, current: FieldTable, thing: str, names: Iterable[str] = KNOWN) -> None:
    """Refuse a declaration that differs from the first one in an argument that means something; 10.0 is not 10."""
    for name in names:
        mine, theirs = _find(received, name), _find(current, name)
        if (type(mine[1]), mine[1]) != (type(theirs[1]), theirs[1]):
            raise unequal(f"arg '{name}'", thing, *_words(mine, theirs))


def unequal(what: str, thing: str, received: str, current: str) -> ChannelException:
    text = f"inequivalent {what} for {thing} in vhost '/': received {received} but current is {current}"
    return precondition(text)


def _seconds(milliseconds: Any) -> float | None:
    return milliseconds / 1000 if isinstance(milliseconds, int) else None


def _find(table: FieldTable, name: str) -> tuple[str, Any]:
    return next(((letter, value) for key, letter, value in table if key == name), ("", DEFAULTS.get(name)))


def _words(*sides: tuple[str, Any]) -> list[str]:
    """Both values; with their types only where the other side has none."""
    texts = [value.decode(errors="replace") if isinstance(value, bytes) else value for _, value in sides]
    if all(letter for letter, _ in sides):
        return [f"'{text}'" for text in texts]
    return [
        f"the value '{text}' of type '{TYPE_NAMES[letter]}'" if letter else "none"
        for (letter, _), text in zip(sides, texts, strict=True)
    ]

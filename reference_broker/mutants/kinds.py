"""What a mutant is, and the decorators that make one out of the wrong decision itself.

    @replaces("unacked.up_to", "settle.multiple-accepts-any-tag", "...", "ACK-010")
    def multiple_accepts_any_tag(self: Unacked, tag: int) -> list[Delivery] | None: ...

reads: in a broker with this mutant, `Unacked.up_to` is the function below. `handles` does so
with the handler of a method, and `changes` is for the few that need more than one of either.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import codec
from codec.errors import ReplyCode
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.core.queues.queue import Queue

Change = Callable[[Parts], None]
F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Mutant:
    """`says` completes "a broker in which ..."; `rules` are those that must catch it; `field` links to a bug of a
    real broker that it imitates."""

    name: str
    says: str
    rules: tuple[str, ...]
    apply: Change
    field: str = ""


ENTERED: dict[str, list[Mutant]] = {}
"""All of them, by the module that has them."""


def enter(wrong: Callable[..., Any], mutant: Mutant) -> None:
    ENTERED.setdefault(wrong.__module__, []).append(mutant)


def changes(name: str, says: str, *rules: str, field: str = "") -> Callable[[Change], Change]:
    """The decorated function changes the parts."""

    def add(apply: Change) -> Change:
        enter(apply, Mutant(name, says, rules, apply, field))
        return apply

    return add


def replaces(target: str, name: str, says: str, *rules: str, field: str = "") -> Callable[[F], F]:
    """The decorated function takes the place of one method of one part ("part.method")."""
    part, method = target.split(".")

    def add(wrong: F) -> F:
        def apply(parts: Parts) -> None:
            parts.override(part, **{method: wrong})

        enter(wrong, Mutant(name, says, rules, apply, field))
        return wrong

    return add


def handles(method: type[codec.Method], name: str, says: str, *rules: str, field: str = "") -> Callable[[F], F]:
    """The decorated function handles this method of the client; of a publish it gets header and body as well."""

    def add(wrong: F) -> F:
        def apply(parts: Parts) -> None:
            if method is codec.methods.BasicPublish:
                parts.publish = wrong
            else:
                parts.handlers[method] = wrong

        enter(wrong, Mutant(name, says, rules, apply, field))
        return wrong

    return add


def fails() -> ConnectionException:
    """The mistake of a broker that no client has made: 541."""
    return ConnectionException(ReplyCode.INTERNAL_ERROR, "INTERNAL_ERROR")


def take_away(queue: Queue) -> None:
    """Deleted, and those who consume from it are told: a channel would trip over a consumer that is gone."""
    for consumer in queue.vhost.delete_queue(queue)[1]:
        consumer.channel.cancelled(consumer)


def memory(thing: object, name: str, make: Callable[[], Any]) -> Any:
    """What a mutant has to remember, kept on the object whose method it replaces."""
    return vars(thing).setdefault(f"mutant_{name}", make())

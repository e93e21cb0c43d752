"""Dead letters: what their headers tell."""

from __future__ import annotations

from codec.values import FieldTable
from reference_broker.core.queues.deadletter import DeadLetters
from reference_broker.dialects.kinds import Behaviour, does

BEHAVIOURS: list[Behaviour] = []


@does(
    "dead_letters", BEHAVIOURS, "deaths.first-only", "there is no x-last-death-* beside x-first-death-*", until="3.10"
)
class FirstOnly(DeadLetters):
    def with_last(self, headers: FieldTable, queue: str, reason: str, exchange: str) -> FieldTable:
        return headers


@does(
    "dead_letters",
    BEHAVIOURS,
    "deaths.copies-kept",
    "a CC that x-dead-letter-routing-key takes the place of stays to be read, and nobody is sent anything by it",
    since="4.0",
)
class CopiesKept(DeadLetters):
    def dropped(self, key: str | None) -> tuple[str, ...]:
        return ("x-death",)

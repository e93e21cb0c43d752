"""What clients did to a broker before an incident, in words; and which of these methods are known to break it down.

A deed is a method that a client sent; for queue.delete it matters whether the queue had consumers. A deed is *deadly*
if it led to a breakdown more often than not, and too often to be chance, given how often the broker breaks down
without it. A deadly deed is not done again, because nothing more can be learned from it. If several deeds were always
done together, the least likely one is blamed, and the others are judged by the remaining breakdowns.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from math import comb

from codec import Method
from conformance.history import events
from conformance.history.events import TO_BROKER, Event

SURE, CHANCE = 3, 1e-4
"""The least number of breakdowns after a deadly deed, and the chance below which they are none."""
TAKES = " of a queue with "
_DULL = ("connection.", "channel.open", "channel.close")


class _Consumers:
    """Who waits at which queue, as far as the client knows."""

    def __init__(self) -> None:
        self._queues: dict[tuple[str, int, str], str] = {}

    def step(self, event: Event) -> None:
        key = event.connection, event.channel, event.consumer_tag or ""
        if event.kind == events.END:
            self._keep(lambda one: one[0] != event.connection)
        elif event.direction != TO_BROKER:
            return
        elif event.method == "basic.consume":
            self._queues[key] = event.queue or ""
        elif event.method == "basic.cancel":
            self._queues.pop(key, None)
        elif event.method == "channel.close":
            self._keep(lambda one: one[:2] != key[:2])

    def of(self, queue: str | None) -> int:
        return sum(one == queue for one in self._queues.values())

    def _keep(self, stays: Callable[[tuple[str, int, str]], bool]) -> None:
        self._queues = {key: queue for key, queue in self._queues.items() if stays(key)}


def list_deeds(history: Iterable[Event]) -> list[str]:
    """All deeds of a history, the same in a row once."""
    said: list[str] = []
    consumers = _Consumers()
    for event in history:
        consumers.step(event)
        if event.direction != TO_BROKER or event.kind != events.METHOD or event.method.startswith(_DULL):
            continue
        words = _words(event.method, event.queue, consumers)
        if not said or said[-1] != words:
            said.append(words)
    return said


def _words(method: str, queue: str | None, consumers: _Consumers) -> str:
    count = consumers.of(queue) if method == "queue.delete" else 0
    return f"{method}{TAKES}{'a consumer' if count == 1 else f'{count} consumers'}" if count else method


def kinds(said: Iterable[str]) -> set[str]:
    """Deeds, however many consumers there were."""
    return {re.sub(f"{TAKES}.*", f"{TAKES}consumers", words) for words in said}


@dataclass
class Deeds:
    """Of one process: what was done in histories that broke the broker down, and in those that did not."""

    deadly: dict[str, int] = field(default_factory=dict)
    """Each with the number of breakdowns after it."""
    _fatal: list[set[str]] = field(default_factory=list)
    _lived: Counter[str] = field(default_factory=Counter)
    _histories: int = 0

    def survived(self, history: Sequence[Event]) -> None:
        """The broker lives after this."""
        self._histories += 1
        self._lived.update(kinds(list_deeds(history)))

    def broke_down(self, history: Sequence[Event]) -> None:
        """It does not."""
        self._fatal.append(kinds(list_deeds(history)))
        self.deadly, left = {}, self._fatal
        while (worst := min(self._suspects(left), default=(1.0, "")))[0] < CHANCE:
            kind = worst[1]
            self.deadly[kind] = sum(kind in done for done in left)
            left = [done for done in left if kind not in done]

    def forbids(self, history: Sequence[Event], methods: Iterable[Method]) -> str:
        """The deadly one among these methods, if they were sent after this history."""
        names = {kind.partition(" ")[0] for kind in self.deadly}
        asked = [method for method in methods if method.NAME in names]
        consumers = _Consumers()
        for event in history if asked else ():
            consumers.step(event)
        for method in asked:
            for kind in kinds([_words(method.NAME, getattr(method, "queue", None), consumers)]) & self.deadly.keys():
                return f"{kind} has hung or crashed the broker {self.deadly[kind]} times"
        return ""

    def _suspects(self, fatal: Sequence[set[str]]) -> Iterator[tuple[float, str]]:
        """What was done before most breakdowns that it could have led to, with the chance that this is no more than
        one: as often as these come without it."""
        for kind, times in Counter(kind for done in fatal for kind in done).items():
            lived = self._lived[kind]
            if times >= SURE and times > lived:
                without = len(fatal) - times
                rate = (without + 1) / (without + self._histories - lived + 2)
                yield _tail(times, times + lived, rate), kind


def _tail(times: int, of: int, rate: float) -> float:
    """The chance of at least so many of so many."""
    return sum(comb(of, n) * rate**n * (1 - rate) ** (of - n) for n in range(times, of + 1))

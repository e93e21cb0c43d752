"""The recorder: numbers events, names histories and queues, and passes every event on.

One `Recorder` belongs to one history. `begin` starts the next history of the same run: a new recorder that shares the
sink, the counters of names and the worker's own name, and counts its events from one. The order in which events are
built is the order of the history, so whoever builds an event must emit it before the next one is built.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter
from collections.abc import Callable, Iterable

from conformance.history.events import Event, EventBuilder, Labels

Sink = Callable[[Event], None]


def worker_name() -> str:
    """What tells this process from its siblings: the worker's name under pytest-xdist, else `main`."""
    return os.environ.get("PYTEST_XDIST_WORKER", "main")


class _Names:
    """Names given out in one run by one worker."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self._histories: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    def history(self, name: str) -> str:
        self._histories[name] += 1
        again = self._histories[name]
        return name if again == 1 else f"{name}#{again}"

    def number(self) -> int:
        return next(self._numbers)


class Recorder:
    """Makes the events of one history and hands each to the sink and to all subscribers."""

    def __init__(
        self,
        run: str,
        broker: str,
        sink: Sink | None = None,
        *,
        worker: str | None = None,
        history: str = "",
        clock: Callable[[], int] = time.time_ns,
        names: _Names | None = None,
    ) -> None:
        self.run, self.broker, self.history = run, broker, history
        self._sink, self._clock, self._skew = sink, clock, 0
        self._names = names or _Names(worker or worker_name())
        self._seq = itertools.count(1)
        self._subscribers: list[Sink] = []

    def begin(self, name: str) -> Recorder:
        """The recorder of a new history."""
        return Recorder(
            self.run,
            self.broker,
            self._sink,
            history=self._names.history(name),
            clock=self._clock,
            names=self._names,
        )

    def silent(self) -> Recorder:
        """A recorder for the same run that keeps all events from the sink."""
        return Recorder(self.run, self.broker, clock=self._clock, names=self._names)

    def subscribe(self, receiver: Sink) -> None:
        self._subscribers.append(receiver)

    def builder(self, connection: str) -> EventBuilder:
        """What turns frames of this connection into events of this history."""
        return EventBuilder(
            Labels(self.run, self.broker, self.history, connection),
            self._seq.__next__,
            self.now,
        )

    def now(self) -> int:
        """The time of the history, in nanoseconds."""
        return self._clock() + self._skew

    def shift(self, ahead: int) -> None:
        """Time has been made to pass at the broker, by this many nanoseconds: the history keeps up."""
        self._skew += ahead

    def emit(self, event: Event) -> None:
        for receiver in self._subscribers:
            receiver(event)
        if self._sink is not None:
            self._sink(event)

    def publish(self, events: Iterable[Event]) -> None:
        """Hands events that a silent recorder made to the sink after all."""
        if self._sink is not None:
            for event in events:
                self._sink(event)

    def private_name(self) -> str:
        """A name for a queue that nobody else uses."""
        return f"amqpconf.{self.run}.{self._names.worker}.{self._names.number()}"

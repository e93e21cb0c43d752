"""The fold: events in, findings and coverage out.

One `Judge` per history. Between two steps it is plain data, so it can be saved and continued elsewhere (`state`). It
knows no clock, and equal histories give equal judgements.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from conformance.catalogue.profiles import Profile
from conformance.history.events import Event
from conformance.oracle.model import ConnectionView, Model, Obligation
from conformance.oracle.model.consumers import timeouts
from conformance.oracle.model.doubts import blame
from conformance.oracle.model.facts import Passed
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import OUT, Copy
from conformance.oracle.monitors.moments import ENDS
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import BY_FACT, BY_METHOD, Function
from conformance.oracle.verdicts import Finding, Judgement

APART = ("judge", "state")
"""What knows the judge. Every other file beside it may hold judging functions."""


def enter_all() -> None:
    """Imports all files of this folder and of the areas in it, in the order of their names: importing one enters its
    functions into the table, so that whoever adds a family adds its file and nothing else."""
    package = __name__.rpartition(".")[0]
    found = [module.name for module in pkgutil.walk_packages([str(Path(__file__).parent)], f"{package}.")]
    for name in sorted(found, key=last_name):
        if last_name(name) not in APART:
            importlib.import_module(name)


def last_name(module: str) -> str:
    return module.rpartition(".")[2]


enter_all()


class Judge:
    """Judges one history, event by event."""

    __slots__ = ("_model", "_notes")

    def __init__(self, profile: Profile) -> None:
        self._model = Model(profile)
        self._notes = Notes(profile)

    def step(self, event: Event) -> list[Finding]:
        """What this event contradicts."""
        notes, model = self._notes, self._model
        notes.circumstances.note(model, event)
        followers = BY_METHOD.get(event.method)
        if followers:
            self._follow(followers, event)
        for fact in model.read(event):
            notes.subject = fact
            if model.open:
                notes.turn_to(fact, model)
            for function in BY_FACT.get(type(fact), ()):
                function(fact, notes)
            if notes.accused:
                blame.widen(fact, notes.accused)
                notes.accused.clear()
            if notes.moment.found and isinstance(fact, ENDS):
                notes.doubt_before(fact)
        if notes.moment.found:
            notes.moment.pass_on(event)
        notes.subject = None
        if model.open:
            notes.turn_to(None, None)
        return notes.take() if notes.fresh else []

    def _follow(self, followers: Iterable[Function], event: Event) -> None:
        connection = self._model.connections.get(event.connection)
        if connection is None or connection.torn:
            return
        fact = self._notes.subject = Passed(event, connection, self._model.topology)
        if self._model.open:
            self._notes.turn_to(fact, self._model)
        for function in followers:
            function(fact, self._notes)
        if self._notes.accused:
            blame.widen(fact, self._notes.accused)
            self._notes.accused.clear()

    def end(self, complete: bool = True) -> list[Finding]:
        """The history is over. Silence is judged at DEADLINE events alone, so its end adds nothing by itself."""
        return []

    @property
    def profile(self) -> Profile:
        return self._notes.profile

    @property
    def judgement(self) -> Judgement:
        return self._notes.judgement

    def owed(self) -> list[Obligation]:
        """What the broker still has to send; while this is empty it may be silent."""
        return self._model.owed()

    def connection(self, name: str) -> ConnectionView | None:
        return self._model.connections.get(name)

    def ready(self, queue: str) -> int:
        """How many messages are believed to wait in the queue."""
        found = self._model.queues.get(queue)
        return len(found.fresh) + len(found.returned) if found and not found.deleted else 0

    def waiting(self, queue: str) -> tuple[str, ...]:
        """These messages, in the order in which they came to the queue; which comes first may be open."""
        found = self._model.queues.get(queue)
        copies = [*found.fresh.values(), *found.returned.values()] if found and not found.deleted else []
        return tuple(copy.id for copy in sorted(copies, key=lambda copy: copy.entered))

    def clocks(self) -> list[int]:
        """When the deliveries that may time out will have done so at the latest: times in nanoseconds, in order."""
        return sorted(due for due, _, _ in timeouts.running(self._model.connections.values()))

    def late(self) -> int:
        """From this time on another look tells what is late by now, in nanoseconds; 0: nothing is."""
        return self._notes.looks_at

    def wanted(self, queue: str) -> frozenset[str]:
        """The messages that must still come out when the queue is drained and all that is held is given back."""
        found = self._model.queues.get(queue)
        if found is None or found.deleted:
            return frozenset()
        return frozenset(copy.id for copy in chain(self._out_of(found), found.absent()))

    def missing(self, queue: str) -> int:
        """How many those are, which is asked for more often."""
        found = self._model.queues.get(queue)
        return sum(1 for _ in self._out_of(found)) + found.missing() if found and not found.deleted else 0

    def _out_of(self, queue: Queue) -> Iterator[Copy]:
        """What is out of this queue, and must come back to it."""
        for connection in self._model.connections.values():
            for channel in connection.channels.values():
                for delivery in channel.unacked.values():
                    copy = delivery.copy
                    if copy.queue is queue and copy.place == OUT and not copy.unowed and not copy.indeterminate:
                        yield copy


def judge(events: Iterable[Event], profile: Profile, complete: bool = True) -> Judgement:
    """Folds one or many histories, told apart by their name."""
    judges: dict[tuple[str, str], Judge] = {}
    for event in events:
        key = event.run, event.history
        folding = judges.get(key)
        if folding is None:
            folding = judges[key] = Judge(profile)
        folding.step(event)
    total = Judgement()
    for folding in judges.values():
        folding.end(complete)
        total.add(folding.judgement)
    return total

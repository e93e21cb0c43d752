"""The fold: events in, findings and coverage out.

One `Judge` per history. It is plain data between two steps, so it can be put aside and taken up elsewhere (`state`); it
knows no clock, and equal histories give equal judgements.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.catalogue.profiles import Profile
from conformance.history.events import Event
from conformance.oracle.model import ConnectionView, Model, Obligation, blame, timeouts
from conformance.oracle.model.records import OUT
from conformance.oracle.monitors import (
    ack,
    auto,
    can,
    cnf,
    content,
    counts,
    err,
    mode,
    order,
    qos,
    returns,
    routes,
    rq,
    silence,
    stale,
    tag,
    tmo,
    tx,
    unasked,
)
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import BY_FACT
from conformance.oracle.verdicts import Finding, Judgement

FAMILIES = (
    tag,
    mode,
    counts,
    ack,
    err,
    rq,
    order,
    returns,
    content,
    qos,
    cnf,
    routes,
    auto,
    can,
    tx,
    tmo,
    stale,
    silence,
    unasked,
)
"""Importing them enters their functions into the table."""


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
        for fact in model.read(event):
            notes.subject = fact
            if model.open:
                notes.turn_to(fact, model)
            for function in BY_FACT.get(type(fact), ()):
                function(fact, notes)
            if notes.accused:
                blame.widen(fact, notes.accused)
                notes.accused.clear()
        notes.subject = None
        if model.open:
            notes.turn_to(None, None)
        return notes.take() if notes.fresh else []

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

    def wanted(self, queue: str) -> frozenset[str]:
        """The messages that must still come out when the queue is drained and all that is held is given back."""
        found = self._model.queues.get(queue)
        if found is None or found.deleted:
            return frozenset()
        held = (
            delivery.copy
            for connection in self._model.connections.values()
            for channel in connection.channels.values()
            for delivery in channel.unacked.values()
        )
        out = {
            copy.id
            for copy in held
            if copy.queue is found and copy.place == OUT and not copy.doubtful and not copy.shaky
        }
        return frozenset(out.union(copy.id for copy in found.absent()))


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

"""Messages that a purge or the deletion of their queue removes: they die of neither, so they make no dead letters.

`Removals` knows them. Who gives up what it has not read yet may have had one of them without anybody's knowing.
"""

from __future__ import annotations

from conformance.history.events import TO_BROKER
from conformance.oracle.model.facts import FoundEmpty, Passed
from conformance.oracle.monitors.messages.deadletters.due import PROMPT
from conformance.oracle.monitors.messages.deadletters.removals import Removals
from conformance.oracle.monitors.messages.dlx import SETTLED, source_of
from conformance.oracle.monitors.messages.ttl import Lives
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges


@follows("basic.publish")
def published_again(fact: Passed, notes: Notes) -> None:
    """Two messages have one id."""
    notes.memory(Removals).by_message.pop(fact.event.message or "", None)


@follows("basic.nack", "basic.reject")
def given_up_unread(fact: Passed, notes: Notes) -> None:
    """Without a tag that has been read."""
    event = fact.event
    channel = fact.connection.channels.get(event.channel)
    known = channel is not None and event.delivery_tag in channel.unacked
    if event.direction == TO_BROKER and not (known or event.has("requeue")):
        notes.memory(Removals).given_up_unread(event.seq)


@follows("basic.deliver", "basic.get-ok", rules=(SETTLED,))
def came_after_all(fact: Passed, notes: Notes) -> None:
    """It is seen in another queue."""
    event, removals = fact.event, notes.memory(Removals).by_message
    removal = removals.pop(event.message or "", None)
    found = source_of(fact) if removal is not None else None
    if removal is not None and found is not None and found[0] != removal.queue:
        allowed = f"no dead letter: {removal.how} has removed it from {removal.queue}"
        notes.find(SETTLED, event, allowed, f"{event.message} in {found[0]}")


@judges(FoundEmpty, SETTLED)
def did_not_come(fact: FoundEmpty, notes: Notes) -> None:
    """Where it would have gone nothing is."""
    removals = notes.memory(Removals).by_message
    asked = notes.memory(Lives).asked(fact.since) if removals else 0
    for message, removal in [*removals.items()]:
        if removal.heir == fact.queue.name and removal.time_ns < asked - PROMPT:
            del removals[message]
            notes.exercise(SETTLED)

"""TTL-009: expirations that are no numbers, which the broker must refuse."""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass, field

from conformance.oracle.model.facts import Faulted, Overlooked, Passed, Unanswered
from conformance.oracle.model.publishing.publishes import EXPIRATION
from conformance.oracle.model.records import ClientError
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import follows, judges

REFUSED = "TTL-009"
PRECONDITION_FAILED = 406
MAYBE = re.compile(r"\s*\+?\d+\s*")
"""What is a number, or is taken for one by some."""
MISTAKES = 64


@dataclass(slots=True)
class WrongTimes:
    """What the client did wrong: when, and what it was."""

    publishes: OrderedDict[int, str] = field(default_factory=OrderedDict)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """An expiration that nobody can take for a number."""
    found = EXPIRATION.search(fact.event.arguments) if '"expiration"' in fact.event.arguments else None
    if found is None or MAYBE.fullmatch(found[1]):
        return
    known = notes.memory(WrongTimes).publishes
    known[fact.event.seq] = f"the expiration {found[1]!r}"
    if len(known) > MISTAKES:
        known.popitem(last=False)


def _expiration(error: ClientError | None, notes: Notes) -> str:
    """Is this the mistake?"""
    return notes.memory(WrongTimes).publishes.get(error.seq, "") if error is not None else ""


@judges(Faulted, REFUSED)
def refused(fact: Faulted, notes: Notes) -> None:
    """The channel is closed for it: with the right code?"""
    what = _expiration(fact.error, notes)
    code = int(fact.event.args.get("reply_code", 0))
    if what and code == PRECONDITION_FAILED:
        notes.exercise(REFUSED)
    elif what:
        notes.find(REFUSED, fact.event, f"channel.close 406 for {what}", f"channel.close {code}", fact.error.seq)


@judges(Overlooked, REFUSED)
def overlooked(fact: Overlooked, notes: Notes) -> None:
    """The channel goes on."""
    what = _expiration(fact.error, notes)
    if what:
        notes.find(REFUSED, fact.event, f"channel.close 406 for {what}", fact.event.method, fact.error.seq)


@judges(Unanswered, REFUSED)
def passed_over(fact: Unanswered, notes: Notes) -> None:
    """Nothing comes of it."""
    error = fact.channel.method_error if fact.channel is not None else None
    what = _expiration(error, notes)
    if what and error is not None:
        notes.find(REFUSED, fact.event, f"channel.close 406 for {what}", "nothing", error.seq)

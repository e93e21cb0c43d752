"""Blame once: what is no longer known after the broker was certainly seen to break a rule.

A broker that has taken one wrong decision stands somewhere else than the model believes, and what it does next is right
from there. So the knowledge that stood on the decision is widened to what the broker may really have done: of a
channel, a consumer, a queue, a message, and of nothing beyond. The marks are those that races and gaps use as well
(`shaky`, `ambiguous`, `limit_moved`, `forgiven`), so whoever judges has one kind of doubt to look at.

    a wrong tag          the channel goes on counting from it; one that was there before names nothing for certain,
                         and what is outstanding may be settled by any settlement of the channel
    a limit passed       no limit of the channel's consumers, or of the channel, is known until it is set anew
    a wrong message      it may be anywhere from now on, as may all that its settlement covered; who is believed to hold
                         it may settle it or not
    a lost message       it may be anywhere
    a wrong close        the channel is over, and `endings.shake` has set back what was under way; the mistake of
                         another channel that it names will not be answered again
    a mistake let pass   what the channel held may have been settled by it
    a life that goes on  nothing is claimed any more about what this channel does, nor any other life of its number
    no confirm           the publish may have had no effect
    a delivery to nobody who was thought to have ended is there, takes messages of its queue, and has slots
    a wrong number       nothing is claimed about the confirms of the channel any more; where one came again, about
                         those of the publishes so far

What is independent is judged on: the delivery of a message that should be gone can be settled as any other, other
channels have their limits, and a queue its other messages.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from conformance.oracle.model import endings, owed, windows
from conformance.oracle.model.channels import NEVER, Channel
from conformance.oracle.model.closing import ids_of
from conformance.oracle.model.facts import (
    Accepted,
    ClosedUnasked,
    Confirmed,
    Delivered,
    Fact,
    First,
    Missing,
    Numbered,
    Overlooked,
    Stray,
    Unanswered,
)
from conformance.oracle.model.records import GONE, OUT, VOID, WAITING, Copy, Delivery

WINDOWS = "QOS-"
"""Rules of this family are about windows, whoever's message it is."""
FRESH = "ERR-007"
"""A channel that is opened again has nothing of its former lives."""
RESOLVED_ONCE = "CNF-004"
FOR_EACH_QUEUE = "CNF-010"
"""A confirm that comes once for each queue of its publish leaves the numbers of the others as they are."""


def widen(fact: Fact, rules: Collection[str]) -> None:
    """This fact has certainly broken these rules. The model has not learned from it yet."""
    handler = _WIDENED.get(type(fact))
    if handler is not None:
        handler(fact, rules)


def _numbered(fact: Numbered, rules: Collection[str]) -> None:
    channel, tag = fact.channel, fact.tag
    if tag > channel.last_tag:
        return
    channel.strays.add(tag)
    for delivery in channel.unacked.values():
        delivery.shaky = True
        delivery.copy.queue.unsettle(delivery.copy, shaky=True)
    held = channel.unacked.get(tag)
    if held is not None:
        _lose_sight(held.copy)


def _delivered(fact: Delivered, rules: Collection[str]) -> None:
    if any(rule.startswith(WINDOWS) for rule in rules):
        windows.forget(fact.channel)
    if fact.copy.place != WAITING:
        _misplaced(fact.copy)


def _misplaced(copy: Copy) -> None:
    """It was delivered although somebody has it, or nobody should."""
    held = copy.holder
    if copy.place == OUT and held is not None:
        held.shaky = True
        if endings.orphaned(held):
            _forget_cancelled(held)
    elif copy.place == GONE and held is not None and held.settlement is not None:
        for other in held.settlement.covered:
            if other.copy.holder is other and other.copy.place in (GONE, WAITING):
                _lose_sight(other.copy)
    elif copy.place == VOID and copy.publisher is not None:
        for voided in copy.publisher.voided:
            _lose_sight(voided)
    _lose_sight(copy)


def _forget_cancelled(held: Delivery) -> None:
    """What was delivered to a cancelled consumer may have gone back with its cancel, all of it."""
    for other in held.channel.unacked.values():
        if other.consumer is held.consumer:
            other.shaky = True
            other.copy.queue.unsettle(other.copy, shaky=True)


def _lose_sight(copy: Copy) -> None:
    """It may be anywhere, also after it was seen again."""
    copy.ambiguous = True
    copy.queue.unsettle(copy, shaky=True)


def _missing(fact: Missing, rules: Collection[str]) -> None:
    for copy in fact.copies:
        _lose_sight(copy)


def _let_pass(fact: Accepted | Overlooked, rules: Collection[str]) -> None:
    channel: Channel = fact.settlement.channel if isinstance(fact, Accepted) else fact.channel
    for copy in channel.released:
        copy.queue.unsettle(copy, shaky=True)


def _confirmed(fact: Confirmed, rules: Collection[str]) -> None:
    channel = fact.channel
    if FRESH in rules:
        endings.haunt(channel)
        return
    channel.twice = channel.twice or RESOLVED_ONCE in rules
    if fact.number == 0 or fact.number > channel.published:
        channel.forgiven = NEVER
    elif not fact.resolved and FOR_EACH_QUEUE not in rules:
        channel.forgiven = max(channel.forgiven, channel.published)
    else:
        return
    channel.unconfirmed.clear()


def _stray(fact: Stray, rules: Collection[str]) -> None:
    channel = fact.channel
    if FRESH in rules:
        endings.haunt(channel)
        return
    windows.forget(channel)
    ended = channel.ended.get(fact.consumer_tag)
    if ended is not None:
        ended.source.haunt(fact.event.seq)


def _unanswered(fact: Unanswered, rules: Collection[str]) -> None:
    """What is never confirmed may be in no queue."""
    if fact.obligation.kind == owed.CONFIRM and fact.channel is not None:
        for publication in fact.channel.unconfirmed.values():
            for copy in publication.copies:
                _lose_sight(copy)


def _closed(fact: ClosedUnasked, rules: Collection[str]) -> None:
    """Where another channel's mistake was the cause, that has been answered, be it in the wrong place."""
    if fact.suspect is not None:
        return
    for other in fact.channel.connection.channels.values():
        doom = other.doom
        if other is not fact.channel and doom is not None and ids_of(fact.event) == (60, doom.settlement.method_id):
            endings.overlook(other)


_WIDENED: Mapping[type, Callable[[Any, Collection[str]], None]] = {
    Delivered: _delivered,
    First: _delivered,
    Missing: _missing,
    Accepted: _let_pass,
    Overlooked: _let_pass,
    ClosedUnasked: _closed,
    Confirmed: _confirmed,
    Numbered: _numbered,
    Unanswered: _unanswered,
    Stray: _stray,
}

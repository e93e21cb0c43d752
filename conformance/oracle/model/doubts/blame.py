"""Blame once: what the model no longer believes after the broker certainly broke a rule.

After a wrong decision the broker is in another state than the model believes, and what it does next is right in that
state. So the knowledge that depends on the decision is widened to what the broker may really have done: about one
channel, consumer, queue or message, and nothing more. The marks are the ones that races and gaps use
(`indeterminate`, `ambiguous`, `limit_moved`, `forgiven`), so monitors know only one kind of uncertainty.

    a wrong tag          the channel goes on counting from it; a tag that was used before names no delivery for
                         certain, and any settlement of the channel may settle what is outstanding
    a limit passed       no limit of the channel's consumers, or of the channel, is known until it is set anew
    a wrong message      it may be anywhere from now on, and so may all that its settlement covered; whoever is
                         believed to hold it may settle it or not
    a lost message       it may be anywhere
    a wrong close        the channel is over, and `endings.shake` has set back what was under way; if the close names a
                         mistake on another channel, that mistake will not be answered again
    a mistake let pass   it may have settled what the channel held
    a life that goes on  nothing is claimed any more about this channel, nor about any other life of its number
    no confirm           the publish may have had no effect
    a delivery to a consumer that should have ended    the consumer exists, takes messages, and has slots
    a wrong get-ok       the gets of the channel may be answered from any queue
    a wrong number       nothing is claimed about the channel's confirms any more; if a confirm came twice, nothing is
                         claimed about the publishes so far

Everything that does not depend on the decision is still judged: other channels keep their limits, a queue keeps its
other messages, and a delivery that should not have come can be settled like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from conformance.oracle.model import owed
from conformance.oracle.model.connections import endings
from conformance.oracle.model.connections.channels import NEVER, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.consumers import taking, windows
from conformance.oracle.model.facts import (
    Accepted,
    ClosedUnasked,
    Confirmed,
    Delivered,
    Fact,
    FirstDelivery,
    Missing,
    Numbered,
    Overlooked,
    Passed,
    StrayDelivery,
    Unanswered,
)
from conformance.oracle.model.records import GONE, OUT, VOID, WAITING, Copy, Delivery

IN_ORDER = "GET-003"
WINDOWS = "QOS-"
"""Rules of this family are about windows; it does not matter which message it is."""
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
        delivery.indeterminate = True
        delivery.copy.queue.unsettle(delivery.copy, indeterminate=True)
    held = channel.unacked.get(tag)
    if held is not None:
        lose_sight(held.copy)


def _delivered(fact: Delivered, rules: Collection[str]) -> None:
    if any(rule.startswith(WINDOWS) for rule in rules):
        windows.forget(fact.channel)
    if fact.copy.place != WAITING:
        _misplaced(fact.copy)


def _misplaced(copy: Copy) -> None:
    """It was delivered although somebody has it, or nobody should."""
    held = copy.holder
    if copy.place == OUT and held is not None:
        held.indeterminate = True
        if endings.orphaned(held):
            _forget_cancelled(held)
    elif copy.place == GONE and held is not None and held.settlement is not None:
        for other in held.settlement.covered:
            if other.copy.holder is other and other.copy.place in (GONE, WAITING):
                lose_sight(other.copy)
    elif copy.place == VOID and copy.publisher is not None:
        for voided in copy.publisher.voided:
            lose_sight(voided)
    lose_sight(copy)


def _forget_cancelled(held: Delivery) -> None:
    """What was delivered to a cancelled consumer may have gone back with its cancel, all of it."""
    for other in held.channel.unacked.values():
        if other.consumer is held.consumer:
            other.indeterminate = True
            other.copy.queue.unsettle(other.copy, indeterminate=True)


def lose_sight(copy: Copy) -> None:
    """It may be anywhere, also after it was seen again."""
    copy.ambiguous = True
    copy.queue.unsettle(copy, indeterminate=True)


def _missing(fact: Missing, rules: Collection[str]) -> None:
    for copy in fact.copies:
        lose_sight(copy)


def _let_pass(fact: Accepted | Overlooked, rules: Collection[str]) -> None:
    channel: ChannelLife = fact.settlement.channel if isinstance(fact, Accepted) else fact.channel
    for copy in channel.released:
        copy.queue.unsettle(copy, indeterminate=True)


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


def _stray(fact: StrayDelivery, rules: Collection[str]) -> None:
    channel = fact.channel
    if FRESH in rules:
        endings.haunt(channel)
        return
    windows.forget(channel)
    ended = channel.ended.get(fact.consumer_tag)
    if ended is not None:
        taking.haunt(ended.source, fact.event.seq)


def _unanswered(fact: Unanswered, rules: Collection[str]) -> None:
    """What is never confirmed may be in no queue."""
    if fact.obligation.kind == owed.CONFIRM and fact.channel is not None:
        for publication in fact.channel.unconfirmed.values():
            for copy in publication.copies:
                lose_sight(copy)


def _closed(fact: ClosedUnasked, rules: Collection[str]) -> None:
    """If a mistake on another channel was the cause, it has been answered, although in the wrong place."""
    if fact.suspect is not None:
        return
    for other in fact.channel.connection.channels.values():
        error = other.settlement_error
        if other is not fact.channel and error is not None and ids_of(fact.event) == (60, error.settlement.method_id):
            endings.overlook(other)


def _passed(fact: Passed, rules: Collection[str]) -> None:
    """A get was answered from another queue: so may the others of its channel be, and what came is out of its own."""
    if IN_ORDER not in rules:
        return
    fact.connection.channels[fact.event.channel].astray = True
    for channel in fact.connection.channels.values():
        for publication in channel.recent.get(fact.event.message or "", ()):
            for copy in publication.copies:
                lose_sight(copy)


_WIDENED: Mapping[type, Callable[[Any, Collection[str]], None]] = {
    Delivered: _delivered,
    FirstDelivery: _delivered,
    Missing: _missing,
    Accepted: _let_pass,
    Overlooked: _let_pass,
    ClosedUnasked: _closed,
    Confirmed: _confirmed,
    Numbered: _numbered,
    Passed: _passed,
    Unanswered: _unanswered,
    StrayDelivery: _stray,
}

"""RETURN: what comes back to its publisher. That it comes before its confirm CNF-009 says; whether it comes as it was
published is judged in `routes`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import NOT_FOUND, PUBLISH, ids_of
from conformance.oracle.model.facts import ChannelClosed, ClosedUnasked, Returned
from conformance.oracle.model.records import Publication
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges
from conformance.oracle.monitors.topology import route

PLAIN, ONCE, OWN, ORDER = "RETURN-001", "RETURN-002", "RETURN-003", "RETURN-004"
DROPPED, CONFIRMED = "CNF-008", "CNF-009"


@dataclass(slots=True)
class Astray:
    """Messages that came back on other channels than their own."""

    messages: set[str] = field(default_factory=set)


@judges(Returned, PLAIN, ONCE, OWN, ORDER)
def came_back(fact: Returned, notes: Notes) -> None:
    """A mandatory publish that reached no queue: once, on its channel, in its turn."""
    channel, publication, event = fact.channel, fact.publication, fact.event
    if channel.adopted or channel.indeterminate or (publication is not None and publication.immediate):
        return
    if publication is None or event.message != publication.message:
        _astray(fact, notes)
        if _mute(channel):
            notes.find(OWN, event, f"no return: nothing was published on channel {channel.number}", "basic.return")
        return
    if publication.returned:
        if not channel.forgetful:
            seqs = publication.seq, publication.returned
            notes.find(ONCE, event, f"one return of {publication}", "another one", *seqs)
        return
    if publication.mandatory and publication.routed is False:
        _in_turn(fact, publication, notes)
        if not publication.number and not channel.transactional:
            notes.exercise(PLAIN)
        if any(_owed(other) for other in _others(channel)):
            notes.exercise(OWN)


def _mute(channel: ChannelLife) -> bool:
    """Has its client published nothing on it?"""
    published = channel.recent or channel.forgetful or channel.undone
    return channel.state == OPEN and channel.method_error is None and not published


def _in_turn(fact: Returned, publication: Publication, notes: Notes) -> None:
    """Only a return that comes late proves another order: one that never comes may be lost."""
    late = [one for one in _returned(fact.channel) if one.seq > publication.seq]
    if late:
        first = min(late, key=lambda one: one.seq)
        allowed, observed = f"the return of {publication} before that of {first}", "it comes after it"
        notes.find(ORDER, fact.event, allowed, observed, publication.seq, first.seq, first.returned)
    elif any(one.seq > publication.seq for one in _owed(fact.channel)):
        notes.exercise(ORDER)


def _astray(fact: Returned, notes: Notes) -> None:
    """A return of something that another channel of the connection has published, and this one has not."""
    for other in _others(fact.channel):
        for publication in _owed(other):
            if publication.message == fact.event.message and not fact.channel.recent.get(publication.message):
                notes.memory(Astray).messages.add(publication.message)
                allowed = f"the return of {publication} on channel {other.number}"
                notes.find(OWN, fact.event, allowed, f"its return on channel {fact.channel.number}", publication.seq)
                return


@judges(ChannelClosed, PLAIN, ONCE)
def never_came_back(fact: ChannelClosed, notes: Notes) -> None:
    """The client's close is answered: all that it had published was handled by then. Whether an empty word of a key is
    a word is no question of returns."""
    channel = fact.channel
    if fact.crossed or channel.adopted or channel.indeterminate or channel.transactional or channel.method_error:
        return
    astray = notes.memory(Astray).messages
    for publication in _owed(channel):
        elsewhere = publication.number or publication.message in astray
        if not elsewhere and not route.hangs_on_match(publication, notes):
            notes.find(
                PLAIN, fact.event, f"the return of {publication}", "channel.close-ok without it", publication.seq
            )
            return
    if any(one.returned for group in channel.recent.values() for one in group):
        notes.exercise(ONCE)


@judges(ClosedUnasked, PLAIN, DROPPED, CONFIRMED)
def not_found(fact: ClosedUnasked, notes: Notes) -> None:
    """The channel is closed with 404 over a publish, and the exchange of each that may be meant was there: it is a
    missing queue that is no mistake. Where others are under way that reach one, nobody knows which is meant. That a
    publish may be dropped in silence no rule says where it is neither mandatory nor to be confirmed."""
    channel, event = fact.channel, fact.event
    recent = [one for group in channel.recent.values() for one in group]
    meant = [one for one in recent if one.seq > channel.handled and not (one.returned or one.resolved)]
    unclear = channel.adopted or channel.indeterminate or channel.transactional or channel.may_have_missed
    if ids_of(event) != PUBLISH or event.args.get("reply_code") != NOT_FOUND or fact.suspect is not None or unclear:
        return
    rules = {_of_astray(one) for one in meant}
    if len(rules) == 1 and "" not in rules:
        last = max(meant, key=lambda one: one.seq)
        allowed = f"{last} is {'returned' if last.mandatory else 'dropped, and confirmed'}; the channel stays open"
        notes.find(rules.pop(), event, allowed, closing(event.args), last.seq)


def _of_astray(one: Publication) -> str:
    """The rule that says what becomes of it, if it reaches no queue; else none. Where it went by the default exchange,
    which is always there, the broker says by 404 that there is no queue of that name."""
    if one.routed or (one.routed is None and one.exchange) or one.immediate:
        return ""
    if one.mandatory:
        return CONFIRMED if one.number else PLAIN
    return DROPPED if one.number else ""


def _others(channel: ChannelLife) -> list[ChannelLife]:
    return [one for one in channel.connection.channels.values() if one is not channel and one.alive()]


def _owed(channel: ChannelLife) -> list[Publication]:
    """What must come back on it and has not, in the order in which it was published."""
    return sorted(_candidates(channel), key=lambda one: one.seq)


def _returned(channel: ChannelLife) -> list[Publication]:
    """What had to come back on it, and has."""
    mine = [one for group in channel.recent.values() for one in group]
    return [one for one in mine if one.mandatory and one.routed is False and one.returned and not one.immediate]


def _candidates(channel: ChannelLife) -> Iterator[Publication]:
    for group in channel.recent.values() if not channel.transactional else ():
        for one in group:
            if one.mandatory and one.routed is False and not (one.returned or one.immediate):
                yield one

"""AUTH, continued: what a user with limited rights may do, the broker must carry out.

Of methods with an answer that is a claim (`topology.preconditions`). A publish has none: that a user may publish shows
when something later on the channel is answered or confirmed, and that it may not, when the broker closes the channel
over a publish although all that were sent there were allowed.

Memories of the family: gets that are not answered, and publishes that are not known to be taken, with the rules that
allow them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from conformance.history.events import TO_BROKER
from conformance.oracle.model.connections.channels import OPEN, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Answered, ClosedUnasked, Confirmed, Delivered, FoundEmpty, Passed
from conformance.oracle.monitors.connections.auth import (
    ALTERNATE_EXCHANGE,
    BINDS,
    CHANGED,
    CHOSEN,
    DEAD_LETTER_EXCHANGE,
    DEFAULT,
    ELSEWHERE,
    MORE_KEYS,
    NEEDS,
    TOPIC_BINDING,
    TOPIC_KEY,
    arguments_of,
    before,
    elsewhere,
    end_of,
    heirs_of,
    key_of_publish,
    limits,
    may,
    may_all,
    more_keys,
    needs_of,
    there,
    topic_of,
)
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import grants
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import ACCESS_REFUSED, Asked
from conformance.oracle.topology.rights import Granted, fits

GRANTED, INSIDE, OTHER_TOPIC = "AUTH-014", "AUTH-016", "AUTH-023"
OTHERS, IMPERSONATOR = "AUTH-027", "AUTH-029"
HARMLESS = frozenset({DEAD_LETTER_EXCHANGE, ALTERNATE_EXCHANGE, "x-queue-type"})
PRECONDITION_FAILED, PUBLISH = 406, (60, 40)
MOST = 256


# -- what is granted


def allowed(asked: Asked) -> bool:
    """Has a user, who may not do everything, the rights that it takes, and is nothing else amiss?"""
    if not asked.topology.rights.states or asked.event.has("passive") or not asked.held:
        return False
    known = all(name in HARMLESS for name in arguments_of(asked))
    sole = asked.event.method != "basic.consume" or not (asked.event.has("exclusive") or _used(asked))
    needs = [*needs_of(asked), *heirs_of(asked)]
    return bool(needs) and known and sole and asked.limited and there(asked) and may(asked, needs) is True


def _used(asked: Asked) -> bool:
    queue = asked.queue()
    return queue is None or queue.used


def _inside(pattern: str, name: str) -> bool:
    found = re.search(pattern, name) if fits(pattern, name) else None
    return found is not None and (found.start() > 0 or found.end() < len(name))


def _found_inside(asked: Asked) -> bool:
    """Does a pattern fit a part of a name only?"""
    return any(_inside(state.pattern(right) or "", name) for state in asked.held for right, name in needs_of(asked))


def _not(states: Iterable[Granted | None], asked: Asked) -> bool:
    """Would one of these refuse it?"""
    return any(may_all(state, needs_of(asked)) is False for state in states if state is not None)


def _others(asked: Asked) -> list[Granted]:
    connection = asked.actor.connection
    return asked.topology.rights.of_others(connection.user, connection.vhost, asked.held[-1].since)


def _fitting_topic(asked: Asked) -> bool:
    topic = topic_of(asked)
    return topic is not None and limits(asked, topic[0])


def _other_topic(asked: Asked) -> bool:
    """Has the user rights for the routing keys of other exchanges, and none for those of this one?"""
    exchange = asked.event.exchange or end_of(asked, "source")
    return all(state.topics and not state.narrows(exchange) for state in asked.held)


def _in_the_name_of_another(asked: Asked) -> bool:
    user = asked.actor.connection.user
    named = '"user_id"' in asked.event.arguments and f'"user_id": "{user}"' not in asked.event.arguments
    return named and asked.topology.rights.impersonates(user) is True


CLAIMS: tuple[tuple[str, Callable[[Asked], bool]], ...] = (
    (GRANTED, lambda asked: True),
    (INSIDE, _found_inside),
    (CHOSEN, lambda asked: asked.event.method == "queue.declare" and not asked.event.queue),
    (DEFAULT, lambda asked: asked.event.method == "basic.publish" and not asked.event.exchange),
    (TOPIC_KEY, lambda asked: asked.event.method == "basic.publish" and _fitting_topic(asked)),
    (
        MORE_KEYS,
        lambda asked: asked.event.method == "basic.publish" and _fitting_topic(asked) and bool(more_keys(asked)),
    ),
    (TOPIC_BINDING, lambda asked: asked.event.method in BINDS and _fitting_topic(asked)),
    (OTHER_TOPIC, _other_topic),
    (ELSEWHERE, lambda asked: _not(elsewhere(asked), asked)),
    (CHANGED, lambda asked: _not([before(asked)], asked)),
    (OTHERS, lambda asked: _not(_others(asked), asked)),
    (IMPERSONATOR, _in_the_name_of_another),
)


def claims_of(asked: Asked) -> tuple[str, ...]:
    """The rules by which a user with limited rights may do this."""
    return tuple(rule for rule, applies in CLAIMS if applies(asked)) if allowed(asked) else ()


def _claim(rule: str, applies: Callable[[Asked], bool]) -> None:
    @grants(rule, *(method for method in NEEDS if method != "basic.publish"))
    def carried_out(asked: Asked) -> bool:
        return allowed(asked) and applies(asked)


ALL_CLAIMS = tuple(rule for rule, _ in CLAIMS)
for _rule, _applies in CLAIMS:
    _claim(_rule, _applies)


# -- gets


@dataclass(slots=True)
class AllowedGets:
    """By the seq of each get: the rules that allow it."""

    allowed: dict[int, tuple[str, ...]] = field(default_factory=dict)


@follows("basic.get")
def asks(fact: Passed, notes: Notes) -> None:
    """A user with limited rights asks for a message."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if not fact.topology.rights.states or event.direction != TO_BROKER or channel is None or channel.state != OPEN:
        return
    allowed, memory = claims_of(Asked(fact.topology, channel, event, notes.profile)), notes.memory(AllowedGets).allowed
    if allowed:
        memory[event.seq] = allowed
        if len(memory) > MOST:
            del memory[next(iter(memory))]


@judges(FoundEmpty, *ALL_CLAIMS)
def found_empty(fact: FoundEmpty, notes: Notes) -> None:
    """There is none."""
    notes.exercise(*notes.memory(AllowedGets).allowed.pop(fact.since, ()))


@judges(Delivered, *ALL_CLAIMS)
def got(fact: Delivered, notes: Notes) -> None:
    """Here it is."""
    if fact.delivery.consumer is None:
        notes.exercise(*notes.memory(AllowedGets).allowed.pop(fact.since, ()))


# -- publishes


@dataclass(slots=True)
class AllowedPublishes:
    """By the opening of each channel: publishes that are not known to be taken, each with the rules that allow it."""

    unproven: dict[int, list[tuple[int, tuple[str, ...]]]] = field(default_factory=dict)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A user with limited rights publishes."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if not fact.topology.rights.states or event.direction != TO_BROKER or channel is None or channel.state != OPEN:
        return
    asked = Asked(fact.topology, channel, event, notes.profile)
    if asked.held and asked.limited:
        exchange = asked.exchange()
        hidden = exchange is not None and exchange.internal
        memory = notes.memory(AllowedPublishes).unproven
        memory.setdefault(channel.opened, []).append((event.seq, () if hidden else _allowed(asked)))
        if len(memory[channel.opened]) > MOST:
            memory[channel.opened] = [(event.seq, ())]


def _allowed(asked: Asked) -> tuple[str, ...]:
    """The rules by which it may be published, where a routing key does not stand against it."""
    return claims_of(asked) if key_of_publish(asked) is False else ()


@judges(Answered, *ALL_CLAIMS)
def answered(fact: Answered, notes: Notes) -> None:
    """What comes later is answered."""
    if not fact.request.ignored:
        _taken(fact.channel, fact.request.seq, notes)


@judges(Confirmed, *ALL_CLAIMS)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """Or the publish itself is confirmed."""
    if fact.resolved:
        _taken(fact.channel, max(one.seq for one in fact.resolved) + 1, notes)


def _taken(channel: ChannelLife, before: int, notes: Notes) -> None:
    memory = notes.memory(AllowedPublishes).unproven
    sent = memory.get(channel.opened)
    if not sent:
        return
    for seq, rules in sent:
        if seq < before:
            notes.exercise(*rules)
    memory[channel.opened] = [one for one in sent if one[0] >= before]


@judges(ClosedUnasked, *ALL_CLAIMS)
def publish_refused(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closes the channel over a publish, and all of those that it may mean were allowed."""
    sent = notes.memory(AllowedPublishes).unproven.pop(fact.channel.opened, [])
    code, changed = int(fact.event.args.get("reply_code", 0)), fact.channel.connection.regranted
    if not sent or ids_of(fact.event) != PUBLISH or fact.suspect is not None or changed > sent[0][0]:
        return
    rules = sent[-1][1] if all(rules for _, rules in sent) else ()
    for rule in rules:
        if code == (PRECONDITION_FAILED if rule == IMPERSONATOR else ACCESS_REFUSED):
            closer = (MORE_KEYS,) if MORE_KEYS in rules and rule != MORE_KEYS else ()
            notes.find(rule, fact.event, "the publish is taken", closing(fact.event.args), sent[-1][0], unless=closer)

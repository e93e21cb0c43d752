"""CONTENT-001, 002, 004 to 006, 008, 011 to 014: publishes that the broker must take, whatever properties and frames
they have.

A memory of the family: the publishes of each channel that have not been proven to be taken, with the rule that speaks
of each, from the first on that has one. A close is held against a rule only if it names basic.publish, and all
publishes that it can be about have the same rule. Of a publish with several peculiarities that is the rarest, unless
the rule of another is broken.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPEN, PUBLISH, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.facts import Answered, ClosedUnasked, Confirmed, ConnectionFailed, Passed
from conformance.oracle.model.publishing.publishes import body_frames, has_frame_end, uneven
from conformance.oracle.monitors.contents import particulars
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import refuses
from conformance.oracle.monitors.table import follows, judges
from conformance.oracle.topology.preconditions import Asked

SPLIT, TYPES, TIME, NUMBERS, USER, WORDS = (
    "CONTENT-001",
    "CONTENT-002",
    "CONTENT-004",
    "CONTENT-005",
    "CONTENT-006",
    "CONTENT-008",
)
USER_ID = re.compile(r'"user_id": "(.*?)"[,}]')
PECULIAR = (
    (USER, USER_ID),
    (TIME, re.compile(r'"timestamp": (0[,}]|\d{11})')),
    (NUMBERS, re.compile(r'"priority": \d\d')),
    (TYPES, re.compile(r'"types": .*"[bBsuilLxDdfV]"')),
    (
        WORDS,
        re.compile(
            r'"(app_id|cluster_id|content_encoding|content_type|correlation_id|reply_to|type)": '
            r'"(?!amq\.)([^"]*\\u[^"]*|[^"]{128,}|)"|"content_type": "[^"/]*"'
        ),
    ),
)
TO_BE_TAKEN = particulars.FLOATS, particulars.DEEP, particulars.OCTETS, particulars.LONG
"""Rules whose publishes `particulars` knows; what comes out shows that they are kept."""
ELSEWHERE = frozenset({311, 320, 403, 404, 504, 506})
"""Codes that speak of something else than what a publish looks like: of its size, of rights and room, of what is not
there, or of the channel."""
OF_FRAMES = frozenset({501, 502, 503, 505})
"""Codes by which a broker says that it could not read something. Octets in a body are a common thing: by other codes it
speaks of something else."""
SHOWN = 3
"""So many publishes that a close may be about are named."""
OF_CONTENT = (60, 0)
"""So some brokers name a content: its class, and no method."""
PUBLISHES = 1024
"""So many publishes that nothing proves to be taken are remembered of a channel; of more, none."""


Rules = tuple[str, ...]
"""Those that say that a publish is to be taken, the one at stake first; none: it has nothing that they speak of, or too
much."""


@dataclass(slots=True)
class Peculiar:
    """Publishes that no answer has proven to be taken, by the seq at which their channel was opened."""

    unproven: dict[int, list[tuple[int, Rules]]] = field(default_factory=dict)


@follows("basic.publish")
def published(fact: Passed, notes: Notes) -> None:
    """A publish, which may have something that a broker might refuse."""
    event, channel = fact.event, fact.connection.channels.get(fact.event.channel)
    if event.direction != TO_BROKER or channel is None or channel.state != OPEN or channel.adopted:
        return
    memory = notes.memory(Peculiar)
    rules = peculiarities(event, fact.connection.user)
    listed = memory.unproven.get(channel.opened)
    if listed is None:
        if rules:
            memory.unproven[channel.opened] = [(event.seq, rules)]
    elif len(listed) < PUBLISHES:
        listed.append((event.seq, rules))
    else:
        del memory.unproven[channel.opened]


def peculiarities(event: Event, user: str) -> Rules:
    """The rules that say that this publish of this user is to be taken."""
    size = event.body_size or 0
    split = size > 1 and body_frames(event.raw, size) > 1 and uneven(event.raw)
    special = particulars.of_publish(event)
    found = [rule for rule, pattern in PECULIAR if pattern.search(event.arguments)] + [SPLIT] * split
    if special:
        found = [special, *(rule for rule in found if rule != TYPES)]
    elif not found and has_frame_end(event):
        return (particulars.OCTETS,)
    own = USER not in found or f'"user_id": "{user}"' in event.arguments
    return tuple(found) if own and (special or len(found) == 1) else ()


@judges(Answered, TIME, NUMBERS, WORDS)
def handled(fact: Answered, notes: Notes) -> None:
    """An answer shows that what was published before it was taken."""
    memory = notes.memory(Peculiar)
    if memory.unproven and not fact.request.ignored:
        listed = memory.unproven.get(fact.channel.opened, [])
        _taken(memory, fact.channel, [one for one in listed if one[0] < fact.request.seq], notes)


@judges(Confirmed, TIME, NUMBERS, WORDS)
def confirmed(fact: Confirmed, notes: Notes) -> None:
    """So does a confirm."""
    memory = notes.memory(Peculiar)
    if memory.unproven:
        resolved = {one.seq for one in fact.resolved}
        listed = memory.unproven.get(fact.channel.opened, [])
        _taken(memory, fact.channel, [one for one in listed if one[0] in resolved], notes)


def _taken(memory: Peculiar, channel: ChannelLife, taken: list[tuple[int, Rules]], notes: Notes) -> None:
    if not taken:
        return
    notes.exercise(*(rule for _, rules in taken for rule in rules[:1] if rule in (TIME, NUMBERS, WORDS)))
    left = [one for one in memory.unproven[channel.opened] if one not in taken]
    if left:
        memory.unproven[channel.opened] = left
    else:
        del memory.unproven[channel.opened]


@judges(ClosedUnasked, SPLIT, TYPES, TIME, NUMBERS, USER, WORDS, *TO_BE_TAKEN)
def channel_closed(fact: ClosedUnasked, notes: Notes) -> None:
    """The broker closed the channel over a publish that it had to take."""
    if fact.suspect is None:
        _refused(fact.event, f"channel {fact.channel.number}", [fact.channel], notes)


@judges(ConnectionFailed, SPLIT, TYPES, TIME, NUMBERS, USER, WORDS, *TO_BE_TAKEN)
def connection_closed(fact: ConnectionFailed, notes: Notes) -> None:
    """Or the whole connection."""
    if fact.event.kind == METHOD and fact.error is None and not fact.failing and fact.suspect is None:
        _refused(fact.event, "connection", fact.connection.channels.values(), notes)


def _refused(event: Event, what: str, channels: Iterable[ChannelLife], notes: Notes) -> None:
    memory, ids, code = notes.memory(Peculiar), ids_of(event), int(event.args.get("reply_code", 0))
    channels = [one for one in channels if one.alive()]
    nameless = ids == (0, 0) and all({*one.sent} <= {PUBLISH} and not one.pending() for one in channels)
    if not memory.unproven or code in ELSEWHERE or not (ids in (PUBLISH, OF_CONTENT) or nameless):
        return
    sent = [one for channel in channels for one in memory.unproven.get(channel.opened, [])]
    at_stake = {rules[:1] for _, rules in sent}
    if (
        len(at_stake) != 1
        or not (first := at_stake.pop())
        or (first == (particulars.OCTETS,) and code not in OF_FRAMES)
    ):
        return
    seqs, others = [seq for seq, _ in sent], dict.fromkeys(rule for _, rules in sent for rule in rules[1:])
    seen = f"{what}: {closing(event.args)}"
    notes.find(first[0], event, "the publish is taken", seen, *seqs[-SHOWN:], unless=tuple(others))


@refuses(USER, "basic.publish", code=406, what="a publish with the user-id of somebody else")
def impersonated(asked: Asked) -> bool | None:
    """Does it name somebody else? Where the login does not tell who publishes, nobody knows."""
    if '"user_id"' not in asked.event.arguments:
        return False
    named, user = USER_ID.search(asked.event.arguments), asked.actor.connection.user
    if (tagged := asked.topology.rights.impersonates(user)) is not False:
        return False if tagged else None
    return named[1] != user if named is not None and user and "\\" not in named[1] else None

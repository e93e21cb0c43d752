"""CHAN: opening and closing channels, what their numbers mean, and channel.flow.

The mistakes that cost a connection the model finds as the client makes them (`model.opening`). A refused open is judged
by the close that names it: where users have limits of their own, 530 says that one of those was reached.

A memory of the family: how many channels each connection has opened, which of its channels have answered since one was
closed, and what each channel.flow has asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_BROKER, Event
from conformance.oracle.model.connections.channels import OPENING, ChannelLife
from conformance.oracle.model.connections.closing import ids_of
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.connections.opening import (
    CHANNEL_0,
    CHANNEL_ERROR,
    CHANNEL_OPEN,
    NOT_ALLOWED,
    SECOND,
    TOO_MANY,
)
from conformance.oracle.model.facts import (
    Answered,
    ChannelOpened,
    ClosedUnasked,
    ConnectionFailed,
    Delivered,
    Faulted,
    Overlooked,
    Passed,
    Unanswered,
)
from conformance.oracle.model.owed import REPLY
from conformance.oracle.monitors import silence
from conformance.oracle.monitors.connections import frame
from conformance.oracle.monitors.deliveries import err, hard_errors
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import no_room, refuses
from conformance.oracle.monitors.table import BY_RULE, follows, judges
from conformance.oracle.topology.preconditions import Asked
from conformance.oracle.topology.transitions import LATEST

FREE, REUSED, OTHERS, FLOW = "CHAN-002", "CHAN-003", "CHAN-005", "CHAN-006"
AFRESH, NO_MODE, AGAIN = "CHAN-007", "CHAN-008", "ERR-007"
NAMELESS = "QUEUE-015"
"""Who breaks this takes the empty name where nothing was ever declared."""
HIGHEST, DOWNWARD = "the highest number", "a lower number than before"
NUMBERS = HIGHEST, DOWNWARD
ANSWERS, CONSUMERS = "another channel answers", "its consumer is served"
GO_ON = ANSWERS, CONSUMERS
NO_COMMIT, CONFIRMS, TRANSACTION = "nothing to commit", "confirm mode may follow", "a transaction may follow"
MODES = NO_COMMIT, CONFIRMS, TRANSACTION
OF_QUEUES, OF_MESSAGES = ("queue.bind", "queue.purge"), ("basic.get", "basic.consume")
BY_LAST_NAME = *OF_QUEUES, *OF_MESSAGES
"""Methods in which the empty name stands for the last queue that the channel declared. Where there is none, the text
names 404 for the former, and no code for the latter."""
NONE_SINCE = "the empty name on a channel that has declared no queue since its opening"
HARMLESS = "channel.flow", "exchange.declare"
CLOSE, SELECTS = (20, 40), {(85, 10): "confirm.select", (90, 10): "tx.select"}
MOST = 256

BY_RULE.setdefault(SECOND, []).extend(
    (hard_errors.hard_error, hard_errors.channel_instead, silence.hard_mistake_let_pass)
)
for _rule in (TOO_MANY, CHANNEL_0):
    BY_RULE.setdefault(_rule, []).extend((frame.ended, hard_errors.channel_instead, silence.hard_mistake_let_pass))


@dataclass(slots=True)
class Numbers:
    """What was opened, closed and asked for."""

    opened: dict[str, int] = field(default_factory=dict)
    """By connection: how many channels it has opened."""
    heard: dict[int, int] = field(default_factory=dict)
    """By the opening of a channel: the latest close of another one after which it was seen to go on."""
    asked: dict[int, bool] = field(default_factory=dict)
    """By channel.flow: is the channel to be active?"""


# -- opening


@judges(ChannelOpened, FREE, REUSED)
def opened(fact: ChannelOpened, notes: Notes) -> None:
    """Open-ok: of the highest number, of one below another, or when as many were opened before as may be open."""
    channel, connection, memory = fact.channel, fact.channel.connection, notes.memory(Numbers)
    before = memory.opened.get(connection.name, 0)
    memory.opened[connection.name] = before + 1
    most = connection.channel_max
    if connection.error is not None or not most:
        return
    if before >= most and fact.previous is not None:
        notes.exercise(REUSED)
    if channel.number == most:
        notes.show(FREE, HIGHEST, NUMBERS)
    elif fact.previous is None and any(one.number > channel.number for one in connection.open_channels()):
        notes.show(FREE, DOWNWARD, NUMBERS)


@judges(ConnectionFailed, FREE, REUSED, AGAIN)
def open_costs_the_connection(fact: ConnectionFailed, notes: Notes) -> None:
    """The close names the open of a channel that may be opened."""
    connection = fact.connection
    wanted = [one for one in connection.channels.values() if one.state == OPENING]
    if fact.event.kind != METHOD or fact.error is not None or fact.failing or not wanted:
        return
    nameless = ids_of(fact.event) == (0, 0) and fact.event.args.get("reply_code") in (CHANNEL_ERROR, NOT_ALLOWED)
    if ids_of(fact.event) == CHANNEL_OPEN or (nameless and _only(connection, wanted)):
        _refused(wanted[0], fact.event, notes)


def _only(connection: Connection, wanted: list[ChannelLife]) -> bool:
    """Is nothing else under way?"""
    others = [one for one in connection.open_channels() if one not in wanted]
    return not any(one.pending() or one.publishing or one.unproven for one in others)


@judges(ClosedUnasked, FREE, REUSED, AGAIN)
def open_costs_the_channel(fact: ClosedUnasked, notes: Notes) -> None:
    """A channel is closed instead of being opened."""
    if fact.channel.state == OPENING and fact.channel.connection.error is None:
        _refused(fact.channel, fact.event, notes)


def _refused(channel: ChannelLife, event: Event, notes: Notes) -> None:
    """A number that the broker itself has closed is the business of ERR-007."""
    connection = channel.connection
    most, count = _most(connection), notes.memory(Numbers).opened.get(connection.name, 0)
    text = str(event.args.get("reply_text", ""))
    limited = event.args.get("reply_code") == NOT_ALLOWED and any(word in text for word in ("user", "vhost", "limit"))
    if not most or limited or no_room(event) or connection.overheard or channel.number > most:
        return
    failed = channel.previous is not None and channel.previous.close_seen > 0
    rule = REUSED if count >= most else AGAIN if failed else FREE
    unless = (AGAIN,) if failed and rule != AGAIN else ()
    allowed = f"open-ok for channel {channel.number} of {most}"
    notes.find(rule, event, allowed, closing(event.args), channel.opened, unless=unless)


def _most(connection: Connection) -> int:
    """So many channels may be open: a client that names no number leaves it at what was offered."""
    return connection.channel_max or connection.handshake.channel_max or 0


# -- closing


@judges(Answered, OTHERS)
def others_answer(fact: Answered, notes: Notes) -> None:
    """Another channel answers what it was asked after one was closed."""
    closed = _beside(fact.channel)
    if 0 < closed < fact.request.seq:
        _goes_on(fact.channel, closed, ANSWERS, notes)


@judges(Delivered, OTHERS)
def others_are_served(fact: Delivered, notes: Notes) -> None:
    """A consumer of another channel gets what was published after one was closed."""
    closed, consumer = _beside(fact.channel), fact.delivery.consumer
    if consumer is not None and 0 < consumer.established < closed < fact.copy.published:
        notes.show(OTHERS, CONSUMERS, GO_ON)


def _beside(channel: ChannelLife) -> int:
    """The last close that was answered, if it was of another channel while this one was open; else 0. A number that is
    opened again before the answer is none beside the one that is closed."""
    connection = channel.connection
    return connection.closes if channel.opened < connection.closes and channel.number != connection.closed else 0


def _goes_on(channel: ChannelLife, closed: int, how: str, notes: Notes) -> None:
    heard = notes.memory(Numbers).heard
    if heard.get(channel.opened) != closed:
        heard[channel.opened] = closed
        notes.show(OTHERS, how, GO_ON)
        if len(heard) > MOST:
            del heard[next(iter(heard))]


@judges(ConnectionFailed, OTHERS)
def others_are_gone(fact: ConnectionFailed, notes: Notes) -> None:
    """The broker says that a channel is not open which the client had not closed; it had closed another one."""
    connection, event = fact.connection, fact.event
    if event.kind != METHOD or fact.error is not None or fact.failing or connection.misused or connection.overheard:
        return
    if event.args.get("reply_code") != CHANNEL_ERROR:
        return
    named = [one for one in connection.open_channels() if ids_of(event) in _under_way(one)]
    if named and all(_beside(one) and not one.indeterminate for one in named):
        allowed = f"channel {named[0].number} goes on: another one was closed"
        notes.find(OTHERS, event, allowed, f"connection: {closing(event.args)}", connection.closes)


def _under_way(channel: ChannelLife) -> set[tuple[int, int]]:
    return {*channel.sent, *((one.class_id, one.method_id) for one in channel.pending())}


@judges(ClosedUnasked, OTHERS)
def others_are_closed(fact: ClosedUnasked, notes: Notes) -> None:
    """A channel is closed over the close of another one, or when nothing was under way on it."""
    channel, connection = fact.channel, fact.channel.connection
    if not _beside(channel) or channel.indeterminate or connection.overheard:
        return
    if fact.suspect is None and ids_of(fact.event) == CLOSE:
        allowed = f"channel {channel.number} goes on: another one was closed"
        notes.find(OTHERS, fact.event, allowed, closing(fact.event.args), connection.closes)


@judges(Unanswered, OTHERS)
def others_fall_silent(fact: Unanswered, notes: Notes) -> None:
    """Several methods, the first of them harmless, were sent on a channel as the first thing after another one was
    closed, and none is answered."""
    channel = fact.channel
    if fact.obligation.kind != REPLY or channel is None or channel.indeterminate or channel.connection.blocking.blocked:
        return
    closed, pending = _beside(channel), channel.pending()
    if not pending or not 0 < closed < pending[0].seq == fact.obligation.since_seq or pending[0].method not in HARMLESS:
        return
    heard = notes.memory(Numbers).heard.get(channel.opened) == closed
    if len({one.method for one in pending}) > 1 and not (heard or channel.unproven or channel.publishing):
        allowed = f"answers on channel {channel.number}: another one was closed"
        methods = ", ".join(sorted({one.method for one in pending}))
        notes.find(OTHERS, fact.event, allowed, f"none to {methods}", closed, pending[0].seq)


# -- flow


@follows("channel.flow")
def asked_to_flow(fact: Passed, notes: Notes) -> None:
    """The client asks for the flow to go on, or to pause."""
    if fact.event.direction == TO_BROKER:
        asked = notes.memory(Numbers).asked
        asked[fact.event.seq] = fact.event.has("active")
        if len(asked) > MOST:
            del asked[next(iter(asked))]


@judges(Answered, FLOW)
def flows(fact: Answered, notes: Notes) -> None:
    """flow-ok says what was asked for."""
    asked = notes.memory(Numbers).asked.pop(fact.request.seq, None) if fact.request.method == "channel.flow" else None
    if asked is None:
        return
    if fact.event.has("active") == asked:
        notes.exercise(FLOW)
    else:
        told = f"channel.flow-ok with active {fact.event.has('active')}"
        notes.find(FLOW, fact.event, f"channel.flow-ok with active {asked}", told, fact.request.seq)


# -- a new life of the number


@refuses(AFRESH, *OF_QUEUES, code=404, what=NONE_SINCE, unless=(NAMELESS,))
@refuses(AFRESH, *OF_MESSAGES, code=404, hard=(NOT_ALLOWED,), what=NONE_SINCE, unless=(NAMELESS,))
def none_declared_since(asked: Asked) -> bool | None:
    """Had the channel that was closed declared one, and this one none?"""
    last, former = asked.topology.last, asked.actor.previous
    if asked.event.queue or asked.actor in last or former is None or former not in last:
        return False
    return True if asked.actor.connection.whole and len(last) < LATEST else None


@judges(Faulted, NO_MODE)
def nothing_to_commit(fact: Faulted, notes: Notes) -> None:
    """tx.commit is refused: the transaction ended with the channel."""
    if _commits(fact):
        notes.show(NO_MODE, NO_COMMIT, MODES)


@judges(Overlooked, NO_MODE)
def commits_all_the_same(fact: Overlooked, notes: Notes) -> None:
    """tx.commit is answered; where it always is, that is TX-004's."""
    if _commits(fact):
        allowed, error = "channel.close 406 for tx.commit", fact.error
        notes.find(NO_MODE, fact.event, allowed, fact.event.method, error.seq, unless=("TX-004",))


def _commits(fact: Faulted | Overlooked) -> bool:
    former = fact.channel.previous
    return former is not None and former.transactional and fact.error.what.startswith("tx.commit on")


@judges(Answered, NO_MODE)
def selects(fact: Answered, notes: Notes) -> None:
    """The mode is selected that the channel before had not."""
    former = fact.channel.previous
    if former is None:
        return
    if fact.request.method == "confirm.select" and former.transactional:
        notes.show(NO_MODE, CONFIRMS, MODES)
    elif fact.request.method == "tx.select" and former.confirm:
        notes.show(NO_MODE, TRANSACTION, MODES)


@judges(ClosedUnasked, NO_MODE)
def cannot_select(fact: ClosedUnasked, notes: Notes) -> None:
    """The mode is refused, as it must be on a channel in the other one."""
    channel, former = fact.channel, fact.channel.previous
    method = SELECTS.get(ids_of(fact.event))
    if method is None or former is None or fact.suspect is not None or channel.indeterminate:
        return
    other = former.transactional if method == "confirm.select" else former.confirm
    pending = [one for one in channel.pending() if one.method == method]
    if other and pending and fact.event.args.get("reply_code") == err.PRECONDITION_FAILED:
        allowed = f"{method}-ok: the channel is in no mode"
        notes.find(NO_MODE, fact.event, allowed, closing(fact.event.args), pending[0].seq)

"""CONN: how a connection is opened, what was agreed for it, how it ends, and that others do not matter to it.

`model.handshaking` says what the client did wrong, what must be answered, and by which rule. Three things are judged
with a memory of the family's own: messages that were sent when their connection was at its end already, mistakes on
one connection that another may not suffer for, and heartbeats where none were wanted.

    - header c 414d515000000001        the client greets in a version that nobody speaks
    - answer c 414d515000000901        the broker says which one it speaks
    - end c fin                        and closes
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.history.events import METHOD, TO_CLIENT, Event
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.connections.handshake import FRAME_MIN
from conformance.oracle.model.connections.handshaking import MISTAKES, passes
from conformance.oracle.model.facts import (
    Answered,
    ConnectionFailed,
    DroppedSilently,
    FoundEmpty,
    HeartbeatMissed,
    HeartbeatReceived,
    Passed,
    SocketClosed,
    Unanswered,
    Unlawful,
)
from conformance.oracle.model.owed import CLOSE_OK, HANDSHAKE
from conformance.oracle.model.records import ClientError
from conformance.oracle.monitors import silence
from conformance.oracle.monitors.deliveries import hard_errors
from conformance.oracle.monitors.deliveries.ack import closing
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.refusals import no_room
from conformance.oracle.monitors.table import BY_RULE, follows, judges

TOLD = "CONN-008"
CLAIMS = ("CONN-005", "CONN-006", "CONN-012", "CONN-016")
MISSING = {"connection.start": "CONN-002", "connection.tune": "CONN-005", "connection.open-ok": "CONN-016"}
ACCESS_REFUSED, FORCED = 403, 320
CROWDED = frozenset({FORCED, 506, 541})
"""Codes of a broker that has no room just now, is told to close, or fails."""
DISCARDS, LEFT_ALONE = "CONN-019", "CONN-020"
CROSSED = "CONN-021"
PARTS = ("methods", "heartbeats")
LONG = 2.5
"""So many intervals after which a client that was not heard is gone for certain, or is heard."""
UNTOUCHED = "the connection goes on: the mistake was made on another"
SPACIOUS = 8
"""What a frame has beside its payload."""
MOST = 256
"""So many messages and queues are remembered."""
for _rule in MISTAKES:
    BY_RULE.setdefault(_rule, []).extend((hard_errors.channel_instead, silence.hard_mistake_let_pass))


# -- mistakes of the client


@judges(ConnectionFailed, *MISTAKES, TOLD)
def ended(fact: ConnectionFailed, notes: Notes) -> None:
    """The connection is closed: without a word where that is right, or with a code that fits."""
    error, event = fact.error, fact.event
    if error is None or error.rule not in MISTAKES:
        return
    if error.rule == "CONN-001":
        _turned_away(fact, error, notes)
    elif event.kind != METHOD:
        _hung_up(error, event, notes)
    else:
        notes.exercise(error.rule)
        if error.code and int(event.args.get("reply_code", 0)) not in error.codes:
            notes.find(error.rule, event, _close(error), closing(event.args), error.seq)
    if error.rule == "CONN-007":
        _told(fact, error, notes)


def _close(error: ClientError) -> str:
    return f"connection.close {error.all_codes} for {error.what}"


def _hung_up(error: ClientError, event: Event, notes: Notes) -> None:
    if error.silent:
        notes.exercise(error.rule)
    else:
        notes.find(error.rule, event, _close(error), "the connection ended without connection.close", error.seq)


def _turned_away(fact: ConnectionFailed, error: ClientError, notes: Notes) -> None:
    """A header of eight octets, and the end; what a reset has swallowed nobody knows."""
    event, header = fact.event, fact.connection.handshake.header
    allowed = f"a protocol header in answer to {error.what}, and then the end of the connection"
    if event.kind == METHOD:
        notes.find(error.rule, event, allowed, f"connection: {closing(event.args)}", error.seq)
    elif header.startswith(b"AMQP") and len(header) == SPACIOUS:
        notes.exercise(error.rule)
    elif event.args.get("cause") == "fin":
        seen = f"the octets {header!r}" if header else "the end without a header"
        notes.find(error.rule, event, allowed, seen, error.seq)


def _told(fact: ConnectionFailed, error: ClientError, notes: Notes) -> None:
    """Both sides have said that the reason is to be given."""
    handshake, event = fact.connection.handshake, fact.event
    if not (handshake.tells and handshake.asks):
        return
    allowed = f"connection.close {ACCESS_REFUSED} for {error.what}: client and broker have the capability"
    if event.kind != METHOD:
        if event.args.get("cause") == "fin":
            notes.find(TOLD, event, allowed, "the connection ended without connection.close", error.seq)
        return
    notes.exercise(TOLD)
    if event.args.get("reply_code") != ACCESS_REFUSED:
        notes.find(TOLD, event, allowed, closing(event.args), error.seq)


@follows("connection.start", "connection.tune", "connection.open-ok", "channel.open-ok", rules=MISTAKES)
def let_pass(fact: Passed, notes: Notes) -> None:
    """The broker goes on as if nothing had been wrong."""
    error, event = fact.connection.error, fact.event
    if error is not None and event.direction == TO_CLIENT and passes(error, event) and not fact.connection.ended:
        notes.find(error.rule, event, f"the end of the connection for {error.what}", event.method, error.seq)


# -- what the broker says of itself, and what it must answer


@follows("connection.start", rules=("CONN-002", "CONN-003", "CONN-004"))
def introduces_itself(fact: Passed, notes: Notes) -> None:
    """The version, how one can log in, the language, the product."""
    event, arguments = fact.event, fact.event.args
    version = arguments.get("version_major"), arguments.get("version_minor")
    if version == (0, 9) and str(arguments.get("mechanisms", "")).split():
        notes.exercise("CONN-002")
    else:
        seen = f"version {version[0]}-{version[1]}, mechanisms {arguments.get('mechanisms')!r}"
        notes.find("CONN-002", event, "version 0-9, and at least one mechanism", seen)
    locales = str(arguments.get("locales", ""))
    if "en_US" in locales.split():
        notes.exercise("CONN-003")
    else:
        notes.find("CONN-003", event, "en_US among the locales", f"locales {locales!r}")
    properties = arguments.get("server_properties")
    properties = properties if isinstance(properties, Mapping) else {}
    missing = [name for name in ("product", "version", "platform") if not properties.get(name)]
    if missing:
        notes.find("CONN-004", event, "product, version and platform", f"no {', '.join(missing)}")
    else:
        notes.exercise("CONN-004")


@follows("connection.tune", rules=("CONN-010",))
def offers_enough(fact: Passed, notes: Notes) -> None:
    """Frames of the least size that everybody must take, or any size."""
    size = int(fact.event.args.get("frame_max", 0))
    if 0 < size < FRAME_MIN:
        notes.find("CONN-010", fact.event, f"a frame-max of {FRAME_MIN} or more, or none", f"frame-max {size}")
    else:
        notes.exercise("CONN-010")


@follows("connection.tune", "connection.open-ok", rules=CLAIMS)
def granted(fact: Passed, notes: Notes) -> None:
    """The client is let in."""
    handshake = fact.connection.handshake
    for rule in handshake.claims.get(fact.event.method, ()):
        notes.exercise(rule)


@judges(ConnectionFailed, *CLAIMS)
def denied(fact: ConnectionFailed, notes: Notes) -> None:
    """The client is not let in, though it must be. An operator may have set a limit."""
    handshake, event = fact.connection.handshake, fact.event
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    if fact.error is not None or code in CROWDED or no_room(event):
        return
    for method, since in handshake.awaited.items():
        for rule in handshake.claims.get(method, ()):
            seen = closing(event.args) if code else "the connection ended without connection.close"
            notes.find(rule, event, f"{method}: what the client has asked for is to be had", seen, since)


@judges(Unanswered, *MISSING.values(), "CONN-006", "CONN-012", CROSSED)
def unanswered(fact: Unanswered, notes: Notes) -> None:
    """The broker lets the client wait."""
    owed = fact.obligation
    if owed.kind != HANDSHAKE:
        return
    for rule in (CROSSED,) if owed.what == CLOSE_OK else fact.claims or (MISSING[owed.what],):
        notes.find(rule, fact.event, owed.what, f"{owed.what} does not come", owed.since_seq)


# -- what was agreed


@judges(Unlawful, "CONN-013")
def too_large(fact: Unlawful, notes: Notes) -> None:
    """A frame beyond what was agreed, where that is less than was offered: ERR-013 judges the others."""
    if fact.beyond_agreed():
        notes.find("CONN-013", fact.event, fact.allowed, fact.found)


@follows("basic.deliver", "basic.get-ok", "basic.return", rules=("CONN-013",))
def cut_to_size(fact: Passed, notes: Notes) -> None:
    """A body that would have fitted into what the broker had offered, and does not fit into what was agreed."""
    handshake, size = fact.connection.handshake, fact.event.body_size or 0
    if handshake.lowered() and size > (handshake.frame_max or 0):
        notes.exercise("CONN-013")


# -- what is sent when the end is near


@dataclass(slots=True)
class Late:
    """What one connection shows of another: above all messages that were sent after a mistake, or after a close."""

    messages: dict[str, tuple[str, int, Connection]] = field(default_factory=dict)
    """The rule by which they must not be anywhere, when they were sent, and on which connection."""
    queues: dict[str, tuple[str, Connection]] = field(default_factory=dict)
    """Where they would be."""
    failed: int = 0
    """When the broker last ended a connection over a mistake of its client."""
    failing: str = ""
    ended: dict[str, tuple[int, str]] = field(default_factory=dict)
    """Connections whose client had done nothing wrong, when they ended, and how. A mistake on another may explain it,
    of which the client hears later."""
    beat_at: int = 0
    """The time of the broker's last heartbeat, on whichever connection."""
    interval: int = 0
    """How often they come there, in seconds."""


@follows("basic.publish")
def too_late(fact: Passed, notes: Notes) -> None:
    """The connection is at its end, as far as the client can know."""
    connection, event = fact.connection, fact.event
    doomed = connection.error is not None and connection.error.rule == "CONN-018" and not connection.error.silent
    if not (connection.closing or doomed) or connection.ended or event.message is None or not connection.whole:
        return
    late, rule = notes.memory(Late), LEFT_ALONE if connection.closing else DISCARDS
    if len(late.messages) < MOST:
        late.messages[event.message] = rule, event.seq, connection
        if not event.exchange:
            late.queues[event.routing_key or ""] = rule, connection


@follows("basic.deliver", "basic.get-ok", rules=(DISCARDS, LEFT_ALONE))
def carried_out(fact: Passed, notes: Notes) -> None:
    """It is there."""
    rule, seq, connection = notes.memory(Late).messages.get(fact.event.message or "", ("", 0, fact.connection))
    if rule == LEFT_ALONE or (rule == DISCARDS and connection.handshake.kicked):
        what = "connection.close of the client" if rule == LEFT_ALONE else "connection.close of the broker"
        notes.find(rule, fact.event, f"nothing that came after {what}", f"{fact.event.message} is delivered", seq)


@judges(FoundEmpty, DISCARDS, LEFT_ALONE)
def nothing_there(fact: FoundEmpty, notes: Notes) -> None:
    """The queue to which it went is empty, as somebody sees who asks when the connection is over."""
    rule, connection = notes.memory(Late).queues.get(fact.queue.name, ("", None))
    if connection is None or not 0 < connection.ended < fact.since:
        return
    if rule == LEFT_ALONE or connection.handshake.kicked:
        notes.exercise(rule)


@judges(SocketClosed, CROSSED)
def ends_amid(fact: SocketClosed, notes: Notes) -> None:
    """The client's close had met the broker's own, and was not answered. A reset may have swallowed the answer."""
    crossed = fact.connection.handshake.crossed
    if crossed and fact.event.args.get("cause") == "fin":
        notes.find(CROSSED, fact.event, CLOSE_OK, "the connection ended without it", crossed)


@follows("connection.close-ok", rules=(CROSSED,))
def answers_amid(fact: Passed, notes: Notes) -> None:
    """It was answered."""
    if fact.event.direction == TO_CLIENT and fact.connection.handshake.crossed:
        notes.exercise(CROSSED)


# -- heartbeats


@judges(HeartbeatReceived, "CONN-022", "CONN-023", "CONN-024")
def beats(fact: HeartbeatReceived, notes: Notes) -> None:
    """A heartbeat of the broker, where some were agreed; an answer to one of the client is no beat."""
    connection, event = fact.connection, fact.event
    handshake = connection.handshake
    if not handshake.tuned:
        return
    if not connection.heartbeat:
        if handshake.beat_at:
            return
        notes.find("CONN-023", event, "no heartbeats: the client wants none", "a heartbeat")
        return
    late = notes.memory(Late)
    late.beat_at, late.interval = event.time_ns, connection.heartbeat
    notes.exercise("CONN-022")
    if _lasts(connection, event, max(handshake.talked_at, handshake.tuned_at)):
        notes.show("CONN-024", "heartbeats", PARTS)


@judges(Answered, "CONN-023", "CONN-024", "CONN-014")
def goes_on(fact: Answered, notes: Notes) -> None:
    """The connection lives: on methods alone, without heartbeats, or after a mistake on another."""
    connection, event = fact.channel.connection, fact.event
    handshake, late = connection.handshake, notes.memory(Late)
    if connection.heartbeat and handshake.tuned and _lasts(connection, event, handshake.beat_at):
        notes.show("CONN-024", "methods", PARTS)
    since = late.beat_at - LONG * late.interval * 10**9
    if late.interval and not connection.heartbeat and handshake.tuned and handshake.tuned_at < since:
        notes.exercise("CONN-023")
    if late.failed and late.failing != connection.name and fact.request.seq > late.failed:
        notes.exercise("CONN-014")


def _lasts(connection: Connection, event: Event, since: int) -> bool:
    """Has the client said nothing of this kind for long, and since it agreed to heartbeats?"""
    since = max(since, connection.handshake.tuned_at)
    return event.time_ns - since > LONG * connection.heartbeat * 10**9


@judges(HeartbeatMissed, "CONN-022")
def no_beat(fact: HeartbeatMissed, notes: Notes) -> None:
    """None came in more than two intervals."""
    if fact.connection.heartbeat and fact.connection.usable():
        interval = fact.connection.heartbeat
        certain = fact.connection.beats is not False
        seen = "no heartbeat comes"
        notes.find("CONN-022", fact.event, f"a heartbeat every {interval} s", seen, certain=certain)


@judges(DroppedSilently, "CONN-024")
def not_heard(fact: DroppedSilently, notes: Notes) -> None:
    """The broker has dropped a client that had just said something, and more than an interval after it agreed to
    heartbeats: before that nothing may be missed, which is AUTO-005."""
    interval = fact.connection.heartbeat
    if fact.silence < interval < fact.lasted and fact.calm:
        allowed = f"the connection stays open: the client has said something within {interval} s"
        notes.find("CONN-024", fact.event, allowed, f"the connection ends after {fact.silence:.2f} s")


# -- others


@judges(ConnectionFailed, "CONN-014")
def suffers_for_another(fact: ConnectionFailed, notes: Notes) -> None:
    """A client that has done nothing, and whom everything was answered, loses its connection."""
    connection, event, late = fact.connection, fact.event, notes.memory(Late)
    error, name = fact.error, connection.name
    code = int(event.args.get("reply_code", 0)) if event.kind == METHOD else 0
    seen = closing(event.args) if code else "the connection ended"
    if error is not None:
        late.failed, late.failing = event.seq, name
        for sufferer, (seq, observed) in late.ended.items():
            if error.seq < seq and sufferer != name:
                notes.find("CONN-014", event, UNTOUCHED, observed, error.seq, seq, at=seq)
        late.ended.clear()
    elif code not in CROWDED and _idle(fact):
        if late.failed and late.failing != name:
            notes.find("CONN-014", event, UNTOUCHED, seen, late.failed)
        elif len(late.ended) < MOST:
            late.ended[name] = event.seq, seen


def _idle(fact: ConnectionFailed) -> bool:
    """Was everything answered that was asked on this connection, and was nothing of it a mistake?"""
    connection = fact.connection
    channels = connection.channels.values()
    busy = any(one.pending() or one.unproven or one.publishing for one in channels)
    mistaken = any(one.method_error is not None and not one.close_seen for one in channels)
    leaving = connection.closing or connection.handshake.awaited
    mistaken = mistaken or connection.misused > 0
    return not (busy or mistaken or leaving or connection.heartbeat or fact.failing)

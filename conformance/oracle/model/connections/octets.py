"""What a client sends that is no lawful frame, or a frame in a place where it may not be: it costs the connection.

What is wrong is read off the first frame that is: its type, its size, its end, what it carries, or its place. The texts
give a code for each; where they give several, or brokers look at things in another order, any of these is right. After
some flaws the peer may be gone without a word: "close the connection without sending any further data on it".
"""

from __future__ import annotations

from dataclasses import dataclass

from codec import methods
from conformance.history.events import HEARTBEAT, Event
from conformance.oracle.model.connections import requests
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.records import ClientError

METHOD, HEADER, BODY, BEAT = 1, 2, 3, 8
TYPES = frozenset({METHOD, HEADER, BODY, BEAT})
FRAME_END = 0xCE
HEAD, OVERHEAD = 7, 8
BASIC = 60
CONTENT = "the content of "
"""How a history says that a content was not finished, or is too long."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """One kind of mistake: the rule that speaks of it, the codes that are right, and whether silence is as well."""

    rule: str
    codes: tuple[int, ...]
    what: str
    silent: bool = False


END = Flaw("FRAME-001", (501,), "a frame that ends with another octet than CE", silent=True)
TYPE = Flaw("FRAME-002", (501,), "a frame of an unknown type", silent=True)
TOO_LARGE = Flaw("FRAME-003", (501,), "a frame that is larger than agreed")
CHANNEL_ERROR = 504
ANY = 0
"""Whatever code is given: before connection.open-ok the texts ask for none."""
FUDGE = 8
"""Some count the payload alone: what is larger by less than a frame's own octets may pass."""
MISPLACED = Flaw("FRAME-004", (505,), "a content frame where no content is due")
INTERRUPTED = Flaw("FRAME-005", (505,), "a method in the middle of a content")
DISORDERED = Flaw("FRAME-005", (505,), "a second header in a content, or a body before its header")
TOO_LONG = Flaw("FRAME-006", (505, 501), "more body than the header announced")
OF_ANOTHER_CLASS = Flaw("FRAME-007", (501, 505), "a content header of another class than its method's")
ON_CHANNEL_0 = Flaw("FRAME-008", (504, 505, 501, 503), "a content frame on channel 0")
STRAY_HEARTBEAT = Flaw("FRAME-009", (501, 503, 505), "a heartbeat on a channel")
UNKNOWN_METHOD = Flaw("FRAME-010", (503, 540, 501, 502), "a method that does not exist", silent=True)
ARGUMENTS = Flaw("FRAME-011", (502, 501, 503), "arguments that do not fit into their frame")
BEAT_PAYLOAD = Flaw("FRAME-013", (501, 503, 505), "a heartbeat with a payload")
TOO_SHORT = Flaw("FRAME-014", (501, 502, 503, 505), "a frame that is too short for what it is")
PROPERTIES = Flaw("FRAME-015", (505, 501, 502, 503), "properties that cannot be read")
WEIGHT = Flaw("FRAME-016", (505, 501), "a content header whose weight is not 0")
FLAWS = (
    END,
    TYPE,
    TOO_LARGE,
    MISPLACED,
    INTERRUPTED,
    TOO_LONG,
    OF_ANOTHER_CLASS,
    ON_CHANNEL_0,
    STRAY_HEARTBEAT,
    UNKNOWN_METHOD,
    ARGUMENTS,
    BEAT_PAYLOAD,
    TOO_SHORT,
    PROPERTIES,
    WEIGHT,
)
OF_CONTENT = (MISPLACED, INTERRUPTED, DISORDERED, TOO_LONG, OF_ANOTHER_CLASS, WEIGHT)
LEFT_OPEN = "UTF-8 in ", "at most ", "flags of the 14 properties only", "bits "
"""What our codec refuses, and others may take: odd octets in texts, deep tables, flags and bits without a meaning."""
LEAST = {METHOD: 4, HEADER: 12}
"""So many octets hold the numbers of a method, and a content header before the flags of its properties."""


def sent(connection: Connection, event: Event) -> None:
    """The client sent octets that are no lawful frame. Of a connection that was not seen from its beginning they may be
    half of something; and after its own close the broker may read no further."""
    flaw = flaw_of(event) if connection.whole and not (connection.error or connection.ended) else None
    if flaw is not None:
        code, *also = *flaw.codes, *_unopened(connection, event)
        error = ClientError(event.seq, flaw.rule, code, 0, 0, flaw.what, also=tuple(also), octets=True)
        error.optional = connection.closing > 0
        error.place = int.from_bytes(event.raw[1:3], "big") if flaw in OF_CONTENT else 0
        error.silent = flaw.silent
        if connection.closing or (connection.handshake.begun() and not connection.handshake.entered):
            error.silent, error.code = True, ANY
        requests.fail_connection(connection, error)


def _unopened(connection: Connection, event: Event) -> tuple[int, ...]:
    """Whoever looks at the channel first finds that there is none."""
    channel = int.from_bytes(event.raw[1:3], "big")
    known = not channel or connection.channel(channel) is not None
    return () if known or event.raw[:1] == bytes([BEAT]) else (CHANNEL_ERROR,)


def flaw_of(event: Event) -> Flaw | None:
    """What is wrong with these octets; None where that cannot be told."""
    raw = event.raw
    if event.kind == HEARTBEAT:
        return STRAY_HEARTBEAT if event.channel else None
    expected, found = str(event.args.get("expected")), str(event.args.get("found"))
    if expected.startswith(CONTENT):
        return DISORDERED if found.endswith(" header") else TOO_LONG if found.endswith(" more") else INTERRUPTED
    if len(raw) < HEAD:
        return None
    kind, channel, size = raw[0], int.from_bytes(raw[1:3], "big"), int.from_bytes(raw[3:HEAD], "big")
    if kind not in TYPES:
        return TYPE
    if expected == "a method":
        return MISPLACED if channel else ON_CHANNEL_0
    if "frame_max" in expected:
        return TOO_LARGE if size > int(expected.split()[5]) + FUDGE else None
    if len(raw) < size + OVERHEAD:
        return None  # more of it may come
    if raw[HEAD + size] != FRAME_END:
        return END
    return None if expected.startswith(LEFT_OPEN) else _of_payload(kind, raw)


def _of_payload(kind: int, raw: bytes) -> Flaw | None:
    if len(raw) < LEAST.get(kind, 0) + OVERHEAD:
        return TOO_SHORT
    if kind == METHOD:
        return ARGUMENTS if _is_known(raw) else UNKNOWN_METHOD
    if kind == HEADER:
        return _of_header(raw)
    return BEAT_PAYLOAD if kind == BEAT and len(raw) > OVERHEAD else None


def _of_header(raw: bytes) -> Flaw:
    class_id, weight = int.from_bytes(raw[HEAD : HEAD + 2], "big"), int.from_bytes(raw[HEAD + 2 : HEAD + 4], "big")
    if class_id != BASIC:
        return OF_ANOTHER_CLASS
    return WEIGHT if weight else PROPERTIES


def is_publish(raw: bytes) -> bool:
    """Is it a frame of basic.publish?"""
    return raw[:1] == bytes([METHOD]) and int.from_bytes(raw[HEAD : HEAD + 4], "big") == methods.BasicPublish.INDEX


def _is_known(raw: bytes) -> bool:
    """Does the declaration have a method of this class and number?"""
    return int.from_bytes(raw[HEAD : HEAD + 4], "big") in methods.BY_INDEX

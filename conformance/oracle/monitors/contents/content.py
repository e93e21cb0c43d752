"""RQ-016 and CONTENT: what comes out is what was put in: its body, its properties, and the address it was published to.

A broker may add headers whose names begin with `x-`, takes BCC out, and puts an address into the reply-to of a request
that is to be answered without a queue (DRT-004); it removes and changes nothing. Dead letters
come under another address and without expiration. What two messages share the id of cannot be told apart: of neither
anything is claimed. A change is filed once: under CONTENT where the publish had what only that rule speaks of (some of
that `particulars` knows), else under RQ-016; what a basic.return changes, but for types and empty tables, is for
RETURN-006 or CNF-009.
"""

from __future__ import annotations

import json
from typing import Any, Protocol

from conformance.history.events import RESTARTED, Event
from conformance.oracle.model.consumers.delivering import REPLIES
from conformance.oracle.model.facts import Delivered, Returned
from conformance.oracle.model.records import DEAD, Copy, Publication
from conformance.oracle.monitors.contents import particulars
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

LARGE, WORDY, AGAIN = "a body of several frames", "headers", "a redelivery"
CONTENTS = LARGE, WORDY, AGAIN
HEADER = "header "
ADDED, HIDDEN, STAMP = f"{HEADER}x-", f"{HEADER}BCC", f"{HEADER}timestamp_in_ms"
Change = tuple[str, str]


SPLIT, TYPES, EMPTY, DEAD_LETTER = "CONTENT-001", "CONTENT-002", "CONTENT-003", "CONTENT-007"
KINDS = {
    "integers of several sizes": "bBsuIilL",
    "texts and octets": "Sx",
    "other plain values": "tTDdfV",
    "tables and lists": "",
}
BARE, PRESENT = "no property at all", "an empty table"
EMPTINESS = BARE, PRESENT
NOTHING, HEADERS = '{"properties": {}}', '"headers"'
BODY, SHOWN = "body", 200
"""What a difference of bodies is called; so many characters of a value are shown."""
MANY = 5
"""So often a history shows that types are kept; looking at each message would cost more than it tells."""
VOID = "no value"
"""Of a header that is there without a value; one that is not there has None."""
RECORDS_OF_DEATH = ("x-death", "x-last-death-exchange", "x-last-death-queue", "x-last-death-reason")
CHANGED_BY_DEATH = ("expiration", *(f"{HEADER}{name}" for name in ("CC", *RECORDS_OF_DEATH)))
"""A client may have written what only brokers write; the next death puts its own record in that place."""


@judges(Delivered, "RQ-016", SPLIT, TYPES, EMPTY, *particulars.ALL)
def as_published(fact: Delivered, notes: Notes) -> None:
    """Each delivery of a message is the message as it was published."""
    copy, event, publication = fact.copy, fact.event, fact.copy.publication
    if publication is None or copy.ambiguous or copy.entry == DEAD or copy.weathered == RESTARTED:
        return
    _headers(publication, event, notes)
    change = address(publication, event) or changed(publication, event)
    if change is not None:
        allowed, observed = f"{copy.id} {change[0]}, as it was published", f"{event.method} {change[1]}"
        notes.find(_rule(publication, event), event, allowed, observed, publication.seq)
        return
    particulars.show(publication, notes)
    if publication.uneven:
        notes.exercise(SPLIT)
    if publication.frames > 1:
        notes.show("RQ-016", LARGE, CONTENTS)
    if HEADERS in publication.content:
        notes.show("RQ-016", WORDY, CONTENTS)
    if copy.seen:
        notes.show("RQ-016", AGAIN, CONTENTS)


def _rule(publication: Publication, event: Event) -> str:
    """The rule about what the publish had, where it comes otherwise."""
    found = None if address(publication, event) else difference(publication, event)
    if found is None:
        return particulars.PLAIN
    if found[1] is VOID or found[2] is VOID:
        return TYPES
    if found[0] != BODY:
        return particulars.of_change(publication, *found)
    if publication.uneven:
        return SPLIT
    return particulars.OCTETS if publication.has_frame_end else particulars.PLAIN


@judges(Returned, TYPES, EMPTY, particulars.DEEP)
def headers_returned(fact: Returned, notes: Notes) -> None:
    """Headers of a message that comes back keep their types, and are there or not."""
    publication = fact.publication
    if publication is not None and publication.message == fact.event.message:
        _headers(publication, fact.event, notes)


def _headers(publication: Publication, event: Event, notes: Notes) -> None:
    sent, came = publication.content, event.arguments
    if HEADERS not in sent and HEADERS not in came:
        if sent == NOTHING:
            notes.show(EMPTY, BARE, EMPTINESS)
        return
    change = retyped(sent, came)
    if change is not None:
        rule = particulars.DEEP if particulars.is_shallower(types_of(sent), types_of(came)) else TYPES
        notes.find(rule, event, f"{publication} {change[0]}", f"{event.method} {change[1]}", publication.seq)
    elif '"types"' in sent and notes.judgement.exercised[TYPES] < MANY:
        for kind in _kinds(json.loads(sent)["types"]):
            notes.show(TYPES, kind, tuple(KINDS))
    _emptiness(publication, event, notes)


def _emptiness(publication: Publication, event: Event, notes: Notes) -> None:
    """An empty table of headers is one, and none is none. What a broker adds makes it another one."""
    sent, came = _table(publication.content), _table(event.arguments)
    if (sent == {} and came is None) or (sent is None and came == {}):
        words = {True: "without headers", False: "with an empty table of headers"}
        allowed, observed = words[sent is None], words[came is None]
        notes.find(EMPTY, event, f"{publication} {allowed}", f"{event.method} {observed}", publication.seq)
    elif sent == {}:
        notes.show(EMPTY, PRESENT, EMPTINESS)


@judges(Delivered, DEAD_LETTER, again=True)
def dead_letter(fact: Delivered, notes: Notes) -> None:
    """A message that was rejected comes to the dead letter queue as it was published, and with more headers."""
    publication, event = _rejected(fact.copy), fact.event
    if publication is None or fact.copy.ambiguous:
        return
    change = changed(publication, event, except_for=CHANGED_BY_DEATH) or retyped(publication.content, event.arguments)
    if change is not None:
        allowed = f"{fact.copy.id} {change[0]}, as it was published"
        notes.find(DEAD_LETTER, event, allowed, f"{event.method} {change[1]}", publication.seq)
    elif HEADERS in publication.content:
        notes.exercise(DEAD_LETTER)


def _rejected(copy: Copy) -> Publication | None:
    """The publish of a dead letter, if one of its own deliveries was rejected."""
    if copy.entry != DEAD or copy.settlement is None:
        return None
    return next((one.copy.publication for one in copy.settlement.covered if one.message == copy.id), None)


def address(publication: Publication, event: Event) -> Change | None:
    """Exchange and routing key of the publish and of what came, if they differ."""
    if (event.exchange or "") != publication.exchange:
        return f"from exchange {publication.exchange!r}", f"from exchange {event.exchange or ''!r}"
    if (event.routing_key or "") != publication.routing_key:
        return f"with routing key {publication.routing_key!r}", f"with routing key {event.routing_key or ''!r}"
    return None


class Content(Protocol):
    """What was published."""

    @property
    def body(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def content(self) -> str: ...


def changed(publication: Content, event: Event, except_for: tuple[str, ...] = ()) -> Change | None:
    """The same in words."""
    found = difference(publication, event, except_for)
    if found is None:
        return None
    name, sent, came = found
    if name == BODY:
        return f"with {sent} octets", "with other octets" if sent == came else f"with {came} octets"
    return f"with {name} {_short(repr(sent))}", f"with {name} {_short(repr(came))}"


def _short(text: str) -> str:
    """A value in words, without its middle if it is long."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[-SHOWN // 2 :]}"


def difference(publication: Content, event: Event, except_for: tuple[str, ...] = ()) -> tuple[str, Any, Any] | None:
    """What differs between the publish and what came: the size of a body, or a property. A header of another type is
    no other value: that is for `retyped`."""
    if (event.body_hash or "") != publication.body:
        return BODY, publication.size, event.body_size or 0
    if event.arguments.endswith(publication.content[1:]):
        return None
    sent, came = _properties(publication.content), _properties(event.arguments)
    retyped_too = _other_types(publication.content, event.arguments)
    rewritten = ("reply_to",) if sent.get("reply_to") == REPLIES else ()
    excepted = {HIDDEN, *rewritten, *except_for, *_stamped(came)}
    for name in sorted(sent.keys() | {name for name in came if not name.startswith(ADDED)}):
        if name in excepted or name.removeprefix(HEADER) in retyped_too:
            continue
        if sent.get(name) != came.get(name):
            return name, sent.get(name), came.get(name)
    return None


def _stamped(came: dict[str, Any]) -> tuple[str, ...]:
    """RabbitMQ can be set up to stamp all that is published (guide "message interceptors"): in a header of its own and
    in the timestamp, which say the same time."""
    stamp = came.get(STAMP)
    return (STAMP, "timestamp") if isinstance(stamp, int) and came.get("timestamp") == stamp // 1000 else ()


def retyped(sent: str, came: str) -> Change | None:
    """A header of another type, in what was sent and what came."""
    before, after = types_of(sent), types_of(came)
    for name in sorted(_other_types(sent, came)):
        return f"with {HEADER}{name} of type {_words(before[name])}", f"with type {_words(after[name])}"
    return None


def _other_types(sent: str, came: str) -> set[str]:
    """Headers that are in both, of other types. A broker's own headers may take the place of those of a client."""
    if came.endswith(sent[1:]):
        return set()
    before, after = types_of(sent), types_of(came)
    return {
        name
        for name in before.keys() & after.keys()
        if before[name] != after[name] and not f"{HEADER}{name}".startswith(ADDED)
    }


def types_of(arguments: str) -> dict[str, Any]:
    """The types of the headers, by name; none where the recording has none."""
    return dict(json.loads(arguments).get("types") or {}) if '"types"' in arguments else {}


def _words(kind: Any) -> str:
    """A type as it is told to people."""
    return kind if isinstance(kind, str) else _short(json.dumps(kind))


def _kinds(types: Any) -> set[str]:
    """Which kinds of values there are, at whatever depth."""
    if isinstance(types, str):
        return {name for name, letters in KINDS.items() if types in letters}
    inner = types.values() if isinstance(types, dict) else types
    return {"tables and lists"}.union(*map(_kinds, inner))


def _table(arguments: str) -> dict[str, Any] | None:
    """The headers; None: no such property."""
    headers: dict[str, Any] | None = json.loads(arguments or "{}").get("properties", {}).get("headers")
    return headers


def _properties(arguments: str) -> dict[str, Any]:
    """By name, headers one by one."""
    properties: dict[str, Any] = dict(json.loads(arguments or "{}").get("properties") or {})
    headers = properties.pop("headers", None) or {}
    return {**properties, **{f"{HEADER}{name}": VOID if value is None else value for name, value in headers.items()}}

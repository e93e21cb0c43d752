"""RQ-016: what comes out is what was put in: its body, its properties, and the address it was published to.

A broker may add headers whose names begin with `x-`, and takes BCC out; it removes and changes nothing. Dead letters
come under another address, and what two messages share the id of cannot be told apart: of neither anything is claimed.
"""

from __future__ import annotations

import json
from typing import Any

from conformance.history.events import Event
from conformance.oracle.model.facts import Delivered
from conformance.oracle.model.records import DEAD, Publication
from conformance.oracle.monitors.notes import Notes
from conformance.oracle.monitors.table import judges

LARGE, WORDY, AGAIN = "a body of several frames", "headers", "a redelivery"
CONTENTS = LARGE, WORDY, AGAIN
HEADER = "header "
ADDED, HIDDEN = f"{HEADER}x-", f"{HEADER}BCC"
Change = tuple[str, str]


@judges(Delivered, "RQ-016")
def as_published(fact: Delivered, notes: Notes) -> None:
    """Each delivery of a message is the message as it was published."""
    copy, event, publication = fact.copy, fact.event, fact.copy.publication
    if publication is None or copy.ambiguous or copy.entry == DEAD:
        return
    change = address(publication, event) or changed(publication, event)
    if change is not None:
        notes.find(
            "RQ-016",
            event,
            f"{copy.id} {change[0]}, as it was published",
            f"{event.method} {change[1]}",
            publication.seq,
        )
        return
    if publication.frames > 1:
        notes.show("RQ-016", LARGE, CONTENTS)
    if '"headers"' in publication.content:
        notes.show("RQ-016", WORDY, CONTENTS)
    if copy.seen:
        notes.show("RQ-016", AGAIN, CONTENTS)


def address(publication: Publication, event: Event) -> Change | None:
    """Exchange and routing key of the publish and of what came, if they differ."""
    if (event.exchange or "") != publication.exchange:
        return f"from exchange {publication.exchange!r}", f"from exchange {event.exchange or ''!r}"
    if (event.routing_key or "") != publication.routing_key:
        return f"with routing key {publication.routing_key!r}", f"with routing key {event.routing_key or ''!r}"
    return None


def changed(publication: Publication, event: Event) -> Change | None:
    """A body or a property of the publish and of what came, if they differ."""
    if (event.body_hash or "") != publication.body:
        size = event.body_size or 0
        other = "other octets" if size == publication.size else f"{size} octets"
        return f"with {publication.size} octets", f"with {other}"
    if event.arguments.endswith(publication.content[1:]):
        return None
    sent, came = _properties(publication.content), _properties(event.arguments)
    for name in sorted(sent.keys() | {name for name in came if not name.startswith(ADDED)}):
        if name != HIDDEN and sent.get(name) != came.get(name):
            return f"with {name} {sent.get(name)!r}", f"with {name} {came.get(name)!r}"
    return None


def _properties(arguments: str) -> dict[str, Any]:
    """By name, headers one by one."""
    properties: dict[str, Any] = dict(json.loads(arguments or "{}").get("properties") or {})
    headers = properties.pop("headers", None) or {}
    return {**properties, **{f"{HEADER}{name}": value for name, value in headers.items()}}

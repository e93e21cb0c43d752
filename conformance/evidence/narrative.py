"""Events in words: the one way in which the terminal, the results and the pages show an exchange.

Each event is one line: who spoke on which channel, the method, and the arguments that matter in a dispute. The
handshake of a connection is one line, because nobody disputes it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from codec.errors import ReplyCode
from conformance.evidence.local import describe_local, local_interest
from conformance.history import events as ev
from conformance.history.events import Event

_ARROWS = {ev.TO_BROKER: "→ ", ev.TO_CLIENT: " ←", ev.LOCAL: " ·"}
_SETTLES = frozenset({"basic.ack", "basic.nack", "basic.reject", "basic.recover", "basic.recover-async"})
_CONTENT = frozenset({"basic.publish", "basic.return", "basic.deliver", "basic.get-ok"})
_CLOSES = frozenset({"channel.close", "connection.close"})
_ASKED = frozenset({"basic.qos", "basic.cancel", "tx.select", "tx.commit", "tx.rollback"})
_TOLD = frozenset({"basic.ack", "basic.nack", "basic.cancel", "basic.cancel-ok", *_CLOSES})
_QUIET = frozenset({"multiple", "durable", "exclusive", "auto_delete", "internal"})
_UNSAID = frozenset({"x-queue-type", "message_id", "delivery_mode"})
"""Arguments and properties that every declaration or publish of the suite has, or that are told in another way."""
_WIDTH, _MANY = 40, 5
"""Characters of a value, and arguments of a method, that are told."""


def interest(event: Event) -> bool:
    """Is this what disputes are about: content, a settlement or a confirm, a limit, the end of a consumer or of a
    transaction, an error, or what was done to the broker from outside; not set-up or clean-up?"""
    if event.kind != ev.METHOD:
        return local_interest(event)
    if event.method in _CONTENT:
        return True
    return event.method in (_SETTLES | _ASKED if event.direction == ev.TO_BROKER else _TOLD)


def handshake(event: Event) -> bool:
    """Does this belong to the opening of a connection?"""
    if event.kind == ev.METHOD:
        return event.method.startswith("connection.") and "close" not in event.method
    return event.kind in (ev.OPEN, ev.PROTOCOL)


def describe(event: Event) -> str:
    """The event in words, without who and where."""
    if event.kind != ev.METHOD:
        return describe_local(event)
    words = [event.method, *_WORDS.get(event.method, _named)(event)]
    words += [flag.replace("_", "-").rstrip("-") for flag in event.flags.split() if flag not in _QUIET]
    return " ".join(word for word in words if word)


def steps(events: Sequence[Event], states: Mapping[int, str] | None = None) -> list[dict[str, Any]]:
    """The events as rows of a case in results.json; `states` by seq."""
    beside = states or {}
    return [
        {
            "n": n,
            "direction": event.direction,
            "connection": event.connection,
            "channel": event.channel,
            "text": describe(event),
            "method": event.method,
            "raw": event.raw.hex(),
            "interest": interest(event),
            "seq": event.seq,
            "state": beside.get(event.seq, ""),
        }
        for n, event in enumerate(events, 1)
    ]


def transcript(events: Sequence[Event]) -> str:
    """One line for each event, aligned; a connection's handshake is one line."""
    rows: list[tuple[str, str, str, str]] = []
    folded: set[str] = set()
    for event in events:
        if not handshake(event):
            place = f"{event.connection}.{event.channel}" if event.channel else event.connection
            rows.append((str(event.seq), place, _ARROWS.get(event.direction, ""), describe(event)))
        elif event.connection not in folded:
            folded.add(event.connection)
            rows.append((str(event.seq), event.connection, "→←", "connected"))
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(2)]
    return "\n".join(f"{seq:>{widths[0]}}  {place:<{widths[1]}}  {arrow}  {text}" for seq, place, arrow, text in rows)


def _settlement(event: Event) -> list[str]:
    return [str(event.delivery_tag), "multiple" if event.multiple else ""]


def _delivery(event: Event) -> list[str]:
    return [str(event.delivery_tag), _message(event), f"to {event.consumer_tag}" if event.consumer_tag else ""]


def _publish(event: Event) -> list[str]:
    by = f"through {event.exchange}" if event.exchange else ""
    to = f"to {event.routing_key}" if event.routing_key or not by else ""
    return [_message(event), by, to, *_terms(event.args.get("properties"))]


def _return(event: Event) -> list[str]:
    return [_message(event), _reply(event.args)]


def _close(event: Event) -> list[str]:
    args = event.args
    offender = f"(for {args['class_id']},{args['method_id']})" if args.get("class_id") else ""
    return [_reply(args), offender]


def _named(event: Event) -> list[str]:
    """Any other method: its names, the type of an exchange, numbers other than zero, and the table of arguments."""
    names = [event.exchange, event.queue, event.routing_key, event.consumer_tag, event.args.get("type")]
    numbers = [f"{key.replace('_', '-')}={value}" for key, value in event.args.items() if _telling(value)]
    return [str(name) for name in names if name] + numbers + _terms(event.args.get("arguments"))


def _terms(table: object) -> list[str]:
    """The entries of a table, the headers of a message among them; of many the first."""
    if not isinstance(table, Mapping):
        return []
    headers = table.get("headers")
    own = headers if isinstance(headers, Mapping) else {}
    entries = {**{key: value for key, value in table.items() if key != "headers"}, **own}
    told = [f"{key}={_cut(value)}" for key, value in entries.items() if key not in _UNSAID]
    return told if len(told) <= _MANY else [*told[:_MANY], "…"]


def _cut(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 1]}…"


def _telling(value: object) -> bool:
    return isinstance(value, int | float) and bool(value)


def _message(event: Event) -> str:
    return event.message or "without a name"


def _reply(args: Mapping[str, Any]) -> str:
    code, text = args.get("reply_code", 0), args.get("reply_text", "")
    return f"{code} {text or _code_name(code)}".rstrip()


def _code_name(code: int) -> str:
    return ReplyCode(code).text if code in ReplyCode.__members__.values() else ""


_WORDS: Mapping[str, Callable[[Event], list[str]]] = {
    "basic.ack": _settlement,
    "basic.nack": _settlement,
    "basic.reject": _settlement,
    "basic.publish": _publish,
    "basic.return": _return,
    "basic.deliver": _delivery,
    "basic.get-ok": _delivery,
    "channel.close": _close,
    "connection.close": _close,
}

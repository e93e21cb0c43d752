"""The wire event: one thing that happened, as one row.

A *history* is what one observer saw on a group of connections that share queues, in the order it saw it: `seq` rises
over all connections of a history, so within one connection it is the order of the wire as seen by the client, and
between connections it is the order of observation (a send is logged before its bytes leave, a receive after they
came). Everything that is claimed about a broker is a pure fold over such rows; live run, recording, capture and Spark
partition differ only in where the rows come from.

An observer on the wire, a capture or a proxy, is anywhere between client and broker, and what matters holds for it as
well: what a client sends passes it before the broker can act on it, what a broker sends passes it afterwards. What it
could not see it says: JOINED, GAP and CUT are local events of one connection, in their place in the order. A GAP stands
before whatever may follow from what is missing; if frames cannot be told after it, this direction says nothing until a
second GAP. OBSERVED belongs to a history; it comes first, with an empty connection, and once more whenever one of its
words changes. `others`: connections to the same broker may exist that were not seen. `ordered`: false where the order
between different connections is not certain from here on (that within a connection always is).

A method and its content (header, bodies) are one event, placed where its last frame is. Content that never completes
makes no event. `raw` keeps the frames as they were, so nothing is lost by this reading. Plain values do not tell of
which type a header was: `types` among the arguments has the letters of headers, and of the arguments of a binding.
Recordings of before have no `types`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import codec
from codec import values

TO_BROKER = ">"
TO_CLIENT = "<"
LOCAL = "-"

# kinds of events
OPEN = "open"  # TCP connection established                        {host, port}
PROTOCOL = "protocol"  # a protocol header                                 {}
METHOD = "method"  # a method, with its content where it carries some
HEARTBEAT = "heartbeat"
MALFORMED = "malformed"  # octets that are no frame                          {offset, expected, found}
END = "end"  # TCP connection ended                       {cause: fin | reset | closed | aborted | gone}
UNEXPECTED = ("fin", "reset")  # causes of an end that the client did not bring about
POLICY = "policy"  # a queue's policy changed and is in force            {queue, consumer_timeout: ms | null}
#   {vhost, name, operator, state: setting | set | clearing | cleared, pattern, apply_to, priority, definition}: of all
#   that it fits; it is being set or removed, and that is done
SETTINGS = "settings"  # the broker's own setting is this, or its default   {consumer_timeout: ms | null}
KILLED = "killed"  # the broker is killed, and has been started again after it  {}
RESTARTED = "restarted"  # the broker is shut down in good order; it has been started again  {state: stopping | started}
ALARM = "alarm"  # the broker is made to run short of something  {state: raising | raised | clearing | cleared}
RIGHTS = "rights"  # what a user may do from now on: all of it in one virtual host, of one queue, or nothing at all
#   {user, vhost, configure, write, read: pattern, or all null: may not enter, topics: {exchange: {write, read}}, tags}
#   {of: connection, queue}: its user may no longer read the queue;  {user, gone}: there is no such user any more
KNOWN = "known"  # is what a connection will name the right thing?  {of: connection, login: bool, vhost: bool}
SCENE = "scene"  # a directed check or machine run begins            {name, rules, queue_type}
DEADLINE = "deadline"  # waited in vain until the deadline passed  {for: replies, drain or timeouts, waited_ms}
LATE = "late"  # what was owed came after all, later than the deadline  {what, waited_ms}
BREAKDOWN = "breakdown"  # the broker answers nobody any more, so its silence says nothing  {what}

# what an observer on the wire could not see; drivers never make these
OBSERVED = "observed"  # of a history: who observes it  {by: capture | proxy, others: bool, ordered: bool}
JOINED = "joined"  # the trace of this connection starts in its middle  {reason}
GAP = "gap"  # octets of this connection are missing  {direction: > | <, octets: number or null, reason}
CUT = "cut"  # the trace ends before the connection does  {reason}

BINDS = frozenset({"queue.bind", "exchange.bind"})
_COLUMNS = frozenset({"delivery_tag", "multiple", "consumer_tag", "queue", "exchange", "routing_key"})


class Event(NamedTuple):
    """One row of a history, and of a recording. Text and numbers only, but for the raw frames."""

    run: str
    broker: str
    history: str
    connection: str
    channel: int
    seq: int
    time_ns: int
    direction: str
    kind: str
    class_id: int
    method_id: int
    method: str
    delivery_tag: int | None
    multiple: bool | None
    consumer_tag: str | None
    queue: str | None
    exchange: str | None
    routing_key: str | None
    message_id: str | None
    flags: str
    arguments: str
    body_size: int | None
    body_hash: str | None
    raw: bytes

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments that have no column of their own, as plain values. Shared: do not change it."""
        return _parsed(self.arguments)

    @property
    def message(self) -> str | None:
        """What identifies the message that this event carries: its message-id, else the hash of its body."""
        return self.message_id or self.body_hash

    def has(self, flag: str) -> bool:
        """Is this bit of the method set? Names as in the method's declaration: no_ack, requeue, redelivered, ..."""
        return flag in self.flags.split()


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Mapping[str, Any]:
    return json.loads(text) if text else {}


def body_hash(body: bytes) -> str:
    """16 hex digits that stand for a body."""
    return blake2b(body, digest_size=8).hexdigest()


class Labels(NamedTuple):
    """What all events of one connection have in common."""

    run: str
    broker: str
    history: str
    connection: str


class _Content:
    """A method that waits for its content."""

    __slots__ = ("body", "header", "method", "raw")

    def __init__(self, method: codec.Method, raw: bytes) -> None:
        self.method, self.raw = method, [raw]
        self.header: codec.Header | None = None
        self.body: list[bytes] = []

    def complete(self) -> bool:
        return self.header is not None and sum(map(len, self.body)) >= self.header.body_size

    def excess(self) -> int:
        """By how much the body is longer than its header says."""
        assert self.header is not None
        return sum(map(len, self.body)) - self.header.body_size


class EventBuilder:
    """Frames of one connection, in order, to events. `clock` gives nanoseconds, `count` the next seq."""

    def __init__(self, labels: Labels, count: Callable[[], int], clock: Callable[[], int]) -> None:
        self.labels, self._count, self._clock = labels, count, clock
        self._pending: dict[tuple[str, int], _Content] = {}

    @property
    def unfinished(self) -> bool:
        """Has the client begun a content, and not ended it?"""
        return any(direction == TO_BROKER for direction, _ in self._pending)

    def local(self, kind: str, /, **arguments: object) -> Event:
        """Something that happened beside the wire."""
        return self._row(LOCAL, kind, 0, arguments=arguments)

    def note(self, direction: str, kind: str, raw: bytes, /, **arguments: object) -> Event:
        """Octets that are no method: a protocol header, or something malformed."""
        return self._row(direction, kind, 0, raw=raw, arguments=arguments)

    def frame(self, direction: str, frame: codec.Frame, raw: bytes) -> Event | None:
        """The event that this frame completes, if it completes one."""
        if isinstance(frame, codec.Heartbeat):
            return self._row(direction, HEARTBEAT, frame.channel, raw=raw)
        key = direction, frame.channel
        if isinstance(frame, codec.Method):
            if key in self._pending:
                return self._torn(key, raw, frame.NAME)
            if not frame.HAS_CONTENT:
                return self._method(direction, frame, raw)
            self._pending[key] = _Content(frame, raw)
            return None
        content = self._pending.get(key)
        if content is None:
            return self.note(direction, MALFORMED, raw, expected="a method", found=type(frame).__name__)
        if isinstance(frame, codec.Header) is (content.header is not None):
            return self._torn(key, raw, "another header" if content.header is not None else "a body without a header")
        content.raw.append(raw)
        if isinstance(frame, codec.Header):
            content.header = frame
        else:
            content.body.append(frame.payload)
        if not content.complete():
            return None
        if content.excess():
            return self._torn(key, raw, f"{content.excess()} octets more")
        del self._pending[key]
        return self._method(direction, content.method, b"".join(content.raw), content)

    def _torn(self, key: tuple[str, int], raw: bytes, found: str) -> Event:
        """The content does not go on, or end, as it must."""
        method = self._pending.pop(key).method
        return self.note(key[0], MALFORMED, raw, expected=f"the content of {method.NAME}", found=found)

    def _method(self, direction: str, method: codec.Method, raw: bytes, content: _Content | None = None) -> Event:
        named = {name: getattr(method, name) for name in method.FIELDS}
        bits = " ".join(name for name in method.BITS if named[name])
        rest: dict[str, object] = {
            name: values.to_json(value)
            for name, value in named.items()
            if name not in _COLUMNS and name not in method.BITS and not name.startswith("reserved")
        }
        columns = {name: named[name] for name in _COLUMNS if name in named}
        if method.NAME in BINDS and named["arguments"]:
            rest["types"] = values.letters(named["arguments"])
        if content is not None:
            assert content.header is not None
            properties = content.header.properties()
            rest["properties"] = {name: values.to_json(value) for name, value in properties.items()}
            if properties.get("headers"):
                rest["types"] = values.letters(properties["headers"])
            body = b"".join(content.body)
            columns |= {
                "message_id": properties.get("message_id"),
                "body_size": len(body),
                "body_hash": body_hash(body),
            }
        return self._row(
            direction,
            METHOD,
            method.channel,
            raw=raw,
            arguments=rest,
            flags=bits,
            class_id=method.CLASS_ID,
            method_id=method.METHOD_ID,
            method=method.NAME,
            **columns,
        )

    def _row(
        self,
        direction: str,
        kind: str,
        channel: int,
        *,
        raw: bytes = b"",
        arguments: Mapping[str, object] | None = None,
        class_id: int = 0,
        method_id: int = 0,
        method: str = "",
        flags: str = "",
        delivery_tag: int | None = None,
        multiple: bool | None = None,
        consumer_tag: str | None = None,
        queue: str | None = None,
        exchange: str | None = None,
        routing_key: str | None = None,
        message_id: str | None = None,
        body_size: int | None = None,
        body_hash: str | None = None,
    ) -> Event:
        return Event(
            *self.labels,
            channel,
            self._count(),
            self._clock(),
            direction,
            kind,
            class_id,
            method_id,
            method,
            delivery_tag,
            multiple,
            consumer_tag,
            queue,
            exchange,
            routing_key,
            message_id,
            flags,
            json.dumps(arguments, sort_keys=True) if arguments else "",
            body_size,
            body_hash,
            raw,
        )

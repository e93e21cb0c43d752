"""Which events of a history belong together, and which ones need others.

Request and reply need each other. A delivery needs its consumer and the publish of its message. A settlement needs its
delivery, a confirm needs its publish, and whatever names a queue needs the queue's declaration. A close by the broker
needs the method that it complains of. Everything on a channel needs the opening of that channel. If an event is left
out together with everything that needs it, the rest is an exchange that could have happened. (Only handshakes may be
left out alone, because nobody disputes them.)

`units` gives such parts, from coarse to fine: connections, lives of channels, messages, single deliveries, handshakes,
single events. Each comes with everything that needs it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence

from conformance.history import events as ev
from conformance.history.events import TO_BROKER, TO_CLIENT, Event

Unit = frozenset[int]
Life = tuple[str, int, int]

_REQUESTS = {"basic.get-ok": "basic.get", "basic.get-empty": "basic.get"}
_OTHER = {TO_BROKER: TO_CLIENT, TO_CLIENT: TO_BROKER}
_SETTLES = frozenset({"basic.ack", "basic.nack", "basic.reject"})
_CLOSES = frozenset({"channel.close", "connection.close"})


class Anatomy:
    """One history, or a part of one, taken apart."""

    def __init__(self, events: Sequence[Event]) -> None:
        self._groups: tuple[defaultdict[Hashable, set[int]], ...] = tuple(defaultdict(set) for _ in range(5))
        self._needed_by: defaultdict[int, set[int]] = defaultdict(set)
        self._first: dict[Hashable, int] = {}
        self._waiting: defaultdict[Hashable, list[Event]] = defaultdict(list)
        self._lives: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._published: defaultdict[Life, list[int]] = defaultdict(list)
        self._sent: defaultdict[Hashable, list[Event]] = defaultdict(list)
        self._message: dict[Hashable, str] = {}
        self._all = [event.seq for event in events]
        for event in events:
            self._place(event)

    def units(self) -> Iterator[list[Unit]]:
        """Parts that may be taken away, one list for each degree of fineness."""
        for groups in self._groups:
            yield [self._with_dependants(group) for group in groups.values()]
        yield [self._with_dependants({seq}) for seq in self._all]

    def _with_dependants(self, seqs: Iterable[int]) -> Unit:
        found, todo = set(seqs), list(seqs)
        while todo:
            for needing in self._needed_by[todo.pop()]:
                if needing not in found:
                    found.add(needing)
                    todo.append(needing)
        return frozenset(found)

    def _place(self, event: Event) -> None:
        connections, lives, messages, deliveries, handshakes = self._groups
        number, seq = (event.connection, event.channel), event.seq
        if event.method == "channel.open":
            self._lives[number] += 1
        life = (*number, self._lives[number])
        connections[event.connection].add(seq)
        if event.channel:
            lives[life].add(seq)
        elif event.kind in (ev.OPEN, ev.PROTOCOL) or event.method.startswith("connection."):
            handshakes[event.connection].add(seq)
        message = self._message_of(event, life)
        if message:
            messages[message].add(seq)
        if event.delivery_tag is not None and event.method != "basic.publish" and not self._confirms(event):
            deliveries[life, event.delivery_tag].add(seq)
        for need in self._needs(event, life):
            if need and need != seq:
                self._needed_by[need].add(seq)
        asked = self._request(event)
        if asked:
            self._needed_by[asked].add(seq)
            self._needed_by[seq].add(asked)

    def _message_of(self, event: Event, life: Life) -> str | None:
        """The message that this event carries, or settles alone."""
        if event.method in _SETTLES:
            return None if event.multiple else self._message.get((life, event.delivery_tag))
        if event.delivery_tag is not None and event.message:
            self._message[life, event.delivery_tag] = event.message
        return event.message

    def _confirms(self, event: Event) -> bool:
        return event.method in _SETTLES and event.direction == TO_CLIENT

    def _needs(self, event: Event, life: Life) -> Iterator[int | None]:
        method, message = event.method, event.message
        if event.channel:
            yield self._once("life", life, event, defines=method == "channel.open")
        if message and method:
            yield self._once("message", message, event, defines=method == "basic.publish")
        if event.consumer_tag:
            yield self._once("consumer", (life, event.consumer_tag), event, defines=method == "basic.consume")
        for queue in filter(None, (event.queue, event.routing_key if method == "basic.publish" else None)):
            yield self._once("queue", queue, event, defines=method == "queue.declare")
        if event.direction == TO_BROKER:
            for where in (event.channel, 0):
                self._sent[event.connection, where, event.class_id, event.method_id].append(event)
        elif method in _CLOSES:
            yield self._blamed(event)
        if method == "basic.publish":
            self._published[life].append(event.seq)
        elif self._confirms(event):
            number, published = event.delivery_tag or 0, self._published[life]
            yield published[number - 1] if 0 < number <= len(published) else None
        elif event.delivery_tag is not None:
            taken = method not in _SETTLES
            yield self._once("delivery", (life, event.delivery_tag), event, defines=taken)

    def _blamed(self, close: Event) -> int | None:
        """The method that the broker names as the reason of its close: the last of that kind on the channel (of the
        connection, where it closes that), and of several settlements the one whose tag the broker tells."""
        ids = close.args.get("class_id"), close.args.get("method_id")
        sent = self._sent[close.connection, close.channel, *ids]
        numbers = re.findall(r"\d+", str(close.args.get("reply_text", "")))
        named = [event for event in sent if event.delivery_tag is not None and str(event.delivery_tag) in numbers]
        return next((event.seq for event in reversed(named or sent)), None)

    def _once(self, kind: str, key: Hashable, event: Event, *, defines: bool) -> int | None:
        """The event that first brought this into being; it may be the event itself."""
        return self._first.setdefault((kind, key), event.seq) if defines else self._first.get((kind, key))

    def _request(self, event: Event) -> int | None:
        """What this event answers: the oldest request of its kind that waits, on the same consumer if it names one."""
        request = _REQUESTS.get(event.method) or event.method.removesuffix("-ok")
        if request == event.method:
            self._waiting[event.connection, event.channel, event.direction, request].append(event)
            return None
        waiting = self._waiting[event.connection, event.channel, _OTHER.get(event.direction), request]
        for asked in waiting:
            if asked.consumer_tag in (event.consumer_tag, "", None):
                waiting.remove(asked)
                return asked.seq
        return None

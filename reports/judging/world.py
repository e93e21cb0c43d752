"""What the user knows about a capture and no capture can show: that nobody else used its queues.

A capture, or a recording by a proxy, says that there may be other clients, so claims about messages are doubts. With
`trace check --whole` the user promises two things: all clients of these queues are in the capture, from the
declaration of each queue on, and no policy changes what the queues do. Then messages are judged as in a history of the
suite. The promise has limits: a connection that began before the capture, a gap, or a missing end still opens the
world. So does the first message that an exchange routes: nobody has seen what was bound before the capture began, and
the place of such a message among those that went straight to a queue is not followed.

What is missing is announced late, when its own connection is given up. By then other connections may have shown what
follows from it. So `Torn` reads a history once before it is judged, and the world opens after the last event before
each hole: the last event of the direction that has the hole, or, if the end of a connection is missing, of that
connection. If no event came before, that moment is unknown: a connection is reported only once something of it was
read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from conformance.history import events as ev
from conformance.history.events import Event

NEVER = (1 << 63) - 1
_LED = ("queue.bind", "exchange.bind", "exchange.unbind", "queue.unbind")


class Torn:
    """Where a history, whose events come in the order of seq, is known to be whole: up to `upto`."""

    def __init__(self) -> None:
        self.upto = NEVER
        self._last: dict[tuple[str, str], int] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> Torn:
        torn = cls()
        for event in events:
            torn.saw(event.seq, event.connection, event.direction, event.kind, event.arguments)
        return torn

    def saw(self, seq: int, connection: str, direction: str, kind: str, arguments: str) -> None:
        """The next event."""
        if kind == ev.GAP:
            self._opens(connection, json.loads(arguments)["direction"])
        elif kind == ev.CUT:
            self._opens(connection, ev.TO_BROKER, ev.TO_CLIENT)
        elif direction != ev.LOCAL:
            self._last[connection, direction] = seq

    def _opens(self, connection: str, *directions: str) -> None:
        """It is not whole behind the last event of these directions."""
        self.upto = min(self.upto, max(self._last.get((connection, side), 0) for side in directions))


class Closed:
    """One history, event by event, as one that shows everything as long as no exchange comes into it, and nothing is
    missing: `upto` is the seq of the last event before that."""

    def __init__(self, upto: int = NEVER) -> None:
        self._led, self._upto = False, upto

    def judge_in_order(self, event: Event) -> Iterator[Event]:
        """The event as it is to be judged, behind what is to be said before it."""
        if event.kind == ev.OBSERVED and not self._led:
            event = event._replace(arguments=json.dumps({**event.args, "others": False}, sort_keys=True))
        elif not self._led and (event.seq > self._upto or _leads(event)):
            self._led = True
            yield local(event, ev.OBSERVED, "", by="user", others=True, ordered=True)
        yield event


def _leads(event: Event) -> bool:
    """May an exchange lead messages to a queue from here on?"""
    if event.direction != ev.TO_BROKER:
        return False
    declared = event.args.get("arguments") or {} if event.method == "queue.declare" else {}
    published = event.method == "basic.publish" and bool(event.exchange)
    return published or event.method in _LED or "x-dead-letter-exchange" in declared


def local(at: Event, kind: str, connection: str, **arguments: object) -> Event:
    """Something to be said right before this event."""
    return at._replace(
        connection=connection,
        channel=0,
        direction=ev.LOCAL,
        kind=kind,
        class_id=0,
        method_id=0,
        method="",
        delivery_tag=None,
        multiple=None,
        consumer_tag=None,
        queue=None,
        exchange=None,
        routing_key=None,
        message_id=None,
        flags="",
        arguments=json.dumps(arguments, sort_keys=True),
        body_size=None,
        body_hash=None,
        raw=b"",
    )

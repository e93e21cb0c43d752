"""What the user knows about a capture and no capture can show: that nobody else used its queues.

A capture, or a recording by a proxy, says that there may be other clients, so claims about messages are doubts. With
`trace check --whole` the user promises two things: all clients of these queues and exchanges are in the capture, from
the declaration of each on, and no policy changes what they do. Then messages are judged as in a history of the suite,
and so is where exchanges lead them. The promise has limits: a connection that began before the capture, a gap, or a
missing end still opens the world. So does the first use of an exchange that the capture does not declare, be it one
that every virtual host has: nobody has seen what was bound to it before, and who else publishes to it.

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
ENDS = ("source", "destination")
USES = {
    "basic.publish": ("exchange",),
    "queue.bind": ("exchange",),
    "queue.unbind": ("exchange",),
    "exchange.bind": ENDS,
    "exchange.unbind": ENDS,
}
"""Where a method names an exchange that it uses."""
OF_EXCHANGES = 40
"""The class of their methods: where one closes the channel, there is something that was not seen."""
NAMES = {"queue.declare": "x-dead-letter-exchange", "exchange.declare": "alternate-exchange"}
"""The argument by which a declaration names one."""


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
    """One history, event by event, as one that shows everything as long as it declares the exchanges that it uses, and
    nothing is missing: `upto` is the seq of the last event before that."""

    def __init__(self, upto: int = NEVER) -> None:
        self._open, self._upto = False, upto
        self._vhosts: dict[str, str] = {}
        self._declared: set[tuple[str, str]] = set()

    def judge_in_order(self, event: Event) -> Iterator[Event]:
        """The event as it is to be judged, behind what is to be said before it."""
        if self._open:
            pass
        elif event.kind == ev.OBSERVED:
            event = event._replace(arguments=json.dumps({**event.args, "others": False}, sort_keys=True))
        elif event.seq > self._upto or self._ventures(event):
            self._open = True
            yield local(event, ev.OBSERVED, "", by="user", others=True, ordered=True)
        yield event

    def _ventures(self, event: Event) -> bool:
        """Does the client use an exchange that was not declared here, or not as it is?"""
        if event.direction != ev.TO_BROKER:
            return event.method == "channel.close" and event.args.get("class_id") == OF_EXCHANGES
        if event.method == "connection.open":
            self._vhosts[event.connection] = str(event.args.get("virtual_host"))
        vhost = self._vhosts.get(event.connection, "")
        used = _used(event)
        if event.method == "exchange.declare" and not event.has("passive"):
            self._declared.add((vhost, event.exchange or ""))
        return any((vhost, name) not in self._declared for name in used if name)


def _used(event: Event) -> list[str]:
    """The exchanges that a method of the client uses, by name; empty: the default exchange."""
    if event.method in USES:
        return [str(event.exchange or "" if end == "exchange" else event.args.get(end)) for end in USES[event.method]]
    argument = NAMES.get(event.method)
    named = (event.args.get("arguments") or {}).get(argument) if argument is not None else None
    return [named] if isinstance(named, str) else []


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

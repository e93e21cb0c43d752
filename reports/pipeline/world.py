"""What its user knows of a capture, and no capture can show: that nobody else had to do with the queues in it.

A capture, and a recording by a proxy, says that there may be other clients, so what becomes of messages is judged with
doubt. `trace check --whole` is the word of whoever took it that all clients of these queues are in it, from the
declaration of each queue on, and that no policy changes what the queues do. Then messages are judged as in a history of
the suite. That goes no further than the word: a connection that is met in its middle, a gap, or an end that is missing
open the world as ever. So does the first message that an exchange leads somewhere: what was bound before the capture
began, nobody has seen, and where such a message stands among those that went straight to a queue is not followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance import events as ev
from conformance.events import Event

_LED = ("queue.bind", "exchange.bind", "exchange.unbind", "queue.unbind")


class Closed:
    """One history, event by event, as one that shows everything as long as no exchange comes into it."""

    def __init__(self) -> None:
        self._led = False

    def said(self, event: Event) -> Iterator[Event]:
        """The event as it is to be judged, behind what is to be said before it."""
        if event.kind == ev.OBSERVED and not self._led:
            event = event._replace(arguments=json.dumps({**event.args, "others": False}, sort_keys=True))
        elif not self._led and _leads(event):
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
        connection=connection, channel=0, direction=ev.LOCAL, kind=kind, class_id=0, method_id=0, method="",
        delivery_tag=None, multiple=None, consumer_tag=None, queue=None, exchange=None, routing_key=None,
        message_id=None, flags="", arguments=json.dumps(arguments, sort_keys=True), body_size=None, body_hash=None,
        raw=b"",
    )

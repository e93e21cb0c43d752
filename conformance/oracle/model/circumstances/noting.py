"""Notes the circumstances of one history as they arise, and says in which of them a fact stands.

What completes them lies beside this file, by what it is about; the table at the end says who handles which event.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from conformance.history.events import DEADLINE, END, KILLED, MALFORMED, POLICY, RESTARTED, RIGHTS, Event
from conformance.oracle.model.circumstances import consumers, contents, endings, further, narrow, queues
from conformance.oracle.model.circumstances.places import EVERYWHERE, Found, life, on, places_of
from conformance.oracle.model.facts import Fact

if TYPE_CHECKING:
    from conformance.oracle.model.connections.connection import Connection
    from conformance.oracle.model.model import Model

PLACES = 4096
"""This many places are remembered."""


class Circumstances:
    """Of one history: which have arisen, and at which places."""

    __slots__ = ("_at", "_met")

    def __init__(self, met: Counter[str]) -> None:
        """`met`: where it is counted that they arose."""
        self._at: dict[str, set[str]] = {}
        self._met = met

    def note(self, model: Model, event: Event) -> None:
        """The event may complete some; the model has not read it yet."""
        arisen: set[str] = set()
        for place, name in _completed(model, event):
            self._at.setdefault(place, set()).add(name)
            arisen.add(name)
        for name in arisen:
            self._met[name] += 1
        if len(self._at) > PLACES:
            del self._at[next(iter(self._at))]

    def of(self, fact: Fact) -> tuple[str, ...]:
        """Those in which the fact stands, as `NAME PLACE`."""
        found: dict[str, str] = {}
        for place in places_of(fact) if self._at else ():
            for name in self._at.get(place, ()):
                found.setdefault(name, place)
        return tuple(f"{name} {place}" for name, place in sorted(found.items()))


def _completed(model: Model, event: Event) -> Found:
    if event.kind == KILLED:
        yield from endings.killed(model, event)
    if event.kind == RESTARTED and event.args.get("state") == "stopping":
        yield from endings.restarted(model)
    if event.kind == DEADLINE and event.args.get("for") == "timeouts":
        yield from endings.waited(model)
    if event.channel == 0 and event.method and not event.method.startswith("connection."):
        yield f"connection {event.connection}", "method-on-channel-0"
    if model.topology.rights.states:
        for channel, name in narrow.arisen(model, event):
            yield from on(channel, name) if name == narrow.LONG_QUEUE else ((life(channel), name),)
    if event.kind == POLICY and "queue" not in event.args:
        yield from queues.ruled(model, event)
    if event.kind == RIGHTS and event.args.get("gone"):
        yield EVERYWHERE, "user-deleted"
    handler = _HANDLERS.get(event.method or event.kind)
    connection = model.connections.get(event.connection) if handler is not None else None
    if handler is not None and connection is not None:
        yield from handler(model, connection, event)


_HANDLERS: Mapping[str, Callable[[Model, Connection, Event], Found]] = {
    "channel.open": endings.channel_opened,
    "channel.close": endings.channel_closed,
    "connection.close": endings.connection_closed,
    "connection.tune-ok": endings.tuned,
    END: endings.connection_closed,
    MALFORMED: contents.malformed,
    "basic.cancel": consumers.cancelled,
    "basic.cancel-ok": consumers.cancel_agreed,
    "queue.delete": queues.queue_deleted,
    "queue.declare": queues.queue_declared,
    "basic.consume": consumers.consumed,
    "confirm.select": contents.selected,
    "basic.qos": consumers.limited,
    "basic.ack": consumers.settled,
    "basic.nack": consumers.settled,
    "basic.reject": consumers.settled,
    "basic.recover": consumers.recovered,
    "basic.recover-async": consumers.recovered,
    "basic.publish": contents.published,
    "basic.get": queues.got,
    "queue.purge": queues.about_queue,
    "queue.bind": queues.queue_bound,
    "queue.unbind": queues.about_queue,
    "exchange.declare": endings.unopened,
    "exchange.delete": queues.exchange_deleted,
    "exchange.bind": further.exchange_bound,
    "exchange.unbind": endings.unopened,
}

"""Says in the forms of its history what a scene sends.

A publish to a queue goes through an exchange that leads to just this queue. The oldest delivery is settled by a
multiple settlement. A consumer is started without an answer, and a question behind it is answered instead; all have one
priority. A message has all the properties that change nothing, and a queue arguments that are never reached. Publishes
are mandatory, and confirmed; the first of a mode go nowhere. What changes nothing when it is said again was said many
times before, without an answer. Between what the scene sends, something is asked that changes nothing. Where the broker
does not offer what a form needs, all is sent as the scene says it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codec import Method, values
from codec import methods as m
from conformance.catalogue import rules as catalogue
from conformance.catalogue.rules.features import EXCLUSIVE, TRANSIENT
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.forms.asides import Asides
from conformance.drive.forms.shape import EQUAL, PERSISTENT, RANKED, RICH, UNREACHED, WAYS, Forms, blinding, changed
from conformance.drive.stage import Stage

MOVING = frozenset({"DUR", "AUTH", "POLICY"})
"""Families whose scenes end exchanges, or the right to use them."""
MODAL = frozenset({"TX", "CNF", "TAG", "CHAN", "CONN", "FRAME"})
"""Families whose scenes say in which mode a channel is."""
NUMBERED = frozenset({"FRAME", "CHAN", "CONN"})
"""Families whose scenes say octets, with channels by their numbers."""
OUTLIVING = frozenset({"DUR", "AUTH", "AUTO", "ERR", "CONN", "CHAN", "FRAME", "TMO"})
"""Families whose scenes end connections, or change who may use what."""
FILLED = frozenset({"TX", "CNF"})
"""Families whose scenes are about publishes in a mode."""
INSISTENT = m.QueueDeclare, m.QueueBind, m.ExchangeDeclare, m.ExchangeBind, m.QueuePurge, m.ConfirmSelect
"""What may be said again at once, and has a form without an answer."""
NOTHING: Mapping[str, Any] = {"message_id": "nowhere"}
ENOUGH = 2
"""So many methods of a kind are said again in a history."""


class Speaker:
    """Says in these forms what a scene sends on its stage."""

    def __init__(self, stage: Stage, forms: Forms) -> None:
        self._stage, self._forms = stage, forms
        about = {rule.partition("-")[0] for rule in stage.rules}
        moving = bool(about & MOVING) or any(map(_ends_the_broker, stage.rules))
        passable = not moving and all(map(stage.offers, WAYS.get(forms.way, ())))
        blind = blinding(about) if forms.sighted else frozenset()
        self._way = forms.way if passable and forms.way not in blind else ""
        self._unreached = [feature for feature in forms.unreached if feature not in blind]
        self.passed_over = 0 if about & NUMBERED else forms.channels
        added = (RICH, forms.rich), (RANKED, forms.ranked and "ranked" not in blind), (PERSISTENT, forms.persistent)
        self._properties = {name: value for some, there in added if there for name, value in some.items()}
        if not stage.offers("expiration"):
            self._properties.pop("expiration", None)  # it may mean something else there: a moment, and no time
        if forms.rich:
            self._properties["user_id"] = stage.target.user
        self.transient = forms.transient and not moving and stage.offers(TRANSIENT)
        classic = stage.queue_type == "classic"
        self.exclusive = forms.exclusive and classic and not about & OUTLIVING and stage.offers(EXCLUSIVE)
        self._confirms = forms.confirmed and not about & MODAL and stage.offers("confirm.select")
        self._moded: set[Channel] = set()
        """Channels that are in confirm mode, or in a transaction."""
        self._entrance = self._exit = ""
        """The exchange that is published to, and the one that queues are bound to."""
        self._led: set[str] = set()
        self._asides = Asides(stage, 0 if moving or about & NUMBERED else forms.asides)
        self._joins = forms.together and not about & NUMBERED and stage.offers("channel.flow")
        self._together = False
        self._insists = forms.insists if stage.offers("nowait") else 0
        self._first = forms.first if about & FILLED else 0
        self._insisted, self._filled = Counter[type[Method]](), False
        self._nowhere = ""

    def prepare(self, idle: str) -> None:
        """Before the scene begins; `idle`: a queue that it does not know."""
        self._asides.prepare(idle)

    def found_nowhere(self) -> None:
        """Declares where publishes go nowhere."""
        if self._first:
            self._nowhere = self._stage.exchange()

    def say_again(self) -> None:
        """A later pass begins."""
        self._together = self._joins

    def stop_asides(self) -> None:
        self._asides.stop()
        self._together = False

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of a classic queue: those that are given, and what is never reached and has nothing to do with them."""
        found = dict(given)
        for feature in self._unreached:
            limits = feature in ("x-max-length", "x-overflow") and any("length" in name for name in given)
            if self._stage.offers(feature) and self._stage.offers("x-max-length") and not limits:
                found = {**UNREACHED[feature], **found}
        return found

    def lead(self, queue: str) -> None:
        """Lets the exchange lead to this queue, by its name."""
        if not self._way or not self._stage.connection.alive:
            return
        if not self._entrance:
            self._found()
        self._stage.bind(queue, self._exit, queue)
        if self._way == "onward":
            self._stage.bind_exchange(self._exit, self._entrance, queue)
        self._led.add(queue)

    def _found(self) -> None:
        stage, kind = self._stage, "topic" if self._way == "topic" else "direct"
        self._entrance = self._exit = stage.exchange(kind=kind)
        if self._way == "onward":
            self._entrance = stage.exchange(kind=kind)
        elif self._way == "alternate":
            self._entrance = stage.exchange(kind=kind, arguments={"alternate-exchange": self._exit})

    def said(self, channel: Channel, items: Sequence[Item]) -> Iterator[Item]:
        """The same items, as they are said here."""
        if channel.connection.target != self._stage.target:
            yield from items
            return
        for item in items:
            yield from self._asides.before(channel, item)
            if self._together and channel.state == "open" and not isinstance(item, (bytes, m.ChannelClose)):
                yield m.ChannelFlow(channel.number, True)
            if isinstance(item, tuple):
                yield from self._select(channel)
                yield self._publish(*item)
            elif isinstance(item, Method):
                yield from self._method(channel, item)
            else:
                yield item

    def _select(self, channel: Channel) -> Iterator[Item]:
        """Confirm mode, before the first publish of a channel that is in no mode."""
        if self._confirms and channel not in self._moded and channel.state == "open":
            self._moded.add(channel)
            yield m.ConfirmSelect(channel.number)
            yield from self._fill(channel)

    def _publish(self, method: m.BasicPublish, body: bytes, properties: Mapping[str, Any]) -> Item:
        if not method.exchange and method.routing_key in self._led:
            method = changed(method, exchange=self._entrance)
        if self._forms.mandatory:
            method = changed(method, mandatory=True)
        added = {name: value for name, value in self._properties.items() if self._adds(name, properties)}
        return method, body, {**properties, **added}

    def _adds(self, name: str, properties: Mapping[str, Any]) -> bool:
        """May it be added? A message of a scene is persistent or not as the scene says, where that matters."""
        if name == "delivery_mode":
            return not any(rule.startswith("DUR") for rule in self._stage.rules)
        return name not in properties and self._stage.offers(name)

    def _method(self, channel: Channel, method: Method) -> Iterator[Item]:
        if isinstance(method, (m.QueueDeclare, m.QueueDelete)):
            self._led.discard(method.queue)
        elif isinstance(method, m.ChannelOpen):
            self._moded.discard(channel)
        elif isinstance(method, (m.ConfirmSelect, m.TxSelect)):
            self._moded.add(channel)
        yield from self._insist(channel, method)
        say = _SAYINGS.get(type(method))
        yield from say(self, channel, method) if say else (method,)
        if isinstance(method, (m.ConfirmSelect, m.TxSelect)):
            yield from self._fill(channel)

    def _insist(self, channel: Channel, method: Any) -> Iterator[Item]:
        """The same before it, without an answer. RabbitMQ closes a channel for each that leaves out the queue."""
        named = getattr(method, "queue", True)
        here = isinstance(method, INSISTENT) and named and channel.state == "open"
        if here and self._insisted[type(method)] < ENOUGH:
            self._insisted[type(method)] += 1
            yield from (changed(method, no_wait=True) for _ in range(self._insists))

    def _fill(self, channel: Channel) -> Iterator[Item]:
        """What is published first in a mode."""
        if self._nowhere and not self._filled and channel.state == "open":
            self._filled = True
            yield from (
                (m.BasicPublish(channel.number, exchange=self._nowhere), b"", NOTHING) for _ in range(self._first)
            )

    def _start(self, channel: Channel, method: m.BasicConsume) -> Iterator[Item]:
        quiet = self._forms.quiet and bool(method.consumer_tag) and not method.no_wait
        asks = self._stage.offers("nowait") and self._stage.offers("channel.flow")
        ranked = any(name in EQUAL for name, *_ in method.arguments)
        if self._forms.equal and not ranked and self._stage.offers("x-priority"):
            method = changed(method, arguments=[*method.arguments, *values.table(EQUAL)])
        if quiet and asks:
            yield changed(method, no_wait=True)
            yield m.ChannelFlow(channel.number, True)
        else:
            yield method

    def _settle(self, channel: Channel, method: Any) -> Iterator[Item]:
        view = channel.view
        oldest = view is not None and not view.transactional and method.delivery_tag == min(view.unacked, default=0)
        if not self._forms.multiple or not oldest or not self._stage.offers("basic.nack"):
            yield method
        elif isinstance(method, m.BasicAck):
            yield changed(method, multiple=True)
        else:
            yield m.BasicNack(channel.number, method.delivery_tag, True, method.requeue)


_SAYINGS: Mapping[type[Method], Callable[[Speaker, Channel, Any], Iterator[Item]]] = {
    m.BasicConsume: Speaker._start,
    m.BasicAck: Speaker._settle,
    m.BasicNack: Speaker._settle,
    m.BasicReject: Speaker._settle,
}


def _ends_the_broker(rule: str) -> bool:
    """Is it about what is there when the broker is back?"""
    return any(feature.endswith(" command") for feature in catalogue.get(rule).needs)

"""Other forms in which a scene can say the same. A broker must not tell them apart, or must do as well by them.

A publish to a queue goes through an exchange that leads to just this queue. The oldest delivery is settled by a
multiple settlement. A consumer is started without an answer, and a question behind it is answered instead. A message
has all the properties that change nothing, and a queue arguments that are never reached. Between what the scene sends,
something is asked that changes nothing. Where the broker does not offer what a form needs, all is sent as the scene
says it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from codec import Method, values
from codec import methods as m
from conformance.catalogue import rules as catalogue
from conformance.catalogue.rules.features import PASSIVE
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.stage import Stage

OFTEN = 0.15
"""Of what a scene sends, before so much something is asked that changes nothing."""
HOURS = 36_000_000
"""Milliseconds: longer than any history, on a clock that is turned on as well."""
AMPLE = 2**30
"""Octets: more than any history leaves in a queue."""

RICH: Mapping[str, Any] = {
    "content_type": "text/plain",
    "content_encoding": "identity",
    "headers": values.table({f"header {number}": f"value {number}" for number in range(40)}),
    "correlation_id": "c" * 200,
    "reply_to": "nobody",
    "timestamp": 1_700_000_000,
    "type": "kind",
    "app_id": "application",
}
"""Of a message: what nobody acts on."""
RANKED: Mapping[str, Any] = {"priority": 3, "expiration": str(HOURS)}
"""What is acted on, and here makes no difference. The order of messages is left open by it, and whether they stay."""
PERSISTENT: Mapping[str, Any] = {"delivery_mode": 2}

UNREACHED: Mapping[str, Mapping[str, Any]] = {
    "x-max-priority": {"x-max-priority": 5},
    "x-message-ttl": {"x-message-ttl": HOURS},
    "x-expires": {"x-expires": HOURS},
    "x-max-length": {"x-max-length-bytes": AMPLE},
    "x-overflow": {"x-max-length-bytes": AMPLE, "x-overflow": "reject-publish"},
}
"""Of a classic queue, by the feature that it takes."""

WAYS: Mapping[str, tuple[str, ...]] = {
    "direct": ("direct exchange",),
    "topic": ("topic exchange",),
    "onward": ("direct exchange", "exchange.bind"),
    "alternate": ("direct exchange", "alternate-exchange"),
}
"""How a publish gets to its queue, with the features that it takes."""
MOVING = frozenset({"DUR", "AUTH", "POLICY"})
"""Families whose scenes end exchanges, or the right to use them."""
NUMBERED = frozenset({"FRAME", "CHAN", "CONN"})
"""Families whose scenes say octets, with channels by their numbers."""


@dataclass(frozen=True, slots=True)
class Forms:
    """Of one history. As they are by default, a scene says what it says."""

    way: str = ""
    quiet: bool = False
    multiple: bool = False
    rich: bool = False
    ranked: bool = False
    persistent: bool = False
    unreached: tuple[str, ...] = ()
    channels: int = 0
    """So many channel numbers are passed over."""
    asides: int = 0
    """The seed of what is asked in between; 0: nothing is."""

    @classmethod
    def drawn(cls, chance: random.Random) -> Forms:
        return cls(
            chance.choice(("", "", *WAYS)),
            chance.random() < 0.3,
            chance.random() < 0.3,
            chance.random() < 0.5,
            chance.random() < 0.1,
            chance.random() < 0.5,
            tuple(chance.sample(sorted(UNREACHED), chance.choice((0, 0, 0, 1)))),
            chance.choice((0, 0, 254, 1000)),
            chance.choice((0, 0, chance.randrange(1, 1 << 32))),
        )


class Speaker:
    """Says in these forms what a scene sends on its stage."""

    def __init__(self, stage: Stage, forms: Forms) -> None:
        self._stage, self._forms = stage, forms
        about = {rule.partition("-")[0] for rule in stage.rules}
        moving = bool(about & MOVING) or any(map(_ends_the_broker, stage.rules))
        passable = not moving and all(map(stage.offers, WAYS.get(forms.way, ())))
        self._way = forms.way if passable else ""
        self.passed_over = 0 if about & NUMBERED else forms.channels
        added = (RICH, forms.rich), (RANKED, forms.ranked), (PERSISTENT, forms.persistent)
        self._properties = {name: value for some, there in added if there for name, value in some.items()}
        self._entrance = self._exit = ""
        """The exchange that is published to, and the one that queues are bound to."""
        self._led: set[str] = set()
        self._asides = Asides(stage, 0 if moving or about & NUMBERED else forms.asides)

    def prepare(self, idle: str) -> None:
        """Before the scene begins; `idle`: a queue that it does not know."""
        self._asides.prepare(idle)

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Of a classic queue: those that are given, and what is never reached and has nothing to do with them."""
        found = dict(given)
        for feature in self._forms.unreached:
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
        ours = channel.connection.target == self._stage.target
        for item in items if ours else ():
            yield from self._asides.before(channel, item)
            if isinstance(item, tuple):
                yield self._publish(*item)
            elif isinstance(item, Method):
                yield from self._method(channel, item)
            else:
                yield item
        if not ours:
            yield from items

    def _publish(self, method: m.BasicPublish, body: bytes, properties: Mapping[str, Any]) -> Item:
        if not method.exchange and method.routing_key in self._led:
            method = changed(method, exchange=self._entrance)
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
        say = _SAYINGS.get(type(method))
        yield from say(self, channel, method) if say else (method,)

    def _start(self, channel: Channel, method: m.BasicConsume) -> Iterator[Item]:
        quiet = self._forms.quiet and bool(method.consumer_tag) and not method.no_wait
        asks = self._stage.offers("nowait") and self._stage.offers("channel.flow")
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


class Asides:
    """What is asked between what a scene sends, on the same channel. None of it changes anything."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage, self._chance = stage, random.Random(seed) if seed else None
        self._declared: dict[str, m.QueueDeclare] = {}
        """How queues were declared that are there for as long as nobody deletes them."""
        self._idle = self._nowhere = ""

    def prepare(self, idle: str) -> None:
        """Declares what they need. Without it there are none."""
        if self._chance is not None:
            self._idle, self._nowhere = idle, self._stage.exchange()

    def before(self, channel: Channel, item: Item) -> Iterator[Item]:
        """What is asked before this; mostly nothing."""
        if isinstance(item, m.QueueDelete):
            self._declared.pop(item.queue, None)
        elif isinstance(item, m.QueueDeclare):
            self._remember(item)
        if self._chance is None or not self._nowhere or channel.state != "open" or self._chance.random() >= OFTEN:
            return
        if not isinstance(item, (bytes, m.ChannelClose, m.ChannelOpen)):
            yield self._chance.choice(self._possible(channel.number))

    def _remember(self, method: m.QueueDeclare) -> None:
        kept = not (method.exclusive or method.auto_delete or any(name == "x-expires" for name, *_ in method.arguments))
        if kept and method.queue and not method.passive:
            self._declared[method.queue] = method

    def _possible(self, number: int) -> list[Item]:
        found: list[Item] = [
            m.BasicGet(number, queue=self._idle, no_ack=True),
            (m.BasicPublish(number, exchange=self._nowhere, routing_key=""), b"", {"message_id": "nowhere"}),
        ]
        if self._stage.offers("channel.flow"):
            found.append(m.ChannelFlow(number, True))
        there = sorted(self._declared.keys() & self._stage.belongings.queues.keys())
        if there and self._chance is not None:
            again = self._declared[self._chance.choice(there)]
            found.append(changed(again, channel=number, no_wait=False))
            if self._stage.offers(PASSIVE):
                found.append(m.QueueDeclare(number, queue=again.queue, passive=True))
        return found


def changed(method: Any, **fields: Any) -> Any:
    """Another method of the kind, with these fields."""
    kept = {name: getattr(method, name) for name in method.FIELDS}
    return type(method)(fields.pop("channel", method.channel), **kept | fields)

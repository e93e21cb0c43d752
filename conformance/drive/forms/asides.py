"""What is asked between what a scene sends, on the same channel. None of it changes anything.

A queue is declared again as it is, or looked for. A queue that nobody uses is asked for a message. A message is
published that goes nowhere. The flow is asked for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from codec import methods as m
from conformance.catalogue.rules.features import GET, PASSIVE
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.forms.shape import changed
from conformance.drive.stage import Stage
from conformance.history.events import KILLED, RESTARTED

ENDS = KILLED, RESTARTED
"""Afterwards nothing more is asked: what is needed for it may be gone."""
OFTEN = 0.15
"""Of what a scene sends, before so much something is asked."""


class Asides:
    """Of one history."""

    def __init__(self, stage: Stage, seed: int) -> None:
        self._stage, self._chance = stage, random.Random(seed) if seed else None
        self._declared: dict[str, m.QueueDeclare] = {}
        """How queues were declared that are there for as long as nobody deletes them."""
        self._granted: set[str] = set()
        """Those of which the broker has said so."""
        self._read = 0
        self._idle = self._nowhere = ""

    def prepare(self, idle: str) -> None:
        """Declares what they need. Without it there are none."""
        if self._chance is not None:
            self._idle, self._nowhere = idle, self._stage.exchange()

    def stop(self) -> None:
        """Nothing more is asked: the scene is over, and what is there goes away."""
        self._chance = None

    def before(self, channel: Channel, item: Item) -> Iterator[Item]:
        """What is asked before this; mostly nothing."""
        if isinstance(item, m.QueueDelete):
            self._forget(item.queue)
        elif isinstance(item, m.QueueDeclare):
            self._remember(item)
        self._granted_by_now()
        if self._chance is None or not self._nowhere or channel.state != "open" or self._chance.random() >= OFTEN:
            return
        if not isinstance(item, (bytes, m.ChannelClose, m.ChannelOpen)):
            yield self._chance.choice(self._possible(channel.number))

    def _forget(self, queue: str) -> None:
        """It is not there from now on, until the broker grants it again."""
        self._granted_by_now().discard(queue)
        self._declared.pop(queue, None)

    def _remember(self, method: m.QueueDeclare) -> None:
        kept = not (method.exclusive or method.auto_delete or any(name == "x-expires" for name, *_ in method.arguments))
        if kept and method.queue and not method.passive:
            self._declared[method.queue] = method

    def _possible(self, number: int) -> list[Item]:
        found: list[Item] = [
            (m.BasicPublish(number, exchange=self._nowhere, routing_key=""), b"", {"message_id": "nowhere"}),
        ]
        if self._stage.offers(GET):
            found.insert(0, m.BasicGet(number, queue=self._idle, no_ack=True))
        if self._stage.offers("channel.flow"):
            found.append(m.ChannelFlow(number, True))
        there = sorted(self._granted_by_now() & self._declared.keys() & self._stage.belongings.queues.keys())
        if there and self._chance is not None:
            again = self._declared[self._chance.choice(there)]
            found.append(changed(again, channel=number, no_wait=False))
            if self._stage.offers(PASSIVE):
                found.append(m.QueueDeclare(number, queue=again.queue, passive=True))
        return found

    def _granted_by_now(self) -> set[str]:
        events = self._stage.events
        self._granted.update(
            one.queue for one in events[self._read :] if one.method == "queue.declare-ok" and one.queue
        )
        if any(one.kind in ENDS for one in events[self._read :]):
            self._nowhere = ""
        self._read = len(events)
        return self._granted

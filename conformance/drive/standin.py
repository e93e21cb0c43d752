"""What is done in another way where a broker cannot do what most histories need.

The text has every queue reached by its name, through the default exchange. Where a broker refuses such publishes, a
direct exchange is declared for each history, and each queue of the stage is bound to it with its name; what a scene
publishes to the default exchange goes there. The judge sees all of it, and knows it as any other exchange. Only the
scenes of the rules that are about the default exchange go on to ask for that. The questions before a run (`probing`)
do likewise.

Where all gets of a channel come from one queue, each channel asks only one. Only the scenes of the rules about such
gets ask several, and they too drain each queue on a channel that asks no other. What another scene would see of the
second queue would tell of that fault again, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from codec import methods as m
from conformance.catalogue.rules.features import GETS
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.waiting import NotOffered


def instead(items: Iterable[Item], exchange: str) -> Iterator[Item]:
    """These items, with publishes to the default exchange sent to this one."""
    for item in items:
        if isinstance(item, m.BasicPublish):
            yield _led(item, exchange)
        elif isinstance(item, tuple):
            yield (_led(item[0], exchange), *item[1:])
        else:
            yield item


def led(steps: Sequence[Item], exchange: str) -> Iterator[Item]:
    """These steps, with queues bound to this exchange by their names before what is published to them."""
    given = list(instead(steps, exchange))
    publishes = given != list(steps)
    for step in given:
        yield step
        if publishes and isinstance(step, m.QueueDeclare) and not step.passive:
            yield m.QueueBind(step.channel, queue=step.queue, exchange=exchange, routing_key=step.queue)


def _led(method: m.BasicPublish, exchange: str) -> m.BasicPublish:
    if method.exchange:
        return method
    other = copy(method)
    other.exchange = exchange
    return other


class OneQueue:
    """Which queue each channel asks. `words`: why it can be but one, empty: it may be any; `free`: the scene may try
    others all the same."""

    def __init__(self, words: str, *, free: bool) -> None:
        self._words, self._free = words, free
        self._asked: dict[tuple[str, int], str] = {}

    def turns(self, channel: Channel, queue: str) -> bool:
        """Has the channel asked another queue, and should not ask this one?"""
        return bool(self._words) and self._asked.get(_place(channel), queue) != queue

    def note(self, channel: Channel, items: Iterable[Item]) -> None:
        """This is sent. Raises NotOffered where it asks a second queue."""
        for item in items if self._words else ():
            if isinstance(item, m.ChannelOpen):
                self._asked.pop(_place(channel), None)
            elif isinstance(item, m.BasicGet) and self.turns(channel, item.queue) and not self._free:
                raise NotOffered(f"the broker does not offer {GETS}: {self._words}")
            elif isinstance(item, m.BasicGet):
                self._asked.setdefault(_place(channel), item.queue)


def _place(channel: Channel) -> tuple[str, int]:
    return channel.connection.name, channel.number

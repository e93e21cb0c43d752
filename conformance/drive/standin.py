"""What stands in for the default exchange of a broker that has none: an exchange of the suite's own.

The text has every queue reached by its name. Where a broker refuses such publishes, a direct exchange is declared for
each history, and each queue of the stage is bound to it with its name; what a scene publishes to the default exchange
goes there. The judge sees all of it, and knows it as any other exchange. Only the scenes of the rules that are about
the default exchange go on to ask for that. The questions before a run (`probing`) do likewise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from copy import copy

from codec import methods as m
from conformance.drive.drivers.raw import Item


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

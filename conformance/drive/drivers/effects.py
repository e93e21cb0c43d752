"""Does an argument mean anything to this broker? Asked of brokers that nobody knows, where they take the argument.

The text leaves it to the broker which arguments there are, and a broker may pass over those that it does not know. Then
it offers nothing, and what RabbitMQ's guides say of the argument is no claim about it. Each question makes something
that only the argument would prevent, or bring about, and by far: a broker that is wrong by one passes it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from codec import methods as m
from codec import values
from conformance.drive.drivers.raw import Item
from conformance.history.events import Event

SOON, PAUSE = 1.0, 0.1
"""Seconds within which what happens by itself must have happened, and between two looks."""
MANY = 4
TAKEN = "basic.get-ok"


class Asking(Protocol):
    """What a question needs: steps are sent one by one, each after the reply to the one before. `None`: all came;
    else what came instead. `taken`: the message that the last get has brought."""

    taken: Event | None

    def came(self, steps: Sequence[Item], wanted: str, within: float | None = None) -> str | None: ...

    def queue(self, arguments: Mapping[str, object] | None = None) -> m.QueueDeclare: ...

    def exchange(self, kind: str, arguments: Mapping[str, object] | None = None) -> m.ExchangeDeclare: ...


def passed_over(ask: Asking, feature: str) -> bool:
    """Is it certain that the argument has no effect?"""
    question = QUESTIONS.get(feature)
    return question is not None and question(ask)


def _publish(queue: str, **properties: object) -> Item:
    return m.BasicPublish(1, 0, "", queue), b"probe", properties


def _get(queue: str) -> m.BasicGet:
    return m.BasicGet(1, 0, queue, True)


def _unlimited(ask: Asking) -> bool:
    """Three come out, where there is room for one."""
    queue = ask.queue({"x-max-length": 1})
    return _comes(ask, (queue, *[_publish(queue.queue)] * MANY, *[_get(queue.queue)] * (MANY - 1)))


def _lasting(ask: Asking) -> bool:
    """Two come out that live for no time at all."""
    queue = ask.queue({"x-message-ttl": 0})
    return _comes(ask, (queue, *[_publish(queue.queue)] * 2, *[_get(queue.queue)] * 2))


def _comes(ask: Asking, steps: Sequence[Item]) -> bool:
    """Does the last get find a message?"""
    return ask.came(steps, TAKEN) is None and ask.taken is not None


def _finds_nothing(ask: Asking, steps: Sequence[Item]) -> bool:
    """Is the last get answered, and finds no message?"""
    return ask.came(steps, TAKEN) is None and ask.taken is None


def stays_empty(ask: Asking, queue: str) -> bool:
    """Is nothing in this queue soon? A get tells: not every broker looks whether a queue that it is to delete is
    empty."""
    time.sleep(SOON)
    return _finds_nothing(ask, (_get(queue),))


def _staying(ask: Asking) -> bool:
    """In a queue that lives for a millisecond without use a message is found soon. To look for the queue would not do:
    some brokers make one that they are only to look for."""
    queue = ask.queue({"x-expires": 1})
    if ask.came((queue, _publish(queue.queue)), "") is not None:
        return False
    time.sleep(SOON)
    return _comes(ask, (_get(queue.queue),))


def _buried(ask: Asking) -> bool:
    """What is rejected comes nowhere."""
    letters = ask.queue()
    queue = ask.queue({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": letters.queue})
    consume = m.BasicConsume(1, queue=queue.queue, consumer_tag="probe", no_wait=True)
    steps = (letters, queue, _publish(queue.queue), consume, m.BasicReject(1, 1, False), _get(letters.queue))
    return _finds_nothing(ask, steps) and stays_empty(ask, letters.queue)


def _unranked(ask: Asking) -> bool:
    """The first that was published comes first, although the second is more urgent."""
    queue, urgent = ask.queue({"x-max-priority": 3}), ask.exchange("fanout")
    bind = m.QueueBind(1, queue=queue.queue, exchange=urgent.exchange)
    first = _publish(queue.queue, priority=1)
    second: Item = (m.BasicPublish(1, 0, urgent.exchange, ""), b"probe", {"priority": 3})
    steps = (queue, urgent, bind, first, second, _get(queue.queue))
    return _comes(ask, steps) and ask.taken is not None and ask.taken.exchange != urgent.exchange


def _shared(ask: Asking) -> bool:
    """Two consumers with room for one message each get one each. Each has a channel of its own: to a broker that counts
    all that a channel holds, the second would have no room on that of the first. Of whoever knows no such limit nobody
    can tell, so nothing is promised."""
    if ask.came((m.BasicQos(1, 0, 1, False),), "basic.qos-ok") is not None:
        return True
    queue, limit = ask.queue({"x-single-active-consumer": True}), m.BasicQos(2, 0, 1, False)
    one, other = (
        m.BasicConsume(number, queue=queue.queue, consumer_tag=f"c{number}", no_wait=True) for number in (1, 2)
    )
    first: tuple[Item, ...] = (queue, m.BasicQos(1, 0, 1, False), _publish(queue.queue), one)
    steps = (*first, m.ChannelOpen(2), limit, _publish(queue.queue), other)
    return ask.came(steps, "basic.deliver", SOON) is None


def _unmatched(ask: Asking) -> bool:
    """A message without the one header of the binding comes, or it matters as little which form a binding has as
    whether anybody knows that form."""
    known = _matched(ask, "all-with-x")
    return known[1] is True or known == _matched(ask, "amqpconf-no-such-form")


def _matched(ask: Asking, form: str) -> tuple[bool | None, bool | None]:
    """Does a message come with the one header of a binding, and one without it? That has another, as some look at no
    others. None: that is not to be had."""
    return _led(ask, form, {"x-probe": "1"}), _led(ask, form, {"other": "1"})


def _led(ask: Asking, form: str, carried: Mapping[str, object]) -> bool | None:
    queue, headers = ask.queue(), ask.exchange("headers")
    table = values.table({"x-match": form, "x-probe": "1"})
    bind = m.QueueBind(1, queue=queue.queue, exchange=headers.exchange, arguments=table)
    publish: Item = (m.BasicPublish(1, 0, headers.exchange, ""), b"probe", {"headers": values.table(carried)})
    steps = (queue, headers, bind, publish, _get(queue.queue))
    if ask.came(steps, TAKEN) is not None:
        return None
    return ask.taken is not None or not stays_empty(ask, queue.queue)


def _lost(ask: Asking) -> bool:
    """What finds no way comes nowhere."""
    queue, other = ask.queue(), ask.exchange("fanout")
    first = ask.exchange("fanout", {"alternate-exchange": other.exchange})
    bind = m.QueueBind(1, queue=queue.queue, exchange=other.exchange)
    publish: Item = (m.BasicPublish(1, 0, first.exchange, ""), b"probe", {})
    return _finds_nothing(ask, (queue, other, first, bind, publish, _get(queue.queue))) and stays_empty(
        ask, queue.queue
    )


def _of_anybody(ask: Asking) -> bool:
    """It takes consumers of a queue that nobody has declared, too."""
    consume = m.BasicConsume(1, queue=ask.queue().queue, consumer_tag="probe", no_ack=True)
    return ask.came((consume,), "basic.consume-ok") is None


QUESTIONS: Mapping[str, Callable[[Asking], bool]] = {
    "x-max-length": _unlimited,
    "x-overflow": _unlimited,
    "x-message-ttl": _lasting,
    "x-expires": _staying,
    "x-dead-letter-exchange": _buried,
    "x-max-priority": _unranked,
    "x-single-active-consumer": _shared,
    "alternate-exchange": _lost,
    "x-match all-with-x": _unmatched,
    "direct reply-to": _of_anybody,
}
"""By feature: whether it is certainly passed over."""

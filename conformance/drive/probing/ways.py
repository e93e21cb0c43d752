"""The first questions: in which way can a queue be declared, filled and emptied at all?

As durable, or where that is refused, as transient; by a get, or where there are none, by a consumer; through the
default exchange, or where that leads nowhere, through one of the suite's own. All other questions use what works.
"""

from __future__ import annotations

from codec import methods as m
from conformance.catalogue.rules.features import DEFAULT, DELETE, DURABLE, GET
from conformance.drive.drivers import effects
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.raw import Item
from conformance.drive.probing.questioned import LOST, OFFERED, REFUSED, SILENT, WRONG, Answer, Questioned

ACCESS_REFUSED = 403


def find_a_way(broker: Questioned) -> list[Answer]:
    """What was found out about these ways. Raises Unreachable where there is none."""
    first = _used(broker)
    if first.state == OFFERED:
        return [Answer(DURABLE, OFFERED), Answer(GET, OFFERED), _deletes(broker)]
    declared = _declared(broker)
    if declared.state != OFFERED:
        broker.durable = False
        if _declared(broker).state != OFFERED:
            raise _unusable(broker, first)
        first = _used(broker)
    durable = Answer(DURABLE, declared.state, declared.words)
    ways = [Answer(GET, OFFERED)] if first.state == OFFERED else _other_ways(broker, first)
    return [durable, *ways, _deletes(broker)]


def _other_ways(broker: Questioned, first: Answer) -> list[Answer]:
    """Queues can be declared; `first` is what came of filling and emptying one."""
    queue = broker.queue()
    got = broker.ask(GET, (queue, m.BasicGet(1, 0, queue.queue, True)), effects.TAKEN)
    broker.gets = got.state == OFFERED
    if not broker.gets and _consumed(broker):
        return [got]
    if first.state in (REFUSED, WRONG, LOST) and _stands_in(broker):
        return [got, Answer(DEFAULT, first.state, first.words)]
    if first.state != SILENT:
        raise _unusable(broker, first)
    return [got]


def _consumed(broker: Questioned) -> bool:
    """Can a queue be emptied by a consumer, which is cancelled then, or where that does not work, stays?"""
    broker.cancels = True
    if _used(broker).state == OFFERED:
        return True
    broker.cancels = False
    return _used(broker).state == OFFERED


def _stands_in(broker: Questioned) -> bool:
    """Does an exchange of our own lead to queues, where the default exchange does not?"""
    made = broker.exchange("direct")
    broker.instead = made.exchange
    declared = broker.ask("exchange.declare", (made,))
    if declared.state == OFFERED and (_used(broker).state == OFFERED if broker.gets else _consumed(broker)):
        return True
    broker.instead = ""
    return False


def _used(broker: Questioned) -> Answer:
    queue = broker.queue()
    publish: Item = (m.BasicPublish(1, 0, "", queue.queue), b"probe", {})
    return broker.ask("queue.declare", (queue, publish, m.BasicGet(1, 0, queue.queue, True)), effects.TAKEN)


def _declared(broker: Questioned) -> Answer:
    return broker.ask("queue.declare", (broker.queue(),))


def _deletes(broker: Questioned) -> Answer:
    queue = broker.queue()
    answer = broker.ask(DELETE, (queue, m.QueueDelete(1, 0, queue.queue)))
    broker.deletes = answer.state == OFFERED
    return answer


def is_denied(answer: Answer) -> bool:
    """Is it refused as who has not the right is?"""
    return answer.state == REFUSED and f" {ACCESS_REFUSED} " in answer.words


def _unusable(broker: Questioned, first: Answer) -> Unreachable:
    (layer, advice), target = _advice(broker, first), broker.target
    return Unreachable(
        layer,
        (
            f"{target.address} lets the user {target.user!r} in, but a queue cannot be declared, filled and "
            f"emptied: {first.words}. {advice}"
        ),
    )


def _advice(broker: Questioned, answer: Answer) -> tuple[str, str]:
    """The layer that fails where every history must begin, and what to do: only who refuses access speaks of rights.
    Raises Unreachable where nobody listens any more."""
    if is_denied(answer):
        return "rights", (
            "The user needs the rights to configure, write and read queues named amqpconf.*; amqp-conformance "
            "doctor URL tells more."
        )
    if answer.state == SILENT:
        return "queues", "Check whether the broker hangs, is overloaded, or is blocked by an alarm."
    if answer.state == LOST:
        broker.ask("queue.declare", (m.ChannelOpen(2),))
    return "queues", "Every check needs that. See the broker's log for the reason."

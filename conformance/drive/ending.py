"""How a history ends: everything settled, every queue drained and deleted, every connection closed.

The drain is half of what a history proves. The suite waits for each message that must still be in a queue, and sees
each message that should not be there. Only when no expected message has come for a whole deadline is a DEADLINE event
written.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from codec import methods as m
from conformance.catalogue.rules.features import GET
from conformance.drive.channel import Channel
from conformance.drive.standin import looks
from conformance.drive.waiting import Hurry, SceneOver
from conformance.history.events import TO_CLIENT, Event

if TYPE_CHECKING:
    from conformance.drive.stage import Stage

SURPLUS = 1000
"""At most this many messages are taken from a queue that should be empty."""


def drain(stage: Stage, queue: str, *, give_back: bool = False) -> None:
    """Ends whatever holds messages, then takes from the queue all that must still be there, and what is there.

    With `give_back` the channels first return what they hold by a negative acknowledgement, and a get, if there are
    gets, proves that it arrived; else closing them returns it.
    """
    with contextlib.suppress(SceneOver):
        _withdraw(stage, queue, give_back=give_back)
        _take(stage, stage.backstage(queue), queue)


def finish(stage: Stage, *, give_back: bool = False) -> None:
    """Brings the history to its end, in good order."""
    stage.quiesce()
    for queue in list(stage.belongings.queues):
        drain(stage, queue, give_back=give_back)
    _leave(stage, _bereft(stage.events))
    _delete(stage)
    _leave(stage, set(stage.connections))


def _leave(stage: Stage, names: Collection[str]) -> None:
    """Closes these connections."""
    links = [link for name, link in stage.connections.items() if name in names]
    for link in links:
        if link.alive:
            link.send(m.ConnectionClose(0, 200, "normal shutdown", 0, 0))

    def ended() -> bool:
        return not any(link.alive for link in links)

    if not stage.waiter.settles(ended):
        stage.waiter.comes_late("replies", ended)


def _bereft(history: Iterable[Event]) -> set[str]:
    """Connections on which the broker has closed a channel with consumers. One that keeps these should let go of them
    now: to take a queue from them is another matter, of which brokers have been known to break down."""
    consuming, bereft = set[tuple[str, int]](), set[str]()
    for event in history:
        if event.method == "basic.consume":
            consuming.add((event.connection, event.channel))
        elif event.method == "channel.close" and (event.connection, event.channel) in consuming:
            if event.direction == TO_CLIENT:
                bereft.add(event.connection)
            consuming.discard((event.connection, event.channel))
    return bereft


def _withdraw(stage: Stage, queue: str, *, give_back: bool) -> None:
    """Cancels all consumers and closes all channels, so that what they hold goes back."""
    used = stage.used()
    for channel in _open(used) if stage.cancels else ():
        for tag, consumer in list(channel.view.consumers.items() if channel.view else ()):
            if consumer.state == "live" and consumer.named:
                channel.cancel(tag)
    stage.quiesce()
    for channel in _open(used) if give_back else ():
        if channel.unacked and channel.view and not channel.view.in_flight_possible():
            channel.nack(0, multiple=True)
            if stage.offers(GET):
                channel.get(queue, no_ack=True)
    stage.quiesce()
    for channel in _open(used):
        channel.close()
    stage.quiesce()


def _take(stage: Stage, channel: Channel, queue: str) -> None:
    """Looks until every message that must be there has been seen, and the queue is empty.

    Gets are sent one at a time: of those that are under way together, each may hold what the others would explain. The
    last look is taken when the time is over: this process may have slept since the one before.
    """
    wanted, surplus, hurry = stage.judge.missing(queue), 0, Hurry(stage.waiter)
    looking = looks(stage, channel, queue)
    while channel.state == "open" and surplus < SURPLUS:
        late, came = hurry.over, looking.look()
        left = stage.judge.missing(queue)
        surplus += came and left >= wanted
        if left < wanted:
            hurry.again()
        elif left and late and not hurry.longer():
            looking.end()
            if stage.judge.missing(queue):
                stage.waiter.give_up("drain", hurry.waited, queue=queue)
            return
        elif not came and not left:
            break
        elif not came:
            hurry.wait()
        wanted = left
    looking.end()


def _delete(stage: Stage) -> None:
    with contextlib.suppress(SceneOver):
        for exchange in list(stage.belongings.exchanges):
            stage.backstage().delete_exchange(exchange)
        for queue in list(stage.belongings.queues):
            stage.backstage(queue).delete(queue)
        stage.quiesce()


def _open(channels: Sequence[Channel]) -> Iterator[Channel]:
    return (channel for channel in channels if channel.connection.alive and channel.state == "open")

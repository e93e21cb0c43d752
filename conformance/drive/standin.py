"""What is done in another way where a broker cannot do what most histories need.

The text has every queue reached by its name, through the default exchange. Where a broker refuses such publishes, a
direct exchange is declared for each history, and each queue of the stage is bound to it with its name; what a scene
publishes to the default exchange goes there. The judge sees all of it, and knows it as any other exchange. Only the
scenes of the rules that are about the default exchange go on to ask for that. The questions before a run (`probing`)
do likewise.

Where all gets of a channel come from one queue, each channel asks only one. Only the scenes of the rules about such
gets ask several, and they too drain each queue on a channel that asks no other. What another scene would see of the
second queue would tell of that fault again, and of nothing else.

Where there are no gets, a consumer takes messages instead (`Takers`). Only the scenes of the rules about gets ask for
one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import copy
from dataclasses import dataclass, field
from typing import Protocol

from codec import methods as m
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.features import GET, GETS
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.guard import Guard
from conformance.drive.waiting import DRAIN, NotOffered, SceneOver, Waiter
from conformance.history.events import TO_BROKER, TO_CLIENT, Event
from conformance.oracle.model.views import ChannelView
from conformance.oracle.monitors import Judge


class Taking(Protocol):
    """What taking messages needs of a stage."""

    events: list[Event]
    judge: Judge
    waiter: Waiter
    guard: Guard
    profile: Profile
    deadline: float

    def offers(self, feature: str) -> bool: ...

    def require(self, *features: str) -> None: ...

    def shows_little(self, *features: str) -> None: ...

    def batch(self) -> AbstractContextManager[None]: ...

    def quiesce(self) -> bool: ...

    def barrier(self, channel: Channel) -> None: ...

    def get(self, channel: Channel, queue: str, *, no_ack: bool = False) -> int | None: ...


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


@dataclass
class _Taken:
    """What came to one life of a channel beyond what was asked for."""

    life: ChannelView | None
    tags: list[int] = field(default_factory=list)


class Takers:
    """Consumers that take what gets would, one at a time, of one history.

    A get takes one message. So the consumer has a limit, where there are limits, and is cancelled when what was asked
    for is there, or nothing more is owed. What comes beyond that is held by the channel, and handed out first.
    """

    def __init__(self, stage: Taking) -> None:
        self._stage = stage
        self._beyond: dict[tuple[str, int, str, bool], _Taken] = {}

    def take(self, channel: Channel, queue: str, n: int, *, no_ack: bool) -> list[int]:
        """The tags of n messages, or of as many as come. Raises NotOffered where consumers cannot be cancelled, who
        would go on taking."""
        if not self._stage.offers("basic.cancel"):
            self._stage.require(GET, "basic.cancel")
        self._stage.shows_little(GET)
        key = *_place(channel), queue, no_ack
        held = self._beyond.get(key)
        if held is None or held.life is not channel.view:
            held = self._beyond[key] = _Taken(channel.view)
        tags = [tag for tag in held.tags if no_ack or tag in channel.unacked]
        if len(tags) < n:
            tags += self._consumed(channel, queue, n - len(tags), no_ack)
        if len(tags) < n and channel.state == "open" and channel.unacked and not no_ack:  # do these count as well?
            tags += self._consumed(channel, queue, n - len(tags) + len(channel.unacked), no_ack)
        held.tags = tags[n:]
        return tags[:n]

    def _consumed(self, channel: Channel, queue: str, n: int, no_ack: bool) -> list[int]:
        """What came to a consumer, with this limit if the scene has set none, until n are there."""
        stage, seen = self._stage, len(self._stage.events)
        limited = not no_ack and stage.offers("basic.qos") and not self._limits(channel)
        with stage.batch():
            if limited:
                channel.qos(n)
            tag = channel.consume(queue, no_ack)

        def over() -> bool:
            return channel.state != "open" or len(delivered(stage, channel, tag, seen)) >= n or not stage.judge.owed()

        if not stage.waiter.settles(over, stage.guard.patience.allow(DRAIN, stage.deadline)):
            stage.guard.patience.in_vain(DRAIN)
        vain = stage.waiter.vain
        if channel.state == "open":
            with stage.batch():
                channel.cancel(tag)
                if limited:
                    channel.qos(0)
        stage.quiesce()
        stage.waiter.vain = max(vain, stage.waiter.vain)
        return delivered(stage, channel, tag, seen)

    def _limits(self, channel: Channel) -> bool:
        """Has the scene set a limit on this channel, which is to stay?"""
        for event in reversed(self._stage.events):
            if event.direction == TO_BROKER and (event.connection, event.channel) == _place(channel):
                if event.method == "channel.open":
                    return False
                if event.method == "basic.qos":
                    return bool(event.args.get("prefetch_count"))
        return False


def delivered(stage: Taking, channel: Channel, tag: str, since: int) -> list[int]:
    """The delivery tags of what has come to this consumer since then."""
    key = (TO_CLIENT, *_place(channel), "basic.deliver", tag)
    return [
        event.delivery_tag
        for event in stage.events[since:]
        if (event.direction, event.connection, event.channel, event.method, event.consumer_tag) == key
        and event.delivery_tag is not None
    ]


class GetLooks:
    """Looks into a queue that is drained, by gets."""

    def __init__(self, stage: Taking, channel: Channel, queue: str) -> None:
        self._stage, self._channel, self._queue = stage, channel, queue

    def look(self) -> bool:
        """Has anything come?"""
        return self._stage.get(self._channel, self._queue, no_ack=True) is not None

    def end(self) -> None:
        """Nobody looks any more."""


class ConsumerLooks:
    """The same by one consumer that stays for as long as it is looked. Where none can be cancelled, its channel is
    closed. While something must come there is time for it; else a round trip shows what else there is."""

    def __init__(self, stage: Taking, channel: Channel, queue: str) -> None:
        self._stage, self._channel, self._queue = stage, channel, queue
        self._since, self._seen = len(stage.events), 0
        self._tag = channel.consume(queue, no_ack=True)
        stage.waiter.settles(self._started)

    def _started(self) -> bool:
        """Is it answered, or refused?"""
        view = self._channel.view
        consumer = view.consumers.get(self._tag) if view is not None else None
        return self._channel.state != "open" or consumer is None or consumer.state != "starting"

    def look(self) -> bool:
        stage = self._stage
        if stage.judge.missing(self._queue):
            stage.waiter.pump()
        elif self._channel.state == "open":
            stage.barrier(self._channel)
        came = len(delivered(stage, self._channel, self._tag, self._since))
        self._seen, before = came, self._seen
        return came > before

    def end(self) -> None:
        channel, stage = self._channel, self._stage
        if channel.state == "open" and channel.connection.alive:
            with contextlib.suppress(SceneOver):
                channel.cancel(self._tag) if stage.offers("basic.cancel") else channel.close()
        stage.quiesce()


def looks(stage: Taking, channel: Channel, queue: str) -> GetLooks | ConsumerLooks:
    """By gets, where there are gets that work."""
    return (GetLooks if stage.profile.has(GET) else ConsumerLooks)(stage, channel, queue)

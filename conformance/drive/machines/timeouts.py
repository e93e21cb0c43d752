"""The timeouts machine: deliveries that stay out for too long, and everything that may happen to them then.

Consumers with and without a timeout of their own, under changing policies and settings, on a queue with a timeout and
one without. Time passes in steps, so deliveries begin at different times and time out one after the other. What is
late is settled, returned, cancelled, agreed to, or left to its channel. There are two machines: one with a client that
can be notified, and one with a client that cannot. One machine with both would show less, because the client reads in
any order what several connections are sent at one moment.

The machines run only if the broker's clock is ours; elsewhere each history would take minutes. On real brokers the
directed checks do this work, with many clocks side by side.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, cast

from hypothesis import strategies as st

from codec import methods as m
from conformance.catalogue.profiles import Profile
from conformance.drive.around import SECOND, elapse, expire
from conformance.drive.channel import Channel
from conformance.drive.machines.alphabet import Barrier, Get, Publish, Reopen, Settle
from conformance.drive.machines.search import Machine
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.world import CONSUMERS, World
from conformance.drive.stage import Stage
from conformance.history.events import TO_CLIENT, Event
from conformance.oracle.model.consumers.clocks import ARGUMENT, MS

OF_THE_QUEUE = 1500
"""Milliseconds: the timeout of the second queue."""
TIMEOUTS = (400, 1000, 2500, None, None)
"""Not 0, because then nothing could happen between a delivery and its return."""
NOTICE = "consumer_cancel_notify"
TIMED = "timed out"


class Clockwork(World):
    """A client that can be notified; which tags are free again."""

    capabilities: ClassVar[Mapping[str, object]] = {NOTICE: True}

    def __init__(self, stage: Stage, shape: Shape) -> None:
        stage.connect("c1", self.capabilities)
        super().__init__(stage, shape)
        self._queues[-1] = stage.queue({ARGUMENT: OF_THE_QUEUE})
        self._free: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        stage.recorder.subscribe(self._watch)

    def running(self, channel: Channel) -> list[tuple[str, str]]:
        """Tags and states of the consumers that have been confirmed, those that have timed out among them."""
        view = channel.view
        found = view.consumers.items() if view else ()
        return [(tag, consumer.state) for tag, consumer in found if consumer.state in ("live", TIMED)]

    def tag(self, channel: Channel) -> str | None:
        """One that was used before and is free, where there is one."""
        free, taken = self._free[_at(channel)], channel.view.consumers if channel.view else {}
        return next((tag for tag in free if tag not in taken), None)

    def _reconnect(self) -> None:
        connection = self.stage.connect(f"c{len(self.stage.connections) + 1}", self.capabilities)
        self.channels = [self.stage.channel(connection=connection) for _ in self.channels]

    def _watch(self, event: Event) -> None:
        at = event.connection, event.channel
        if event.direction == TO_CLIENT and event.method == "basic.cancel-ok" and event.consumer_tag:
            self._free[at].append(event.consumer_tag)
        elif event.method == "channel.open":
            self._free.pop(at, None)


class DeafClockwork(Clockwork):
    """A client that cannot."""

    capabilities: ClassVar[Mapping[str, object]] = {}


def _at(channel: Channel) -> tuple[str, int]:
    return channel.connection.name, channel.number


@dataclass(frozen=True, slots=True)
class Start:
    """Starts a consumer with a limit and perhaps a timeout; perhaps with a tag that is free again."""

    channel: int
    queue: int
    timeout: int | None
    limit: int
    again: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if world.consumers(channel) < CONSUMERS:
            channel.qos(world.slots(self.limit))
            arguments = {} if self.timeout is None else {ARGUMENT: self.timeout}
            tag = cast(Clockwork, world).tag(channel) if self.again else None
            channel.consume(world.queue(self.queue), tag=tag, arguments=arguments)


@dataclass(frozen=True, slots=True)
class Stop:
    """Cancels a consumer, or agrees to the notification that it has timed out."""

    channel: int
    index: int
    agrees: bool

    def perform(self, world: World) -> None:
        clockwork = cast(Clockwork, world)
        channel = clockwork.first(self.channel, clockwork.running)
        if channel:
            running = clockwork.running(channel)
            tag, state = running[self.index % len(running)]
            if self.agrees and state == TIMED:
                channel.send(m.BasicCancelOk(channel.number, tag))
            else:
                channel.cancel(tag)


@dataclass(frozen=True, slots=True)
class Elapse:
    """Time passes, once the broker has read what was said before."""

    milliseconds: int

    def perform(self, world: World) -> None:
        stage = world.stage
        stage.rounds()
        until = stage.recorder.now() + self.milliseconds * MS
        expire(stage, self.milliseconds / 1000)
        elapse(stage, max(0, until - stage.recorder.now()) / SECOND)
        stage.rounds()


@dataclass(frozen=True, slots=True)
class Rule:
    """A policy for a queue, or none any more."""

    queue: int
    timeout: int | None

    def perform(self, world: World) -> None:
        world.stage.rounds()
        world.stage.around.policy(world.stage, world.queue(self.queue), self.timeout)


@dataclass(frozen=True, slots=True)
class Configure:
    """The broker's own timeout, or its default."""

    timeout: int | None

    def perform(self, world: World) -> None:
        world.stage.rounds()
        world.stage.around.setting(world.stage, self.timeout)


_channel, _queue = st.integers(0, 2), st.sampled_from((0, 0, 1))
_how = st.sampled_from(("ack", "ack", "nack", "reject"))
_rarely = st.sampled_from((False, False, False, True))


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(5, Publish, _channel, _queue, st.integers(1, 3)),
        weighted(6, Start, _channel, _queue, st.sampled_from(TIMEOUTS), st.integers(1, 3), st.booleans()),
        weighted(7, Elapse, st.sampled_from((300, 600, 1200, 3000))),
        weighted(6, Settle, _channel, _how, st.integers(0, 4), _rarely, st.booleans()),
        weighted(3, Stop, _channel, st.integers(0, 1), st.booleans()),
        weighted(2, Get, _channel, _queue, st.just(1), _rarely),
        weighted(1, Rule, _queue, st.sampled_from((500, 2000, None))),
        weighted(1, Configure, st.sampled_from((800, 4000, None))),
        weighted(1, Reopen, _channel, st.booleans()),
        weighted(1, Barrier, _channel),
    )


TIMED_OUT = (
    Machine("timeouts", commands, (2,), Clockwork, wide=(1,), clock=True, times=3.0),
    Machine("timeouts-unheard", commands, (2,), DeafClockwork, wide=(1,), clock=True, times=3.0),
)

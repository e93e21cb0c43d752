"""The confirms machine: random histories of publishing in and out of confirm mode and of transactions.

Publishes go to queues, to several of them by one exchange, to a queue that rejects what it has no room for, and
nowhere; empty, small and large, persistent and not, mandatory and not. Consumers, gets and settlements run beside
them, modes are entered again and mixed up, channels end and begin again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from hypothesis import strategies as st

from conformance.catalogue.profiles import Profile
from conformance.drive.channel import Channel
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import Barrier, Cancel, Consume, Get, Recover, Reopen, Settle, SettleAll
from conformance.drive.machines.shape import APART
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.topology import Garble, amid
from conformance.drive.machines.world import World

Address = Literal["queue", "all", "mixed", "full", "nowhere", "other key", "gone", "alternate", "onward"]
Body = Literal["small", "empty", "large"]
ROOM = 2
LARGE = 150_000
"""More octets than one frame holds."""


@dataclass(frozen=True, slots=True)
class Send:
    """Publishes some messages in one write."""

    channel: int
    address: Address
    queue: int
    count: int
    mandatory: bool
    persistent: bool
    body: Body

    def perform(self, world: World) -> None:
        exchange, key = address(world, self.address, self.queue)
        body = {"small": None, "empty": b"", "large": bytes(LARGE)}[self.body]
        count = 1 if self.body == "large" else world.many(self.count)
        world.channel(self.channel).publish(
            key,
            count,
            self.mandatory,
            self.persistent,
            exchange=exchange,
            body=body,
        )


def address(world: World, where: Address, queue: int) -> tuple[str, str]:
    """Exchange and routing key that lead there."""
    stage = world.stage
    if where == "queue":
        return "", world.queue(queue)
    if where == "full":
        return "", full(world)
    if where == "all":
        return world.prop("all", lambda: stage.exchange(*world.queues)), ""
    if where == "mixed":
        rejecting = full(world)
        return world.prop("mixed", lambda: stage.exchange(rejecting, world.queue(0))), ""
    if where in ("alternate", "onward"):
        return _over(world, where), "any"
    if where == "other key":
        return world.prop("other key", lambda: stage.exchange(world.queue(0), kind="direct", key="key")), "other"
    name = world.prop(where, stage.exchange)
    if where == "gone":
        world.prop("gone indeed", partial(remove, world, name))
    return name, "any"


def _over(world: World, how: Address) -> str:
    """An exchange that leads to that of all queues: as its alternate, or by a binding."""
    stage, last = world.stage, address(world, "all", 0)[0]
    if how == "alternate" and stage.offers("alternate-exchange"):
        return world.prop(how, lambda: stage.exchange(kind="direct", arguments={"alternate-exchange": last}))
    if how == "onward" and stage.offers("exchange.bind"):
        return world.prop(how, lambda: _bound(world, last))
    return last


def _bound(world: World, last: str) -> str:
    name = world.stage.exchange()
    world.stage.bind_exchange(last, name)
    return name


def full(world: World) -> str:
    """A classic queue that rejects what it has no room for."""
    typed = {"x-queue-type": "classic"} if world.stage.profile.typed else {}
    arguments = {**typed, "x-max-length": ROOM, "x-overflow": "reject-publish"}
    return world.prop("full", lambda: world.stage.queue(arguments))


def remove(world: World, exchange: str) -> str:
    channel = world.channel(0)
    channel.delete_exchange(exchange)
    world.stage.quiesce()
    return exchange


@dataclass(frozen=True, slots=True)
class Select:
    """Confirm mode, or once more."""

    channel: int
    no_wait: bool

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if not transactional(channel):
            channel.confirm(self.no_wait)


@dataclass(frozen=True, slots=True)
class SelectAndSend:
    """A new life of the channel whose first words are confirm mode and publishes, in one write."""

    channel: int
    queue: int
    count: int
    no_wait: bool

    def perform(self, world: World) -> None:
        world.channel(self.channel).close()
        world.stage.quiesce()
        channel, queue = world.channel(self.channel), world.queue(self.queue)
        with world.stage.batch():
            channel.confirm(self.no_wait)
            channel.publish(queue, world.many(self.count))


@dataclass(frozen=True, slots=True)
class Mix:
    """The mode that excludes the channel's own: the broker closes it."""

    channel: int

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if transactional(channel):
            channel.confirm()
        elif channel.view is not None and channel.view.confirm:
            channel.tx_select()


@dataclass(frozen=True, slots=True)
class Begin:
    """A transactional channel, where it is not in confirm mode."""

    channel: int

    def perform(self, world: World) -> None:
        channel = world.channel(self.channel)
        if channel.view is not None and not channel.view.confirm:
            channel.tx_select()


@dataclass(frozen=True, slots=True)
class End:
    """The end of a transaction, on the first channel from this one on that is in one; or, wrongly, that is in none."""

    channel: int
    commit: bool
    wrong: bool

    def perform(self, world: World) -> None:
        channel = world.first(self.channel, lambda channel: transactional(channel) is not self.wrong)
        if channel:
            channel.tx_commit() if self.commit else channel.tx_rollback()
            world.stage.quiesce()  # RabbitMQ ends the connection over what comes before commit-ok


def transactional(channel: Channel) -> bool:
    view = channel.view
    return view is not None and view.transactional


@dataclass(frozen=True, slots=True)
class Purge:
    """Empties a queue, whatever is on its way into it."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        world.channel(self.channel).purge(world.queue(self.queue))


_channel = st.integers(0, 2)
_queue = st.integers(0, 1)
_rarely = st.sampled_from((False, False, False, False, True))
_how = st.sampled_from(("ack", "nack", "reject"))
_address = st.sampled_from(
    (
        "queue",
        "queue",
        "queue",
        "queue",
        "all",
        "all",
        "all",
        "mixed",
        "full",
        "full",
        "nowhere",
        "nowhere",
        "other key",
        "alternate",
        "onward",
    )
)
_body = st.sampled_from(("small",) * 8 + ("empty", "empty", "large"))
_count = st.integers(1, 4)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(9, Send, _channel, _address, _queue, _count, st.booleans(), st.booleans(), _body),
        weighted(1, Send, _channel, st.just("gone"), _queue, st.just(1), st.booleans(), st.booleans(), _body),
        weighted(2, Select, _channel, st.booleans()),
        weighted(1, SelectAndSend, _channel, _queue, _count, st.booleans()),
        weighted(1, Mix, _channel),
        weighted(2, Begin, st.sampled_from((1, 2, 2))),
        weighted(3, End, _channel, st.booleans(), _rarely),
        weighted(2, Get, _channel, _queue, st.integers(1, 2), _rarely),
        weighted(2, Consume, _channel, _queue, st.integers(0, 3) | st.none(), _rarely),
        weighted(4, Settle, _channel, _how, st.integers(0, 5), st.booleans(), st.booleans()),
        weighted(1, SettleAll, _channel, _how, st.booleans()),
        weighted(1, Cancel, _channel, st.integers(0, 1)),
        weighted(1, Recover, _channel),
        weighted(1, Purge, _channel, _queue),
        weighted(2, Reopen, _channel, st.booleans()),
        weighted(1, Barrier, _channel),
        weighted(1, Garble, _channel, _queue, st.integers(0, 2)),
        *amid(_channel, _queue),
    )


CONFIRMS = search.Machine("confirms", commands, apart=APART)

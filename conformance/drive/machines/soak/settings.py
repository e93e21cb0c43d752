"""Courses about what no frame carries: policies, rights and virtual hosts that change, and time that passes. They are
played where the broker's clock is ours: elsewhere a round would take seconds.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial

from codec import methods as m
from conformance.drive.around import EVERYTHING, expire, wait
from conformance.drive.channel import Channel
from conformance.drive.machines.soak import AT_ONCE, FEW, Course, Lap, publisher, renew, take, take_one_by_one
from conformance.drive.stage import NotOffered, Stage
from conformance.oracle.model.consumers.clocks import ARGUMENT

SECONDS = 1.1
"""After so many all that was to happen within a second has happened."""
FEWER = 0.25
"""The share of rounds that settings get: each is a few requests to the management API."""


def set_policies(stage: Stage) -> Lap:
    """A queue gets a length by policy, another one, and none."""
    _own_clock(stage)
    _management(stage)
    channel, queue = publisher(stage), stage.queue()
    around, name = stage.around, stage.recorder.private_name()

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            if number % 3:
                around.rule(stage, name, f"^{queue}$", {"max-length": number % 3}, priority=number % 2)
            elif number:
                around.unrule(stage, name)
            wait(stage, SECONDS)
            channel.publish(queue, 3)
            yield
            yield from take_one_by_one(channel, queue, 4)

    return lap


def change_rights(stage: Stage) -> Lap:
    """A user may read, and may not, in turn; and so it is with writing. Whoever connects is held to that."""
    _own_clock(stage)
    _management(stage)
    queue, user, names = stage.queue(), stage.around.user(stage), map("user {}".format, itertools.count(2))

    def lap(rounds: int) -> Iterator[None]:
        for number in range(rounds):
            denied = {"read": "^$"} if number % 4 == 0 else {"write": "^$"} if number % 4 == 2 else {}
            stage.around.permit(stage, user[0], {**EVERYTHING, **denied})
            connection = stage.connect(next(names), login=user)
            reader, writer = stage.channels(2, connection)
            yield
            writer.publish("key", exchange="amq.direct")
            reader.get(queue, no_ack=True)
            yield
            connection.queue(m.ConnectionClose(0, 200, "normal shutdown"))
            yield
            del stage.connections[connection.name]

    return lap


def make_virtual_hosts(stage: Stage) -> Lap:
    """Each has a queue of the same name, and is deleted while a client is in it."""
    _own_clock(stage)
    _management(stage)
    names, queue = map("inside {}".format, itertools.count(2)), stage.recorder.private_name()

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            vhost = stage.around.vhost(stage)
            channel = stage.channel(connection=stage.connect(next(names), vhost=vhost))
            yield
            channel.declare(queue, durable=False)
            channel.publish(queue)
            channel.get(queue, no_ack=True)
            yield
            stage.around.delete_vhost(vhost)
            stage.waiter.settles(partial(_has_ended, channel))
            del stage.connections[channel.connection.name]

    return lap


def time_out(stage: Stage) -> Lap:
    """A delivery is out for too long. It is delivered once more, and taken."""
    _own_clock(stage)
    if stage.queue_type != "quorum":
        raise NotOffered("classic queues watch no clock")
    channel, reader, queue = stage.channel(), stage.channel(), stage.queue({ARGUMENT: 1_000})

    def lap(rounds: int) -> Iterator[None]:
        for _ in range(rounds):
            renew(stage, [channel])
            yield
            channel.publish(queue)
            channel.consume(queue)
            yield
            expire(stage)
            yield
            _leave(channel)
            yield
            take(reader, queue, 2)
            yield

    return lap


def outlive(stage: Stage) -> Lap:
    """Messages expire in their time, in the order of their queue; and before that they do not."""
    _own_clock(stage)
    stage.require("expiration")
    grave = stage.queue()
    named = {"x-dead-letter-exchange": stage.by_name, "x-dead-letter-routing-key": grave}
    channel, queue, reader = publisher(stage), stage.queue({"x-message-ttl": 1_000, **named}), stage.channel()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds // 2, properties={"expiration": "500"})
        channel.publish(queue, rounds // 2)
        yield
        for _ in "12":
            wait(stage, SECONDS / 2)
            take(reader, grave, rounds // 2 + 1)
            yield
        channel.get(queue, no_ack=True)
        yield

    return lap


def leave_nothing(stage: Stage) -> Lap:
    """Queues go that nobody uses, whose last consumer was cancelled, or whose connection has ended; and exchanges with
    their last binding. Then all are looked for, and each look costs a channel."""
    _own_clock(stage)
    stage.require("x-expires", "auto-delete queues", "exclusive queues", "passive queue.declare", "basic.cancel")
    channel, looking, kept = stage.channel(), stage.channels(FEW), stage.queue()
    names = map("leaving {}".format, itertools.count(2))

    def lap(rounds: int) -> Iterator[None]:
        renew(stage, looking)
        leaving = stage.channel(connection=stage.connect(next(names)))
        yield
        unused, served, owned, bound = (_names(stage, rounds // 4) for _ in range(4))
        stage.belongings.exchanges.update(dict.fromkeys(bound))
        for one, queue in zip(looking, unused, strict=False):
            one.declare(queue, durable=False, arguments={"x-expires": 1_000})
        for queue in served:
            channel.declare(queue, durable=False, auto_delete=True)
        for queue in owned:
            leaving.declare(queue, durable=False, exclusive=True)
        for exchange in bound:
            channel.declare_exchange(exchange, "fanout", auto_delete=True)
        yield
        tags = [channel.consume(queue) for queue in served]
        for exchange in bound:
            channel.bind(kept, exchange)
        yield
        for tag in tags:
            channel.cancel(tag)
        for exchange in bound:
            channel.unbind(kept, exchange)
        leaving.connection.queue(m.ConnectionClose(0, 200, "normal shutdown"))
        yield
        del stage.connections[leaving.connection.name]
        wait(stage, 5 * SECONDS)
        for one, name in zip(looking, (*unused, *served, *owned), strict=False):
            one.declare(name, passive=True)
        for one, name in zip(reversed(looking), bound, strict=False):
            one.declare_exchange(name, "fanout", passive=True)
        yield

    return lap


def _names(stage: Stage, count: int) -> list[str]:
    return [stage.recorder.private_name() for _ in range(count)]


def _own_clock(stage: Stage) -> None:
    if stage.around.advance is None:
        raise NotOffered("the broker's clock is not ours")


def _management(stage: Stage) -> None:
    if stage.around.admin is None:
        raise NotOffered("no management API was given")


def _has_ended(channel: Channel) -> bool:
    return not channel.connection.alive


def _leave(channel: Channel) -> None:
    if channel.state == "open":
        channel.close()


SETTINGS = (
    Course(set_policies, AT_ONCE, FEWER),
    Course(change_rights, AT_ONCE, FEWER),
    Course(make_virtual_hosts, AT_ONCE, FEWER / 2),
    Course(time_out, AT_ONCE, FEWER),
    Course(outlive),
    Course(leave_nothing, FEW),
)

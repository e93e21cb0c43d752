"""What many scenes begin with: queues with messages in them, and channels that hold deliveries."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping

import codec
from codec import methods as m
from conformance.drive.around import SECOND, wait
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.stage import NotOffered, SceneOver, Stage

REPLIES = "amq.rabbitmq.reply-to"
"""The pseudo-queue."""
BAD_TAG = 99
"""A tag that no scene is ever delivered."""
TO_BE_SURE, STEP = 0.1, 0.2
"""Seconds: more than is needed, and between two things that happen meanwhile."""
ASKED = 200
"""This often it is asked whether all that a client has left behind is back."""
FILLING = 60
"""This many publishes are tried on a full queue until it says so: a quorum queue's channel learns of it late."""


def stocked(stage: Stage, count: int) -> str:
    """A fresh queue with this many confirmed messages, published on a channel of its own."""
    queue = stage.queue()
    restock(stage, queue, count)
    return queue


def confirming(stage: Stage, connection: RawConnection | None = None) -> Channel:
    """A channel in confirm mode, where the broker offers that."""
    channel = stage.channel(connection=connection)
    with contextlib.suppress(NotOffered):
        channel.confirm()
    stage.quiesce()
    return channel


def filled(stage: Stage, channel: Channel) -> str:
    """A queue with room for two that is full, and has refused publishes by now."""
    queue = stage.queue({"x-max-length": 2, "x-overflow": "reject-publish"})
    with stage.batch():
        channel.publish(queue, 5)
    stage.quiesce()
    for _ in range(FILLING):
        if any(event.method == "basic.nack" and event.direction == "<" for event in stage.events):
            break
        channel.publish(queue)
        stage.quiesce()
    return queue


def patiently(stage: Stage, look: Callable[[], None], meanwhile: Callable[[], None] | None = None) -> None:
    """Looks, and once more where something is late: what no text says how soon it comes is missed only after a while
    that no broker needs. Until then something may go on happening `meanwhile`."""
    look()
    ahead = (stage.judge.late() - stage.recorder.now()) / SECOND
    if ahead <= 0:
        return
    until = stage.judge.late() + TO_BE_SURE * SECOND
    while meanwhile is not None and stage.recorder.now() + STEP * SECOND < until:
        meanwhile()
        wait(stage, STEP)
    if meanwhile is not None:
        meanwhile()
    wait(stage, max(0.0, (until - stage.recorder.now()) / SECOND))
    look()


def neighbours(name: str) -> tuple[str, ...]:
    """Names that are almost this one: in other letters, with a space around them, one letter shorter and longer."""
    return name.swapcase(), f"{name} ", f" {name}", name[:-1], f"{name}/"


def half_a_publish(stage: Stage, channel: Channel, queue: str) -> None:
    """A publish that its client has begun, and most of its body is not there yet."""
    message, octets = stage.payloads.next_message(), 100
    header = codec.header(channel.number, octets, message_id=message, delivery_mode=2)
    body = codec.Body(channel.number, bytes(octets // 10))
    channel.send(m.BasicPublish(channel.number, routing_key=queue), header.encode(), body.encode())


def mistakes(stage: Stage, channel: Channel) -> Mapping[str, Callable[[], object]]:
    """What costs the channel: each asks for something that is not there. Those that name no queue come last."""
    nothing = stage.queue()
    stage.backstage(nothing).delete(nothing)
    stage.quiesce()
    return {
        "consume": lambda: channel.consume(nothing),
        "get": lambda: channel.get(nothing),
        "declare": lambda: channel.declare(nothing, passive=True),
        "exchange": lambda: channel.find_exchange(nothing),
        "publish": lambda: channel.publish("key", exchange=nothing),
        "settle": lambda: channel.ack(BAD_TAG),
    }


def large(channel: Channel) -> bytes:
    """A body of three frames."""
    return bytes(2 * channel.connection.tuned.frame_max + 1)


def restock(stage: Stage, queue: str, count: int) -> Channel:
    """Publishes more, on a new channel in confirm mode, and waits until the broker has taken charge of them."""
    publisher = stage.channel()
    with contextlib.suppress(NotOffered):
        publisher.confirm()
    publisher.publish(queue, count)
    stage.quiesce()
    if not stage.offers("confirm.select"):
        stage.barrier(publisher)
    return publisher


def holding(stage: Stage, count: int, of: int | None = None) -> tuple[Channel, str]:
    """A channel that has fetched tags 1 to `count`, and the queue they came from, which had `of` messages."""
    queue = stocked(stage, of or count)
    channel = stage.channel()
    stage.fetch(channel, queue, count)
    return channel, queue


def reopen(stage: Stage, channel: Channel) -> None:
    """Waits until the channel has ended, whoever ended it, and opens its number again."""
    stage.quiesce()
    channel.open()
    stage.quiesce()


def limited(stage: Stage, queue: str, limit: int, *, shared: bool = False, rank: int | None = None) -> Channel:
    """A channel with this limit and one consumer, of this priority, which has been sent what the limit allows."""
    channel = stage.channel()
    channel.qos(limit, shared)
    channel.consume(queue, arguments=None if rank is None else {"x-priority": rank})
    stage.quiesce()
    return channel


def outstanding(channel: Channel, least: int = 1) -> list[int]:
    """The tags that the channel holds, if there are enough of them to go on with."""
    tags = channel.unacked
    if len(tags) < least:
        raise SceneOver(f"{channel} holds {len(tags)} deliveries, {least} are needed")
    return tags


def all_back(stage: Stage, channel: Channel, queue: str, count: int) -> None:
    """Asks how many messages are ready, until it is so many, or that has been asked often enough."""
    for _ in range(ASKED):
        seen = len(stage.events)
        channel.declare(queue, passive=True)
        stage.quiesce()
        answers = [event for event in stage.events[seen:] if event.method == "queue.declare-ok"]
        if answers and answers[0].args.get("message_count") == count:
            break


def shares(stage: Stage) -> bool:
    """Can a channel have a limit for its consumers together, on queues of this type?"""
    return stage.queue_type == "classic" and stage.profile.choices["channel_limit"] == "channel"

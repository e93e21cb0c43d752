"""Courses about publishers: confirms, returns, transactions, and requests with direct reply-to."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.drive.channel import Channel
from conformance.drive.machines.soak import FEW, Course, Lap, ack_all, take
from conformance.drive.machines.soak.again import OPENED_AGAIN
from conformance.drive.stage import Stage
from conformance.oracle.model.consumers.delivering import REPLIES


def confirm(stage: Stage) -> Lap:
    """What is confirmed is there."""
    channel, queue = stage.channel(), stage.queue()
    channel.confirm()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish(queue, rounds)
        yield
        take(channel, queue, rounds)
        yield

    return lap


def return_what_is_unroutable(stage: Stage) -> Lap:
    """Each is returned, and then confirmed."""
    channel = stage.channel()
    exchange = stage.exchange()
    if stage.offers("confirm.select"):
        channel.confirm()

    def lap(rounds: int) -> Iterator[None]:
        channel.publish("nowhere", rounds, mandatory=True, exchange=exchange)
        stage.go_round(channel)
        yield

    return lap


def commit(stage: Stage) -> Lap:
    """A message is there after the commit, and another one is not after the rollback. A channel sends nothing more
    before its commit is answered: brokers may end the connection for that."""
    channels, queue = stage.channels(FEW), stage.queue()
    reader = stage.channel()
    for channel in channels:
        channel.tx_select()

    def lap(rounds: int) -> Iterator[None]:
        for channel in channels[:rounds]:
            channel.publish(queue)
            channel.tx_rollback()
            channel.publish(queue)
            channel.tx_commit()
        yield
        take(reader, queue, rounds + 1)
        yield

    return lap


def commit_acks(stage: Stage) -> Lap:
    """Acknowledgements are rolled back, and then committed."""
    channels, queue = stage.channels(FEW), stage.queue()
    publisher = stage.channel()
    for channel in channels:
        channel.tx_select()

    def lap(rounds: int) -> Iterator[None]:
        publisher.publish(queue, rounds)
        stage.go_round(publisher)
        yield
        for channel in channels[:rounds]:
            channel.get(queue)
        yield
        for settle in (Channel.tx_rollback, Channel.tx_commit):
            for channel in channels[:rounds]:
                ack_all(channel)
                settle(channel)
            yield

    return lap


def request_and_reply(stage: Stage) -> Lap:
    """Each request names the reply-to of its requester, and each is answered."""
    stage.require("direct reply-to")
    requester, replier = stage.channels(2)
    queue = stage.queue()
    requester.consume(REPLIES, no_ack=True)
    stage.quiesce()

    def lap(rounds: int) -> Iterator[None]:
        requester.publish(queue, rounds, properties={"reply_to": REPLIES})
        stage.go_round(requester)
        yield
        seen = len(stage.events)
        take(replier, queue, rounds)
        yield
        requests = [event for event in stage.events[seen:] if event.method == "basic.get-ok"]
        for request in requests:
            replier.publish(str(json.loads(request.arguments)["properties"].get("reply_to") or ""))
        stage.go_round(replier)
        yield

    return lap


PUBLISHING = (
    Course(confirm),
    Course(return_what_is_unroutable),
    Course(commit, FEW),
    Course(commit_acks, FEW),
    Course(request_and_reply),
    *OPENED_AGAIN,
)

"""Courses about what is used again under the same name, or number, for something else than before.

What a broker keeps by a name must go with what had the name. So each life differs from the one before, and what is done
with it shows how.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from conformance.drive.machines.soak import FEW, Course, Lap, ack_all, take
from conformance.drive.stage import Stage

TAG = "again"
KINDS = "direct", "fanout", "topic"
LEFT = 3
"""Messages that are sent to a queue in each of its lives."""


def consume_otherwise(stage: Stage) -> Lap:
    """A tag belongs to a consumer that acknowledges or does not, of one queue or another, and under some limit."""
    stage.require("basic.cancel")
    channels, queues = stage.channels(FEW // 4), [stage.queue(), stage.queue()]
    publisher, limited = stage.channel(), stage.offers("basic.qos")
    lives = 0

    def lap(rounds: int) -> Iterator[None]:
        nonlocal lives
        for _ in range(rounds):
            lives += 1
            for place, channel in enumerate(channels):
                life = lives + place
                if limited:
                    channel.qos(life % 4)
                channel.consume(queues[life // 2 % 2], no_ack=life % 3 == 0, tag=TAG)
                yield
                publisher.publish(queues[life // 2 % 2], 2)
                yield
                ack_all(channel)
                yield
                channel.cancel(TAG)
                yield
                ack_all(channel)
        yield

    return lap


def declare_otherwise(stage: Stage) -> Lap:
    """A queue of the same name has a limit, or heirs, or none, may be exclusive, and is bound or not."""
    channel, grave, queue = stage.channel(), stage.queue(), stage.recorder.private_name()
    exchange = stage.exchange(kind="direct")
    heir = {"x-dead-letter-exchange": stage.by_name, "x-dead-letter-routing-key": grave}
    kinds: list[dict[str, Any]] = [{}, {"x-max-length": 1}, {"x-max-length": 2}, heir, {**heir, "x-max-length": 1}]
    kinds = [one for one in kinds if all(map(stage.offers, one))]
    lives = 0

    def lap(rounds: int) -> Iterator[None]:
        nonlocal lives
        for _ in range(rounds):
            lives += 1
            stage.belongings.queues[queue] = channel.connection
            terms, exclusive = kinds[lives * lives % len(kinds)], lives % 3 == 0
            channel.declare(queue, durable=not exclusive, exclusive=exclusive, arguments=terms)
            if lives % 5 < 2:
                channel.bind(queue, exchange, "key")
            channel.publish(queue, LEFT)
            channel.publish("key", exchange=exchange)
            stage.go_round(channel)
            take(channel, queue, 1 + lives % LEFT)
            channel.delete(queue)
            yield
            take(channel, grave, LEFT + 1)
            yield

    return lap


def lead_otherwise(stage: Stage) -> Lap:
    """An exchange of the same name is of another type, and is bound with another key."""
    channel, queue, exchange = stage.channel(), stage.queue(), stage.recorder.private_name()
    kinds = [kind for kind in KINDS if stage.offers(f"{kind} exchange")]
    lives = 0

    def lap(rounds: int) -> Iterator[None]:
        nonlocal lives
        for _ in range(rounds):
            lives += 1
            stage.belongings.exchanges[exchange] = None
            channel.declare_exchange(exchange, kinds[lives * lives % len(kinds)])
            channel.bind(queue, exchange, ("a.*", "a.b", "c")[lives % 3])
            yield
            for key in ("a.b", "a.*", "c", "a.*.b"):
                channel.publish(key, exchange=exchange)
            stage.go_round(channel)
            yield
            channel.delete_exchange(exchange)
            take(channel, queue, 5)
            yield

    return lap


def open_otherwise(stage: Stage) -> Lap:
    """A channel of the same number confirms, is transactional, has a limit, or none of it."""
    channels, queue = stage.channels(FEW // 4), stage.queue()
    reader = stage.channel()
    modes = [mode for mode in ("", "confirm.select", "tx.select", "basic.qos") if not mode or stage.offers(mode)]
    lives = 0

    def lap(rounds: int) -> Iterator[None]:
        nonlocal lives
        for _ in range(rounds):
            lives += 1
            for place, channel in enumerate(channels):
                channel.close()
                yield
                channel.open()
                yield
                mode = modes[(lives * lives + place) % len(modes)]
                if mode == "confirm.select":
                    channel.confirm()
                elif mode == "tx.select":
                    channel.tx_select()
                elif mode:
                    channel.qos(1)
                channel.publish(queue, 2)
                tag = None if mode == "tx.select" else channel.consume(queue)
                stage.go_round(channel)
                yield
                if mode == "tx.select":
                    channel.tx_commit()
                ack_all(channel)
                yield
                ack_all(channel)
                if tag is not None and stage.cancels:
                    channel.cancel(tag)
                yield
                take(reader, queue, LEFT)
                yield

    return lap


CONSUMED_AGAIN = (Course(consume_otherwise, 10, 0.25),)
MADE_AGAIN = (Course(declare_otherwise, 10, 0.25), Course(lead_otherwise, 10, 0.25))
OPENED_AGAIN = (Course(open_otherwise, 5, 0.05),)

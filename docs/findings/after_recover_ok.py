"""RQ-014, ERR-001: can basic.recover have returned what is delivered after recover-ok?

    python after_recover_ok.py amqp://guest:guest@localhost:5672/%2F ...

A consumer without a limit is sent messages that another connection goes on publishing, and sends basic.recover amid
them. Once nothing more comes, all deliveries that were read after recover-ok are acked, one by one, and the last one
once more. A delivery that the recover had returned would be refused the first time. Prints how often in 40 rounds which
ack was refused, and how many deliveries there were before and after recover-ok.
"""

from __future__ import annotations

import struct
import uuid
from collections import Counter

import wire

ROUNDS, BURSTS, BURST = 40, 6, 25
QUIET = 0.3
"""Seconds without a frame after which nothing more is under way."""
FLOW = wire.method(1, wire.FLOW, b"\x01")


def burst(publisher: wire.Connection, queue: str) -> None:
    publisher.send(*(wire.publish(1, queue, "x") for _ in range(BURST)))


def refused(consumer: wire.Connection, *tags: int) -> bool:
    """Does any of these acks cost the channel?"""
    consumer.send(*(wire.ack(1, tag) for tag in tags), FLOW)
    while (found := consumer.read()) is not None:
        if found[1] in (wire.FLOW_OK, wire.CHANNEL_CLOSE):
            return found[1] == wire.CHANNEL_CLOSE
    raise ConnectionError("no answer")


def play(url: str, queue_type: str, seen: Counter[str]) -> None:
    queue, publisher, consumer = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url), wire.Connection(url)
    publisher.open(1)
    consumer.open(1)
    publisher.declare(1, queue, queue_type)
    try:
        consumer.send(wire.consume(1, queue))
        consumer.wait(wire.CONSUME_OK)
        for number in range(BURSTS):
            burst(publisher, queue)
            if number == BURSTS // 2:
                consumer.send(wire.recover(1))
        after, answered = list[int](), False
        while (found := consumer.read(15.0 if not answered else QUIET)) is not None:
            answered = answered or found[1] == wire.RECOVER_OK
            if found[1] == wire.DELIVER:
                tag = struct.unpack_from(">Q", found[2], 1 + found[2][0])[0]
                seen["after" if answered else "before"] += 1
                after += [tag] if answered else []
        first = refused(consumer, *after)
        seen["refused at first"] += first
        seen["refused at second"] += not first and refused(consumer, after[-1])
    finally:
        consumer.end()
        publisher.delete(1, queue)
        publisher.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            seen = Counter[str]()
            for _ in range(ROUNDS):
                play(url, queue_type, seen)
            print(
                f"  {queue_type}: "
                + ", ".join(
                    f"{seen[name]} {name}"
                    for name in (
                        "before",
                        "after",
                        "refused at first",
                        "refused at second",
                    )
                )
            )


if __name__ == "__main__":
    main()

"""QOS-018: what a consumer may hold after a delivery limit has ended the returns of its message.

    python slot_of_a_dropped_message.py amqp://guest:guest@localhost:5672/%2F ...

A consumer with prefetch 1 rejects the only message of a queue with x-delivery-limit 1 twice, which drops it. Then four
messages are published. Printed is how many reach the consumer, who settles none.
"""

from __future__ import annotations

import struct
import uuid

import wire

QOS = (60, 10)


def outstanding(url: str) -> int:
    queue, connection = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    connection.open(1)
    connection.open(2)
    connection.declare(1, queue, "quorum", x_delivery_limit=1)
    try:
        connection.fill(1, queue, ["m"])
        connection.send(wire.method(2, QOS, struct.pack(">IHB", 0, 1, 0)) + wire.consume(2, queue))
        for _ in range(2):
            arguments = connection.wait(wire.DELIVER)[2]
            tag = struct.unpack_from(">Q", arguments, 1 + arguments[0])[0]
            connection.send(wire.reject(2, tag))
        connection.send(*(wire.publish(1, queue, body) for body in "abcd"))
        received = 0
        while (frame := connection.read(1.0)) is not None:
            received += frame[1] == wire.DELIVER
        return received
    finally:
        connection.end()
        other = wire.Connection(url)
        other.open(1)
        other.delete(1, queue)
        other.end()


def main() -> None:
    for url in wire.urls():
        print(f"{wire.Connection(url).broker}: {outstanding(url)} outstanding with a limit of 1")


if __name__ == "__main__":
    main()

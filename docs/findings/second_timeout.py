"""TMO-010: does every delivery of a consumer time out at its own time?

    python second_timeout.py amqp://guest:guest@localhost:5672/%2F ...

Twenty consumers, each of a quorum queue of its own with a timeout of one second, get a message, and another one 0.42 s
later. Each must be notified twice, at 1.0 and 1.42 s. Counts the notifications within six seconds, in ten rounds; in
the last five the machine is kept busy by this script.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid

import wire

CONSUMERS, NOTICE = 20, (60, 30)


def notices(url: str) -> int:
    """How many notifications come of the 2 × 20 that must come."""
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(CONSUMERS)]
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
    keeper.open(1)
    client.open(1)
    for number, queue in enumerate(queues):
        keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
        client.send(wire.consume(1, queue, f"c{number}"))
        client.wait((60, 21))
    try:
        for _ in range(2):
            keeper.send(*(wire.publish(1, queue, "message") for queue in queues))
            time.sleep(0.42)
        until, seen = time.monotonic() + 5.16, 0
        while seen < 2 * CONSUMERS and (left := until - time.monotonic()) > 0:
            frame = client.read(left)
            seen += frame is not None and frame[1] == NOTICE
        return seen
    finally:
        for queue in queues:
            keeper.delete(1, queue)
        keeper.end()
        client.end()


def busy() -> None:
    while True:
        pass


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        print(f"  notifications of {2 * CONSUMERS}, five rounds: {[notices(url) for _ in range(5)]}")
        load = [multiprocessing.Process(target=busy, daemon=True) for _ in range(multiprocessing.cpu_count())]
        for process in load:
            process.start()
        print(f"  the same under load: {[notices(url) for _ in range(5)]}")
        for process in load:
            process.terminate()


if __name__ == "__main__":
    main()

"""TMO-010: does every delivery of a consumer time out at its own time?

    python second_timeout.py amqp://guest:guest@localhost:5672/%2F ...

Twenty consumers, each of a quorum queue of its own with a timeout of one second.

* Each gets a message, and another one 0.42 s later. Each must be notified twice, at 1.0 and 1.42 s.
* Each gets a message, returns it after 0.42 s, and gets it again at once. Each must be notified once, at 1.42 s.

Counts the notifications within six seconds, in ten rounds; in the last five the machine is kept busy by this script.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid

import wire

CONSUMERS, NOTICE, APART, ENOUGH = 20, (60, 30), 0.42, 5.58


class Round:
    """Twenty consumers that wait for messages."""

    def __init__(self, url: str) -> None:
        self.queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(CONSUMERS)]
        self.keeper, self.client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
        self.keeper.open(1)
        for number, queue in enumerate(self.queues, 1):
            self.keeper.declare(1, queue, "quorum", x_consumer_timeout=1000)
            self.client.open(number)
            self.client.send(wire.consume(number, queue, f"c{number}"))
            self.client.wait(wire.CONSUME_OK)

    def publish(self) -> None:
        self.keeper.send(*(wire.publish(1, queue, "message") for queue in self.queues))

    def notices(self, due: int, seconds: float) -> int:
        """How many of the notifications that are due come in this time."""
        until, seen = time.monotonic() + seconds, 0
        while seen < due and (left := until - time.monotonic()) > 0:
            frame = self.client.read(left)
            seen += frame is not None and frame[1] == NOTICE
        return seen

    def end(self) -> None:
        for queue in self.queues:
            self.keeper.delete(1, queue)
        self.keeper.end()
        self.client.end()


def one_after_the_other(url: str) -> int:
    run = Round(url)
    run.publish()
    time.sleep(APART)
    run.publish()
    seen = run.notices(2 * CONSUMERS, ENOUGH)
    run.end()
    return seen


def returned(url: str) -> int:
    run = Round(url)
    run.publish()
    for _ in run.queues:
        run.client.wait(wire.DELIVER)
    time.sleep(APART)
    run.client.send(*(wire.reject(number, 1) for number in range(1, CONSUMERS + 1)))
    seen = run.notices(CONSUMERS, ENOUGH)
    run.end()
    return seen


def busy() -> None:
    while True:
        pass


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for title, due, play in (
            ("one after the other", 2 * CONSUMERS, one_after_the_other),
            ("returned and delivered again", CONSUMERS, returned),
        ):
            print(f"  {title}, notifications of {due}, five rounds: {[play(url) for _ in range(5)]}")
            load = [multiprocessing.Process(target=busy, daemon=True) for _ in range(multiprocessing.cpu_count())]
            for process in load:
                process.start()
            print(f"  the same under load: {[play(url) for _ in range(5)]}")
            for process in load:
                process.terminate()


if __name__ == "__main__":
    main()

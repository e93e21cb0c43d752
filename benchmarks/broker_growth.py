"""Does the cost of a message grow with what lies around? `python -m benchmarks.broker_growth`, into build/bench.json.

The pure core alone, without sockets: publish, deliver, acknowledge, at growing depths, numbers of unacked messages and
of consumers at their limit. Each row is CPU time per message over that of the smallest size, the best of interleaved
rounds: a structure that scans what it should not shows as a ratio that grows with the size.
"""

from __future__ import annotations

import argparse
import gc
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time

import codec
from benchmarks.codec_bench import RESULTS, Result, merge
from codec import methods as m
from reference_broker.core.broker import Broker
from reference_broker.core.connections.connection import Connection

MESSAGES = 2000
PUBLISH = codec.content(m.BasicPublish(1, 0, "", "q"), b"x" * 16)
LOGIN = (
    codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"), m.ConnectionTuneOk(0),
    m.ConnectionOpen(0, "/"), m.ChannelOpen(1), m.QueueDeclare(1, 0, "q"),
)  # fmt: skip

Prepare = Callable[[int], Connection]
Act = Callable[[Connection], None]


def connection() -> Connection:
    opened = Broker().connect()
    opened.feed(b"".join(item.encode() for item in LOGIN))
    return opened


def filled(size: int) -> Connection:
    """A queue of that many messages."""
    opened = connection()
    opened.feed(PUBLISH * size)
    return opened


def holding(size: int) -> Connection:
    """A channel with that many unacked messages, and as many more as will be settled."""
    opened = filled(size + MESSAGES)
    opened.feed(m.BasicConsume(1, 0, "q", "c", no_wait=True).encode())
    while opened.take():
        pass
    return opened


def blocked(size: int) -> Connection:
    """That many consumers at their limit, and messages none of them may take."""
    opened = connection()
    opened.feed(m.BasicQos(1, 0, 1).encode())
    opened.feed(b"".join(m.BasicConsume(1, 0, "q", f"c{each}", no_wait=True).encode() for each in range(size)))
    opened.feed(PUBLISH * (size + 1))
    opened.take()
    return opened


def publish_and_get(opened: Connection) -> None:
    cycle = PUBLISH + m.BasicGet(1, 0, "q", True).encode()
    for _ in range(MESSAGES):
        opened.feed(cycle)
        opened.take()


def acknowledge(tags: Callable[[int], range], multiple: int = 1) -> Act:
    def act(opened: Connection) -> None:
        for tag in tags(opened.channels[1].last_tag)[multiple - 1 :: multiple]:
            opened.feed(m.BasicAck(1, tag, multiple > 1).encode())

    return act


def requeue_backwards(opened: Connection) -> None:
    opened.feed(m.BasicCancel(1, "c", True).encode())
    for tag in range(MESSAGES, 0, -1):
        opened.feed(m.BasicNack(1, tag, False, True).encode())


def publish(opened: Connection) -> None:
    for _ in range(MESSAGES):
        opened.feed(PUBLISH)


def oldest(last: int) -> range:
    return range(1, MESSAGES + 1)


def newest(last: int) -> range:
    return range(last - MESSAGES + 1, last + 1)


ROWS: list[tuple[str, tuple[int, ...], Prepare, Act]] = [
    ("broker.growth.depth", (200, 1_000_000), filled, publish_and_get),
    ("broker.growth.unacked", (200, 500_000), holding, acknowledge(oldest)),
    ("broker.growth.consumers", (1, 1000), blocked, publish),
    ("publish and get, queue depth", (200, 10_000, 200_000), filled, publish_and_get),
    ("ack of the oldest, unacked", (200, 10_000, 200_000), holding, acknowledge(oldest)),
    ("ack of the newest, unacked", (200, 10_000, 200_000), holding, acknowledge(newest)),
    ("ack of fifty at once, unacked", (200, 10_000, 200_000), holding, acknowledge(oldest, 50)),
    ("requeue youngest first, unacked", (200, 10_000, 200_000), holding, requeue_backwards),
    ("publish, consumers at their limit", (1, 100, 1000), blocked, publish),
]
GOALS = {"broker.growth.depth": 1.1, "broker.growth.unacked": 1.1, "broker.growth.consumers": 1.3}
"""These three are kept; the others tell more about where it would come from."""


def microseconds(prepare: Prepare, act: Act, size: int) -> float:
    """CPU for one message, garbage of the preparation aside."""
    opened = prepare(size)
    gc.collect()
    gc.freeze()
    start = process_time()
    act(opened)
    spent = process_time() - start
    gc.unfreeze()
    return spent / MESSAGES * 1e6


def measure(sizes: tuple[int, ...], prepare: Prepare, act: Act, rounds: int) -> list[float]:
    """Microseconds at each size, the best of interleaved rounds: what disturbs only ever adds."""
    found = [[microseconds(prepare, act, size) for size in sizes] for _ in range(rounds)]
    return [min(column) for column in zip(*found, strict=True)]


def main(arguments: Sequence[str] | None = None, path: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)
    for name, sizes, prepare, act in ROWS:
        best = measure(sizes, prepare, act, options.rounds)
        cells = "   ".join(
            f"{size:>9,}: {cost:5.1f} us (x {cost / best[0]:.2f})" for size, cost in zip(sizes, best, strict=True)
        )
        missed = name in GOALS and best[-1] / best[0] > GOALS[name]
        print(f"{name:<34} {cells}{f'   goal {GOALS[name]}' if name in GOALS else ''}{', missed' if missed else ''}")
        if name in GOALS:
            merge([Result(name, "", best[-1], best[0], best[-1] / best[0], "lower")], path)


if __name__ == "__main__":
    main()

"""What the reference broker costs besides time on the wire: `python -m benchmarks.broker_size`, into build/bench.json.

`broker.start_ms`: in process, from a fixture's start to the first delivered message, the median of many.
`broker.bytes_per_message`: what a ready message of 1 KiB takes beyond its body, of the memory of a process of its own.
`broker.tap`: CPU for a message with a tap that keeps every octet of every connection, over that without one.
There is no peer: a size or a time is its own ratio.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import codec
from benchmarks.broker_growth import LOGIN
from benchmarks.broker_wire import ACK_LENGTH, BODY, Line, acks
from benchmarks.codec_bench import RESULTS, Result, merge
from codec import methods as m
from reference_broker import ReferenceBroker
from reference_broker.core.broker import Broker
from reference_broker.core.connections.connection import Connection
from reference_broker.core.parts import Parts
from reference_broker.core.tap import Tap

GOALS = {"broker.start_ms": 2.0, "broker.bytes_per_message": 320.0, "broker.tap": 1.4}
PUBLISH = codec.content(m.BasicPublish(1, 0, "", "q"), BODY, delivery_mode=1)
BATCH = 16


def first_delivery() -> float:
    """Milliseconds from nothing to a message in the hands of a client."""
    begin = perf_counter()
    with ReferenceBroker() as broker:
        line = Line(broker.url)
        line.call(m.QueueDeclare(1, 0, "q"))
        line.call(m.BasicConsume(1, 0, "q", "c"))
        line.socket.sendall(PUBLISH)
        while not any(isinstance(frame, codec.Body) for frame in line.read()):
            pass
        passed = perf_counter() - begin
        line.socket.close()
    return passed * 1000


def start_ms(times: int) -> float:
    first_delivery()
    return median(first_delivery() for _ in range(times))


# -- memory


def resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def fill(messages: int) -> float:
    """Octets of this process for each ready message, beyond its body."""
    opened = Broker().connect()
    opened.feed(b"".join(item.encode() for item in LOGIN) + PUBLISH * 1000)
    before = resident()
    for _ in range(messages // 100):
        opened.feed(PUBLISH * 100)
    return (resident() - before) / messages - len(BODY)


def bytes_per_message(messages: int) -> float:
    """In a fresh process, whose memory has no holes yet."""
    command = [sys.executable, "-m", "benchmarks.broker_size", "--fill", str(messages)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


# -- the tap


def pair(parts: Parts) -> tuple[Connection, Connection]:
    """A producer with confirms, and a consumer."""
    broker = Broker(parts=parts)
    producer, consumer = broker.connect(), broker.connect()
    for connection in (producer, consumer):
        connection.feed(b"".join(item.encode() for item in LOGIN))
    producer.feed(m.ConfirmSelect(1).encode())
    consumer.feed(m.BasicQos(1, 0, 200).encode() + m.BasicConsume(1, 0, "q", "c").encode())
    return producer, consumer


def cycle(producer: Connection, consumer: Connection, first: int, batches: int) -> float:
    """CPU seconds of publish, confirm, deliver and ack, without sockets."""
    begin = process_time()
    for number in range(first, first + batches):
        producer.feed(PUBLISH * BATCH)
        producer.take()
        consumer.take()
        at = number * BATCH * ACK_LENGTH
        consumer.feed(acks()[at : at + BATCH * ACK_LENGTH])
    return process_time() - begin


def tap_ratio(rounds: int, batches: int = 250) -> float:
    overheard = Parts()
    tap = Tap()
    tap.into(overheard)
    worlds = [pair(Parts()), pair(overheard)]
    ratios = []
    for number in range(rounds + 1):
        plain, tapped = (cycle(*world, number * batches, batches) for world in worlds)
        tap.pieces.clear()
        ratios.append(tapped / plain)
    return median(ratios[1:])


def measure(times: int, messages: int, rounds: int) -> list[Result]:
    figures = {
        "broker.start_ms": start_ms(times),
        "broker.bytes_per_message": bytes_per_message(messages),
        "broker.tap": tap_ratio(rounds),
    }
    return [Result(name, "", figure, 0.0, figure, "lower") for name, figure in figures.items()]


def main(arguments: Sequence[str] | None = None, path: Path = RESULTS) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=200, help="brokers that are started")
    parser.add_argument("--messages", type=int, default=200_000, help="that are ready")
    parser.add_argument("--rounds", type=int, default=9, help="with and without the tap")
    parser.add_argument("--fill", type=int, metavar="N", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.fill:
        print(fill(options.fill))
        return
    rows = measure(options.times, options.messages, options.rounds)
    merge(rows, path)
    for row in rows:
        missed = "" if row.ours <= GOALS[row.name] else ", missed"
        print(f"{row.name:<26} {row.ours:8.2f}   (goal {GOALS[row.name]:g}{missed})")


if __name__ == "__main__":
    main()

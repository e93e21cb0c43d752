"""CNF-013: what was confirmed, is it there after the broker was killed?

    python killed_young.py 'amqp://guest:guest@localhost:5672/%2F=docker kill mybroker && docker start mybroker' ...

Behind each URL stands the command that kills the broker at once and starts it again, with its data. For each type of
queue and each age: a durable queue is declared, so many seconds pass, 50 persistent messages are published, and when
all are confirmed the broker is killed. Prints how many messages come out of the queue then, one get after the other,
each of which has twenty seconds to be answered; and whether the queue can be deleted.
"""

from __future__ import annotations

import subprocess
import sys
import time
import uuid

import wire

MESSAGES = [str(number) for number in range(50)]
AGES = (0, 0.5, 1, 2, 8)
"""Seconds between the declaration and the publishes."""
PATIENCE = 20.0
STARTS = 60.0


def connected(url: str) -> wire.Connection:
    """A connection to the broker, as soon as it accepts one again."""
    until = time.monotonic() + STARTS
    while True:
        try:
            return wire.Connection(url)
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def left(url: str, queue: str) -> str:
    """How many messages come out of the queue."""
    reader = connected(url)
    reader.open(1)
    found, began = 0, time.monotonic()
    while True:
        reader.send(wire.get(1, queue, no_ack=True))
        answer = reader.read(PATIENCE)
        if answer is None:
            return f"{found} messages, then no answer to basic.get within {PATIENCE:g} s"
        if answer[1] == wire.GET_EMPTY:
            return f"{found} messages, {time.monotonic() - began:.1f} s"
        if answer[1] != wire.GET_OK:
            return f"{found} messages, then {wire.closing(answer)}"
        found += 1
        reader.read()
        reader.read()


def outcome(url: str, command: str, queue_type: str, age: float) -> str:
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    writer = connected(url)
    writer.open(1)
    writer.declare(1, queue, queue_type)
    time.sleep(age)
    writer.fill(1, queue, MESSAGES)
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    if writer.read(5.0) is not None:
        return "the command has killed nobody"
    found = left(url, queue)
    keeper = connected(url)
    keeper.open(1)
    try:
        keeper.delete(1, queue)
    except ConnectionError as refused:
        return f"{found}; not deleted: {refused}"
    return found


def main() -> None:
    for pair in sys.argv[1:]:
        url, _, command = pair.partition("=")
        print(connected(url).broker, flush=True)
        for queue_type in ("classic", "quorum"):
            for age in AGES:
                print(f"  {queue_type:8} {age:3} s old: {outcome(url, command, queue_type, age)}", flush=True)


if __name__ == "__main__":
    main()

"""CNF-013: is a durable queue still there after the broker was killed, with what was confirmed into it?

    python killed_declared.py 'amqp://guest:guest@localhost:5672/%2F=docker kill mybroker && docker start mybroker' ...

Behind each URL stands the command that kills the broker at once and starts it again, with its data. In each of 200
rounds 300 durable queues are declared and deleted. Then five are declared that stay, and the last gets 50 persistent
messages. When all are confirmed, a fifth of a second passes, and the broker is killed. Prints which of the five were
missing then, and in how many rounds.
"""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections import Counter

import wire
from killed_young import connected

ROUNDS, BEFORE, KEPT = 200, 300, 5
MESSAGES = [str(number) for number in range(50)]
PAUSE = 0.2
"""Seconds between the last confirm and the kill."""


def missing(url: str, command: str) -> list[int]:
    """Which of the queues are not there after the kill: 1 is the first that was declared."""
    writer = connected(url)
    writer.open(1)
    for _ in range(BEFORE):
        passing = f"finding-{uuid.uuid4().hex[:12]}"
        writer.declare(1, passing, "classic")
        writer.delete(1, passing)
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(KEPT)]
    for queue in queues:
        writer.declare(1, queue, "classic")
    writer.fill(1, queues[-1], MESSAGES)
    time.sleep(PAUSE)
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    reader = connected(url)
    gone = []
    for number, queue in enumerate(queues, start=1):
        reader.open(number)
        reader.send(wire.get(number, queue, no_ack=True))
        answer = reader.read()
        if answer is not None and answer[1] == wire.CHANNEL_CLOSE:
            gone.append(number)
        elif answer is not None and answer[1] == wire.GET_OK:
            reader.read()
            reader.read()
    keeper = connected(url)
    keeper.open(1)
    for queue in queues:
        keeper.delete(1, queue)
    return gone


def main() -> None:
    for pair in sys.argv[1:]:
        url, _, command = pair.partition("=")
        print(connected(url).broker, flush=True)
        lost = Counter(number for _ in range(ROUNDS) for number in missing(url, command))
        told = ", ".join(f"queue {number} in {count}" for number, count in sorted(lost.items())) or "none"
        print(f"  of {ROUNDS} rounds, missing: {told}", flush=True)


if __name__ == "__main__":
    main()

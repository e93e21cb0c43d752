"""RQ-008: is a message marked that comes back, in a queue that held a transient message when the broker was restarted?

    python redelivered_after_restart.py 'amqp://guest:guest@localhost:5672/%2F=docker restart mybroker' ...

Behind each URL stands the command that shuts the broker down in good order and starts it again, with its data. Two
durable queues are declared, and one gets a transient message. After the restart each gets persistent ones. One after
another they are got, rejected with requeue, and got again. How many are marked then?
"""

from __future__ import annotations

import subprocess
import sys
import uuid

import wire
from after_restart import PERSISTENT, TRANSIENT, connected

COUNT = 20


def taken(line: wire.Connection, channel: int, queue: str) -> tuple[int, bool]:
    """The next message: its delivery tag, and whether it is marked as redelivered."""
    line.send(wire.get(channel, queue))
    arguments = line.wait(wire.GET_OK)[2]
    line.wait(wire.CONTENT)
    line.wait(wire.CONTENT)
    return int.from_bytes(arguments[:8], "big"), bool(arguments[8] & 1)


def marked(line: wire.Connection, channel: int, queue: str) -> int:
    """How many messages are, the second time that they come."""
    line.fill(channel, queue, [f"m{number}" for number in range(COUNT)])
    found = 0
    for _ in range(COUNT):
        tag, _ = taken(line, channel, queue)
        line.send(wire.reject(channel, tag))
        tag, again = taken(line, channel, queue)
        line.send(wire.ack(channel, tag))
        found += again
    return found


def show(url: str, command: str) -> None:
    name = f"findings.{uuid.uuid4().hex[:8]}"
    queues = {name: "nothing", f"{name}.transient": "a transient message"}
    line = connected(url)
    print(line.broker)
    line.open(1)
    for queue in queues:
        line.declare(1, queue, "classic")
    line.send(wire.method(1, wire.CONFIRM, bytes(1)))
    line.wait(wire.CONFIRM_OK)
    line.send(wire.publish(1, f"{name}.transient", "old").replace(PERSISTENT, TRANSIENT))
    line.wait(wire.ACK)
    line.end()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    line = connected(url)
    for channel, (queue, held) in enumerate(queues.items(), 1):
        line.open(channel)
        kept = line.take(channel, queue, no_ack=True)
        held += ", which is there again" if kept else ""
        print(f"  the queue held {held}: {marked(line, channel, queue)} of {COUNT} are marked")
        line.delete(channel, queue)
    line.end()


def main() -> None:
    for given in sys.argv[1:]:
        url, _, command = given.partition("=")
        show(url, command)


if __name__ == "__main__":
    main()

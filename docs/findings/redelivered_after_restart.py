"""RQ-008: is a message marked that comes back, in a queue that held a transient message when the broker was restarted?

    python redelivered_after_restart.py 'amqp://guest:guest@localhost:5672/%2F=docker restart mybroker' ...

Behind each URL stands the command that shuts the broker down in good order and starts it again, with its data. Two
durable queues are declared, and one gets a transient message. After the restart each gets a persistent one, which is
got, rejected with requeue, and got again.
"""

from __future__ import annotations

import subprocess
import sys
import uuid

import wire
from after_restart import PERSISTENT, TRANSIENT, connected


def again(line: wire.Connection, channel: int, queue: str) -> str:
    """How the message comes the second time."""
    line.fill(channel, queue, ["m"])
    marked = 0
    for settle in (wire.reject, wire.ack):
        line.send(wire.get(channel, queue))
        arguments = line.wait(wire.GET_OK)[2]
        line.wait(wire.CONTENT)
        line.wait(wire.CONTENT)
        tag, marked = int.from_bytes(arguments[:8], "big"), arguments[8] & 1
        line.send(settle(channel, tag))
    return "marked" if marked else "not marked"


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
        print(f"  the queue held {held}{', which is there again' if kept else ''}: {again(line, channel, queue)}")
        line.delete(channel, queue)
    line.end()


def main() -> None:
    for given in sys.argv[1:]:
        url, _, command = given.partition("=")
        show(url, command)


if __name__ == "__main__":
    main()

"""DLX-007: does a dead letter tell the expiration that the message had, after the broker has been restarted?

    python expiration_after_restart.py 'amqp://guest:guest@localhost:5672/%2F=docker restart mybroker' ...

Behind each URL stands the command that shuts the broker down in good order and starts it again, with its data. Two
persistent messages with an expiration of ten minutes come to a durable queue that has a dead letter exchange. The first
is rejected at once, the second after the restart. Prints what x-death says of each as original-expiration.
"""

from __future__ import annotations

import subprocess
import sys
import uuid

import wire
from after_restart import connected

EXPIRATION = "600000"
PLAIN, EXPIRING = b"\x10\x00\x02", b"\x11\x00\x02" + wire.short(EXPIRATION)
"""The properties of a persistent message: without and with an expiration."""
NAME = wire.short("original-expiration")


def publish(queue: str, body: str) -> bytes:
    """One with an expiration."""
    raw, size = wire.publish(1, queue, body), len(wire.short(EXPIRATION))
    head = raw.index(b"\x02\x00\x01", raw.index(queue.encode()))
    longer = (int.from_bytes(raw[head + 3 : head + 7], "big") + size).to_bytes(4, "big")
    return raw[: head + 3] + longer + raw[head + 7 :].replace(PLAIN, EXPIRING, 1)


def told(line: wire.Connection, queue: str, letters: str) -> str:
    """Rejects the first message of the queue, and looks at its dead letter."""
    line.send(wire.get(1, queue))
    got = line.wait(wire.GET_OK)
    line.send(wire.reject(1, wire.delivery_tag(got), requeue=False), wire.get(1, letters, no_ack=True))
    while line.wait(wire.GET_OK, wire.GET_EMPTY)[1] == wire.GET_EMPTY:
        line.send(wire.get(1, letters, no_ack=True))
    header = line.read()
    assert header is not None
    at = header[2].find(NAME)
    if at < 0:
        return "nothing"
    size = int.from_bytes(header[2][at + len(NAME) + 1 : at + len(NAME) + 5], "big")
    return header[2][at + len(NAME) + 5 : at + len(NAME) + 5 + size].decode()


def main() -> None:
    for argument in sys.argv[1:]:
        url, _, command = argument.partition("=")
        queue, letters = (f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2))
        line = connected(url)
        line.open(1)
        line.declare(1, letters, "classic")
        line.declare(1, queue, "classic", x_dead_letter_exchange="", x_dead_letter_routing_key=letters)
        line.send(wire.method(1, wire.CONFIRM, bytes(1)))
        line.wait(wire.CONFIRM_OK)
        for body in ("first", "second"):
            line.send(publish(queue, body))
            line.wait(wire.ACK)
        print(line.broker)
        print(f"  rejected at once: {told(line, queue, letters)}")
        subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
        line = connected(url)
        line.open(1)
        print(f"  rejected after a restart: {told(line, queue, letters)}")
        for name in (queue, letters):
            line.delete(1, name)
        line.end()


if __name__ == "__main__":
    main()

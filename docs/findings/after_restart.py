"""DUR-008, DUR-010, DUR-016 and DUR-018: is what is not durable gone when the broker has been restarted?

    python after_restart.py 'amqp://guest:guest@localhost:5672/%2F=docker restart mybroker' ...

Behind each URL stands the command that shuts the broker down in good order and starts it again, with its data. A
transient and a durable exchange, and a transient and a durable queue, are declared. The durable queue gets two
persistent messages and two transient ones, all confirmed; the first is taken, and not settled. After the restart each
of the four is asked for, the queue is emptied, and what is there is deleted.
"""

from __future__ import annotations

import struct
import subprocess
import sys
import time
import uuid

import wire

STARTS = 60.0
QUEUE, EXCHANGE = 50, 40
PASSIVE, DURABLE = 1, 2
PERSISTENT, TRANSIENT = b"\x10\x00\x02", b"\x10\x00\x01"
"""The delivery-mode among the properties of a message."""


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


def declare(channel: int, kind: int, name: str, flags: int) -> bytes:
    what = wire.short("direct") if kind == EXCHANGE else b""
    return wire.method(channel, (kind, 10), bytes(2) + wire.short(name) + what + bytes([flags]) + bytes(4))


def answer(line: wire.Connection, channel: int, request: bytes) -> str:
    """What comes of this on a channel of its own."""
    line.open(channel)
    line.send(request)
    found = line.read()
    if found is None:
        return "no answer"
    return "there" if found[1][1] == struct.unpack_from(">H", request, 9)[0] + 1 else wire.closing(found)


def fill(line: wire.Connection, channel: int, queue: str) -> None:
    """Two persistent messages, then two transient ones; the first is taken and kept."""
    line.open(channel)
    line.fill(channel, queue, ["persistent 1", "persistent 2"])
    for body in ("transient 1", "transient 2"):
        message = wire.publish(channel, queue, body).replace(PERSISTENT, TRANSIENT)
        line.send(message)
        line.wait(wire.ACK)
    line.open(channel + 1)
    line.take(channel + 1, queue)


def left(line: wire.Connection, channel: int, queue: str) -> str:
    """All that is in the queue, each marked if it is redelivered."""
    line.open(channel)
    bodies = []
    while True:
        line.send(wire.get(channel, queue, no_ack=True))
        found = line.wait(wire.GET_OK, wire.GET_EMPTY)
        if found[1] == wire.GET_EMPTY:
            return ", ".join(bodies) or "nothing"
        line.read()
        body = line.read()
        assert body is not None
        bodies.append(body[2].decode() + (" (redelivered)" if found[2][8] else ""))


def outcome(url: str, command: str) -> None:
    name = f"finding-{uuid.uuid4().hex[:12]}"
    things = {
        f"{word} {what}": (kind, f"{name}-{what}-{word}", flags)
        for what, kind in (("queue", QUEUE), ("exchange", EXCHANGE))
        for word, flags in (("durable", DURABLE), ("transient", 0))
    }
    line = connected(url)
    print(line.broker, flush=True)
    for channel, (kind, one, flags) in enumerate(things.values(), 1):
        answer(line, channel, declare(channel, kind, one, flags))
    fill(line, 10, f"{name}-queue-durable")
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    line = connected(url)
    for channel, (what, (kind, one, _)) in enumerate(things.items(), 1):
        print(f"  {what}: {answer(line, channel, declare(channel, kind, one, PASSIVE))}", flush=True)
    print(f"  in the durable queue: {left(line, 10, f'{name}-queue-durable')}", flush=True)
    for channel, (kind, one, _) in enumerate(things.values(), 20):
        method = 40 if kind == QUEUE else 20
        answer(line, channel, wire.method(channel, (kind, method), bytes(2) + wire.short(one) + bytes(1)))


def main() -> None:
    for pair in sys.argv[1:]:
        url, _, command = pair.partition("=")
        outcome(url, command)


if __name__ == "__main__":
    main()

"""ERR-006: what comes behind a mistake on the same channel, in one write with it.

    python closed_twice.py amqp://guest:guest@localhost:5672/%2F ...

A passive declaration names a queue that is not there. Behind it, in the same write, comes one more method: with the
name of a queue, or with the empty name, which stands for the last queue that the channel has declared; it has declared
none. Printed is all that the broker sends on this channel within a second.
"""

from __future__ import annotations

import wire

BIND, UNBIND, PURGE = (50, 20), (50, 50), (50, 30)
ABSENT = wire.method(1, wire.DECLARE, bytes(2) + wire.short("findings.absent") + b"\x01" + bytes(4))


def behind(queue: str) -> dict[str, bytes]:
    name = wire.short(queue)
    return {
        "basic.get": wire.get(1, queue),
        "basic.consume": wire.consume(1, queue),
        "queue.purge": wire.method(1, PURGE, bytes(2) + name + b"\x00"),
        "queue.delete": wire.method(1, wire.DELETE, bytes(2) + name + b"\x00"),
        "queue.bind": wire.method(1, BIND, bytes(2) + name + wire.short("amq.direct") + b"\x00\x00" + bytes(4)),
        "queue.unbind": wire.method(1, UNBIND, bytes(2) + name + wire.short("amq.direct") + b"\x00" + bytes(4)),
    }


def show(url: str, queue: str) -> None:
    for name, frames in behind(queue).items():
        connection = wire.Connection(url)
        connection.open(1)
        connection.send(ABSENT + frames)
        told = []
        while (found := connection.read(1.0)) is not None:
            told.append(wire.closing(found) if found[1] == wire.CHANNEL_CLOSE else str(found[1]))
        print(f"  {name} of {queue or 'the empty name'}: {', '.join(told)}")
        connection.end(reset=True)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue in ("findings.absent", ""):
            show(url, queue)


if __name__ == "__main__":
    main()

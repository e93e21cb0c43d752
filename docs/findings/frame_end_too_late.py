"""FRAME-001: is a frame decoded before its last octet is looked at?

    python frame_end_too_late.py amqp://guest:guest@localhost:5672/%2F ...

A queue.declare ends with CD instead of CE. Printed are the methods that come then, and whether a new client finds the
queue.
"""

from __future__ import annotations

import wire

QUEUE = "findings.frame-end"
NAMES = {wire.DECLARE_OK: "declare-ok", wire.CONNECTION_CLOSE: "connection.close", wire.CHANNEL_CLOSE: "channel.close"}


def answers(url: str) -> list[str]:
    """What the broker says until it is silent."""
    connection = wire.Connection(url)
    connection.open(1)
    declare = bytes(2) + wire.short(QUEUE) + bytes(1) + bytes(4)
    connection.send(wire.method(1, wire.DECLARE, declare)[:-1] + b"\xcd")
    found = []
    while (frame := connection.read(2.0)) is not None:
        found.append(NAMES.get(frame[1], str(frame[1])))
    return found


def is_there(url: str) -> bool:
    """Does the queue exist? It is deleted then."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.send(wire.method(1, wire.DECLARE, bytes(2) + wire.short(QUEUE) + b"\1" + bytes(4)))
    try:
        connection.wait(wire.DECLARE_OK)
    except ConnectionError:
        return False
    connection.delete(1, QUEUE)
    connection.end()
    return True


def main() -> None:
    for url in wire.urls():
        said = ", ".join(answers(url)) or "no method"
        print(f"{wire.Connection(url).broker}: {said}; the queue {'exists' if is_there(url) else 'does not exist'}")


if __name__ == "__main__":
    main()

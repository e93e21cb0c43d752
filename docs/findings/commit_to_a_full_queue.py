"""TX: what becomes of a transaction of which a full queue refuses a part?

    python commit_to_a_full_queue.py amqp://guest:guest@localhost:5672/%2F ...

A queue has room for one message and rejects what it has no room for. In one transaction three messages are published to
it, with one to another queue before them and one after them, and committed. Prints the answer, what is in both queues
then, and how confirm mode answers the same five publishes.
"""

from __future__ import annotations

import uuid

import wire

TX_SELECT, TX_SELECT_OK, TX_COMMIT, TX_COMMIT_OK = (90, 10), (90, 11), (90, 20), (90, 21)


def answer(connection: wire.Connection, publishes: list[bytes]) -> str:
    """To the commit of these: its name, or why the channel was closed."""
    connection.open(1)
    connection.send(wire.method(1, TX_SELECT))
    connection.wait(TX_SELECT_OK)
    connection.send(*publishes, wire.method(1, TX_COMMIT))
    while (found := connection.read()) is not None:
        if found[1] == TX_COMMIT_OK:
            connection.send(wire.close(1))
            connection.wait(wire.CHANNEL_CLOSE_OK)
            return "commit-ok"
        if found[1] == wire.CHANNEL_CLOSE:
            connection.send(wire.method(1, wire.CHANNEL_CLOSE_OK))
            return f"channel.close {wire.reason(found[2])}"
    return "nothing"


def confirmed(connection: wire.Connection, publishes: list[bytes]) -> str:
    """The confirms for these, in order."""
    connection.open(1)
    connection.send(wire.method(1, wire.CONFIRM, b"\0"))
    connection.wait(wire.CONFIRM_OK)
    connection.send(*publishes)
    said = []
    while (found := connection.read(0.5)) is not None:
        tag, multiple = int.from_bytes(found[2][:8], "big"), found[2][8] & 1
        said.append(f"{'nack' if found[1] == wire.NACK else 'ack'} {tag}{' multiple' * multiple}")
    return ", ".join(said)


def content(connection: wire.Connection, queue: str) -> list[str]:
    bodies = []
    while (body := connection.take(2, queue, no_ack=True)) is not None:
        bodies.append(body)
    return bodies


def main() -> None:
    for url in wire.urls():
        connection, name = wire.Connection(url), f"finding-{uuid.uuid4().hex[:12]}"
        print(connection.broker)
        full, other = f"{name}-full", f"{name}-other"
        connection.open(2)
        connection.declare(2, full, "classic", **{"x-max-length": 1, "x-overflow": "reject-publish"})
        connection.declare(2, other, "classic")
        publishes = [
            wire.publish(1, other, "before"),
            *(wire.publish(1, full, text) for text in "123"),
            wire.publish(1, other, "after"),
        ]
        print(f"  tx.commit: {answer(connection, publishes)}")
        print(f"  in the full queue {content(connection, full)}, in the other {content(connection, other)}")
        print(f"  in confirm mode: {confirmed(connection, publishes)}")
        connection.delete(2, full)
        connection.delete(2, other)
        connection.end()


if __name__ == "__main__":
    main()

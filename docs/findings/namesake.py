"""Does the past of a deleted queue, or of a cancelled consumer, reach those that have their names?

    python namesake.py amqp://guest:guest@localhost:5672/%2F ...

A message is out when its queue is deleted and declared again; another is published and out when the first is returned,
or acknowledged: what happens to the other? And a consumer with prefetch 1 is cancelled while it holds a message; a new
one takes its tag: does it get the second message?
"""

from __future__ import annotations

import uuid

import wire


def settled(url: str, queue_type: str, settle: bytes) -> str:
    """What becomes of the namesake's message when the deleted queue's is settled."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection, other = wire.Connection(url), wire.Connection(url)
    for one in (connection, other):
        one.open(1)
    connection.declare(1, queue, queue_type)
    other.fill(1, queue, ["old"])
    connection.take(1, queue)
    other.delete(1, queue)
    connection.declare(1, queue, queue_type)
    other.open(2)
    other.fill(2, queue, ["new"])
    connection.take(1, queue)
    connection.send(settle, wire.method(1, wire.FLOW, b"\x01"))
    connection.wait(wire.FLOW_OK)
    while_out = take_soon(other, queue)
    connection.end()
    afterwards = take_soon(other, queue)
    other.delete(1, queue)
    other.end()
    return (
        "stays out, and comes back"
        if (while_out, afterwards) == (None, "new")
        else ("is delivered a second time" if while_out else "is lost")
    )


def take_soon(connection: wire.Connection, queue: str) -> str | None:
    """A message that is there, or comes within a few tries."""
    found = None
    for _ in range(40):
        found = found or connection.take(1, queue, no_ack=True)
        connection.read(0.01)
    return found


def reused(url: str, queue_type: str) -> str:
    """Is a new consumer served that has the tag of a cancelled one?"""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, queue, queue_type)
    connection.fill(1, queue, ["1", "2"])
    connection.send(wire.method(1, (60, 10), bytes(4) + b"\x00\x01\x00"), wire.consume(1, queue))
    connection.wait(wire.DELIVER)
    connection.send(wire.cancel(1))
    connection.wait(wire.CANCEL_OK)
    connection.send(wire.consume(1, queue))
    connection.wait(wire.CONSUME_OK)
    served = any(found[1] == wire.DELIVER for found in iter(lambda: connection.read(1.0), None))
    connection.delete(1, queue)
    connection.end()
    return "is served" if served else "is not served"


def main() -> None:
    nack, ack = wire.nack(1, 1), wire.ack(1, 1)
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            print(
                f"  {queue_type}: after nack the other {settled(url, queue_type, nack)}, "
                f"after ack it {settled(url, queue_type, ack)}; a reused tag {reused(url, queue_type)}"
            )


if __name__ == "__main__":
    main()

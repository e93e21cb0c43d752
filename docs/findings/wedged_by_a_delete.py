"""CAN-003 and everything after it: does a broker survive that a queue with a consumer is deleted?

    python wedged_by_a_delete.py amqp://guest:guest@localhost:5672/%2F ...

A consumer waits at an empty queue, which another connection deletes. Then both connections and a new one are asked to
declare a queue. GarageMQ 0.1 has to be restarted afterwards: run this on a broker that nobody else uses.
"""

from __future__ import annotations

import uuid

import wire

PATIENCE = 5.0


def answered(connection: wire.Connection, sent: bytes, *names: tuple[int, int]) -> str:
    """Is the method answered in time?"""
    connection.send(sent)
    while (found := connection.read(PATIENCE)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return wire.closing(found)
        if found[1] in names:
            return "answered"
    return f"no answer in {PATIENCE:g} s"


def declaration(channel: int, queue: str) -> bytes:
    return wire.method(channel, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x00" + wire.table())


def examine(url: str) -> None:
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, client = wire.Connection(url), wire.Connection(url, wire.NOTIFY)
    print(keeper.broker)
    keeper.open(1)
    client.open(1)
    print(f"  queue.declare before: {answered(keeper, declaration(1, queue), wire.DECLARE_OK)}")
    client.send(wire.consume(1, queue))
    client.wait(wire.CONSUME_OK)
    deletion = wire.method(1, wire.DELETE, bytes(2) + wire.short(queue) + bytes(1))
    print(f"  queue.delete with a consumer: {answered(keeper, deletion, wire.DELETE_OK)}")
    print(f"  basic.cancel to the consumer: {answered(client, b'', wire.CANCEL)}")
    fresh = wire.Connection(url)
    fresh.open(1)
    for name, connection in (("the deleting", keeper), ("the consuming", client), ("a new", fresh)):
        said = answered(connection, declaration(1, queue + "-2"), wire.DECLARE_OK)
        print(f"  queue.declare on {name} connection afterwards: {said}")


def main() -> None:
    for url in wire.urls():
        examine(url)


if __name__ == "__main__":
    main()

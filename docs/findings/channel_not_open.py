"""ERR-010: what does a method bring on a channel that is not open?

    python channel_not_open.py amqp://guest:guest@localhost:5672/%2F ...

It should bring connection.close 504. Each method is sent on a connection of its own, once on a number that was never
opened and once after an orderly channel.close; then channel 1, which is open, is asked whether the connection lives.
"""

from __future__ import annotations

import uuid

import wire

NUMBER = 7


def methods(queue: str) -> dict[str, bytes]:
    return {
        "queue.declare passive": wire.method(NUMBER, wire.DECLARE, bytes(2) + wire.short(queue) + b"\x01" + bytes(4)),
        "basic.get": wire.get(NUMBER, queue),
        "basic.consume": wire.consume(NUMBER, queue),
        "basic.publish": wire.publish(NUMBER, queue, "1"),
        "basic.ack": wire.ack(NUMBER, 1),
        "basic.nack": wire.nack(NUMBER, 1),
        "basic.reject": wire.reject(NUMBER, 1),
        "basic.recover": wire.recover(NUMBER),
        "basic.cancel": wire.cancel(NUMBER),
        "queue.purge": wire.method(NUMBER, (50, 30), bytes(2) + wire.short(queue) + bytes(1)),
        "confirm.select": wire.method(NUMBER, wire.CONFIRM, bytes(1)),
        "tx.select": wire.method(NUMBER, wire.TX_SELECT),
        "exchange.declare passive": wire.method(
            NUMBER, (40, 10), bytes(2) + wire.short("amq.direct") + wire.short("direct") + b"\x01" + bytes(4)
        ),
        "exchange.delete": wire.method(NUMBER, (40, 20), bytes(2) + wire.short("amqpconf.nothing") + b"\x00"),
        "exchange.bind": wire.method(
            NUMBER, (40, 30), bytes(2) + wire.short("amq.direct") + wire.short("amq.fanout") + b"\x00\x00" + bytes(4)
        ),
        "channel.close": wire.close(NUMBER),
        "basic.qos": wire.qos(NUMBER, 1),
        "channel.flow": wire.method(NUMBER, wire.FLOW, b"\x01"),
    }


def outcome(url: str, queue: str, sent: bytes, opened: bool) -> str:
    """What the broker says of it, and whether channel 1 still answers."""
    connection = wire.Connection(url)
    connection.open(1)
    try:
        if opened:
            connection.open(NUMBER)
            connection.send(wire.close(NUMBER))
            connection.wait(wire.CHANNEL_CLOSE_OK)
        connection.send(sent, wire.method(1, wire.FLOW, b"\x01"))
        lives = False
        while (found := connection.read(1.0)) is not None:
            if found[1] in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
                return wire.closing(found)
            if found[0] == NUMBER:
                return f"answered by {found[1]}"
            lives = True
        return "nothing, and channel 1 is answered" if lives else "nothing, nor does channel 1 get its answer"
    finally:
        connection.end()


def main() -> None:
    for url in wire.urls():
        keeper = wire.Connection(url)
        print(keeper.broker)
        keeper.open(1)
        queue = f"finding-{uuid.uuid4().hex[:12]}"
        keeper.declare(1, queue, "classic")
        for name, sent in methods(queue).items():
            for opened in (False, True):
                when = "after channel.close" if opened else "never opened"
                print(f"  {name}, {when}: {outcome(url, queue, sent, opened)}")
        print(f"  ready in the queue afterwards: {keeper.declare(1, queue, 'classic')}")
        keeper.delete(1, queue)
        keeper.end()


if __name__ == "__main__":
    main()

"""ERR-009, CAN-018, QOS-023: what do mistakes bring for which the text demands the end of the connection?

    python mistakes_that_pass.py amqp://guest:guest@localhost:5672/%2F ...

A consumer tag that is in use should bring connection.close 530. What a broker does not implement should bring
connection.close 540; it may also implement it. Two messages are out on the channel when it asks for basic.recover
without requeue, by get or with a consumer that is still there; the immediate publish is sent to a queue without
consumers, and to one that has one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

import wire

NAMES = {
    wire.CONSUME_OK: "consume-ok",
    wire.QOS_OK: "qos-ok",
    wire.RECOVER_OK: "recover-ok",
    wire.DELIVER: "a delivery",
}
Act = Callable[[wire.Connection, str], None]


def same_tag(connection: wire.Connection, queue: str) -> None:
    connection.send(wire.consume(1, queue))
    connection.wait(wire.CONSUME_OK)
    connection.send(wire.consume(1, queue))


def prefetch_size(connection: wire.Connection, queue: str) -> None:
    connection.send(wire.qos(1, 1, size=1000))


def recover_got(connection: wire.Connection, queue: str) -> None:
    connection.take(1, queue)
    connection.take(1, queue)
    connection.send(wire.recover(1, requeue=False))


def recover_consumed(connection: wire.Connection, queue: str) -> None:
    connection.send(wire.consume(1, queue))
    connection.wait(wire.DELIVER)
    connection.wait(wire.DELIVER)
    connection.send(wire.recover(1, requeue=False))


def immediate(connection: wire.Connection, queue: str) -> None:
    connection.send(wire.publish(1, queue, "1", immediate=True))


def immediate_consumed(connection: wire.Connection, queue: str) -> None:
    connection.send(wire.consume(1, queue, no_ack=True))
    connection.wait(wire.CONSUME_OK)
    immediate(connection, queue)


MISTAKES: dict[str, Act] = {
    "consume with a tag that is in use": same_tag,
    "qos with a prefetch size": prefetch_size,
    "recover without requeue, two got": recover_got,
    "recover without requeue, two consumed": recover_consumed,
    "publish with immediate, no consumer": immediate,
    "publish with immediate, a consumer": immediate_consumed,
}
FILLED = (recover_got, recover_consumed)


def outcome(url: str, act: Act) -> str:
    """What the broker sends until it closes something or has been quiet for a second."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    connection.open(1)
    keeper.declare(1, queue, "classic")
    try:
        if act in FILLED:
            keeper.fill(1, queue, ["1", "2"])
        act(connection, queue)
        return ", ".join(_seen(connection)) or "nothing"
    finally:
        connection.end()
        keeper.delete(1, queue)
        keeper.end()


def _seen(connection: wire.Connection) -> list[str]:
    seen: list[str] = []
    while (found := connection.read(1.0)) is not None:
        if found[1] in (wire.CHANNEL_CLOSE, wire.CONNECTION_CLOSE):
            return [*seen, wire.closing(found)]
        if found[1] == wire.RETURN:
            seen.append(f"return {wire.reason(found[2])}")
        elif found[1] in NAMES:
            seen.append(NAMES[found[1]])
    return seen


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, act in MISTAKES.items():
            print(f"  {name}: {outcome(url, act)}")


if __name__ == "__main__":
    main()

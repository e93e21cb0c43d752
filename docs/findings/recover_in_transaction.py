"""TX-002, AUTO-006: what becomes of an acknowledgement that is never committed, if the channel has recovered meanwhile?

    python recover_in_transaction.py amqp://guest:guest@localhost:5672/%2F ...

A transactional channel gets two messages, and acks the second one. It recovers or does not, rolls back or does not, and
is closed. Both messages should be in the queue again, for neither has been acknowledged.
"""

from __future__ import annotations

import itertools

import wire

QUEUE = "findings.recover_in_transaction"
TX_SELECT, TX_SELECT_OK, TX_ROLLBACK, TX_ROLLBACK_OK = (90, 10), (90, 11), (90, 30), (90, 31)


def left(url: str, *, recovers: bool, rolls_back: bool) -> list[str]:
    """The messages that are in the queue in the end."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "classic")
    connection.fill(1, QUEUE, ["m1", "m2"])
    connection.open(2)
    connection.send(wire.method(2, TX_SELECT))
    connection.wait(TX_SELECT_OK)
    for _ in range(2):
        connection.take(2, QUEUE)
    connection.send(wire.ack(2, 2))
    if recovers:
        connection.send(wire.recover(2))
        connection.wait(wire.RECOVER_OK)
    if rolls_back:
        connection.send(wire.method(2, TX_ROLLBACK))
        connection.wait(TX_ROLLBACK_OK)
    connection.send(wire.close(2))
    connection.wait(wire.CHANNEL_CLOSE_OK)
    found = iter(lambda: connection.take(1, QUEUE, no_ack=True), None)
    bodies = sorted(body for body in found if body is not None)
    connection.delete(1, QUEUE)
    connection.end()
    return bodies


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for rolls_back, recovers in itertools.product((True, False), (False, True)):
            how = "after a recover" if recovers else "without one"
            end = "rollback" if rolls_back else "close alone"
            print(f"  {end} {how}: {', '.join(left(url, recovers=recovers, rolls_back=rolls_back)) or 'nothing'}")


if __name__ == "__main__":
    main()

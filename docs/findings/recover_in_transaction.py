"""TX-002, AUTO-006, ERR-012, MODE-005: what becomes of a settlement in a transaction whose channel recovers meanwhile?

    python recover_in_transaction.py amqp://guest:guest@localhost:5672/%2F ...

A transactional channel gets two messages, and acks the second one. It recovers or does not, rolls back or does not, and
is closed. Both messages should be in the queue again, for neither has been acknowledged.

Then it acks the second one, or returns it, recovers and commits, by basic.get and with a running consumer. The commit
is to be answered with commit-ok, and what was returned is to be in the queue.

Then the queue has dead letters. The second message is nacked without requeue; the channel recovers or does not, and is
closed after a commit or without one. Where nothing was committed both messages are to be in the queue, and else the
second one among the dead letters.
"""

from __future__ import annotations

import itertools
import time

import wire

QUEUE, DEAD = "findings.recover_in_transaction", "findings.recover_in_transaction.dead"
TX_SELECT, TX_SELECT_OK, TX_ROLLBACK, TX_ROLLBACK_OK = (90, 10), (90, 11), (90, 30), (90, 31)
TX_COMMIT, TX_COMMIT_OK = (90, 20), (90, 21)
DIES = 0.5
"""Seconds in which a dead letter comes to its queue."""


def left(url: str, *, recovers: bool, rolls_back: bool) -> list[str]:
    """The messages that are in the queue in the end."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, QUEUE, "classic")
    connection.fill(1, QUEUE, ["m1", "m2"])
    _settle_second(connection, wire.ack(2, 2), recovers=recovers)
    if rolls_back:
        connection.send(wire.method(2, TX_ROLLBACK))
        connection.wait(TX_ROLLBACK_OK)
    connection.send(wire.close(2))
    connection.wait(wire.CHANNEL_CLOSE_OK)
    return _emptied(connection)


def committed(url: str, settlement: bytes, *, consumes: bool) -> tuple[str, list[str]]:
    """How the commit was answered, and the messages that are in the queue in the end."""
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    keeper.declare(1, QUEUE, "classic")
    keeper.fill(1, QUEUE, ["m1", "m2"])
    connection.open(2)
    if consumes:
        connection.send(wire.consume(2, QUEUE))
    for _ in range(2):
        if consumes:
            connection.wait(wire.DELIVER)
        else:
            connection.take(2, QUEUE)
    connection.send(wire.method(2, TX_SELECT))
    connection.wait(TX_SELECT_OK)
    connection.send(settlement + wire.recover(2))
    connection.wait(wire.RECOVER_OK)
    if consumes:
        connection.wait(wire.DELIVER)
    connection.send(wire.method(2, TX_COMMIT))
    try:
        connection.wait(TX_COMMIT_OK)
        answer = "commit-ok"
        connection.send(wire.close(2))
        connection.wait(wire.CHANNEL_CLOSE_OK)
    except ConnectionError as error:
        answer = str(error)
    return answer, _emptied(keeper)


def rejected(url: str, *, recovers: bool, commits: bool) -> tuple[list[str], list[str]]:
    """The messages in the queue in the end, and its dead letters."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.declare(1, DEAD, "classic")
    connection.declare(1, QUEUE, "classic", x_dead_letter_exchange="", x_dead_letter_routing_key=DEAD)
    connection.fill(1, QUEUE, ["m1", "m2"])
    _settle_second(connection, wire.nack(2, 2, requeue=False), recovers=recovers)
    if commits:
        connection.send(wire.method(2, TX_COMMIT))
        connection.wait(TX_COMMIT_OK)
    connection.send(wire.close(2))
    connection.wait(wire.CHANNEL_CLOSE_OK)
    time.sleep(DIES)
    dead = _taken(connection, DEAD)
    connection.delete(1, DEAD)
    return _emptied(connection), dead


def _settle_second(connection: wire.Connection, settlement: bytes, *, recovers: bool) -> None:
    """Channel 2 becomes transactional, gets both messages, settles the second one, and recovers or does not."""
    connection.open(2)
    connection.send(wire.method(2, TX_SELECT))
    connection.wait(TX_SELECT_OK)
    for _ in range(2):
        connection.take(2, QUEUE)
    connection.send(settlement)
    if recovers:
        connection.send(wire.recover(2))
        connection.wait(wire.RECOVER_OK)


def _emptied(connection: wire.Connection) -> list[str]:
    bodies = _taken(connection, QUEUE)
    connection.delete(1, QUEUE)
    connection.end()
    return bodies


def _taken(connection: wire.Connection, queue: str) -> list[str]:
    found = iter(lambda: connection.take(1, queue, no_ack=True), None)
    return sorted(body for body in found if body is not None)


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for rolls_back, recovers in itertools.product((True, False), (False, True)):
            how = "after a recover" if recovers else "without one"
            end = "rollback" if rolls_back else "close alone"
            print(f"  {end} {how}: {', '.join(left(url, recovers=recovers, rolls_back=rolls_back)) or 'nothing'}")
        for what, settlement in (("an ack", wire.ack(2, 2)), ("a nack that requeues", wire.nack(2, 2))):
            for consumes in (False, True):
                answer, bodies = committed(url, settlement, consumes=consumes)
                which = "with a consumer" if consumes else "by basic.get"
                print(f"  commit of {what}, {which}: {answer}; {', '.join(bodies) or 'nothing'}")
        for commits, recovers in itertools.product((False, True), (False, True)):
            there, dead = rejected(url, recovers=recovers, commits=commits)
            how = f"{'commit' if commits else 'close alone'}, {'after a recover' if recovers else 'without one'}"
            told = f"{', '.join(there) or 'nothing'}; dead letters: {', '.join(dead) or 'none'}"
            print(f"  nack without requeue, {how}: {told}")


if __name__ == "__main__":
    main()

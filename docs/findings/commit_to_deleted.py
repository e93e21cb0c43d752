"""TX-017: does a commit go through, if a queue has been deleted to which the transaction has published?

    python commit_to_deleted.py amqp://guest:guest@localhost:5672/%2F ...

A transaction acks the message `old`, and publishes to a queue that stays and to one that is deleted before the commit:
first to the one or to the other; or that is deleted and declared again. The commit should be answered, `old` should be
gone, and the message for the queue that stays should be there.
"""

from __future__ import annotations

import wire

STAYS, GOES = "findings.commit.stays", "findings.commit.goes"
TX_SELECT, TX_SELECT_OK, TX_COMMIT, TX_COMMIT_OK = (90, 10), (90, 11), (90, 20), (90, 21)


def show(url: str, queues: tuple[str, str], *, again: bool = False) -> str:
    """How the commit is answered, and what is in the queue that stays."""
    keeper, connection = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    for queue in queues:
        keeper.declare(1, queue, "classic")
    keeper.fill(1, STAYS, ["old"])
    connection.open(1)
    connection.send(wire.method(1, TX_SELECT))
    connection.wait(TX_SELECT_OK)
    connection.take(1, STAYS)
    connection.send(wire.ack(1, 1), *(wire.publish(1, queue, "new") for queue in queues))
    connection.declare(1, STAYS, "classic")
    keeper.delete(1, GOES)
    if again:
        keeper.declare(1, GOES, "classic")
    connection.send(wire.method(1, TX_COMMIT))
    try:
        connection.wait(TX_COMMIT_OK)
        answer = "commit-ok"
        connection.end()
    except ConnectionError as error:
        answer = " ".join(str(error).split())
    found = iter(lambda: keeper.take(1, STAYS, no_ack=True), None)
    left = ", ".join(str(body) for body in found) or "nothing"
    for queue in (STAYS, GOES) if again else (STAYS,):
        keeper.delete(1, queue)
    keeper.end()
    return f"{answer}; left: {left}"


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        print(f"  to the deleted queue first: {show(url, (GOES, STAYS))}")
        print(f"  to the deleted queue last : {show(url, (STAYS, GOES))}")
        print(f"  to one that is back       : {show(url, (STAYS, GOES), again=True)}")


if __name__ == "__main__":
    main()

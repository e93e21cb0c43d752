"""ACK-007, ACK-008: what does a settlement of everything do on a channel on which nothing is outstanding?

    python settle_everything.py amqp://guest:guest@localhost:5672/%2F ...

Tag 0 with multiple stands for all outstanding deliveries. On a fresh channel, where there are none, it should do
nothing: the flow after it, or the commit in a transaction, is answered. Each case has a connection of its own.
"""

from __future__ import annotations

import wire

WAYS = {
    "ack": wire.ack(1, 0, multiple=True),
    "nack with requeue": wire.nack(1, 0, multiple=True),
    "nack without requeue": wire.nack(1, 0, multiple=True, requeue=False),
}


def answer(url: str, settlement: bytes, transaction: bool) -> str:
    """What comes after the settlement: the answer to the next method, or a close."""
    connection = wire.Connection(url)
    connection.open(1)
    try:
        if transaction:
            connection.send(wire.method(1, wire.TX_SELECT))
            connection.wait(wire.TX_SELECT_OK)
        following = wire.method(1, wire.TX_COMMIT) if transaction else wire.method(1, wire.FLOW, b"\x01")
        connection.send(settlement, following)
        found = connection.read()
        if found is None:
            return "no answer"
        return "accepted" if found[1] in (wire.FLOW_OK, wire.TX_COMMIT_OK) else wire.closing(found)
    finally:
        connection.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for transaction in (False, True):
            for name, settlement in WAYS.items():
                where = "in an empty transaction" if transaction else "on a fresh channel"
                print(f"  {name} of tag 0, multiple, {where}: {answer(url, settlement, transaction)}")


if __name__ == "__main__":
    main()

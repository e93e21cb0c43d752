"""AUTO-013: in which order does a queue get back what a lost connection held?

    python order_after_loss.py amqp://guest:guest@localhost:5672/%2F ...

Of 16 messages a connection holds the first 12: delivered to one consumer, or fetched by basic.get. It goes without a
word (FIN, RST) or by connection.close. When all 16 are ready again, they are fetched on another connection. Prints the
orders that were seen in 20 rounds each, and how often.
"""

from __future__ import annotations

import uuid
from collections import Counter

import wire

ROUNDS, HELD, ALL = 20, 12, 16


def order(url: str, queue_type: str, how: str, end: str) -> str:
    queue, keeper = f"finding-{uuid.uuid4().hex[:12]}", wire.Connection(url)
    keeper.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(1, ALL + 1)])
        holder = wire.Connection(url)
        holder.open(1)
        if how == "consumer":
            holder.send(wire.qos(1, HELD), wire.consume(1, queue))
            for _ in range(HELD):
                holder.wait(wire.DELIVER)
        else:
            for _ in range(HELD):
                holder.take(1, queue)
        if end == "close":
            holder.send(wire.close(0))
            holder.wait(wire.CONNECTION_CLOSE_OK)
        holder.end(reset=end == "RST")
        while keeper.declare(1, queue, queue_type) < ALL:
            pass
        return " ".join(str(keeper.take(1, queue, no_ack=True)) for _ in range(ALL))
    finally:
        keeper.delete(1, queue)
        keeper.end()


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for how in ("consumer", "gets"):
                for end in ("FIN", "RST", "close"):
                    seen = Counter(order(url, queue_type, how, end) for _ in range(ROUNDS))
                    told = "; ".join(f"{orders} ({times})" for orders, times in seen.most_common())
                    print(f"  {queue_type}, {how}, {end}: {told}")


if __name__ == "__main__":
    main()

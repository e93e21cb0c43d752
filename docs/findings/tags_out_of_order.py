"""TAG-003, ERR-013: do deliveries and answers to basic.get keep their order on one channel?

    python tags_out_of_order.py amqp://guest:guest@localhost:5672/%2F ...

One channel consumes from a queue and gets from another, while another connection publishes to the first. Counted are
deliveries whose tag is below one that came before, and methods that cut another's content short.
"""

from __future__ import annotations

import uuid

import wire

ROUNDS, EACH = 60, 60


def examine(url: str) -> None:
    queues = [f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2)]
    client, other = wire.Connection(url), wire.Connection(url)
    print(client.broker)
    client.open(1)
    other.open(1)
    for queue in queues:
        other.declare(1, queue, "classic")
    client.send(wire.consume(1, queues[0]))
    client.wait(wire.CONSUME_OK)
    highest = late = cut = due = 0
    for _ in range(ROUNDS):
        other.send(*(wire.publish(1, queue, "x") for queue in queues for _ in range(EACH)))
        client.send(*(wire.get(1, queues[1]) for _ in range(EACH)))
        while (found := client.read(0.03)) is not None:
            if found[1] in (wire.DELIVER, wire.GET_OK):
                cut, due = cut + (due > 0), 2
                late, highest = late + (wire.delivery_tag(found) < highest), max(highest, wire.delivery_tag(found))
            elif found[1] == wire.CONTENT:
                due -= 1
    client.send(wire.cancel(1), wire.close(0))
    client.wait(wire.CONNECTION_CLOSE_OK)
    for queue in queues:
        other.delete(1, queue)
    print(f"  of {highest} deliveries {late} have a tag below one before; {cut} contents were cut short")


def main() -> None:
    for url in wire.urls():
        examine(url)


if __name__ == "__main__":
    main()

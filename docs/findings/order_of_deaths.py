"""DLX-006: in which order does x-death tell the deaths of a message?

    python order_of_deaths.py amqp://guest:guest@localhost:5672/%2F ...

A message is rejected in four classic queues, one after the other, each of which sends its dead letters to the next.
Printed are the queues that x-death names, wherever it is fetched.
"""

from __future__ import annotations

import re
import time

import wire

QUEUES = [f"findings.deaths-{number}" for number in range(1, 6)]
NAMED = re.compile(rb"\x05queueS....(findings\.deaths-\d)", re.DOTALL)


def fetched(connection: wire.Connection, queue: str) -> str:
    """The numbers of the queues in its x-death; then it is rejected."""
    for _ in range(50):
        connection.send(wire.get(1, queue))
        answer = connection.wait(wire.GET_OK, wire.GET_EMPTY)
        if answer[1] == wire.GET_OK:
            break
        time.sleep(0.05)
    tag, header = wire.delivery_tag(answer), connection.read()
    connection.read()
    connection.send(wire.reject(1, tag, requeue=False))
    table = header[2] if header is not None else b""
    return " ".join(name.decode()[-1] for name in NAMED.findall(table)) or "none"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.open(1)
        for queue, heir in zip(QUEUES, [*QUEUES[1:], ""], strict=True):
            more = {"x_dead_letter_exchange": "", "x_dead_letter_routing_key": heir} if heir else {}
            connection.declare(1, queue, "classic", **more)
        connection.fill(1, QUEUES[0], ["m"])
        for queue in QUEUES:
            print(f"  in queue {queue[-1]}: {fetched(connection, queue)}")
        for queue in QUEUES:
            connection.delete(1, queue)
        connection.end()


if __name__ == "__main__":
    main()

"""ERR-012: basic.recover of a delivery whose queue has been deleted.

    python recover_after_deletion.py amqp://guest:guest@localhost:5672/%2F ...

A channel holds one delivery. Another channel deletes the queue. Then the first one recovers, which is answered, and the
client is silent for a while. In other tries it sends something else instead: a settlement of nothing, or a publish.
"""

from __future__ import annotations

import sys

import wire

QUEUE = "findings.recover_after_deletion"
SILENCE = 8.0
"""Seconds; where there is a management plugin, RabbitMQ looks at its channels every five."""
FORMS = "basic.get", "basic.consume"


def recovered(url: str, form: str, then: str) -> str:
    """What becomes of the connection."""
    connection = wire.Connection(url)
    connection.open(1)
    connection.open(2)
    connection.declare(2, QUEUE, "classic")
    connection.send(wire.publish(1, QUEUE, "one"))
    take = wire.get(1, QUEUE) if form == "basic.get" else wire.consume(1, QUEUE)
    connection.send(take)
    connection.wait(wire.GET_OK, wire.DELIVER)
    if form == "basic.consume":
        connection.send(wire.cancel(1))
        connection.wait(wire.CANCEL_OK)
    connection.delete(2, QUEUE)
    connection.send(wire.recover(1))
    connection.wait(wire.RECOVER_OK)
    if then == "a recover again":
        connection.send(wire.recover(1))
    elif then == "a get of another queue":
        connection.declare(2, QUEUE + ".other", "quorum")
        connection.send(wire.get(1, QUEUE + ".other"))
    found = connection.read(SILENCE)
    while found is not None and found[1] not in (wire.CONNECTION_CLOSE, wire.CHANNEL_CLOSE):
        found = connection.read(SILENCE)
    connection.end()
    return "goes on" if found is None else wire.closing(found)


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for form in FORMS:
            for then in ("silence", "a recover again", "a get of another queue"):
                print(f"  {form}, deletion, recover, recover-ok, {then}: the connection: {recovered(url, form, then)}")
                sys.stdout.flush()


if __name__ == "__main__":
    main()

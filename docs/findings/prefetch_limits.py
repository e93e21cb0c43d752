"""QOS-005, QOS-008, QOS-009, QOS-015, QOS-017, QOS-020, QOS-025: which limits hold, for whom, and in which order?

    python prefetch_limits.py amqp://guest:guest@localhost:5672/%2F ...

Every line is one channel with one or two consumers of a queue that holds more than any limit allows. What is printed
is the number of deliveries to each consumer until nothing has come for a second. T stands for the global bit, F for
its absence: qos(5,T) is a limit of 5 for the channel.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable

import wire

QUIET = 1.0
Steps = Callable[[wire.Connection, str], None]


def deliveries(url: str, queue_type: str, messages: int, act: Steps, tags: tuple[str, ...] = ("a", "b")) -> str:
    """Deliveries by consumer after `act`; or how the connection ended."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        keeper.fill(1, queue, [str(number) for number in range(messages)])
        act(receiver, queue)
        found = count(receiver)
        return found if isinstance(found, str) else " + ".join(str(found[tag]) for tag in tags)
    finally:
        receiver.end()
        keeper.delete(1, queue)
        keeper.end()


def count(connection: wire.Connection) -> Counter[str] | str:
    seen: Counter[str] = Counter()
    while (found := connection.read(QUIET)) is not None:
        if found[1] == wire.DELIVER:
            seen[found[2][1 : 1 + found[2][0]].decode()] += 1
        elif found[1] == wire.CONNECTION_CLOSE:
            return f"connection.close {wire.reason(found[2])}"
    return seen


def two(*limits: tuple[int, bool]) -> Steps:
    """Sets these limits, then starts two consumers."""

    def act(connection: wire.Connection, queue: str) -> None:
        for limit, shared in limits:
            connection.send(wire.qos(1, limit, shared))
            connection.wait(wire.QOS_OK)
        connection.send(wire.consume(1, queue, "a"), wire.consume(1, queue, "b"))

    return act


def after_gets(connection: wire.Connection, queue: str) -> None:
    """Three gets are out when the channel's limit of 3 is set; they are acknowledged once the consumer runs."""
    for _ in range(3):
        connection.take(1, queue)
    connection.send(wire.qos(1, 3, shared=True), wire.consume(1, queue, "a"), wire.ack(1, 3, multiple=True))


def after_a_cancel(tag: str) -> Steps:
    """A consumer with a limit of 3 is cancelled with three deliveries out; its successor has this tag."""

    def act(connection: wire.Connection, queue: str) -> None:
        connection.send(wire.qos(1, 3), wire.consume(1, queue, "old"))
        for _ in range(3):
            connection.wait(wire.DELIVER)
        connection.send(wire.cancel(1, "old"))
        connection.wait(wire.CANCEL_OK)
        connection.send(wire.consume(1, queue, tag))

    return act


def beside_manual_ones(connection: wire.Connection, queue: str) -> None:
    """A manual consumer reaches the channel's limit of 2, then one without acknowledgements starts."""
    connection.send(wire.qos(1, 2, shared=True), wire.consume(1, queue, "a"))
    for _ in range(2):
        connection.wait(wire.DELIVER)
    connection.send(wire.consume(1, queue, "b", no_ack=True))


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, limits in (
            ("qos(3,F) qos(5,T)", ((3, False), (5, True))),
            ("qos(5,T) qos(3,F)", ((5, True), (3, False))),
            ("qos(5,T)", ((5, True),)),
        ):
            print(
                f"  {name}: classic {deliveries(url, 'classic', 20, two(*limits))}, "
                f"quorum {deliveries(url, 'quorum', 20, two(*limits))}"
            )
        print(f"  3 gets out, qos(3,T): classic {deliveries(url, 'classic', 9, after_gets, ('a',))}")
        print(f"  no-ack at the channel's limit: classic {deliveries(url, 'classic', 9, beside_manual_ones, ('b',))}")
        for tag in ("new", "old"):
            shown = [deliveries(url, kind, 9, after_a_cancel(tag), (tag,)) for kind in ("classic", "quorum")]
            print(f"  limit 3, cancelled with 3 out, again as {tag!r}: classic {shown[0]}, quorum {shown[1]}")
        print(
            f"  no limit, 2500 ready: classic {deliveries(url, 'classic', 2500, two((0, False)))}, "
            f"quorum {deliveries(url, 'quorum', 2500, two((0, False)))}"
        )


if __name__ == "__main__":
    main()

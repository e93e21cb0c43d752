"""RQ-011, MODE-002, CAN-009: what becomes of deliveries that are under way when their consumer is cancelled?

    python cancel_under_way.py amqp://guest:guest@localhost:5672/%2F ...

A consumer waits. A hundred messages are published on another connection in one TCP write, and a few milliseconds
later the consumer is cancelled. Everything that arrives until 0.3 s of silence is written down, then the channel is
closed and the rest is got. No message may be seen twice without redelivered, nothing may arrive after cancel-ok, and
with no-ack nothing that arrived may come again.
"""

from __future__ import annotations

import time
import uuid
from collections import Counter

import wire

MESSAGES, ROUNDS = 100, 20


def oddities(url: str, queue_type: str, no_ack: bool, pause: float) -> Counter[str]:
    """What one round shows that it must not, with the cancel `pause` seconds after the publishes."""
    queue = f"finding-{uuid.uuid4().hex[:12]}"
    keeper, receiver = wire.Connection(url), wire.Connection(url)
    keeper.open(1)
    receiver.open(1)
    keeper.declare(1, queue, queue_type)
    try:
        receiver.send(wire.consume(1, queue, no_ack=no_ack))
        receiver.wait(wire.CONSUME_OK)
        keeper.send(*(wire.publish(1, queue, str(number)) for number in range(MESSAGES)))
        time.sleep(pause)
        receiver.send(wire.cancel(1))
        seen, late = _arrivals(receiver)
        receiver.send(wire.close(1))
        receiver.wait(wire.CHANNEL_CLOSE_OK)
        time.sleep(0.2)
        rest = _rest(keeper, queue)
        twice = any(count > 1 for count in Counter(body for body, redelivered in seen if not redelivered).values())
        back = no_ack and bool({body for body, _ in seen} & rest)
        return Counter(["delivered twice"] * twice + ["after cancel-ok"] * late + ["came back"] * back)
    finally:
        keeper.delete(1, queue)
        keeper.end()
        receiver.end()


def _arrivals(connection: wire.Connection) -> tuple[list[tuple[str, bool]], bool]:
    seen: list[tuple[str, bool]] = []
    cancelled = late = redelivered = False
    while (found := connection.read(0.3)) is not None:
        if found[1] == wire.CANCEL_OK:
            cancelled = True
        elif found[1] == wire.DELIVER:
            redelivered = bool(found[2][found[2][0] + 9])
            late = late or cancelled
            connection.read()
            body = connection.read()
            assert body is not None
            seen.append((body[2].decode(), redelivered))
    return seen, late


def _rest(connection: wire.Connection, queue: str) -> set[str]:
    rest = set()
    while (body := connection.take(1, queue, no_ack=True)) is not None:
        rest.add(body)
    return rest


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for queue_type in ("classic", "quorum"):
            for no_ack in (False, True):
                pauses = [0.001 + 0.0005 * (number % 10) for number in range(ROUNDS)]
                seen = sum((oddities(url, queue_type, no_ack, pause) for pause in pauses), Counter[str]())
                odd = ", ".join(f"{what} in {n}" for what, n in sorted(seen.items())) or "nothing odd"
                print(f"  {queue_type}, {'no-ack' if no_ack else 'manual'}: {odd}, of {ROUNDS} rounds")


if __name__ == "__main__":
    main()

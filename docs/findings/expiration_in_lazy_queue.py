"""DLX-007: does a dead letter tell the expiration that the message had, where its queue keeps messages on disk?

    python expiration_in_lazy_queue.py amqp://guest:guest@localhost:5672/%2F ...

One persistent message with an expiration of ten minutes comes to a durable queue that has a dead letter exchange, and
is rejected: once with a plain queue, once with x-queue-mode lazy. Prints what x-death says as original-expiration.
"""

from __future__ import annotations

import sys
import uuid

import wire
from after_restart import connected
from expiration_after_restart import publish, told

MODES = {"a plain queue": {}, "a lazy queue": {"x_queue_mode": "lazy"}}


def main() -> None:
    for url in sys.argv[1:]:
        line = connected(url)
        print(line.broker)
        line.open(1)
        line.send(wire.method(1, wire.CONFIRM, bytes(1)))
        line.wait(wire.CONFIRM_OK)
        for mode, arguments in MODES.items():
            queue, letters = (f"finding-{uuid.uuid4().hex[:12]}" for _ in range(2))
            line.declare(1, letters, "classic")
            line.declare(1, queue, "classic", x_dead_letter_exchange="", x_dead_letter_routing_key=letters, **arguments)
            line.send(publish(queue, "message"))
            line.wait(wire.ACK)
            print(f"  {mode}: {told(line, queue, letters)}")
            for name in (queue, letters):
                line.delete(1, name)
        line.end()


if __name__ == "__main__":
    main()

"""ERR-006: how often is a channel closed that is sent several methods which leave out the queue?

    python closed_for_each_nameless.py amqp://guest:guest@localhost:5672/%2F ...

A channel that has declared no queue is sent queue.purge without a name, in one write: once, three and twenty times. The
first is a mistake that closes the channel; what comes after it has to be ignored. Counts the channel.close that come
within a second, while the client does not answer.
"""

from __future__ import annotations

import time

import wire

PURGE, ENOUGH = (50, 30), 1.0


def closes(url: str, times: int) -> int:
    """How many channel.close come for the one channel."""
    line = wire.Connection(url)
    line.open(1)
    line.send(*(wire.method(1, PURGE, bytes(2) + wire.short("") + bytes(1)) for _ in range(times)))
    seen, until = 0, time.monotonic() + ENOUGH
    while (left := until - time.monotonic()) > 0:
        found = line.read(left)
        seen += found is not None and found[1] == wire.CHANNEL_CLOSE
    return seen


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for times in (1, 3, 20):
            print(f"  sent {times} times: {closes(url, times)} closes")


if __name__ == "__main__":
    main()

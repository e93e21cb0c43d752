"""ERR-008: is the client's channel.close answered when it crosses the broker's own?

    python crossing_closes.py amqp://guest:guest@localhost:5672/%2F ...

A bad acknowledgement and channel.close leave in one write, so both sides close the channel, and the client answers the
broker's close at once. A hundred channels do so together, a hundred times. Prints how many of the clients' closes were
not answered within two seconds.
"""

from __future__ import annotations

import wire

CHANNELS, ROUNDS = 100, 100


def unanswered(url: str) -> int:
    """How often close-ok never came."""
    missing = 0
    for _ in range(ROUNDS):
        connection = wire.Connection(url)
        for channel in range(1, CHANNELS + 1):
            connection.open(channel)
        connection.send(*(wire.ack(one, 99) + wire.close(one) for one in range(1, CHANNELS + 1)))
        waiting = set(range(1, CHANNELS + 1))
        while waiting and (found := connection.read(timeout=2.0)) is not None:
            if found[1] == wire.CHANNEL_CLOSE:
                connection.send(wire.method(found[0], wire.CHANNEL_CLOSE_OK))
            elif found[1] == wire.CHANNEL_CLOSE_OK:
                waiting.discard(found[0])
        missing += len(waiting)
        connection.end()
    return missing


def main() -> None:
    for url in wire.urls():
        print(f"{wire.Connection(url).broker}: {unanswered(url)} of {ROUNDS * CHANNELS}", flush=True)


if __name__ == "__main__":
    main()

"""CONN-012: which frame-max may a client ask for?

    python small_frames.py amqp://guest:guest@localhost:5672/%2F ...

Every peer must take frames of 4096 octets, and a client may ask for less than the broker has offered.
"""

from __future__ import annotations

import time

import wire

SIZES = (131072, 8192, 8191, 4096, 4095)


def outcome(url: str, size: int) -> str:
    """What comes of the handshake."""
    began = time.monotonic()
    try:
        wire.Connection(url, frame_max=size).end()
    except (ConnectionError, OSError):
        return f"the end of the connection after {time.monotonic() - began:.1f} s"
    return "open-ok"


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for size in SIZES:
            print(f"  frame-max {size}: {outcome(url, size)}")


if __name__ == "__main__":
    main()

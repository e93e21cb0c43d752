"""CONN-021: is connection.close answered that meets the broker's own?

    python connection_closes_cross.py amqp://guest:guest@localhost:5672/%2F ...

The client opens an open connection once more, which costs it the connection, and sends connection.close: in the same
write, or when it has read the broker's. It keeps its close-ok back for two seconds.
"""

from __future__ import annotations

import wire

AGAIN = wire.method(0, (10, 40), wire.short("/") + wire.short("") + bytes(1))


def outcome(url: str, together: bool) -> list[str]:
    """What comes of it."""
    connection = wire.Connection(url)
    connection.send(*((AGAIN, wire.close(0)) if together else (AGAIN,)))
    seen = []
    while (found := connection.read(2.0)) is not None:
        closes = found[1] == wire.CONNECTION_CLOSE
        seen.append(wire.closing(found) if closes else "close-ok" if found[1] == wire.CONNECTION_CLOSE_OK else "?")
        if closes and not together:
            connection.send(wire.close(0))
    connection.send(wire.method(0, wire.CONNECTION_CLOSE_OK))
    connection.end()
    return seen


def main() -> None:
    for url in wire.urls():
        connection = wire.Connection(url)
        print(connection.broker)
        connection.end()
        for together in (True, False):
            print(f"  {'in one write' if together else 'later'}: {', then '.join(outcome(url, together))}")


if __name__ == "__main__":
    main()

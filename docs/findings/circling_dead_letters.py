"""DLX-011: dead letters that go round between two queues, by their age and for want of room.

    python circling_dead_letters.py amqp://guest:guest@localhost:5672/%2F ...

Each of two queues sends its dead letters to the other. In one they have no time to live, in the other no time or no
room. A message is published to the first; then a new client asks the broker how many messages there are. A broker that
does not answer it has to be started again.
"""

from __future__ import annotations

import wire

FIRST, SECOND = "findings.circle-1", "findings.circle-2"
WAYS = {
    "no time, no time": ({"x_message_ttl": 0}, {"x_message_ttl": 0}),
    "no room, no room": ({"x_max_length": 0}, {"x_max_length": 0}),
    "no time, no room": ({"x_message_ttl": 0}, {"x_max_length": 0}),
}


def declare(connection: wire.Connection, first: dict[str, int], second: dict[str, int]) -> int:
    """The two queues; how many messages are in them."""
    more = {"x_dead_letter_exchange": ""}
    return connection.declare(
        1, FIRST, "classic", **more, x_dead_letter_routing_key=SECOND, **first
    ) + connection.declare(1, SECOND, "classic", **more, x_dead_letter_routing_key=FIRST, **second)


def what_becomes_of_it(url: str, first: dict[str, int], second: dict[str, int]) -> str:
    """How many messages the broker has then, if it answers."""
    connection = wire.Connection(url)
    connection.open(1)
    declare(connection, first, second)
    connection.send(wire.publish(1, FIRST, "m"))
    try:
        other = wire.Connection(url)
        other.open(1)
        left = declare(other, first, second)
    except (ConnectionError, OSError):
        return "the broker answers nobody any more"
    for queue in (FIRST, SECOND):
        other.delete(1, queue)
    other.end()
    return f"{left} messages are left"


def main() -> None:
    for url in wire.urls():
        print(wire.Connection(url).broker)
        for name, (first, second) in WAYS.items():
            told = what_becomes_of_it(url, first, second)
            print(f"  {name}: {told}")
            if "nobody" in told:
                break


if __name__ == "__main__":
    main()

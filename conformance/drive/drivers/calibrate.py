"""How long to wait for a broker, measured instead of guessed.

The round trip is that of opening and closing a channel, the least that every broker answers. A deadline is many times
its 99th percentile, never below a minimum, and stretched by the profile's slack. A deadline limits silence, not work:
each frame that comes starts it again.
"""

from __future__ import annotations

import contextlib
import time

from codec import methods as m
from conformance.drive.drivers.errors import ConnectionLost
from conformance.drive.drivers.raw import RawConnection

ROUNDS = 40
FLOOR = 5.0
FACTOR = 50
PATIENCE = 10.0
ALTOGETHER = 8.0
"""Seconds after which enough rounds have been seen."""
MOST = 15.0
"""The longest deadline in seconds, however slow the round trips are."""


def round_trip(connection: RawConnection) -> float:
    """Seconds that one exchange takes at the 99th percentile."""
    rounds = [0.0]
    with contextlib.suppress(ConnectionLost):  # some brokers end a connection with its channel
        while len(rounds) <= ROUNDS and sum(rounds) < ALTOGETHER and connection.alive:
            rounds.append(round_of(connection))
    return sorted(rounds)[int(len(rounds) * 0.99)]


def deadline(connection: RawConnection, slack: float) -> float:
    """Seconds of silence after which an answer is taken as missing."""
    return min(max(FLOOR, FACTOR * round_trip(connection)), MOST) * slack


def round_of(connection: RawConnection) -> float:
    """Seconds that one exchange takes. Raises ConnectionLost."""
    begin = time.monotonic()
    answers(connection, 1)
    return time.monotonic() - begin


def answers(connection: RawConnection, number: int) -> bool:
    """Opens and closes this channel; is that answered? Raises ConnectionLost."""
    until = time.monotonic() + PATIENCE
    connection.send(m.ChannelOpen(number), m.ChannelClose(number, 200, "normal shutdown", 0, 0))
    while connection.alive and time.monotonic() < until:
        if any(event.method == "channel.close-ok" for event in connection.receive(PATIENCE)):
            return True
    return False

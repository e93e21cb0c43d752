"""What a scene sends where it does not matter: names of messages and consumers, and bodies.

Bodies and names may be made longer, for scenes that are played under other circumstances.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Container

LARGE = 4096
EMPTY = -1
"""For as many octets: bodies are empty."""
NOISE = bytes(number * number % 251 for number in range(LARGE - 1))
"""What large bodies are made of; its length divides no frame."""


class Payloads:
    """Of one history. `most`: no body has more octets."""

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self.octets = self.length = 0
        """At least so many have bodies that say nothing else, and characters names."""
        self.alike = False
        """The tags of one channel's consumers are those of every other channel's."""
        self._messages = itertools.count(1)
        self._consumers: Counter[str] = Counter()

    def next_message(self) -> str:
        return f"m{next(self._messages)}"

    def next_consumer(self, channel: str = "", taken: Container[str] = ()) -> str:
        """A tag for a consumer of this channel, and none of those that are in use there."""
        owner = channel if self.alike else ""
        while True:
            self._consumers[owner] += 1
            tag = self.long(f"c{self._consumers[owner]}")
            if tag not in taken:
                return tag

    def name_again(self) -> None:
        """From now on consumers get the tags that others had before them."""
        self._consumers.clear()

    def long(self, name: str) -> str:
        """The name, of as many characters as names have here."""
        return name.ljust(self.length, "-")

    def body(self, message: str) -> bytes:
        """Another one for each message, and nowhere uniform, or empty. Of very large ones there is one in four."""
        if self.octets == EMPTY:
            return b""
        octets = self.octets if self.octets <= LARGE or not int(message[1:]) % 4 else 0
        octets = octets if self._most is None else min(octets, self._most)
        return (message.encode() + b"." + NOISE * (octets // len(NOISE) + 1))[:octets] if octets else message.encode()

    def fit(self, body: bytes) -> bytes:
        """The body, or as much of it as the broker takes."""
        return body[: self._most]

"""Scenes once more, under other circumstances: what a scene provokes is rare, and a fault in it may show only where
something was done before, where names are long or bodies large, or on a connection that is not the oldest.

The scene is the same; its stage gives each channel that it opens, and each queue that it declares, the past of the
history's shape. A scene asserts nothing, so nothing in it minds.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from conformance.channel import Channel
from conformance.drivers.raw import RawConnection
from conformance.machines import before
from conformance.stage import Stage

NAMES = (0, 0, 33, 65, 130, 200)
BODIES = (0, 0, *(2**power + beside for power in range(3, 16) for beside in (-1, 0, 1)))
PASTS = tuple(map(frozenset, combinations(before.FEATURES, 3)))


@dataclass(frozen=True, slots=True)
class Circumstances:
    """Of one history; `behind`: another connection is older."""

    used: frozenset[str]
    length: int
    octets: int
    behind: bool
    give_back: bool

    @classmethod
    def drawn(cls, *seed: object) -> Circumstances:
        chance = random.Random(" ".join(map(str, seed)))
        return cls(chance.choice(PASTS), chance.choice(NAMES), chance.choice(BODIES), chance.random() < 0.5,
                   chance.random() < 0.5)


class Veteran(Stage):
    """A stage on which everything has a past."""

    _now: Circumstances
    _spare = ""

    def under(self, circumstances: Circumstances) -> None:
        self._now = circumstances
        self.length, self.octets = circumstances.length, circumstances.octets
        if circumstances.behind:
            self.connect("older")

    def channel(self, number: int | None = None, connection: RawConnection | None = None) -> Channel:
        return self._lived(super().channel(number, connection))

    def channels(self, count: int, connection: RawConnection | None = None) -> list[Channel]:
        return [self._lived(channel) for channel in super().channels(count, connection)]

    def queue(
        self, arguments: Mapping[str, Any] | None = None, durable: bool | None = None, *, name: str | None = None,
        **declare: Any,
    ) -> str:
        """With a past, unless the scene has wishes of its own."""
        if arguments or name or declare:
            return super().queue(arguments, durable, name=name, **declare)
        return super().queue(before.arguments(super().queue, self._now.used), durable)

    def _lived(self, channel: Channel) -> Channel:
        self._spare = self._spare or super().queue()
        before.lived(self, channel, self._spare, self._now.used)
        return channel

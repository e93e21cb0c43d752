"""Which channels of which connections a history has, its scene's and the stage's own.

A scene is given the next channel number of a connection, or names one. Where a broker allows few channels, what one
connection has no room for goes on one more that is like it; that is so for connections about which nothing is special.
"""

from __future__ import annotations

from collections import Counter
from typing import Protocol

from conformance.drive.channel import Channel, Script
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.waiting import NotOffered

BACKSTAGE = 900
"""The channel, where the broker allows so many, on which queues are declared, drained and deleted."""
MANY = 65535
"""Channels, where there is no limit."""
FEW = "the broker allows no more channels of a connection than {}"


class Host(Script, Protocol):
    """What a roster needs of the stage whose it is."""

    connections: dict[str, RawConnection]

    def connect(self, name: str) -> RawConnection: ...


class Roster:
    """The channels of one history, each there once, open or not."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._channels: dict[tuple[str, int], Channel] = {}
        self._own: dict[str, Channel] = {}
        self._last: Counter[str] = Counter()
        """The last channel that a scene was given, by connection."""
        self.plain: set[str] = set()
        """Connections about which nothing is special."""
        self.passed_over = 0
        """So many numbers are given to no channel, where the broker allows many more."""

    def channels(self) -> list[Channel]:
        """All that the scene was given."""
        return list(self._channels.values())

    def channel(self, number: int | None, connection: RawConnection) -> Channel:
        """This channel of the scene, or the next one. Raises NotOffered where the broker does not allow so many."""
        if number is None:
            connection = self._roomy(connection)
            number = self._last[connection.name] = (self._last[connection.name] or self._skipped(connection)) + 1
        elif number > (connection.tuned.channel_max or MANY):
            raise NotOffered(FEW.format(connection.tuned.channel_max), refused=True)
        return self._channels.setdefault((connection.name, number), Channel(self._host, connection, number))

    def own(self, connection: RawConnection) -> Channel:
        """The stage's own channel on this connection, or on one of its own, where there can be no second channel."""
        number = min(BACKSTAGE, connection.tuned.channel_max)
        if number == 1 and connection.name in self.plain:
            connection = self._host.connections.get("backstage") or self._host.connect("backstage")
        return self._own.setdefault(connection.name, Channel(self._host, connection, number))

    def is_own(self, channel: Channel) -> bool:
        """Is it one of the stage's own?"""
        return channel in self._own.values()

    def _skipped(self, connection: RawConnection) -> int:
        return self.passed_over if self.passed_over + BACKSTAGE < (connection.tuned.channel_max or MANY) else 0

    def _roomy(self, connection: RawConnection) -> RawConnection:
        """This connection, or where its last channel is taken, one more that is like it. The last but one, where there
        are several: one is the stage's own."""
        most = connection.tuned.channel_max or MANY
        annex = connection
        while self._last[annex.name] >= max(1, most - 1):
            if annex.name not in self.plain:
                raise NotOffered(FEW.format(most), refused=True)
            beside = self._host.connections.get(f"{annex.name}+")
            annex = beside if beside is not None and beside.alive else self._host.connect(f"{annex.name}+")
        return annex

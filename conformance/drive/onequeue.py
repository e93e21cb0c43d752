"""Channels of a broker whose gets of one channel come from one queue alone: each asks only one.

Only the scenes of the rules about such gets ask several, and they too drain each queue on a channel that asks no other.
What another scene would see of the second queue would tell of that fault again, and of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable

from codec import methods as m
from conformance.catalogue.rules.features import GETS
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import Item
from conformance.drive.waiting import NotOffered


class OneQueue:
    """Which queue each channel asks. `words`: why it can be but one, empty: it may be any; `free`: the scene may try
    others all the same."""

    def __init__(self, words: str, *, free: bool) -> None:
        self._words, self._free = words, free
        self._asked: dict[tuple[str, int], str] = {}

    def turns(self, channel: Channel, queue: str) -> bool:
        """Has the channel asked another queue, and should not ask this one?"""
        return bool(self._words) and self._asked.get(_place(channel), queue) != queue

    def note(self, channel: Channel, items: Iterable[Item]) -> None:
        """This is sent. Raises NotOffered where it asks a second queue."""
        for item in items if self._words else ():
            if isinstance(item, m.ChannelOpen):
                self._asked.pop(_place(channel), None)
            elif isinstance(item, m.BasicGet) and self.turns(channel, item.queue) and not self._free:
                raise NotOffered(f"the broker does not offer {GETS}: {self._words}")
            elif isinstance(item, m.BasicGet):
                self._asked.setdefault(_place(channel), item.queue)


def _place(channel: Channel) -> tuple[str, int]:
    return channel.connection.name, channel.number

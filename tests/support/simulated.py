"""Histories that were never played: what a broker and a client would say, as events, right and wrong ones."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import codec
from codec import methods as m
from conformance.history.events import Event, EventBuilder, Labels


class Wire:
    """One simulated history: what a broker and a client say on one connection, as events."""

    def __init__(self, name: str, run: str = "r1") -> None:
        self.events: list[Event] = []
        seq = itertools.count(1)
        self._builder = EventBuilder(Labels(run, "Birch 2.9", name, "c1"), seq.__next__, lambda: 10**18)
        self.local("scene", name=name, rules=[], queue_type="classic")
        self.local("open", host="127.0.0.1", port=5672)

    def local(self, kind: str, **arguments: object) -> None:
        self.events.append(self._builder.local(kind, **arguments))

    def says(self, direction: str, *frames: codec.Frame) -> None:
        for frame in frames:
            made = self._builder.frame(direction, frame, frame.encode())
            if made is not None:
                self.events.append(made)

    def carries(self, direction: str, method: codec.Method, message: str) -> None:
        body = message.encode()
        self.says(
            direction,
            method,
            codec.header(method.channel, len(body), message_id=message),
            codec.Body(method.channel, body),
        )

    def begins(self) -> None:
        """Opens channel 1 and declares the queue q."""
        self.says(">", m.ChannelOpen(1), m.QueueDeclare(1, 0, "q"))
        self.says("<", m.ChannelOpenOk(1), m.QueueDeclareOk(1, "q", 0, 0))

    def ends(self) -> None:
        self.says(">", m.ConnectionClose(0, 200, "done", 0, 0))
        self.says("<", m.ConnectionCloseOk(0))
        self.local("end", cause="closed")


def delivers(name: str, tags: Sequence[int], run: str = "r1") -> list[Event]:
    """A message for each of the tags: published, got with that tag, acknowledged."""
    wire = Wire(name, run)
    wire.begins()
    for number, tag in enumerate(tags, 1):
        wire.carries(">", m.BasicPublish(1, 0, "", "q"), f"m{number}")
        wire.says(">", m.BasicGet(1, 0, "q"))
        wire.carries("<", m.BasicGetOk(1, tag, False, "", "q", 0), f"m{number}")
        wire.says(">", m.BasicAck(1, tag, False))
    wire.ends()
    return wire.events


def histories() -> list[Event]:
    """Forty histories in three workers' manner, mixed; every fourth contradicts some rule about delivery tags."""
    flawed = {0: [1, 2, 2, 3], 4: [1, 2**64 - 1, 3], 8: [0, 1, 2], 12: [5, 6, 7]}
    made = [delivers(f"h{number}", flawed.get(number % 16, [1, 2, 3, 4])) for number in range(40)]
    return [event for row in itertools.zip_longest(*made) for event in row if event is not None]

"""Frames in, a model out."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

import codec
from codec import methods as m
from conformance.catalogue import profiles
from conformance.history.events import TO_BROKER, TO_CLIENT, EventBuilder, Labels
from conformance.oracle.model import Model


class Wire:
    """One connection, and the model of what it shows."""

    def __init__(self, profile: str) -> None:
        self.model = Model(profiles.load(profile))
        self._builder = EventBuilder(Labels("r", "b", "h", "c"), itertools.count(1).__next__, lambda: 0)
        self._read(self._builder.local("open", host="localhost", port=5672))
        self.sends(m.ChannelOpen(1))
        self.receives(m.ChannelOpenOk(1))
        self.sends(m.QueueDeclare(1, queue="q"))
        self.receives(m.QueueDeclareOk(1, queue="q"))

    def sends(self, *frames: codec.Frame) -> None:
        self._all(TO_BROKER, frames)

    def receives(self, *frames: codec.Frame) -> None:
        self._all(TO_CLIENT, frames)

    def publish(self, *messages: str) -> None:
        for message in messages:
            self.sends(m.BasicPublish(1, routing_key="q"), *_content(message))

    def deliver(self, tag: int, message: str, consumer: str = "c1") -> None:
        self.receives(m.BasicDeliver(1, consumer, tag, False, "", "q"), *_content(message))

    def get_ok(self, tag: int, message: str) -> None:
        self.sends(m.BasicGet(1, queue="q"))
        self.receives(m.BasicGetOk(1, tag, False, "", "q"), *_content(message))

    def owed(self) -> list[str]:
        return [obligation.what for obligation in self.model.owed()]

    def _all(self, direction: str, frames: tuple[codec.Frame, ...]) -> None:
        for frame in frames:
            event = self._builder.frame(direction, frame, frame.encode())
            if event is not None:
                self._read(event)

    def _read(self, event: object) -> None:
        for _ in self.model.read(event):  # type: ignore[arg-type]
            pass


def _content(message: str) -> tuple[codec.Frame, ...]:
    return codec.header(1, 1, message_id=message), codec.Body(1, b"x")


@pytest.fixture
def wire() -> Callable[..., Wire]:
    """A connection with channel 1 open and queue q declared."""

    def _wire(profile: str = "documented") -> Wire:
        return Wire(profile)

    return _wire

"""What the tests with real clients share: a broker that can be killed, and comes back at the same port, empty."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import pytest

from reference_broker import ReferenceBroker

DEADLINE = 60.0
"""Seconds that a crowded machine may take for anything."""


class Killable:
    def __init__(self, broker: ReferenceBroker) -> None:
        self.broker = broker
        self.url = broker.url

    def kill(self) -> None:
        """Every connection breaks without a word."""
        self.broker.stop()

    def revive(self) -> None:
        self.broker.start()


@pytest.fixture
def broker() -> Iterator[Killable]:
    with ReferenceBroker() as broker:
        yield Killable(broker)


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], object]:
    """The first true value of something that another thread or process brings about."""

    def wait(look: Callable[[], object]) -> object:
        deadline = time.monotonic() + DEADLINE
        while not (found := look()):
            assert time.monotonic() < deadline, "it did not happen"
            time.sleep(0.02)
        return found

    return wait

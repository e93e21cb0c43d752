"""The reference broker as a fixture for authors of clients."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from reference_broker import ReferenceBroker


class EmbeddedBroker:
    """A broker in this process whose time passes only when it is told to."""

    def __init__(self) -> None:
        self._broker = ReferenceBroker(clock="virtual")

    @property
    def url(self) -> str:
        """Where it listens: a free loopback port."""
        return self._broker.url

    def advance(self, seconds: float) -> None:
        """Let time pass; whatever falls due on the way happens, in order."""
        self._broker.advance(seconds)

    def liberties(self, seed: int | None) -> None:
        """Lawful chaos on connections and queues from now on, as this seed draws it; none any more with None."""
        self._broker.liberties(seed)

    def __enter__(self) -> Self:
        self._broker.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None,
    ) -> None:
        self._broker.stop()

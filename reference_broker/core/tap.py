"""What passes between the broker and its clients, kept as octets.

A tap is made into the connections of a broker, as the outermost of what may change them, so it sees what variations and
wrong behaviours leave. To keep the octets costs next to nothing; whoever wants frames, reads them out of the octets.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from reference_broker.core.broker import Broker
    from reference_broker.core.parts import Parts


class Piece(NamedTuple):
    """Octets that came or left at once."""

    connection: int
    """Counts from 1, in the order of arrival."""
    at: float
    """Seconds, by the clock of the broker."""
    by_client: bool
    octets: bytes


@dataclass(slots=True)
class Tap:
    """All pieces so far, of all connections, in order."""

    pieces: list[Piece] = field(default_factory=list)
    connections: int = 0

    def into(self, parts: Parts) -> None:
        """Connections made of these parts are overheard from now on."""
        tap, honest = self, parts.connection

        class Tapped(honest):  # type: ignore[misc, valid-type]
            def __init__(self, broker: Broker) -> None:
                super().__init__(broker)
                tap.connections += 1
                self.overheard_as = tap.connections

            def feed(self, data: bytes) -> None:
                tap.pieces.append(Piece(self.overheard_as, self.broker.clock.now, True, data))
                honest.feed(self, data)

            def take(self) -> bytes:
                data = honest.take(self)
                if data:
                    tap.pieces.append(Piece(self.overheard_as, self.broker.clock.now, False, data))
                return data

        parts.connection, parts.tap = Tapped, tap

"""How far the opening of a connection has come; `handshaking` tells the story."""

from __future__ import annotations

from dataclasses import dataclass, field

FRAME_MIN = 4096
"""Octets of a frame that every peer must take."""


@dataclass(slots=True)
class Handshake:
    """How far it has come."""

    fresh: bool = False
    """Nothing but its beginning was seen yet."""
    next: str = ""
    """What the client has to send next; empty: it has sent everything, or nobody knows."""
    asked: bool = False
    """The client has sent connection.open."""
    entered: bool = False
    """The broker has answered that."""
    awaited: dict[str, int] = field(default_factory=dict)
    """What the broker has to send, and since when."""
    claims: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The rules by which it must do so, whatever else it may think of the client."""
    header: bytes = b""
    """The header that the broker has answered with."""
    mechanisms: frozenset[str] | None = None
    channel_max: int | None = None
    frame_max: int | None = None
    """What was offered, and then what was agreed to; None: that was not seen."""
    offered: int = 0
    """The largest frame that the broker had offered."""
    tells: bool = False
    """The broker says that it gives reasons for a refused login."""
    asks: bool = False
    """The client wants to be given them."""
    tuned: int = 0
    """The client's tune-ok."""
    tuned_at: int = 0
    """Its time."""
    beat_at: int = 0
    """The time of its last heartbeat."""
    talked_at: int = 0
    """The time of its last method."""
    login: bool | None = None
    vhost: bool | None = None
    """Is what the client is going to name the right thing? None: nobody has said."""
    crossed: int = 0
    """The client's connection.close has met the broker's own, and this is the client's; until it is answered."""
    kicked: int = 0
    """The broker's connection.close."""
    agreed: bool = False
    """The client has answered that: what it sends now is sent for nothing."""

    def begun(self) -> bool:
        """Has the client greeted, as far as we have seen?"""
        return bool(self.next or self.asked)

    def lowered(self) -> bool:
        """Has the client agreed to smaller frames than the broker had offered?"""
        agreed = self.frame_max or 0
        return agreed > 0 and (not self.offered or agreed < self.offered)

    def give_up(self) -> None:
        """Nothing more is waited for."""
        self.awaited.clear()
        self.crossed = 0

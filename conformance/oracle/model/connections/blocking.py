"""What alarms mean for one connection; `alarms` says how that changes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True, eq=False, repr=False)
class Blocking:
    """Of one connection: what its client has done and was told while the broker was short of something, or not."""

    blocked: bool = False
    """The broker has said that it is blocked, and not yet that it is so no more."""
    wanted: bool | None = None
    """Has the client said that it wants to be told? None: we have not seen."""
    halting: bool = False
    """The broker may be short of something: who publishes may be heard no further."""
    squeezed: bool = False
    """The same, for a connection has been told so."""
    alarmed: int = 0
    """Since when it certainly is."""
    halted: bool = False
    """It may be heard no further: it has published since."""
    published: int = 0
    """How often it has published."""
    pressed: int = 0
    """How often it has published since the broker is certainly short of something."""
    owed: int = 0
    """Since when the broker has to say that it is blocked, or that it is no more."""
    told: int = 0
    """When the broker last said that it is blocked."""
    over: int = 0
    """When it last said that it is so no more."""

    def forget(self) -> None:
        """What the broker has said may be another thing by now."""
        self.blocked, self.owed = False, 0

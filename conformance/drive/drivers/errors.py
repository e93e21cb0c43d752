"""What can keep a driver from its work: the broker cannot be reached, or it went away."""

from __future__ import annotations

LAYERS = ("tcp", "tls", "header", "login", "vhost", "rights", "queues")


class Unreachable(Exception):
    """No connection could be opened. `layer` is the one of LAYERS that failed; the message says what was seen there
    and what to do about it."""

    def __init__(self, layer: str, message: str) -> None:
        super().__init__(message)
        self.layer, self.message = layer, message

    def __reduce__(self) -> tuple[type[Unreachable], tuple[str, str]]:
        return type(self), (self.layer, self.message)


class ConnectionLost(Exception):
    """Something was to be sent over a connection that has ended."""

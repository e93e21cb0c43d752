"""Putting a message together: method, then header, then as many body frames as its size needs.

An empty body has no body frame. Anything else than the frame due is a connection exception, as is a
body that grows beyond the size its header announced. A message too large for the broker is refused as
soon as its header says so, before any of it is kept. Most messages come whole, and need none of this.
"""

from __future__ import annotations

import codec
from codec.errors import ReplyCode
from reference_broker.core.errors import ChannelException, ConnectionException, precondition


class Assembly:
    __slots__ = ("bodies", "header", "max_message", "method", "missing")

    def __init__(self, method: codec.Method, max_message: int) -> None:
        self.method = method
        self.max_message = max_message
        self.header: codec.Header | None = None
        self.bodies: list[bytes] = []
        self.missing = 0

    def add(self, frame: codec.Header | codec.Body) -> bool:
        """Take the next frame; True when the message is complete."""
        if self.header is None:
            self._start(frame)
        elif isinstance(frame, codec.Header):
            raise unexpected("expected content body, got non content body frame instead")
        else:
            self.missing -= len(frame.payload)
            if self.missing < 0:
                size = sum(map(len, self.bodies)) + len(frame.payload)
                raise ConnectionException(ReplyCode.FRAME_ERROR, f"body of {size} octets is longer than announced")
            self.bodies.append(frame.payload)
        return self.missing == 0

    def interrupted(self) -> ConnectionException:
        """A method arrived where the rest of this message should have."""
        if self.header is None:
            return self._no_header("non content header frame")
        return unexpected("expected content body, got non content body frame instead")

    def _start(self, frame: codec.Header | codec.Body) -> None:
        if isinstance(frame, codec.Body):
            raise self._no_header("non content header frame")
        problem = self.refuses_header(frame.class_id)
        if problem is not None:
            raise problem
        if frame.body_size > self.max_message:
            raise too_large(frame, self.max_message)
        self.header = frame
        self.missing = frame.body_size

    def refuses_header(self, class_id: int) -> ConnectionException | None:
        """What is wrong with a header of this class coming now; None if nothing is."""
        if self.header is not None:
            return unexpected("expected content body, got non content body frame instead")
        return None if class_id == self.method.CLASS_ID else self._no_header(f"one for class {class_id}")

    def _no_header(self, got: str) -> ConnectionException:
        return unexpected(f"expected content header for class {self.method.CLASS_ID}, got {got} instead")


def too_large(header: codec.Header, most: int) -> ChannelException:
    return precondition(f"message size {header.body_size} is larger than configured max size {most}")


def unexpected(text: str) -> ConnectionException:
    return ConnectionException(ReplyCode.UNEXPECTED_FRAME, text)

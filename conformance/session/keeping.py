"""A recording that is kept as long as it can be: a full disk ends the recording, and not the run that it is of."""

from __future__ import annotations

from conformance.history.events import Event
from conformance.history.recording import RecordingWriter
from conformance.session.exits import reason


class Keeping:
    """A sink for events. What cannot be written is left out, and all that comes after it."""

    def __init__(self, writer: RecordingWriter) -> None:
        self._writer, self._lost = writer, ""

    def __call__(self, event: Event) -> None:
        if not self._lost:
            try:
                self._writer.write(event)
            except OSError as fault:
                self._lose(fault)

    def unwritten(self) -> str:
        """Why the recording is not whole, in a sentence; empty where everything was written down so far."""
        if not self._lost:
            try:
                self._writer.flush()
            except OSError as fault:
                self._lose(fault)
        return self._lost

    def _lose(self, fault: OSError) -> None:
        self._lost = f"The recording is not complete: {self._writer.path} could not be written ({reason(fault)})."
        self._writer.abandon()

"""One process at a time restarts a broker, and the others learn when that was.

Several processes that test one broker see it break down together. Each would restart it, and break down what another
has just brought back. A file of the user's, one for each broker, is what they lock; it holds the time of the last
restart, by the clock that all processes of a machine share.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from conformance.drive.drivers.target import Target


class Turns:
    """Inside, no other process restarts this broker. `last`: when one did so last; 0: never."""

    def __init__(self, target: Target) -> None:
        name = f"amqpconf-{os.getuid()}-{target.address.replace(':', '-')}.restarts"
        self._path = Path(tempfile.gettempdir()) / name
        self._file: IO[str] | None = None
        self.last = 0.0

    def __enter__(self) -> Self:
        self._file = self._path.open("a+")
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self._file.seek(0)
        self.last = float(self._file.read() or 0)
        return self

    def taken(self) -> None:
        """It was restarted just now."""
        assert self._file is not None
        self._file.seek(0)
        self._file.truncate()
        self._file.write(str(time.monotonic()))
        self._file.flush()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._file is not None
        self._file.close()

"""`trace record` as a process of its own, as tests start and end it."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

from conformance.history.events import Event
from conformance.history.recording import Recording


class Tracer:
    """A recording proxy between whoever connects to `port`, and the broker."""

    def __init__(self, url: str, out: Path) -> None:
        self.out = out
        self.process = subprocess.Popen(
            [sys.executable, "-m", "conformance.cli", "trace", "record", "--listen", "0", "--out", str(out), url],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stderr is not None
        said = self.process.stderr.readline()
        self.port = int(said.split("127.0.0.1:")[1].split()[0])

    def ended(self) -> None:
        """Waits until a connection's end is on disk, which takes a second. Raises AssertionError after a minute."""
        begin = time.monotonic()
        while not any('"kind":"end"' in path.read_text() for path in self.out.glob("*.jsonl")):
            assert time.monotonic() - begin < 60, "no connection ends"
            time.sleep(0.02)

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Exit code, and what it printed."""
        self.process.send_signal(number)
        out, _ = self.process.communicate(timeout=180)
        return self.process.returncode, out

    def kill(self) -> None:
        """It is gone, whether it still ran or not."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()

    def events(self) -> list[Event]:
        return list(Recording(self.out).events())

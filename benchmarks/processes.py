"""What processes cost, read from /proc: CPU seconds of a whole tree, and the most memory that Python workers had."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

TICKS = os.sysconf("SC_CLK_TCK")
EVERY = 0.1
"""Seconds between two looks at memory; the kernel keeps each process' own maximum."""


def tree(root: int | None = None) -> list[int]:
    """The process and all that descend from it."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, front = [], [root or os.getpid()]
    while front:
        found.append(front.pop())
        front += children.get(found[-1], [])
    return found


def cpu(pids: list[int] | None = None) -> float:
    """CPU seconds of these processes, by default of our own tree, with their children that have ended."""
    total = 0
    for pid in tree() if pids is None else pids:
        fields = _stat(pid)
        if fields:
            total += sum(map(int, fields[11:15]))
    return total / TICKS


def _stat(pid: int) -> list[str]:
    """The fields of /proc/PID/stat behind the name; none if it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    except OSError:
        return []


class Watch:
    """While it lasts: the most memory that one Python process below us had, in MB."""

    def __init__(self) -> None:
        self.most = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._done.wait(EVERY):
            for pid in tree()[1:]:
                self.most = max(self.most, _resident(pid))


def _resident(pid: int) -> float:
    """The most that a Python process has had in memory so far, in MB; 0 for other programs."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    if b"python" not in command.split(b"\0")[0]:
        return 0.0
    line = next((line for line in status.splitlines() if line.startswith("VmHWM")), "VmHWM: 0 kB")
    return int(line.split()[1]) / 1024

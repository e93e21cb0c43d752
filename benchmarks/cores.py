"""Which cores a process may use: fewer for a while, all its threads with it, afterwards as before."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def shares(count: int) -> tuple[set[int], set[int]] | None:
    """So many of our cores for whom we measure, and the others for whom we do not; None if none would be left."""
    ours = sorted(os.sched_getaffinity(0))
    return (set(ours[-count:]), set(ours[:-count])) if 0 < count < len(ours) else None


def threads(process: int) -> list[int]:
    return [int(entry.name) for entry in Path(f"/proc/{process}/task").iterdir()]


@contextmanager
def confined(process: int, cores: set[int]) -> Iterator[None]:
    """Raises PermissionError where the process is not ours."""
    before = {thread: os.sched_getaffinity(thread) for thread in threads(process)}
    try:
        for thread in before:
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cores)
        yield
    finally:
        for thread in threads(process):
            with suppress(ProcessLookupError):
                os.sched_setaffinity(thread, before.get(thread, before[process]))

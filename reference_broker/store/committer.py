"""The thread that writes, so that the loop of the broker never waits for a disk.

While one group is synced the next one gathers, without any timer. Where the disk fails, it is tried again every now and
then, and what came meanwhile is attempted with it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from reference_broker.store.commits import Commits
from reference_broker.store.journal import Block

RETRY = 0.5
"""Seconds between two attempts on a disk that fails."""

Report = Callable[[list[Block], list[Block], OSError | None], None]
"""(durable now, still waiting, why those wait), told in the committer's thread."""


class Committer:
    def __init__(self, commits: Commits, report: Report) -> None:
        self._commits = commits
        self._report = report
        self._incoming: list[Block] = []
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="reference-broker-log", daemon=True)
        self._thread.start()

    def put(self, block: Block) -> None:
        with self._changed:
            self._incoming.append(block)
            self._changed.notify()

    def stop(self) -> None:
        """When this returns all is written, or has been attempted a last time."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            blocks, stopping = self._next()
            self._commits.take(blocks)
            done = self._commits.attempt()
            self._report(done, list(self._commits.waiting), self._commits.failing)

    def _next(self) -> tuple[list[Block], bool]:
        with self._changed:
            if self._commits.failing is not None:
                self._changed.wait_for(lambda: self._stopping, RETRY)
            else:
                self._changed.wait_for(lambda: self._stopping or self._incoming)
            blocks, self._incoming = self._incoming, []
            return blocks, self._stopping

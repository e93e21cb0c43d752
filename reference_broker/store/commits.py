"""Group commit: what has gathered while the disk was busy is written and synced together.

Pure but for the log it is given: `Commits` decides, a thread carries it (`committer.py`), and a test without a thread.
The order is the promise: written, synced, only then `durable`. Where the disk fails, the blocks stay, in their order,
in front of all that come later, and `failing` says why; what they promised is withdrawn by whoever asked.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from operator import attrgetter

from reference_broker.store import records
from reference_broker.store.journal import Block
from reference_broker.store.log import Log


class Commits:
    def __init__(self, log: Log) -> None:
        self.log = log
        self.waiting: list[Block] = []
        self.failing: OSError | None = None

    def take(self, blocks: Iterable[Block]) -> None:
        self.waiting += blocks

    def attempt(self) -> list[Block]:
        """Write all that waits; the blocks that are durable now. Sets `failing` if those are not all."""
        self.failing = None
        done: list[Block] = []
        try:
            for segment, group in groupby(list(self.waiting), key=attrgetter("segment")):
                blocks = list(group)
                self.log.append(segment, [records.block(block.records) for block in blocks if block.records])
                done += blocks
                del self.waiting[: len(blocks)]
                self.log.drop_before(blocks[-1].oldest)
        except OSError as error:
            self.failing = error
        return done

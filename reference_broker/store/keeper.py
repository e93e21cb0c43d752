"""A data directory and the broker that lives in it: opened, attached to a server, closed.

    store = Store.open(Path("data"), "fsync")            recovers what the log says
    core = Configuration().core(store)                   a broker of parts that record
    store.attach(server)                                 as it was; from now on each tick is recorded

`fsync` confirms what is on disk, `write` what the operating system has been given (it survives the end of the process,
not of the machine), `memory` confirms at once and writes behind (it survives an orderly end).
"""

from __future__ import annotations

import logging
import struct
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from codec.errors import ReplyCode
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import Parts
from reference_broker.store.commits import Commits
from reference_broker.store.committer import Committer
from reference_broker.store.disk import Directory
from reference_broker.store.journal import Block, Journal
from reference_broker.store.keeping import kept_parts, watch
from reference_broker.store.log import Log
from reference_broker.store.replay import Replay
from reference_broker.store.restore import CannotRestore, restore
from reference_broker.store.segments import SEGMENT_OCTETS

if TYPE_CHECKING:
    from reference_broker.server import Server

logger = logging.getLogger("reference_broker")
Sync = Literal["fsync", "write", "memory"]
SYNCS: tuple[Sync, ...] = get_args(Sync)
MOST_WAITING = 64 << 20
"""Octets that may wait for a disk that fails, before persistent messages are refused."""


class Unusable(ValueError):
    """A data directory that this broker cannot live in; the message says why."""


class Store:
    def __init__(self, directory: Directory, sync: Sync, segment_octets: int) -> None:
        self.directory = directory
        self.sync = sync
        self.log = Log(directory, sync == "fsync")
        self.replay = Replay()
        for segment, payload in self.log.recover():
            self.replay.read(segment, payload)
        self.journal = Journal(self.log.newest + 1, segment_octets)
        self.failing = False
        self._server: Server | None = None
        self._committer: Committer | None = None

    @classmethod
    def open(cls, path: Path, sync: Sync = "fsync", segment_octets: int = SEGMENT_OCTETS) -> Store:
        """Recover the directory, which is made if need be. Raises Unusable."""
        try:
            return cls(Directory(path), sync, segment_octets)
        except OSError as error:
            raise Unusable(f"cannot keep data in {path}: {reason(error)}") from None
        except (LookupError, ValueError, struct.error) as error:
            raise Unusable(f"the log in {path} is not one that this version reads: {error!r}") from None

    def parts(self) -> Parts:
        return kept_parts(self.journal)

    def attach(self, server: Server, *, keep_users: bool = False) -> str:
        """Make the broker as it was, before anybody connects; tells what was recovered. `keep_users`: those it has now
        stay beside the recorded ones. Raises Unusable."""
        began, journal = time.perf_counter(), self.journal
        server.move()
        journal.epoch = time.time() - server.broker.clock.now
        watch(server.broker, journal)
        try:
            restore(server.broker, journal, self.replay, keep_users)
        except CannotRestore as error:
            self.close()
            raise Unusable(f"{self.directory.path} holds what this broker cannot have: {error}") from None
        self.replay = Replay()
        commits = Commits(self.log)
        first = journal.seal()
        assert first is not None
        commits.take([first])
        commits.attempt()
        if commits.failing is not None:
            self.close()
            raise Unusable(f"cannot keep data in {self.directory.path}: {reason(commits.failing)}")
        self._server = server
        self._committer = Committer(commits, self._report_written)
        server.store = self
        for note in self.log.notes:
            logger.warning("%s: %s", self.directory.path, note)
        queues = journal.queues.values()
        return (
            f"{self.directory.path}: {sum(len(queue.ready) for queue in queues):,} messages in {len(queues):,} "
            f"queues recovered in {time.perf_counter() - began:.2f} s"
        )

    def flush(self) -> None:
        """The end of a tick."""
        block = self.journal.seal()
        if block is not None:
            self._write(block)

    def close(self) -> None:
        """Everything is written when this returns. Nobody may be connected any more."""
        if self._committer is not None:
            end = self.journal.seal(end=True)
            assert end is not None
            self._write(end)
            self._committer.stop()
            self._committer = None
            if self.failing:
                logger.error("%s: still cannot be written; what waited for that is not kept", self.directory.path)
        self.log.close()
        self.directory.close()

    def _write(self, block: Block) -> None:
        assert self._committer is not None
        if self.sync == "memory":
            self.journal.durable(block)
            self._flush_soon()
        self._committer.put(block)

    def _flush_soon(self) -> None:
        if self._server is not None and self._server.broker.dirty:
            self._server.schedule_flush()

    # -- what the committer says

    def _report_written(self, done: list[Block], waiting: list[Block], failing: OSError | None) -> None:
        """In its thread; the server's loop may have ended, and then nobody is there to be told."""
        if failing is not None and not self.failing:
            logger.error(
                "%s: cannot write: %s. Nothing persistent is confirmed until it can be written; publishes "
                "get basic.nack",
                self.directory.path,
                reason(failing),
            )
        elif failing is None and self.failing:
            logger.warning("%s: can be written again; all that waited is there now", self.directory.path)
        self.failing = failing is not None
        if self._server is not None and not self._server.loop.is_closed():
            self._server.loop.call_soon_threadsafe(self._settle, done, waiting, failing)

    def _settle(self, done: list[Block], waiting: list[Block], failing: OSError | None) -> None:
        for block in done:
            self.journal.durable(block)
        if failing is not None:
            error = ConnectionException(ReplyCode.RESOURCE_ERROR, f"cannot be made durable: {reason(failing)}")
            for block in waiting:
                self.journal.refused(block, error)
        self.journal.refuses = sum(block.octets for block in waiting) > MOST_WAITING and failing is not None
        self._flush_soon()


def reason(error: OSError) -> str:
    return error.strerror or str(error)

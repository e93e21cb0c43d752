"""A broker whose log is on a disk of ours, without sockets or threads: made as it last was, driven step by step."""

from __future__ import annotations

import random

from codec.errors import ReplyCode
from reference_broker.core.broker import Broker
from reference_broker.core.errors import ConnectionException
from reference_broker.store.commits import Commits
from reference_broker.store.journal import Journal
from reference_broker.store.keeping import kept_parts, watch
from reference_broker.store.log import Log
from reference_broker.store.replay import Replay
from reference_broker.store.restore import restore
from tests.support.disks import FakeDisk

REFUSAL = ConnectionException(ReplyCode.RESOURCE_ERROR, "not durable")


class Host:
    """`epoch` is the time of day when it starts, in seconds."""

    def __init__(self, disk: FakeDisk, segment_octets: int = 1 << 20, epoch: float = 0.0) -> None:
        self.disk, self.log, replay = disk, Log(disk), Replay()
        for segment, payload in self.log.recover():
            replay.read(segment, payload)
        self.segment_octets = segment_octets
        self.journal = Journal(self.log.newest + 1, segment_octets)
        self.journal.epoch = epoch
        self.broker = Broker(parts=kept_parts(self.journal))
        watch(self.broker, self.journal)
        restore(self.broker, self.journal, replay)
        self.commits = Commits(self.log)

    def seal(self, end: bool = False) -> None:
        """The end of a tick."""
        block = self.journal.seal(end)
        if block is not None:
            self.commits.take([block])

    def write(self) -> None:
        """What was sealed, and tell whom it concerns."""
        for block in self.commits.attempt():
            self.journal.durable(block)
        if self.commits.failing is not None:
            for block in self.commits.waiting:
                self.journal.refused(block, REFUSAL)

    def settle(self) -> None:
        self.seal()
        self.write()

    def bodies(self, queue: str) -> list[str]:
        """Of what is ready, in the order in which it leaves."""
        found = self.broker.vhost.queues.get(queue)
        return [] if found is None else [entry.message.body.decode() for entry in found.ready.entries()]

    def after_crash(self, seed: int = 1, later: float = 0.0) -> Host:
        """The machine fails, and is up again `later` seconds after this one started."""
        return Host(self.disk.crash(random.Random(seed)), self.segment_octets, self.journal.epoch + later)

    def after_end(self) -> Host:
        """All connections are closed, the broker ends in order, and is started again."""
        for connection in list(self.broker.connections):
            connection.lost()
        self.seal(end=True)
        self.write()
        return self.after_crash()

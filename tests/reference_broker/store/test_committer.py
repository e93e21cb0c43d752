"""Group commit: what gathers while the disk is busy goes together, and a disk that fails is tried again."""

from __future__ import annotations

import threading

import pytest

from reference_broker.store import committer as committing
from reference_broker.store.commits import Commits
from reference_broker.store.committer import Committer
from reference_broker.store.journal import Block
from reference_broker.store.log import Log
from tests.support.disks import FakeDisk, FakeFile

PATIENCE = 30


class SlowFile(FakeFile):
    def sync(self):
        self.disk.syncing.set()
        assert self.disk.go_on.wait(PATIENCE)
        self.disk.syncs += 1
        super().sync()


class SlowDisk(FakeDisk):
    """A sync takes until `go_on`."""

    def __init__(self):
        super().__init__()
        self.syncing, self.go_on, self.syncs = threading.Event(), threading.Event(), 0

    def open(self, name):
        self.files.setdefault(name, SlowFile(self))
        return self.files[name]


class Told:
    """What the committer reported, and a way to wait for it."""

    def __init__(self):
        self.reports = []
        self.changed = threading.Condition()

    def __call__(self, done, waiting, failing):
        with self.changed:
            self.reports.append((done, waiting, failing))
            self.changed.notify_all()

    def until(self, condition):
        with self.changed:
            assert self.changed.wait_for(lambda: any(condition(*report) for report in self.reports), PATIENCE)


def block(number):
    content = b"%d" % number
    return Block(1, 1, [content], len(content), number)


def test_one_sync_for_all_that_came_during_another():
    disk, told = SlowDisk(), Told()
    committer = Committer(Commits(Log(disk)), told)
    committer.put(block(0))
    assert disk.syncing.wait(PATIENCE)
    rest = [block(number) for number in range(1, 100)]
    for one in rest:
        committer.put(one)
    assert not told.reports, "told before it was synced"
    disk.go_on.set()
    told.until(lambda done, waiting, failing: done == rest)
    committer.stop()
    assert disk.syncs == 2


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(committing, "RETRY", 0.01)


def test_a_disk_that_fails_is_tried_again_until_it_works(impatient):
    disk, told = FakeDisk(), Told()
    disk.broken = set(range(1, 8))
    committer = Committer(Commits(Log(disk)), told)
    first, second = block(0), block(1)
    committer.put(first)
    told.until(lambda done, waiting, failing: waiting == [first] and failing is not None)
    committer.put(second)
    told.until(lambda done, waiting, failing: done[-1:] == [second] and failing is None)
    committer.stop()
    assert [bytes(payload) for _, payload in Log(disk).recover()] == [b"0", b"1"]


def test_stop_waits_for_what_was_put():
    disk, told = FakeDisk(), Told()
    committer = Committer(Commits(Log(disk)), told)
    for number in range(50):
        committer.put(block(number))
    committer.stop()
    assert len(list(Log(disk).recover())) == 50
    assert sum(len(done) for done, _, _ in told.reports) == 50

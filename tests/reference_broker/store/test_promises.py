"""The order write, sync, confirm, on a disk that fails, tears and reorders, at every point of any schedule.

One client does things to a broker whose log is on that disk; ticks are sealed and groups written whenever the schedule
says so. Then the machine is gone. Of what the client was told nothing may be missing, and nothing that it surely got
rid of may be back.
"""

from __future__ import annotations

import contextlib
import random
import struct

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from reference_broker.store import log, records
from reference_broker.store.journal import Journal
from reference_broker.store.segments import Segments
from tests.support.disks import Crash, FakeDisk, FakeFile
from tests.support.kept import Host
from tests.support.promises import CONFIRMS, QUEUES, SEGMENT, TX, World, check

queues = st.integers(0, len(QUEUES) - 1)
channels = st.sampled_from([CONFIRMS, TX])
steps = st.one_of(
    st.tuples(st.just("publish"), queues, channels),
    st.tuples(st.just("publish"), queues, st.just(CONFIRMS)),
    st.tuples(st.just("get"), queues, channels),
    st.tuples(st.just("settle"), st.sampled_from(["ack", "ack", "requeue"]), channels),
    st.tuples(st.just("cycle"), queues),
    st.tuples(st.just("cycle"), queues),
    st.tuples(st.just("commit")),
    st.tuples(st.just("tick")),
    st.tuples(st.just("write")),
    st.tuples(st.just("purge"), queues),
)


def play(schedule: list[tuple], fuse: int, broken: set[int], seed: int) -> None:
    """Everything that may happen, up to the end of the machine, and what is found then."""
    disk = FakeDisk(fuse, broken)
    world = World(disk)
    try:
        for step in schedule:
            world.do(step)
            if step[0] == "commit":
                world.tick()
        world.tick()
        world.write()
    except Crash:
        pass
    host = Host(disk.crash(random.Random(seed)), SEGMENT)
    check(host, world)
    there = {queue: host.bodies(queue) for queue in QUEUES}
    host.settle()
    again = host.after_crash(seed)
    assert {queue: again.bodies(queue) for queue in QUEUES} == there


anything = given(
    schedule=st.lists(steps, max_size=80),
    fuse=st.integers(1, 200),
    broken=st.sets(st.integers(1, 200), max_size=4),
    seed=st.integers(0, 1000),
)


@settings(max_examples=600, deadline=None, suppress_health_check=list(HealthCheck))
@anything
def test_what_was_promised_is_kept_wherever_the_machine_ends(schedule, fuse, broken, seed):
    play(schedule, fuse, broken, seed)


# -- the same, with a mistake in it


def no_sync(patch):
    patch.setattr(FakeFile, "sync", lambda self: None)


def names_are_not_synced(patch):
    patch.setattr(FakeDisk, "sync", lambda self: None)


def confirmed_when_sealed(patch):
    honest = Journal.seal

    def seal(self, end=False):
        block = honest(self, end)
        if block is not None:
            self.durable(block)
        return block

    patch.setattr(Journal, "seal", seal)


def a_failed_sync_is_believed(patch):
    honest = FakeFile.sync

    def sync(self):
        with contextlib.suppress(OSError):
            honest(self)

    patch.setattr(FakeFile, "sync", sync)


def replies_do_not_wait(patch):
    patch.setattr(Journal, "behind", lambda self: False)


def segments_go_too_early(patch):
    patch.setattr(Segments, "oldest_needed", lambda self: self.current.number)


def a_torn_block_is_read(patch):
    patch.setattr(records.zlib, "crc32", lambda data: 0)


def settlements_are_not_recorded(patch):
    patch.setattr(records, "those", lambda kind, queue, positions: b"")


def gaps_are_overlooked(patch):
    patch.setattr(log, "first_after_gap", lambda numbers: 0)


@pytest.mark.parametrize(
    "mistake",
    [
        no_sync,
        names_are_not_synced,
        confirmed_when_sealed,
        a_failed_sync_is_believed,
        replies_do_not_wait,
        segments_go_too_early,
        a_torn_block_is_read,
        settlements_are_not_recorded,
        gaps_are_overlooked,
    ],
    ids=lambda mistake: mistake.__name__,
)
def test_a_mistake_is_found(mistake, monkeypatch):
    """Confirmed and lost, settled and back, or not readable; the schedules are the same each time."""
    mistake(monkeypatch)
    with pytest.raises((AssertionError, KeyError, codec.MalformedFrame, ValueError, struct.error)):
        for seed in range(2000):
            play(*drawn(random.Random(seed)), seed)


def drawn(chance: random.Random) -> tuple[list[tuple], int, set[int]]:
    """A schedule, where the machine ends, and which operations fail."""
    kinds = [
        lambda: ("publish", chance.randrange(2), CONFIRMS),
        lambda: ("publish", chance.randrange(2), TX),
        lambda: ("get", chance.randrange(2), chance.choice([CONFIRMS, TX])),
        lambda: ("settle", chance.choice(["ack", "requeue"]), chance.choice([CONFIRMS, TX])),
        lambda: ("cycle", chance.randrange(2)),
        lambda: ("cycle", chance.randrange(2)),
        lambda: ("commit",),
        lambda: ("tick",),
        lambda: ("write",),
        lambda: ("purge", chance.randrange(2)),
    ]
    schedule = [chance.choice(kinds)() for _ in range(chance.randrange(60))]
    return schedule, chance.randint(1, 120), {chance.randint(1, 120) for _ in range(chance.randrange(4))}


# -- one by one


def test_nothing_is_confirmed_before_it_is_synced():
    world = World(FakeDisk())
    for step in ("tick", "write"):
        world.do((step,))
    world.publish(0, CONFIRMS)
    world.tick()
    assert not world.confirmed
    world.write()
    assert world.confirmed == {10}


def test_a_reply_waits_for_what_it_promises_and_what_follows_waits_behind_it():
    world = World(FakeDisk())
    assert not world.declared
    world.tick()
    world.write()
    assert world.declared == set(QUEUES)
    world.publish(0, TX)
    world.commit()
    assert not world.confirmed
    world.tick()
    world.write()
    assert world.confirmed == {10}


def test_who_waits_for_the_log_costs_nothing_meanwhile_and_goes_on_then():
    world = World(FakeDisk())
    world.connection.feed(
        m.QueueDeclare(CONFIRMS, 0, "more", durable=True).encode() + m.BasicQos(CONFIRMS, 0, 1, False).encode() * 2000
    )
    world.connection.take()
    world.host.broker.take_dirty()
    world.connection.take()
    assert world.connection.intake.waiting
    assert not world.host.broker.dirty, "it would be asked again and again"
    world.awaited.append(("declared", "more"))
    for _ in range(20):
        world.tick()
        world.write()
    assert world.declared == {*QUEUES, "more"}
    assert not world.connection.intake.waiting


@pytest.mark.parametrize("operation", ["write", "sync"])
def test_a_disk_that_fails_costs_a_nack_and_nothing_else(operation):
    world = World(FakeDisk())
    world.tick()
    world.write()
    world.publish(0, CONFIRMS)
    world.tick()
    disk = world.host.log.disk
    disk.broken = {disk.operations + (1 if operation == "write" else 2)}
    world.write()
    assert world.host.commits.failing is not None
    assert not world.confirmed
    assert not world.unconfirmed, "no nack"
    world.publish(0, CONFIRMS)
    world.tick()
    world.write()
    assert world.host.commits.failing is None
    assert world.confirmed == {20}
    assert Host(disk.crash(random.Random(1))).bodies("classic") == ["10", "20"]


def test_with_too_much_waiting_for_the_disk_who_waits_for_confirms_is_refused_at_once():
    world = World(FakeDisk())
    world.tick()
    world.write()
    world.host.journal.refuses = True
    world.publish(0, CONFIRMS)
    assert not world.unconfirmed
    assert not world.confirmed
    assert world.host.bodies("classic") == []
    world.host.journal.refuses = False
    world.publish(0, CONFIRMS)
    world.tick()
    world.write()
    assert world.confirmed == {20}


def test_a_transaction_that_cannot_be_kept_costs_the_connection():
    world = World(FakeDisk())
    world.tick()
    world.write()
    disk, before = world.host.log.disk, world.connection
    world.publish(0, TX)
    world.commit()
    world.tick()
    disk.broken = {disk.operations + 1}
    world.write()
    assert world.connection is not before
    assert not world.confirmed


def test_a_log_does_not_grow_without_bound():
    world = World(FakeDisk())
    disk = world.host.log.disk
    world.publish(1, CONFIRMS)
    for _ in range(200):
        world.publish(0, CONFIRMS)
        world.get(0, CONFIRMS)
        world.settle("ack", CONFIRMS)
        world.tick()
        world.write()
    assert world.host.log.newest > 20
    assert sum(map(len, disk.contents().values())) < 16 * SEGMENT
    host = Host(disk.crash(random.Random(2)))
    check(host, world)
    assert host.bodies("quorum") == ["11"]

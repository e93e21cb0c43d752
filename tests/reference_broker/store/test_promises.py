"""The order write, sync, confirm, on a disk that fails, tears and reorders, at every point of any schedule.

One client does things to a broker whose log is on that disk; ticks are sealed and groups written whenever the schedule
says so. Then the machine is gone. Of what the client was told nothing may be missing, and nothing that it surely got
rid of may be back.
"""

from __future__ import annotations

import contextlib
import random

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from reference_broker.store import log, records
from reference_broker.store.journal import Journal
from reference_broker.store.segments import Segments
from tests.support.disks import Crash, FakeDisk, FakeFile
from tests.support.kept import Host

QUEUES = {"classic": {}, "quorum": {"x-queue-type": "quorum"}}
CONFIRMS, TX = 1, 2
SEGMENT = 250


class World:
    """What the client did, was told, and may rely on. Messages are numbers, and have the queue as their last digit."""

    def __init__(self, disk: FakeDisk) -> None:
        self.host = Host(disk, SEGMENT)
        self.last = 0
        self.published: set[int] = set()
        self.confirmed: set[int] = set()
        self.let_go: set[int] = set()
        self.gone: set[int] = set()
        self.declared: set[str] = set()
        self.unsealed_gone: set[int] = set()
        self.gone_with: dict[int, set[int]] = {}
        self.connect()

    # -- the wire

    def connect(self) -> None:
        self.connection = self.host.broker.connect()
        self.reader = codec.FrameReader()
        self.unconfirmed: dict[int, int] = {}
        self.held: dict[int, list[tuple[int, int]]] = {CONFIRMS: [], TX: []}
        self.in_tx: list[int] = []
        self.settled_in_tx: list[int] = []
        self.awaited: list[tuple[str, object]] = []
        self.numbers = 0
        self.send(
            codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
            m.ConnectionTuneOk(0, 0, 0, 0), m.ConnectionOpen(0, "/"), m.ChannelOpen(CONFIRMS), m.ChannelOpen(TX),
            m.ConfirmSelect(CONFIRMS), m.TxSelect(TX),
        )
        for queue, arguments in QUEUES.items():
            self.awaited.append(("declared", queue))
            self.send(m.QueueDeclare(CONFIRMS, 0, queue, durable=True, arguments=values.table(arguments)))

    def send(self, *items: object) -> None:
        self.connection.feed(b"".join(item if isinstance(item, bytes) else item.encode() for item in items))
        self.read()

    def read(self) -> None:
        while data := self.connection.take():
            for frame in self.reader.feed(data):
                if isinstance(frame, m.BasicAck | m.BasicNack):
                    self.resolve(frame)
                elif isinstance(frame, m.TxCommitOk | m.QueueDeclareOk | m.QueuePurgeOk):
                    self.answered(*self.awaited.pop(0))
                elif isinstance(frame, m.ConnectionClose):
                    self.connection.lost()
                    self.connect()
                    return

    def resolve(self, frame: m.BasicAck | m.BasicNack) -> None:
        tag = frame.delivery_tag
        for number in [each for each in self.unconfirmed if each == tag or (frame.multiple and each < tag)]:
            message = self.unconfirmed.pop(number)
            if isinstance(frame, m.BasicAck):
                self.confirmed.add(message)

    def answered(self, what: str, about: object) -> None:
        if what == "declared":
            self.declared.add(about)
        elif what == "committed":
            published, settled = about
            self.confirmed.update(published)
            self.gone.update(settled)
        else:
            self.gone.update(about)

    # -- what a client does

    def publish(self, queue: int, channel: int) -> None:
        name, self.last = list(QUEUES)[queue], self.last + 10
        message = self.last + queue
        self.published.add(message)
        if channel == CONFIRMS:
            self.numbers += 1
            self.unconfirmed[self.numbers] = message
        else:
            self.in_tx.append(message)
        publish = m.BasicPublish(channel, 0, "", name)
        self.send(codec.content(publish, str(message).encode(), delivery_mode=2))

    def get(self, queue: int, channel: int) -> None:
        name = list(QUEUES)[queue]
        self.connection.feed(m.BasicGet(channel, 0, name, False).encode())
        bound = self.connection.channels.get(channel)
        if bound is not None:
            known = {tag for tag, _ in self.held[channel]}
            self.held[channel] += [
                (tag, int(one.entry.message.body)) for tag, one in bound.unacked.by_tag.items() if tag not in known
            ]
        self.read()

    def settle(self, how: str, channel: int) -> None:
        if not self.held[channel]:
            return
        tag, message = self.held[channel].pop(0)
        if how == "ack":
            self.let_go.add(message)
            if channel == TX:
                self.settled_in_tx.append(message)
            else:
                self.unsealed_gone.add(message)
            self.send(m.BasicAck(channel, tag, False))
        else:
            self.send(m.BasicNack(channel, tag, False, True))

    def commit(self) -> None:
        self.awaited.append(("committed", (self.in_tx, self.settled_in_tx)))
        self.in_tx, self.settled_in_tx = [], []
        self.send(m.TxCommit(TX))

    def purge(self, queue: int) -> None:
        name = list(QUEUES)[queue]
        ready = [int(body) for body in self.host.bodies(name)]
        self.let_go.update(ready)
        self.awaited.append(("purged", ready))
        self.send(m.QueuePurge(CONFIRMS, 0, name))

    # -- what the driver does

    def tick(self) -> None:
        block = self.host.journal.seal()
        if block is not None:
            self.gone_with[id(block)], self.unsealed_gone = self.unsealed_gone, set()
            self.host.commits.take([block])

    def write(self) -> None:
        self.host.write()
        waiting = {id(block) for block in self.host.commits.waiting}
        for block in [block for block in self.gone_with if block not in waiting]:
            self.gone.update(self.gone_with.pop(block))
        self.read()

    def cycle(self, queue: int) -> None:
        """A message comes and goes, and is written."""
        self.publish(queue, CONFIRMS)
        self.tick()
        self.get(queue, CONFIRMS)
        self.settle("ack", CONFIRMS)
        self.tick()
        self.write()

    def do(self, step: tuple) -> None:
        getattr(self, step[0])(*step[1:])


queues = st.integers(0, len(QUEUES) - 1)
channels = st.sampled_from([CONFIRMS, TX])
steps = st.one_of(
    st.tuples(st.just("publish"), queues, channels),
    st.tuples(st.just("publish"), queues, st.just(CONFIRMS)),
    st.tuples(st.just("get"), queues, channels),
    st.tuples(st.just("settle"), st.sampled_from(["ack", "ack", "requeue"]), channels),
    st.tuples(st.just("cycle"), queues), st.tuples(st.just("cycle"), queues),
    st.tuples(st.just("commit")), st.tuples(st.just("tick")), st.tuples(st.just("write")),
    st.tuples(st.just("purge"), queues),
)


def check(host: Host, world: World) -> None:
    assert not [note for note in host.log.notes if "damaged" in note]
    there = [int(body) for queue in QUEUES for body in host.bodies(queue)]
    assert len(there) == len(set(there)), "twice"
    assert set(there) <= world.published
    assert not world.confirmed - world.let_go - set(there), "confirmed, and lost"
    assert not world.gone & set(there), "settled, and back"
    assert world.declared <= set(host.broker.vhost.queues)


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
    schedule=st.lists(steps, max_size=80), fuse=st.integers(1, 200), broken=st.sets(st.integers(1, 200), max_size=4),
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
    patch.setattr(records, "gone", lambda queue, positions: b"")


def gaps_are_overlooked(patch):
    patch.setattr(log, "first_after_gap", lambda numbers: 0)


@pytest.mark.parametrize("mistake", [
    no_sync, names_are_not_synced, confirmed_when_sealed, a_failed_sync_is_believed, replies_do_not_wait,
    segments_go_too_early, a_torn_block_is_read, settlements_are_not_recorded, gaps_are_overlooked,
], ids=lambda mistake: mistake.__name__)
def test_a_mistake_is_found(mistake, monkeypatch):
    """Confirmed and lost, settled and back, or not readable."""

    @settings(max_examples=1500, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate],
              derandomize=True, database=None)
    @anything
    def found(schedule, fuse, broken, seed):
        play(schedule, fuse, broken, seed)

    mistake(monkeypatch)
    with pytest.raises((AssertionError, KeyError, codec.MalformedFrame, ValueError)):
        found()


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
    world.connection.feed(m.QueueDeclare(CONFIRMS, 0, "more", durable=True).encode()
                          + m.BasicQos(CONFIRMS, 0, 1, False).encode() * 2000)
    world.connection.take()
    world.host.broker.take_dirty()
    world.connection.take()
    assert world.connection.waiting
    assert not world.host.broker.dirty, "it would be asked again and again"
    world.awaited.append(("declared", "more"))
    for _ in range(20):
        world.tick()
        world.write()
    assert world.declared == {*QUEUES, "more"}
    assert not world.connection.waiting


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

"""Segments on a disk: torn ends, damage, names that are missing."""

from __future__ import annotations

import pytest

from reference_broker.store.log import Log, name_of
from reference_broker.store.records import MAGIC, block
from tests.support.disks import FakeDisk, FakeFile


@pytest.fixture
def disk():
    return FakeDisk()


def recovered(disk):
    log = Log(disk)
    return [(segment, bytes(payload)) for segment, payload in log.recover()], log


def append(log, segment, *payloads):
    log.append(segment, [block([payload]) for payload in payloads])


def test_what_was_appended_is_read_in_its_order(disk):
    log = Log(disk)
    append(log, 1, b"a", b"b")
    append(log, 1, b"c")
    append(log, 2, b"d")
    assert recovered(disk)[0] == [(1, b"a"), (1, b"b"), (1, b"c"), (2, b"d")]


def test_a_torn_end_is_cut_wherever_it_is_torn(disk):
    append(Log(disk), 1, b"first", b"second")
    whole = disk.contents()[name_of(1)]
    first = len(MAGIC) + len(block([b"first"]))
    for length in range(len(whole)):
        torn = FakeDisk()
        torn.files[name_of(1)] = FakeFile(torn, whole[:length])
        found, log = recovered(torn)
        assert found == ([(1, b"first")] if length >= first else [])
        assert bool(log.notes) == (length not in (0, len(MAGIC), first))
        good = first if length >= first else len(MAGIC)
        assert torn.contents()[name_of(1)] == whole[:good]
        assert recovered(torn)[0] == found
        assert not recovered(torn)[1].notes


def test_a_segment_that_was_begun_and_never_written_is_no_damage_when_it_is_older(disk):
    append(Log(disk), 1, b"a")
    for written in (b"", MAGIC[:3]):
        disk.files[name_of(2)] = FakeFile(disk, written)
        recovered(disk)
        append(Log(disk), 3, b"c")
        found, log = recovered(disk)
        assert found == [(1, b"a"), (3, b"c")]
        assert not log.notes
        disk.remove(name_of(3))


def test_any_flipped_bit_is_seen(disk):
    append(Log(disk), 1, b"content")
    whole = disk.contents()[name_of(1)]
    for bit in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        other = FakeDisk()
        other.files[name_of(1)] = FakeFile(other, bytes(flipped))
        assert recovered(other)[0] == []


def test_damage_in_an_older_segment_costs_its_rest_only_and_a_copy_is_kept(disk):
    log = Log(disk)
    append(log, 1, b"a", b"b")
    append(log, 2, b"c")
    file = disk.files[name_of(1)]
    file.content[-1] ^= 1
    damaged = bytes(file.content)
    found, log = recovered(disk)
    assert found == [(1, b"a"), (2, b"c")]
    assert log.notes == ["00000001.log: 9 octets are damaged and could not be read; see 00000001.log.damaged"]
    assert disk.contents()["00000001.log.damaged"] == damaged
    assert not recovered(disk)[1].notes


def test_what_lies_before_a_missing_segment_was_to_be_deleted(disk):
    log = Log(disk)
    for segment in range(1, 6):
        append(log, segment, b"%d" % segment)
    disk.remove(name_of(3))
    found, log = recovered(disk)
    assert found == [(4, b"4"), (5, b"5")]
    assert (log.oldest, log.newest) == (4, 5)
    assert set(disk.names()) == {name_of(4), name_of(5)}


def test_segments_that_are_not_needed_are_removed(disk):
    log = Log(disk)
    for segment in range(1, 5):
        append(log, segment, b"x")
    log.drop_before(4)
    assert disk.names() == [name_of(4)]


def test_other_files_are_none_of_its_business(disk):
    disk.open("lock")
    disk.open("1.log")
    assert recovered(disk)[0] == []
    assert set(disk.names()) == {"lock", "1.log"}


def test_one_append_is_one_write_and_one_sync(disk):
    log = Log(disk)
    append(log, 1, b"a")
    before = disk.operations
    append(log, 1, *[b"x"] * 50)
    assert disk.operations - before == 2


def test_without_sync_it_only_writes(disk):
    log = Log(disk, sync=False)
    append(log, 1, b"a")
    before = disk.operations
    append(log, 1, b"b")
    assert disk.operations - before == 1

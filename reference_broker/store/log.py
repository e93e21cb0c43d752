"""Segments on a disk: recovered once, then only appended to.

`recover` reads them all. What is torn at the end of the newest is cut off: nobody was ever told that it is there; one
that was begun and never written is made a whole one without blocks, as it will be an older one soon. What is not
readable in an older one was damaged later, by no crash of ours; it is put aside under another name, and reading goes on
behind it, since each segment stands on its own definitions. Segments go from the oldest on, so one that is
missing among the others says that all before it were to go.

`append` writes blocks of one segment and syncs it. If that fails, none of it counts: the next attempt writes all of it
again to the same place, because after a failed fsync nothing else can be believed. A new segment is begun after the
last is synced, in a name that is synced, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from reference_broker.store import records
from reference_broker.store.disk import Disk, File
from reference_broker.store.records import MAGIC, Damaged

NAME = re.compile(r"(\d{8,})\.log")


def name_of(segment: int) -> str:
    return f"{segment:08d}.log"


def first_after_gap(numbers: list[int]) -> int:
    """The place behind the last number that is missing; 0 if none is."""
    return max((at for at, number in enumerate(numbers) if at and number != numbers[at - 1] + 1), default=0)


class Log:
    def __init__(self, disk: Disk, sync: bool = True) -> None:
        self.disk = disk
        self.sync = sync
        self.oldest = self.newest = 0
        self.notes: list[str] = []
        """What recovery found that people should know of."""
        self._file: File | None = None
        self._segment = 0
        self._good = 0

    # -- recovery

    def recover(self) -> Iterator[tuple[int, memoryview]]:
        """(segment, records) of each whole block, in the order in which they were written."""
        numbers = sorted(int(hit[1]) for name in self.disk.names() if (hit := NAME.fullmatch(name)))
        if not numbers:
            return
        gap = first_after_gap(numbers)
        for number in numbers[:gap]:
            self.notes.append(f"{name_of(number)} was to be deleted")
            self.disk.remove(name_of(number))
        self.oldest, self.newest = numbers[gap], numbers[-1]
        for number in numbers[gap:]:
            yield from self._read(number)

    def _read(self, number: int) -> Iterator[tuple[int, memoryview]]:
        data = self.disk.read(name_of(number))
        if not data and number == self.newest:
            self._write_whole(name_of(number), MAGIC)
            return
        good = len(MAGIC)
        try:
            if data[:good] != MAGIC:
                good = 0
                raise Damaged
            for end, payload in records.blocks(data, good):
                yield number, payload
                good = end
        except Damaged:
            self._cut(number, data, good)

    def _cut(self, number: int, data: bytes, good: int) -> None:
        name, lost = name_of(number), len(data) - good
        if number == self.newest:
            self.notes.append(f"{name}: {lost} octets at its end were not complete and have been cut off")
        else:
            self._write_whole(f"{name}.damaged", data)
            self.notes.append(f"{name}: {lost} octets are damaged and could not be read; see {name}.damaged")
        file = self.disk.open(name)
        file.truncate(good)
        if not good:
            file.write(0, MAGIC)
        file.sync()
        file.close()

    def _write_whole(self, name: str, data: bytes) -> None:
        file = self.disk.open(name)
        file.write(0, data)
        file.sync()
        file.close()

    # -- writing

    def append(self, segment: int, blocks: list[bytes]) -> None:
        """All of them, durably, or OSError; then they may be tried again, in the same order."""
        if segment != self._segment:
            self._begin(segment)
        assert self._file is not None
        data = b"".join(blocks if self._good else [MAGIC, *blocks])
        self._file.write(self._good, data)
        if self.sync:
            self._file.sync()
            if not self._good:
                self.disk.sync()
        self._good += len(data)
        self.newest = segment

    def _begin(self, segment: int) -> None:
        file = self.disk.open(name_of(segment))
        self.close()
        self._file, self._segment, self._good = file, segment, 0

    def drop_before(self, oldest: int) -> None:
        """These segments are not needed any more."""
        for number in range(self.oldest, oldest):
            self.disk.remove(name_of(number))
            self.oldest = number + 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file, self._segment = None, 0

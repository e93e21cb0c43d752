"""A disk that can fail, tear and reorder, for what claims to survive that.

What was not synced is on its way: after a `crash` each chunk of it is there or not, by chance, whatever the order in
which it was written, and so is each name that was made or removed. A sync that fails has lost hold of what it should
have written: nobody knows whether that is there, and a later sync does not write it again. Every operation is counted;
`fuse` says which one is the last, and `broken` which ones fail, half done.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Collection

CHUNK = 16


class Crash(Exception):
    """The machine is gone."""


class FakeFile:
    """`content` is what a reader sees now, `kept` what is surely on the disk, `loose` the chunks that may be."""

    def __init__(self, disk: FakeDisk, kept: bytes = b"") -> None:
        self.disk = disk
        self.content = bytearray(kept)
        self.kept = kept
        self.loose: list[tuple[int, bytes]] = []
        self.unsynced: list[tuple[int, bytes]] = []
        self.cut: list[int] = []

    def write(self, offset: int, data: bytes) -> None:
        failing = self.disk.operation()
        self.put(offset, data[: len(data) // 2] if failing else data)
        self.disk.fail(failing, errno.ENOSPC)

    def put(self, offset: int, data: bytes) -> None:
        self.content.extend(bytes(max(0, offset - len(self.content))))
        self.content[offset : offset + len(data)] = data
        self.unsynced += [(offset + at, data[at : at + CHUNK]) for at in range(0, len(data), CHUNK)]

    def truncate(self, size: int) -> None:
        self.disk.fail(self.disk.operation(), errno.EIO)
        self.content = self.content[:size].ljust(size, b"\0")
        self.cut.append(size)

    def sync(self) -> None:
        failing = self.disk.operation()
        if failing:
            self.loose += self.unsynced
        else:
            self.kept = self.settled(self.kept, self.unsynced)
            self.loose = [chunk for chunk in self.loose if chunk[0] < min(self.cut, default=len(self.content))]
            self.cut = []
        self.unsynced = []
        self.disk.fail(failing, errno.EIO)

    def settled(self, kept: bytes, chunks: list[tuple[int, bytes]]) -> bytes:
        content = bytearray(kept[: min([len(kept), *self.cut])])
        for offset, data in chunks:
            content.extend(bytes(max(0, offset - len(content))))
            content[offset : offset + len(data)] = data
        return bytes(content[: len(self.content)])

    def after_crash(self, chance: random.Random) -> bytes:
        cut = [size for size in self.cut if chance.random() < 0.5]
        content = bytearray(self.kept[: min([len(self.kept), *cut])])
        for offset, data in [*self.loose, *self.unsynced]:
            if chance.random() < 0.6:
                content.extend(bytes(max(0, offset - len(content))))
                content[offset : offset + len(data)] = data
        return bytes(content)

    def close(self) -> None:
        """Nothing is synced by that."""


class FakeDisk:
    def __init__(self, fuse: int | None = None, broken: Collection[int] = ()) -> None:
        self.fuse = fuse
        self.broken = set(broken)
        self.operations = 0
        self.files: dict[str, FakeFile] = {}
        self.kept_names: dict[str, FakeFile] = {}
        self.loose_names: list[tuple[str, FakeFile | None]] = []

    def operation(self) -> bool:
        """One more; does it fail?"""
        self.operations += 1
        if self.fuse is not None and self.operations >= self.fuse:
            raise Crash
        return self.operations in self.broken

    def fail(self, failing: bool, number: int) -> None:
        if failing:
            raise OSError(number, "out of order")

    def names(self) -> list[str]:
        return list(self.files)

    def read(self, name: str) -> bytes:
        return bytes(self.files[name].content)

    def open(self, name: str) -> FakeFile:
        self.fail(self.operation(), errno.EMFILE)
        if name not in self.files:
            self.files[name] = FakeFile(self)
            self.loose_names.append((name, self.files[name]))
        return self.files[name]

    def remove(self, name: str) -> None:
        self.fail(self.operation(), errno.EIO)
        if self.files.pop(name, None) is not None:
            self.loose_names.append((name, None))

    def sync(self) -> None:
        self.fail(self.operation(), errno.EIO)
        self.kept_names, self.loose_names = dict(self.files), []

    def crash(self, chance: random.Random) -> FakeDisk:
        """What is found when the machine is up again: a disk in order."""
        names = dict(self.kept_names)
        for name, file in self.loose_names:
            if chance.random() < 0.5:
                if file is None:
                    names.pop(name, None)
                else:
                    names[name] = file
        disk = FakeDisk()
        disk.files = {name: FakeFile(disk, file.after_crash(chance)) for name, file in names.items()}
        disk.kept_names = dict(disk.files)
        return disk

    def contents(self) -> dict[str, bytes]:
        return {name: bytes(file.content) for name, file in self.files.items()}

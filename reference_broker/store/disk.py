"""The few things that a log asks of a disk, and a directory that does them.

A name in a `Disk` lasts only once the disk is synced, content only once its file is. Errors are OSError.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Protocol

LOCK = "lock"


class File(Protocol):
    def write(self, offset: int, data: bytes) -> None: ...

    def truncate(self, size: int) -> None: ...

    def sync(self) -> None: ...

    def close(self) -> None: ...


class Disk(Protocol):
    def names(self) -> list[str]: ...

    def read(self, name: str) -> bytes: ...

    def open(self, name: str) -> File:
        """For writing; made if it is not there."""

    def remove(self, name: str) -> None:
        """Fine if it is not there."""

    def sync(self) -> None:
        """The names."""


class OpenFile:
    def __init__(self, path: Path) -> None:
        self.number = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(self, offset: int, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            written = os.pwrite(self.number, rest, offset)
            offset, rest = offset + written, rest[written:]

    def truncate(self, size: int) -> None:
        os.ftruncate(self.number, size)

    def sync(self) -> None:
        (getattr(os, "fdatasync", None) or os.fsync)(self.number)

    def close(self) -> None:
        os.close(self.number)


class Directory:
    """A directory that is ours alone, as long as this process lives. Raises OSError."""

    def __init__(self, path: Path) -> None:
        try:
            import fcntl
        except ImportError:
            raise OSError(errno.ENOSYS, "only POSIX systems can; start it without a data directory") from None
        self.path = path
        if path.exists() and not path.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is there, and no directory")
        path.mkdir(parents=True, exist_ok=True)
        self.number = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        self.lock = os.open(path / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self.close()
            raise BlockingIOError(errno.EAGAIN, "another broker is using it") from None

    def names(self) -> list[str]:
        return os.listdir(self.path)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def open(self, name: str) -> File:
        return OpenFile(self.path / name)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def sync(self) -> None:
        os.fsync(self.number)

    def close(self) -> None:
        os.close(self.number)
        os.close(self.lock)

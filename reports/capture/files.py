"""Capture files to packets: pcap and pcapng, either byte order, any resolution of time, plain or gzip.

A packet is `(time_ns, number, link, octets)`: `number` counts from one as Wireshark does, `link` is the LINKTYPE of
tcpdump.org. A file that ends in the middle of a packet, as one does whose writer was killed, gives all packets before
it and a note. `in_time` puts packets into the order of their time stamps as far as disorder is local, and says whether
there was any.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, cast

from conformance.history.recording import BadRecording

CHUNK = 1 << 22
MOST = 1 << 26  # octets of one packet or block; more is damage
WINDOW = 1024

Packet = tuple[int, int, int, bytes]

_PCAP = {
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\x3c\x4d": (">", 1),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
}
_PCAPNG = b"\x0a\x0d\x0d\x0a"
_GZIP = b"\x1f\x8b"
_SECTION, _INTERFACE, _OLD, _SIMPLE, _ENHANCED = 0x0A0D0D0A, 1, 2, 3, 6


def may_be(begin: bytes) -> bool:
    """Could a file be a capture that begins with these octets?"""
    return begin[:4] in _PCAP or begin[:4] == _PCAPNG or begin[:2] == _GZIP


class BadCapture(BadRecording):
    """This is no capture that we can read; the message says what it is instead, and what to do."""


def is_capture(path: Path | str) -> bool:
    """Does the file begin as a capture does? Raises OSError where it cannot be read."""
    with _open(Path(path)) as file:
        begin = file.read(4)
    return begin in _PCAP or begin == _PCAPNG


class CaptureFile:
    """One file. `packets` may be read once; `notes` then says what was wrong with the file."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.notes: list[str] = []
        try:
            self._file = _open(self.path)
            self._begin = self._file.read(4)
        except OSError as problem:
            raise BadCapture(f"{self.path} cannot be read: {problem.strerror or problem}.") from None
        if self._begin not in _PCAP and self._begin != _PCAPNG:
            raise BadCapture(
                f"{self.path} is no capture: it begins with {self._begin!r}. Captures are written by tcpdump -w, "
                "dumpcap or Wireshark, as pcap or pcapng."
            )

    def packets(self) -> Iterator[Packet]:
        """All packets in the order of the file. Raises BadCapture where its header is damaged."""
        with self._file:
            try:
                yield from self._pcap() if self._begin in _PCAP else self._pcapng()
            except EOFError as problem:
                self.notes.append(f"{self.path.name}: the packed file breaks off ({problem})")

    def _pcap(self) -> Iterator[Packet]:
        order, scale = _PCAP[self._begin]
        header = self._file.read(20)
        if len(header) < 20:
            raise BadCapture(f"{self.path} ends within its first 24 octets.")
        link = struct.unpack(order + "I", header[16:])[0] & 0xFFFF
        head, number, data, at = struct.Struct(order + "IIII").unpack_from, 0, b"", 0
        while more := self._file.read(CHUNK):
            data, at = data[at:] + more, 0
            last = len(data) - 16
            while at <= last:
                seconds, part, size, _ = head(data, at)
                end = at + 16 + size
                if end > len(data):
                    if size > MOST:
                        self.notes.append(f"{self.path.name}: damaged after packet {number}")
                        return
                    break
                number += 1
                yield seconds * 1_000_000_000 + part * scale, number, link, data[at + 16 : end]
                at = end
        if at < len(data):
            self._torn(number)

    def _torn(self, number: int) -> None:
        self.notes.append(f"{self.path.name}: ends in the middle of packet {number + 1}, which is left out")

    def _pcapng(self) -> Iterator[Packet]:
        section, number = _Section(), 0
        for kind, body in self._blocks(section):
            if kind == _INTERFACE:
                section.interface(body)
                continue
            packet = section.packet(kind, body)
            if packet is not None:
                number += 1
                yield packet[0], number, packet[1], packet[2]

    def _blocks(self, section: _Section) -> Iterator[tuple[int, bytes]]:
        """Type and body of each block; a section's own header only sets the byte order."""
        count, begin = 0, self._begin
        while True:
            begin += _read(self._file, 12 - len(begin))
            if len(begin) < 12:
                break
            if begin[:4] == _PCAPNG:
                section.begin(begin[8:])
            kind, size = struct.unpack(section.order + "II", begin[:8])
            if not 12 <= size <= MOST:
                self.notes.append(f"{self.path.name}: damaged after block {count}")
                return
            rest = _read(self._file, size - 12)
            if len(rest) < size - 12:
                break
            if kind != _SECTION:
                yield kind, (begin[8:] + rest)[: size - 12]
            count, begin = count + 1, b""
        if begin:
            self._torn(count)


class _Section:
    """A section of a pcapng file: its byte order and interfaces."""

    def __init__(self) -> None:
        self.order = "<"
        self._links: list[tuple[int, int, int]] = []
        self._time = 0

    def begin(self, magic: bytes) -> None:
        self.order = ">" if magic == b"\x1a\x2b\x3c\x4d" else "<"
        self._links = []

    def interface(self, body: bytes) -> None:
        """Link type, units of time in a second, seconds to add."""
        link, at, units, offset = struct.unpack_from(self.order + "H", body)[0], 8, 1_000_000, 0
        while at + 4 <= len(body):
            code, size = struct.unpack_from(self.order + "HH", body, at)
            value = body[at + 4 : at + 4 + size]
            if code == 9 and size == 1:
                units = 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
            elif code == 14 and size == 8:
                offset = struct.unpack(self.order + "q", value)[0]
            at += 4 + (size + 3) // 4 * 4
        self._links.append((link, units, offset))

    def packet(self, kind: int, body: bytes) -> tuple[int, int, bytes] | None:
        """Time, link and octets, if this block is a packet."""
        if kind == _SIMPLE:
            return self._time, self._link(0)[0], body[4 : 4 + struct.unpack_from(self.order + "I", body)[0]]
        if kind not in (_ENHANCED, _OLD):
            return None
        pattern = "IIII" if kind == _ENHANCED else "HxxIII"
        number, high, low, size = struct.unpack_from(self.order + pattern, body)
        link, units, offset = self._link(number)
        self._time = (high << 32 | low) * 1_000_000_000 // units + offset * 1_000_000_000
        return self._time, link, body[20 : 20 + size]

    def _link(self, number: int) -> tuple[int, int, int]:
        return self._links[number] if number < len(self._links) else (-1, 1_000_000, 0)


class InTime:
    """Packets in the order of their time stamps, as far as none is displaced by more than WINDOW others.

    `ordered` is false from before the first packet is handed out that had to be moved, or that could not be.
    """

    def __init__(self, packets: Iterable[Packet]) -> None:
        self._packets = iter(packets)
        self.ordered, self.count = True, 0

    def __iter__(self) -> Iterator[Packet]:
        for packets in self.lists():
            yield from packets

    def lists(self) -> Iterator[list[Packet]]:
        """All packets, WINDOW at a time."""
        window: list[Packet] = []
        last = 0
        while block := list(islice(self._packets, WINDOW)):
            self.count += len(block)
            times = [packet[0] for packet in block]
            if times[0] < last or sorted(times) != times:
                self.ordered = False
            last = max(last, max(times))
            window += block
            if not self.ordered:
                window.sort()
            if out := window[:-WINDOW]:
                yield out
                window = window[-WINDOW:]
        yield window


def _open(path: Path) -> IO[bytes]:
    file = path.open("rb")
    packed = file.read(2) == _GZIP
    file.seek(0)
    return cast("IO[bytes]", gzip.open(file)) if packed else file


def _read(file: IO[bytes], size: int) -> bytes:
    """This many octets; fewer only at the end of the file."""
    return file.read(size) if size else b""

"""Real captures of the loopback interface, and what may become of the packets of one afterwards."""

from __future__ import annotations

import shutil
import socket
import struct
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from random import Random
from uuid import uuid4

import pytest

from reports.capture.capture import Capture
from reports.capture.files import BadCapture

HEAD, RECORD = 24, struct.Struct("<IIII")
Packets = Sequence[bytes]


@contextmanager
def capturing(path: Path, port: int) -> Iterator[None]:
    """tcpdump or dumpcap on the loopback interface, from before the first packet until its end has reached the file,
    with a buffer that holds all of it: on a crowded machine they are late, and must lose nothing."""
    command = ["tcpdump", "-i", "lo", "-U", "-B", "65536", "-w", str(path), f"port {port}"]
    if shutil.which("tcpdump") is None:
        command = ["dumpcap", "-i", "lo", "-q", "-B", "64", "-w", str(path), "-f", f"port {port}"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        if not any("File:" in line or "listening on" in line for line in process.stderr):
            pytest.skip("no right to capture on the loopback interface")
        yield
        _until_ended(path, port)
    finally:
        process.terminate()
        process.wait()


def _until_ended(path: Path, port: int, most: float = 240.0) -> None:
    """A datagram that no AMQP reader looks at goes behind all the traffic: once it is in the file, so is the rest."""
    last = uuid4().bytes
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as behind:
        behind.sendto(last, ("127.0.0.1", port))
    end = time.monotonic() + most
    while last not in path.read_bytes() or not _ended(path):
        assert time.monotonic() < end, "the capture does not reach its end"
        time.sleep(0.1)


def _ended(path: Path) -> bool:
    """Is every connection in the file, which may still be growing, over?"""
    try:
        kinds = [event.kind for event in Capture([path]).events()]
    except BadCapture:
        return False
    return 0 < kinds.count("open") <= kinds.count("end")


def split(capture: bytes) -> tuple[bytes, list[bytes]]:
    """The head of a pcap file of this machine's byte order, and its packets with their own heads."""
    packets, at = [], HEAD
    while at + RECORD.size <= len(capture):
        end = at + RECORD.size + RECORD.unpack_from(capture, at)[2]
        packets.append(capture[at:end])
        at = end
    return capture[:HEAD], packets


def cut(packets: Packets, chance: Random) -> list[bytes]:
    """It begins in the middle, and ends before the end."""
    first, last = sorted(chance.sample(range(len(packets) + 1), 2))
    return list(packets[first:last])


def dropped(packets: Packets, chance: Random) -> list[bytes]:
    """Packets are missing: a few here and there, or many in a row."""
    share = chance.choice((0.002, 0.02, 0.1))
    begin = chance.randrange(len(packets))
    burst = range(begin, begin + chance.choice((0, 5, 50)))
    return [packet for number, packet in enumerate(packets) if chance.random() > share and number not in burst]


def reordered(packets: Packets, chance: Random) -> list[bytes]:
    """Packets stand up to so many places from where they were, with the times they had."""
    far = chance.choice((2, 8, 40))
    places = [number + chance.random() * far * (chance.random() < 0.3) for number in range(len(packets))]
    return [packets[number] for number in sorted(range(len(packets)), key=places.__getitem__)]


def all_at_once(packets: Packets, chance: Random) -> list[bytes]:
    return reordered(dropped(cut(packets, chance), chance) or packets, chance)

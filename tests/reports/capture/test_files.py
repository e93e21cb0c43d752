"""Every shape of capture file gives the same packets; a damaged one gives what is before the damage, and says so."""

from __future__ import annotations

import gzip
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks import packets
from reports.capture.files import BadCapture, CaptureFile, InTime, Packet, is_capture

PACKETS = [(packets.BEGIN_NS + n * 1_234_567, bytes([n % 256]) * (n * 37 % 400)) for n in range(200)]


def read(path: Path, content: bytes) -> tuple[list[Packet], list[str]]:
    path.write_bytes(content)
    file = CaptureFile(path)
    return list(file.packets()), file.notes


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("nano", [False, True])
@pytest.mark.parametrize("write", [packets.pcap, packets.pcapng])
def test_packets_are_read_as_written(
    tmp_path: Path,
    write: Callable[..., bytes],
    nano: bool,
    order: str,
) -> None:
    found, notes = read(tmp_path / "a", write(PACKETS, 1, order=order, nano=nano))
    unit = 1 if nano else 1000
    assert found == [(time // unit * unit, n, 1, octets) for n, (time, octets) in enumerate(PACKETS, 1)]
    assert notes == []


def test_packed_files_are_unpacked(tmp_path: Path) -> None:
    plain = packets.pcap(PACKETS)
    assert read(tmp_path / "a.gz", gzip.compress(plain)) == read(tmp_path / "a", plain)
    found, notes = read(tmp_path / "b.gz", gzip.compress(plain)[:-40])
    assert len(found) < len(PACKETS) or notes
    assert all(packet in read(tmp_path / "a", plain)[0] for packet in found)


@pytest.mark.parametrize("write", [packets.pcap, packets.pcapng])
def test_a_file_cut_anywhere_gives_all_packets_before_the_cut(tmp_path: Path, write: Callable[..., bytes]) -> None:
    content = write(PACKETS)
    whole, _ = read(tmp_path / "a", content)
    for cut in range(len(content) - 1000, len(content)):
        found, notes = read(tmp_path / "a", content[:cut])
        assert found == whole[: len(found)]
        ends_well = write(PACKETS[: len(found)]) == content[:cut]
        assert (notes == []) == ends_well
        assert ends_well or "ends in the middle of packet" in notes[0] or "middle" in notes[0]


def test_a_size_that_cannot_be_is_damage(tmp_path: Path) -> None:
    content = bytearray(packets.pcap(PACKETS))
    content[24 + 8 : 24 + 12] = b"\xff\xff\xff\x7f"
    assert read(tmp_path / "a", bytes(content)) == ([], ["a: damaged after packet 0"])


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is no capture: it begins with b''"),
        (b"PK\x03\x04 a zip", "is no capture.*PK"),
        (packets.pcap([])[:11], "ends within its first 24 octets"),
    ],
)
def test_what_is_no_capture_is_refused_in_words(tmp_path: Path, content: bytes, words: str) -> None:
    with pytest.raises(BadCapture, match=words):
        read(tmp_path / "a", content)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadCapture, match=r"missing\.pcap cannot be read: No such file"):
        CaptureFile(tmp_path / "missing.pcap")


def test_captures_are_known_by_how_they_begin(tmp_path: Path) -> None:
    for name, content in (("a", packets.pcap([])), ("b", packets.pcapng([])), ("c", gzip.compress(packets.pcap([])))):
        (tmp_path / name).write_bytes(content)
        assert is_capture(tmp_path / name)
    (tmp_path / "d").write_text('{"schema": ...')
    assert not is_capture(tmp_path / "d")


def _numbered(times: list[int]) -> list[Packet]:
    return [(time, n, 1, b"") for n, time in enumerate(times, 1)]


def test_packets_in_order_stay_in_order(tmp_path: Path) -> None:
    given = _numbered([5, 5, 6, 6, 6, 9] * 1)
    sorted_packets = InTime(given)
    assert list(sorted_packets) == given
    assert sorted_packets.ordered


def test_a_long_capture_in_order_is_in_order() -> None:
    given = _numbered([number // 3 for number in range(9000)])
    arranged = InTime(given)
    assert list(arranged) == given
    assert arranged.ordered


@pytest.mark.parametrize("seed", range(5))
def test_local_disorder_is_put_right_and_said_before(seed: int) -> None:
    chance = random.Random(seed)
    given = _numbered([n + chance.randint(0, 300) for n in range(9000)])
    arranged = InTime(given)
    out: list[Packet] = []
    moved: Any = None
    for packet in arranged:
        out.append(packet)
        if moved is None and packet != given[len(out) - 1]:
            moved = arranged.ordered
    assert out == sorted(given)
    assert moved is False


def test_disorder_beyond_the_window_is_said() -> None:
    arranged = InTime(_numbered([*range(10, 9000), 1]))
    assert len(list(arranged)) == 8991
    assert not arranged.ordered

"""Which files are one capture, and in which order they were written."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import packets
from reports.capture.files import BadCapture
from reports.capture.rings import found, ring_name, rings


def write(path: Path, second: int | None) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(packets.pcap([] if second is None else [(second * 1_000_000_000, b"x")]))
    return path


@pytest.mark.parametrize(
    ("name", "ring"),
    [
        ("cap.pcap", "cap.pcap"),
        ("cap.pcap0", "cap.pcap"),
        ("cap.pcap12", "cap.pcap"),
        ("cap.pcap3.gz", "cap.pcap"),
        ("cap.pcapng7", "cap.pcapng"),
        ("cap_00012_20261121183000.pcapng", "cap.pcapng"),
        ("test1.pcap", "test1.pcap"),
        ("cap_1_2.pcap", "cap_1_2.pcap"),
        ("noname", "noname"),
        ("run7", "run7"),
    ],
)
def test_a_ring_is_known_by_its_name(name: str, ring: str) -> None:
    assert ring_name(Path(name)) == ring


def test_files_of_a_ring_are_in_the_order_of_their_first_packets(tmp_path: Path) -> None:
    seconds = {"cap.pcap0": 30, "cap.pcap1": 40, "cap.pcap2": 10, "cap.pcap3": 20, "cap.pcap10": 5}
    files = [write(tmp_path / name, second) for name, second in seconds.items()]
    other = write(tmp_path / "other.pcap", 1)
    made = rings([*files, other])
    assert list(made) == ["cap.pcap", "other.pcap"]
    assert [file.name[8:] for file in made["cap.pcap"]] == ["10", "2", "3", "0", "1"]


def test_rings_of_one_name_in_two_folders_are_two(tmp_path: Path) -> None:
    files = [write(tmp_path / folder / f"cap.pcap{n}", n) for folder in "ab" for n in (1, 2)]
    assert list(rings(files)) == [str(tmp_path / "a" / "cap.pcap"), str(tmp_path / "b" / "cap.pcap")]


def test_captures_are_found_among_other_files(tmp_path: Path) -> None:
    inner = write(tmp_path / "inner" / "a.pcap", 1)
    outer = write(tmp_path / "b.pcap", None)
    (tmp_path / "notes.pcap").write_text("not a capture")
    assert found([tmp_path]) == [outer, inner]
    assert found([str(tmp_path / "*.pcap")]) == [outer]
    assert found([inner, tmp_path / "inner"]) == [inner]
    with pytest.raises(BadCapture, match="No capture in"):
        found([tmp_path / "nothing*"])

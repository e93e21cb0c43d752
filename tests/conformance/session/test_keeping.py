"""A disk that fills up while a run goes on: the run has its verdict, and says what could not be kept."""

from __future__ import annotations

import errno
import io
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.cli import main
from conformance.history.events import Event
from conformance.history.recording import Recording, RecordingWriter
from conformance.outcome import deliver
from conformance.session.keeping import Keeping
from tests.support.simulated import Wire

ROOT = Path(__file__).parents[3]
QUICK = ("--rules", "TAG-00[1-3]", "--depth", "smoke", "--examples", "1")


class Disk(io.RawIOBase):
    """A file with room for so many octets, of which a write takes what fits, and at most `most`."""

    def __init__(self, path: Path, room: int, most: int = 1 << 20) -> None:
        self._file, self.room, self._most = path.open("ab", buffering=0), room, most

    def write(self, octets: bytes) -> int:  # type: ignore[override]
        taken = min(len(octets), self.room, self._most)
        if not taken:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= taken
        return self._file.write(octets[:taken])

    def close(self) -> None:
        self._file.close()
        super().close()


def events(count: int) -> Iterator[Event]:
    made = Wire("one")
    for number in range(count):
        made.local("mark", number=number)
    yield from made.events


def kept(directory: Path, room: int, most: int = 1 << 20) -> tuple[RecordingWriter, Disk]:
    writer = RecordingWriter(directory, {"run": "r"})
    writer._file.close()
    disk = Disk(writer.path, room, most)
    writer._file = disk  # type: ignore[assignment]
    return writer, disk


def test_a_write_that_takes_a_part_is_gone_on_with(tmp_path: Path) -> None:
    writer, _ = kept(tmp_path, 1 << 20, most=7)
    for event in events(5):
        writer.write(event)
    writer.close()
    assert len(list(Recording(tmp_path).events())) == len(list(events(5)))
    assert not Recording(tmp_path).torn


def test_a_recording_ends_where_the_disk_is_full_and_no_later_event_follows(tmp_path: Path) -> None:
    writer, disk = kept(tmp_path, 700)
    keeping = Keeping(writer)
    for event in events(4):
        keeping(event)
    assert keeping.unwritten() == (
        f"The recording is not complete: {tmp_path / 'events-main.jsonl'} could not be written "
        "(No space left on device)."
    )
    disk.room = 1 << 20
    for event in events(4):
        keeping(event)
    assert keeping.unwritten()
    writer.close()
    recording = Recording(tmp_path)
    assert 0 < len(list(recording.events())) < 4
    assert len(recording.torn) == 1


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_a_recording_that_cannot_be_written_does_not_cost_the_verdict(workers: tuple[str, ...], tmp_path: Path) -> None:
    """No file of this process may grow larger than the limit; the system says so as it says that a disk is full."""
    ran = subprocess.run(
        [sys.executable, "-m", "conformance.cli", "run", *QUICK, *workers, "--recording", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, 1 << 17)),
    )
    assert (ran.returncode, ran.stdout[:9]) == (2, "GATE OPEN"), ran.stderr
    said = " ".join(ran.stderr.split())
    assert "failed" not in said
    assert f"The recording is not complete: {tmp_path}" in said
    assert "could not be written (File too large)." in said


def test_a_report_that_cannot_be_written_does_not_cost_the_verdict(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    real = Path.write_bytes

    def write(path: Path, content: bytes) -> int:
        if path.name == "index.html":
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", write)
    assert main(["run", *QUICK, "--report", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out.startswith("GATE OPEN")
    where = tmp_path / "index.html"
    assert f"The report is not complete: {where} could not be written (the disk is full)." in " ".join(said.err.split())


def test_other_reasons_are_told_as_the_system_tells_them() -> None:
    fault = OSError(errno.EACCES, "Permission denied", "out/index.html")
    assert deliver.unwritten(fault) == (
        "The report is not complete: out/index.html could not be written (Permission denied)."
    )

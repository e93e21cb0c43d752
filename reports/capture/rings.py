"""Which files are one capture: those that a ring or a size limit split, in the order in which they were written.

tcpdump -C numbers its files behind the name (cap.pcap, cap.pcap1, ...), dumpcap before the suffix, with the time
(cap_00001_20261121183000.pcapng). A ring starts again at its first name, so the order is that of the first packets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from reports.capture.files import BadCapture, CaptureFile

_TCPDUMP = re.compile(r"(.+\.(?:pcap|pcapng|cap|dmp))\d*(\.gz)?")
_DUMPCAP = re.compile(r"(.+)_\d{5}_\d{14}(\.\w+(?:\.gz)?)")


def rings(paths: Iterable[Path]) -> dict[str, list[Path]]:
    """Captures by name, each with its files in order. Raises BadCapture."""
    found: dict[Path, list[Path]] = {}
    for path in sorted(paths):
        found.setdefault(path.parent / ring_name(path), []).append(path)
    names = [ring.name for ring in found]
    return {
        (ring.name if names.count(ring.name) == 1 else str(ring)): files if len(files) == 1 else in_order(files)
        for ring, files in found.items()
    }


def ring_name(path: Path) -> str:
    """What the names of all files of its capture have in common."""
    if split := _DUMPCAP.fullmatch(path.name):
        return split[1] + split[2]
    split = _TCPDUMP.fullmatch(path.name)
    return split[1] if split else path.name


def in_order(files: Iterable[Path]) -> list[Path]:
    """The files by their first packet; one without any comes first."""
    return sorted(files, key=lambda file: (_first(file), file))


def _first(path: Path) -> int:
    for time_ns, *_ in CaptureFile(path).packets():
        return time_ns
    return 0


def found(paths: Iterable[Path | str]) -> list[Path]:
    """Capture files among these files, directories and patterns. Raises BadCapture where there is none."""
    files: list[Path] = []
    for path in map(Path, paths):
        if path.is_file():
            files.append(path)
            continue
        inside = path.rglob("*") if path.is_dir() else Path(path.anchor or ".").glob(_relative(path))
        files += [file for file in sorted(inside) if file.is_file() and _readable(file)]
    if not files:
        raise BadCapture(f"No capture in {', '.join(map(str, paths))}.")
    return list(dict.fromkeys(files))


def _relative(path: Path) -> str:
    return str(path.relative_to(path.anchor)) if path.anchor else str(path)


def _readable(path: Path) -> bool:
    try:
        CaptureFile(path)
    except BadCapture:
        return False
    return True

"""A ring read file by file and stitched is the ring read as one, wherever the files are cut and whatever is lost."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from benchmarks import packets
from benchmarks.packets import BEGIN_NS, Seg, Talk, moved
from conformance.history.events import Event, Labels
from reports.capture.capture import Capture
from reports.capture.loose import LOOSE
from reports.capture.stitch import RENAMED, stitch

Gist = tuple[Any, ...]


def split(folder: Path, segments: Sequence[Seg], cuts: Sequence[int]) -> list[Path]:
    """Files of a ring, cut before these packets."""
    timed = [moved(seg, time_ns=BEGIN_NS + n * 1000) for n, seg in enumerate(segments)]
    ends, files = [0, *sorted(cuts), len(timed)], []
    for number, (begin, end) in enumerate(pairwise(ends)):
        path = folder / f"ring.pcap{number}"
        path.write_bytes(packets.pcap(packets.packets(timed[begin:end])))
        files.append(path)
    return files


def as_one(files: Sequence[Path]) -> list[Event]:
    return list(Capture(files, name="ring").events())


def apart(files: Sequence[Path]) -> list[Event]:
    """File by file, and then tied."""
    events: list[Event] = []
    loose: dict[tuple[str, str, str], list[Any]] = {}
    for number, file in enumerate(files):
        for block in Capture([file], name="ring", part=(number, len(files))).blocks():
            for event in block.events():
                if event.kind == LOOSE:
                    loose.setdefault(event[:3], []).append((event.seq, event.connection, event.args))
                else:
                    events.append(event)
    names = {}
    for key, ends in loose.items():
        for block in stitch(Labels(*key, ""), dict(enumerate(path.name for path in files)), ends):
            for event in block.events():
                if event.kind == RENAMED:
                    names[event.connection] = event.args["to"]
                else:
                    events.append(event)
    events = [event._replace(connection=names.get(event.connection, event.connection)) for event in events]
    assert len({(event.history, event.seq) for event in events}) == len(events), "two events have one place"
    return sorted(events, key=lambda event: (event.history, event.seq))


def gist(events: Sequence[Event]) -> list[Gist]:
    """All but seq, and the names of connections that begin in later files."""
    return [
        (event.connection.split("/")[0].split("#")[0], event.channel, *event[6:])
        for event in events
        if event.kind != "observed"
    ]


def wire(events: Sequence[Gist]) -> Counter[Gist]:
    return Counter((event[0], *event[3:]) for event in events if event[3] != "-")


@pytest.mark.parametrize("seed", range(12))
def test_where_files_are_cut_does_not_show(tmp_path: Path, talks: Any, seed: int) -> None:
    chance, segments = random.Random(seed), talks.many()
    files = split(tmp_path, segments, chance.sample(range(1, len(segments)), chance.randint(1, 6)))
    told = apart(files)
    assert gist(told) == gist(as_one(files))
    assert not {"gap", "joined", "cut", "malformed"} & {event.kind for event in told}


@pytest.mark.parametrize("seed", range(12))
def test_what_is_lost_at_a_seam_is_said(tmp_path: Path, talks: Any, seed: int) -> None:
    chance, segments = random.Random(seed), talks.many()
    true = wire(gist(as_one(split(tmp_path, segments, []))))
    for _ in range(3):
        del segments[chance.randrange(len(segments) - 6)]
    cuts = chance.sample(range(1, len(segments)), 3)
    files = split(tmp_path, segments, cuts)
    told = gist(apart(files))
    stamped = {(event[0], *event[4:]) for event in true}
    assert {(event[0], *event[4:]) for event in wire(told)} <= stamped
    assert {"gap", "cut", "joined"} & {event[4] for event in told} or len(wire(told)) == len(true)
    assert "malformed" not in {event[4] for event in told}


def test_a_file_that_is_missing_is_a_gap(tmp_path: Path, talks: Any) -> None:
    segments: list[Seg] = []
    talks.leave(talks.work(talks.start(Talk(segments)), 40))
    files = split(tmp_path, segments, [100, 110])
    told = apart([files[0], files[2]])
    kinds = [event.kind for event in told if event.direction == "-" and event.kind != "observed"]
    assert kinds == ["open", *["gap"] * 4, "end"]
    assert {event.connection for event in told} == {"", "10.0.0.7:40000"}


def test_another_connection_between_the_same_ports_is_told_apart(tmp_path: Path, talks: Any) -> None:
    one: list[Seg] = []
    talks.work(talks.start(Talk(one)), 20)
    two: list[Seg] = []
    talks.leave(talks.work(talks.start(Talk(two, numbers=(2_000_000_000, 3_000_000_000))), 20))
    told = apart(split(tmp_path, one + two[20:], [len(one)]))
    assert sorted({event.connection for event in told}) == ["", "10.0.0.7:40000", "10.0.0.7:40000/2"]
    ends = {event.connection: event.kind for event in told}
    assert ends == {"": "observed", "10.0.0.7:40000": "cut", "10.0.0.7:40000/2": "end"}

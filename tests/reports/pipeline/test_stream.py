"""A directory watched: the verdicts of the batch job, whatever order files come in and however often it is killed."""

from __future__ import annotations

import json
import marshal
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks import packets
from conformance.catalogue import profiles
from conformance.history import recording
from conformance.history.events import Event
from conformance.history.recording import Recording
from conformance.oracle.model.publishing.publishes import body_frames
from conformance.oracle.monitors import judge
from reports.pipeline import check, follow, ingest, stream, verdicts
from reports.pipeline.stream import Stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HEADER = {
    "run": "r1",
    "profile": "documented",
    "broker": "Birch 2.9",
    "queue_types": ["classic", "quorum"],
    "capabilities": ["basic.nack"],
}
ROOT = Path(__file__).parents[3]
TOLD = (check.FINDING, check.EXERCISED, check.REPORT, check.DOUBT)

WATCHER = """
import sys
from pathlib import Path
from reports.pipeline import stream
from reports.objects import place
from reports.pipeline.session import session
spark = session(sys.argv[3] + "/spark.log", master="local[2]", settings={"spark.sql.shuffle.partitions": "2"},
                octets=1)
watched = stream.Stream(Path(sys.argv[1]), place(sys.argv[2]), Path(sys.argv[3]), files=3)
stream.start(spark, watched, print).awaitTermination()
"""


def appear(inbox: Path, number: int, events: Sequence[Event]) -> None:
    """A closed file appears, by rename."""
    aside = inbox.parent / "aside"
    inbox.mkdir(exist_ok=True)
    recording.write(aside, HEADER, events).rename(inbox / f"events-{number:03}.jsonl")


def slices(events: Sequence[Event], number: int) -> list[Sequence[Event]]:
    """So many slices that cut all histories, in an order that is not theirs."""
    size = len(events) // number + 1
    made = [events[at : at + size] for at in range(0, len(events), size)]
    random.Random(5).shuffle(made)
    return made


def added(rows: Iterable[dict[str, Any]], *what: str) -> Counter[str]:
    """Rows of these kinds, as what they come to."""
    total: Counter[str] = Counter()
    for row in rows:
        if row["what"] in what:
            told = (row["history"], row["what"], row["rule"], row.get("at"), row.get("observed"), row.get("certain"))
            total[repr(told)] += row["times"]
    return total


def folded(events: Iterable[Event]) -> Counter[str]:
    """The same by the plain fold."""
    histories: dict[str, list[Event]] = {}
    for event in sorted(events, key=lambda event: event.seq):
        histories.setdefault(event.history, []).append(event)
    held_to = profiles.load("documented")
    return added(
        (row for name, own in histories.items() for row in check.rows_of("r1", name, judge(own, held_to))), *TOLD
    )


def collected(spark: SparkSession, watched: Stream) -> list[dict[str, Any]]:
    return [row.asDict() for row in stream.judged(spark, watched).collect()]


@pytest.mark.long
def test_killed_and_begun_again_with_shuffled_late_and_unreadable_files(
    spark: SparkSession,
    tmp_path: Path,
    mixed: list[Event],
    s3: str,
) -> None:
    """Killed after its first micro-batch at the earliest, while a part is still missing that then comes late. Its
    judgements are in an object store."""
    watched = Stream(tmp_path / "in", s3, tmp_path / "checkpoint", files=3)
    *early, late = slices(mixed, 8)
    for number, events in enumerate(early[:4]):
        appear(watched.inbox, number, events)
    with watching(watched) as first:
        begun(watched, first, batches=1)
        time.sleep(random.uniform(0, 1.5))
        os.killpg(first.pid, signal.SIGKILL)
    for number, events in enumerate(early[4:], 4):
        appear(watched.inbox, number, events)
    goes_on_without_the_last_part(spark, watched, mixed)

    appear(watched.inbox, 901, late)
    appear(watched.inbox, 902, [event for event in mixed if event.history == "h3"])
    stream.start(spark, watched, lambda number: None).awaitTermination()
    told = collected(spark, watched)
    assert added(told, *TOLD) == folded(mixed)
    twice = sum(event.history == "h3" for event in mixed)
    assert added(told, follow.LATE, follow.MISSING).total() == twice
    assert [json.loads(row["observed"])["run"] for row in told if row["what"] == stream.RUN] == ["r1"]
    rows, left = stream.summary(spark, watched)
    assert left == 0
    recorded = Recording(recording.write(tmp_path / "whole", HEADER, mixed))
    batch = check.check(ingest.events(spark, recorded), verdicts.profile_names(recorded))
    assert rows == verdicts.table(batch, verdicts.headers(recorded))
    one = next(row.rule for row in rows if row.verdict == "broken")
    known, _ = stream.summary(spark, watched, lambda profile, rule, *_: (profile, rule) == ("documented", one))
    assert {row.rule for row in known if row.verdict == "deviates"} == {one}
    assert [row.verdict for row in known if row.rule != one] == [row.verdict for row in rows if row.rule != one]


def goes_on_without_the_last_part(spark: SparkSession, watched: Stream, whole: Sequence[Event]) -> None:
    """Beside what cannot be read: nothing is lost of what came, and the rest is not known yet."""
    (watched.inbox / "events-900.jsonl").write_text("no recording\n")
    (watched.inbox / "_aside.jsonl").write_text("not closed yet\n")
    (watched.inbox / "traffic.pcap").write_bytes(packets.pcap([]))
    stream.start(spark, watched, lambda number: None).awaitTermination()
    told = collected(spark, watched)
    unread = {Path(row["history"]).name: row["observed"] for row in told if row["what"] == stream.UNREADABLE}
    assert unread.keys() == {"events-900.jsonl", "traffic.pcap"}
    assert "is a capture" in unread["traffic.pcap"]
    assert "trace check" in unread["traffic.pcap"]
    assert added(told, *TOLD) < folded(whole)
    assert not [row for row in told if row["what"] in (follow.LATE, follow.MISSING)]
    rows, left = stream.summary(spark, watched)
    assert left > 0
    assert "inconclusive" in {row.verdict for row in rows}


def watching(watched: Stream) -> subprocess.Popen[bytes]:
    """A watcher in a process group of its own, with its Java and its workers."""
    with (watched.inbox.parent / "watcher.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-c", WATCHER, *map(str, (watched.inbox, watched.out, watched.checkpoint))],
            stdout=log,
            stderr=log,
            start_new_session=True,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )


def begun(watched: Stream, process: subprocess.Popen[bytes], batches: int) -> None:
    """Comes back when so many batches have been written, and others have not."""
    deadline = time.monotonic() + 400
    while watched.lake.version("judgements") < batches:
        assert process.poll() is None, "it ended before it was killed"
        assert time.monotonic() < deadline, "nothing was written"
        time.sleep(0.02)


def test_of_frames_their_number_is_passed_on(mixed: list[Event], tmp_path: Path) -> None:
    publish = next(event for event in mixed if event.method == "basic.publish")
    body = publish.raw.rindex(b"\x03\x00\x01")
    size = publish.body_size or 0
    twice = publish._replace(raw=publish.raw[:body] + publish.raw[body:] * 2, body_size=2 * size)
    file = recording.write(tmp_path, HEADER, [publish, twice._replace(seq=publish.seq + 1)])
    piece, *_ = stream.pieces(file)
    raws = [event[-1] for event in marshal.loads(piece["events"])]
    assert [len(raw) for raw in raws] == [8, 16]
    assert [body_frames(raw, size) for raw in raws] == [1, 2]
    assert [body_frames(one.raw, one.body_size or 0) for one in (publish, twice)] == [1, 2]

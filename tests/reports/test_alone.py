"""What fits one process is judged there: without Spark, Java and Arrow, soon, and as Spark would."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest

import codec
from benchmarks import packets
from benchmarks.packets import Seg, Talk
from codec import methods as m
from conformance import cli
from conformance.history import recording
from conformance.history.events import OBSERVED, Event
from conformance.oracle.verdicts import why_not
from conformance.session.exits import Refused
from conformance.trace import check as trace_check
from conformance.trace.results import GivenOptions
from reports.alone import store
from reports.alone.judged import JudgedRun, judged
from reports.alone.store import StoredHistory, histories
from reports.lake.commits import Lake
from reports.pipeline import job
from reports.pipeline.inputs import gather
from tests.support.simulated import Wire

ROOT = Path(__file__).parents[2]
BARE = """
import resource, sys
for name in ("pyspark", "py4j", "pyarrow", "deltalake", "obstore", "numpy", "pandas", "zstandard", "google"):
    sys.modules[name] = None
from conformance.cli import main
code = main(sys.argv[1:])
spent = resource.getrusage(resource.RUSAGE_SELF)
print(f"CPU {spent.ru_utime + spent.ru_stime:.2f}", file=sys.stderr)
sys.exit(code)
"""
"""The command where nothing of the extra `spark` is installed."""


def written(path: Path, messages: int) -> Path:
    """A capture of one connection, on which so many messages are published, confirmed, delivered and acknowledged."""
    segments: list[Seg] = []
    talk = Talk(segments).open().client(codec.ProtocolHeader().encode())
    told: list[tuple[str, str, object]] = [(name, "S", b"Birch") for name in ("product", "version", "platform")]
    talk.broker(m.ConnectionStart(0, 0, 9, told, b"PLAIN", b"en_US").encode())
    talk.client(m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US").encode())
    talk.broker(m.ConnectionTune(0, 2047, 131072, 60).encode())
    talk.client(m.ConnectionTuneOk(0, 2047, 131072, 60).encode(), m.ConnectionOpen(0, "/").encode())
    talk.broker(m.ConnectionOpenOk(0).encode())
    talk.client(m.ChannelOpen(1).encode()).broker(m.ChannelOpenOk(1, b"").encode())
    talk.client(m.ConfirmSelect(1, False).encode()).broker(m.ConfirmSelectOk(1).encode())
    talk.client(m.QueueDeclare(1, 0, "q").encode()).broker(m.QueueDeclareOk(1, "q", 0, 0).encode())
    talk.client(m.BasicConsume(1, 0, "q", "t").encode()).broker(m.BasicConsumeOk(1, "t").encode())
    for n in range(1, messages + 1):
        talk.client(codec.content(m.BasicPublish(1, 0, "", "q"), b"%d" % n, message_id=f"m{n}"))
        talk.broker(m.BasicAck(1, n, False).encode())
        talk.broker(codec.content(m.BasicDeliver(1, "t", n, False, "", "q"), b"%d" % n, message_id=f"m{n}"))
        talk.client(m.BasicAck(1, n, False).encode())
    talk.client(m.ConnectionClose(0, 200, "done", 0, 0).encode()).broker(m.ConnectionCloseOk(0).encode()).close()
    path.write_bytes(packets.pcap(packets.packets(segments)))
    return path


def test_sixteen_thousand_events_take_less_than_five_seconds_without_the_extra(tmp_path: Path) -> None:
    """Of the processor, which a crowded machine does not change so much."""
    capture, out = written(tmp_path / "busy.pcap", 4000), tmp_path / "out"
    ran = subprocess.run(
        [sys.executable, "-c", BARE, "trace", "check", str(capture), "--out", str(out), "--format", "json"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    (run,) = json.loads(ran.stdout)["runs"]
    assert run["events"] > 16_000
    assert {rule["id"] for rule in run["rules"] if rule["verdict"] == "held"} >= {"TAG-003", "CNF-004"}
    assert float(ran.stderr.rpartition("CPU ")[2]) < 5
    assert "No tables" in ran.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "capture.html",
        "history.html",
        "history.json",
        "index.html",
        "runs",
    ]


def test_where_the_extra_is_missing_spark_is_refused_in_a_sentence(tmp_path: Path) -> None:
    capture = written(tmp_path / "small.pcap", 1)
    ran = subprocess.run(
        [sys.executable, "-c", BARE, "trace", "check", str(capture), "--out", str(tmp_path / "out"), "--spark"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ran.returncode == 2
    assert "pip install 'amqp-conformance[spark]'" in " ".join(ran.stderr.split())


def test_who_has_given_his_word_is_not_asked_for_it() -> None:
    why = "1 history shares its broker with clients you did not capture (--whole if that is not so)"
    assert GivenOptions((), ("a.pcap",)).doubt(why) == why
    said = GivenOptions((), ("a.pcap", "--whole")).doubt(why)
    assert said.startswith("1 history shares its broker with clients you did not capture (--whole ends where ")
    assert why == why_not({"open world": 1}), "as the oracle says it"


def test_what_is_too_much_goes_to_spark(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def on_spark(*_: object) -> NoReturn:
        raise Refused(2, "This would have been judged on Spark.")

    capture = written(tmp_path / "small.pcap", 5)
    monkeypatch.setattr(store, "MOST", 10)
    monkeypatch.setattr(trace_check, "_on_spark", on_spark)
    assert cli.main(["trace", "check", str(capture), "--out", str(tmp_path / "out")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "More than 10 events are judged on Spark." in said
    assert "This would have been judged on Spark." in said


def seen(name: str, *, others: bool = False) -> Wire:
    """A history of somebody who sees one side, and nobody's scene."""
    made = Wire(name)
    made.events.clear()
    made.local(OBSERVED, by="proxy", others=others, ordered=True)
    made.local("open", host="127.0.0.1", port=5672)
    made.begins()
    return made


def consumer(name: str) -> Wire:
    made = seen(name)
    made.says(">", m.BasicConsume(1, 0, "q", "t", False, False, False, False, []))
    made.says("<", m.BasicConsumeOk(1, "t"))
    made.carries("<", m.BasicDeliver(1, "t", 1, False, "", "q"), "m1")
    return made


def run_of(folder: Path, *found: Wire) -> JudgedRun:
    events = list(itertools.chain.from_iterable(own.events for own in found))
    recording.write(folder, {"run": "r1", "profile": "documented"}, events)
    inputs = gather([folder])
    (run,) = judged(inputs, histories(inputs))
    return run


def test_what_several_histories_see_of_one_queue_is_judged_too(tmp_path: Path) -> None:
    sender = seen("a")
    sender.carries(">", m.BasicPublish(1, 0, "", "q"), "m1")
    both = run_of(tmp_path / "both", sender, consumer("b"), consumer("c"))
    assert [row["rule"] for row in both.gold if row["what"] == "finding"] == ["RQ-008"]
    one = run_of(tmp_path / "one", sender, consumer("b"))
    assert [row["rule"] for row in one.gold if row["what"] == "finding"] == []


def test_islands_are_those_of_the_pipeline() -> None:
    """What is about no connection is in all of them, and names tell their order."""

    def event(connection: str, seq: int, queue: str | None) -> Event:
        values: dict[str, Any] = {
            **dict.fromkeys(Event._fields),
            "run": "r",
            "history": "h",
            "connection": connection,
            "seq": seq,
            "direction": ">",
            "kind": "method",
            "method": "queue.declare",
            "queue": queue,
            "arguments": "",
            "flags": "",
        }
        return Event(**values)

    events = [
        event("c2", 4, "b"),
        event("c1", 2, "a"),
        event("c3", 3, "a"),
        event("", 1, None)._replace(kind=OBSERVED, direction="-", method=""),
    ]
    assert {name: [one.seq for one in own] for name, own in islands(events, whole=False).items()} == {
        "c1": [1, 2, 3],
        "c2": [1, 4],
    }
    assert {name: len(own) for name, own in islands(events, whole=True).items()} == {"": 4}


def islands(events: Sequence[Event], *, whole: bool) -> dict[str, list[Event]]:
    return StoredHistory("r", "h", whole, list(events)).islands


def test_what_is_there_already_is_not_written_again_and_all_runs_make_the_history(tmp_path: Path) -> None:
    out, first, second = tmp_path / "out", written(tmp_path / "a.pcap", 2), written(tmp_path / "b.pcap", 2)
    words = ["trace", "check", "--out", str(out), "--format", "json"]
    for path in (first, second, second):
        assert cli.main([*words, str(path)]) == 0
    lake = Lake(out / "lake")
    assert [lake.version(table) for table in (job.SILVER, job.GOLD, job.VERDICTS, job.TIMES)] == [2, 2, 2, 2]
    assert len(json.loads((out / "history.json").read_text())["runs"]) == 2

"""Captures of real programs: a right broker is never accused, whatever is lost of the capture, and a wrong one is.

Programs of pika and py-amqp and the patterns of PerfTest talk to a broker through `trace record`, and tcpdump takes
the same packets: two witnesses of one traffic, who must agree. Then the capture is cut, packets are dropped and moved,
and each of these is judged again. `make captures` does so with more traffic (CAPTURE_SCALE) and more mutilations.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pika
import pytest

from conformance.catalogue import deviations, profiles
from conformance.catalogue.profiles import Profile
from conformance.cli import main
from conformance.history.events import OBSERVED, Event
from conformance.oracle.monitors import judge
from conformance.oracle.verdicts import REASONS, Judgement
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS
from reports.capture import about
from reports.capture.capture import Capture, NoTraffic
from reports.judging.world import Closed, Torn
from reports.lake.columns import TABLES
from reports.lake.commits import Lake
from tests.support import pcaps, perf, programs
from tests.support.tracer import Tracer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCALE = int(os.environ.get("CAPTURE_SCALE", "1"))
COUNT = 40 * SCALE
SEEDS = range(8 * SCALE)
SHAPES = (pcaps.cut, pcaps.dropped, pcaps.reordered, pcaps.all_at_once)


@dataclass(frozen=True)
class Taken:
    """The same traffic twice: the capture and the recording."""

    pcap: Path
    recording: Tracer
    port: int

    @property
    def profile(self) -> Profile:
        (header,) = about.headers("", [self.pcap], {self.port}).values()
        return profiles.load(header["profile"])

    def judged(self, pcap: Path | None = None) -> Judgement:
        return judge(Capture([pcap or self.pcap], ports={self.port}).events(), self.profile)


def everything(port: int) -> None:
    for program in programs.ALL:
        program(port, COUNT)
    for pattern in perf.PATTERNS:
        perf.play(port, pattern, COUNT)


def take(url: str, folder: Path, traffic: Callable[[int], None]) -> Taken:
    """What passes between this traffic and the broker."""
    tracer = Tracer(url, folder / "recording")
    try:
        with pcaps.capturing(folder / "traffic.pcap", tracer.port):
            traffic(tracer.port)
        assert tracer.stop()[0] == 0
    finally:
        tracer.kill()
    return Taken(folder / "traffic.pcap", tracer, tracer.port)


@pytest.fixture(scope="module", params=["reference", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
def taken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    folder = tmp_path_factory.mktemp(request.param)
    if request.param == "reference":
        with ReferenceBroker() as broker:
            yield take(broker.url, folder, everything)
    elif "AMQP_RABBITMQ_URL" in os.environ:
        yield take(os.environ["AMQP_RABBITMQ_URL"], folder, everything)
    else:
        pytest.skip("AMQP_RABBITMQ_URL names no RabbitMQ")


def accused(judgement: Judgement, profile: Profile) -> set[str]:
    """Rules that are certainly broken, and not known to be."""
    known = deviations.load(profile.deviations) if profile.deviations else ()
    return {
        found.rule
        for found in judgement.findings
        if found.certain and not any(entry.rule == found.rule and entry.covers(found.observed, None) for entry in known)
    }


def test_a_right_broker_is_accused_of_nothing(taken: Taken) -> None:
    whole = taken.judged()
    assert accused(whole, taken.profile) == set()
    assert sum(map(bool, whole.exercised.values())) > 25, "many rules had something to say"
    assert whole.exercised["TAG-003"] > 2 * COUNT


def test_capture_and_recording_agree(taken: Taken) -> None:
    """Clocks differ; on all that needs no order between connections the two say the same."""
    captured, recorded = taken.judged(), judge(taken.recording.events(), taken.profile)
    assert accused(recorded, taken.profile) == set()
    for rule in ("TAG-001", "TAG-003", "ACK-015", "CNF-003", "CNF-004", "ERR-002", "QOS-001"):
        assert captured.exercised[rule] == recorded.exercised[rule], rule


def as_whole(events: Iterable[Event], *, blindly: bool = False) -> Iterator[Event]:
    """With the word of whoever took it that all clients are there. `blindly`: a hole is told when it is given up."""
    known = list(events)
    world = Closed() if blindly else Closed(Torn.of(known).upto)
    return (said for event in known for said in world.judge_in_order(event))


def test_taken_as_whole_a_right_broker_is_accused_of_nothing(taken: Taken, tmp_path: Path) -> None:
    """Neither by the recording, nor by what is left of a capture, nor by all of it."""
    profile = taken.profile
    assert accused(judge(as_whole(taken.recording.events()), profile), profile) == set()
    head, packets = pcaps.split(taken.pcap.read_bytes())
    for shape in (pcaps.reordered, pcaps.dropped, pcaps.cut):
        pcap = tmp_path / f"{shape.__name__}.pcap"
        pcap.write_bytes(head + b"".join(shape(packets, Random(7))))
        events = Capture([pcap], ports={taken.port}).events()
        assert accused(judge(as_whole(events), profile), profile) == set(), shape
    assert accused(judge(as_whole(Capture([taken.pcap], ports={taken.port}).events()), profile), profile) == set()


def test_any_single_packet_may_be_missing(tmp_path: Path) -> None:
    """What one client gives back another takes: who sees only the second of these must not accuse the broker."""
    with ReferenceBroker() as broker:
        taken = take(broker.url, tmp_path, lambda port: programs.handed_around(port, 8))
    head, packets = pcaps.split(taken.pcap.read_bytes())
    whole = as_whole(Capture([taken.pcap], ports={taken.port}).events())
    assert accused(judge(whole, taken.profile), taken.profile) == set()
    misled = 0
    for number in range(len(packets)):
        pcap = tmp_path / "one_less.pcap"
        pcap.write_bytes(head + b"".join(packets[:number] + packets[number + 1 :]))
        events = list(Capture([pcap], ports={taken.port}).events())
        assert accused(judge(as_whole(events), taken.profile), taken.profile) == set(), number
        misled += bool(accused(judge(as_whole(events, blindly=True), taken.profile), taken.profile))
    assert misled > len(packets) // 20, "some of these packets say what another connection does next"


@pytest.mark.parametrize("mutilated", SHAPES, ids=lambda one: one.__name__)
def test_what_is_lost_accuses_nobody_and_is_said(
    taken: Taken,
    mutilated: Callable[..., list[bytes]],
    tmp_path: Path,
) -> None:
    head, packets = pcaps.split(taken.pcap.read_bytes())
    total, empty = Judgement(), 0
    for seed in SEEDS:
        pcap = tmp_path / f"{seed}.pcap"
        pcap.write_bytes(head + b"".join(mutilated(packets, Random(seed))))
        try:
            one = taken.judged(pcap)
        except NoTraffic:
            empty += 1
            continue
        assert accused(one, taken.profile) == set(), seed
        total.add(one)
    assert empty < len(SEEDS) // 2
    assert total.exercised["TAG-003"] > COUNT
    reasons = Counter(reason for of_rule in total.doubts.values() for reason in of_rule)
    assert set(reasons) <= set(REASONS)
    assert reasons or mutilated is pcaps.reordered, "what could not be judged is said to be so"


def before_the_proxy(port: int) -> None:
    """Half of it has happened when recording begins: messages of nobody, a queue that others know, a kill later."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        channel.queue_declare("known")
        for n in range(COUNT):
            channel.basic_publish("", "known", b"%d" % n, pika.BasicProperties(message_id=str(n)))
        channel.basic_get("known")


KILLED = """
import sys, pika
channel = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(sys.argv[1]))).channel()
channel.basic_qos(prefetch_count=5)
for n, (method, _, _) in enumerate(channel.consume("known")):
    if n == 12:
        print("busy", flush=True)
    if n < 12 and n % 2:
        channel.basic_ack(method.delivery_tag, multiple=n % 3 == 0)
"""


def killed(port: int) -> None:
    """A client that is no more while it holds deliveries, and one that gets them afterwards."""
    program = subprocess.Popen([sys.executable, "-c", KILLED, str(port)], stdout=subprocess.PIPE)
    assert program.stdout is not None
    assert program.stdout.readline() == b"busy\n"
    program.send_signal(signal.SIGKILL)
    program.wait()
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        while (got := channel.basic_get("known"))[0] is not None:
            channel.basic_ack(got[0].delivery_tag)


def test_a_recording_that_begins_late_and_a_client_that_is_killed(tmp_path: Path) -> None:
    with ReferenceBroker() as broker:
        before_the_proxy(pika.URLParameters(broker.url).port)
        found = take(broker.url, tmp_path, killed)
    events = found.recording.events()
    recorded = judge(events, found.profile)
    assert recorded.findings == []
    assert recorded.doubts, "others may have used the queue, and that is said"
    assert "basic.get-empty" in {event.method for event in events}


# -- wrong brokers


def beyond_what_was_seen(port: int) -> None:
    """A delivery, and an ack of all up to a tag that never was; something to answer behind it."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.basic_publish("", queue, b"m")
        channel.basic_get(queue)
        channel.basic_ack(4711, multiple=True)
        channel.queue_declare(queue, passive=True)


def half_settled(port: int) -> None:
    """Five deliveries settled at once, their channel closed, and what comes again taken from another."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("half settled").method.queue
        for n in range(10):
            channel.basic_publish("", queue, b"%d" % n, pika.BasicProperties(message_id=f"m{n}"))
        for _ in range(5):
            channel.basic_get(queue)
        channel.basic_ack(5, multiple=True)
        channel.queue_declare(queue, passive=True)
        channel.close()
        channel = connection.channel()
        while (got := channel.basic_get(queue))[0] is not None:
            channel.basic_ack(got[0].delivery_tag)


def test_what_comes_again_is_a_doubt_and_with_the_word_of_its_user_a_finding(tmp_path: Path) -> None:
    """In a capture whose clocks were not in order it stays a doubt."""
    with ReferenceBroker(mutants=["settle.multiple-only-below-tag"]) as broker:
        found = take(broker.url, tmp_path, half_settled)
    recorded, captured = found.recording.events(), list(Capture([found.pcap], ports={found.port}).events())
    for events in (recorded, captured):
        assert accused(judge(events, found.profile), found.profile) == set()
    assert accused(judge(as_whole(recorded), found.profile), found.profile) == {"ACK-002"}
    ordered = all(event.args["ordered"] for event in captured if event.kind == OBSERVED)
    expected = {"ACK-002"} if ordered else set()
    assert accused(judge(as_whole(captured), found.profile), found.profile) == expected


def shared(port: int) -> None:
    perf.play(port, perf.PATTERNS[1], 10)


WRONG: dict[str, Callable[[int], None]] = {
    "tags.start-at-zero": shared,
    "confirms.one-ahead": shared,
    "settle.stale-multiple-accepted": beyond_what_was_seen,
    "errors.unknown-tag-is-404": lambda port: programs.with_pika(port, 20),
}


@pytest.fixture(scope="module")
def wrong(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Taken]:
    """By mutant, and of a broker that is right beside them."""
    found = {}
    for name, traffic in {**WRONG, "": shared}.items():
        with ReferenceBroker(mutants=[name] if name else []) as broker:
            found[name] = take(broker.url, tmp_path_factory.mktemp(name or "right"), traffic)
    return found


@pytest.mark.spark
def test_a_wrong_broker_is_found_offline(
    wrong: dict[str, Taken],
    tmp_path: Path,
    spark: SparkSession,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One job over all of them: named rules, closed gates, and cases that lead to packets. In this process it comes to
    the same, and Spark goes on with its tables."""
    inputs = {name: found.pcap for name, found in wrong.items()}
    for name, pcap in inputs.items():
        inputs[name] = pcap.rename(pcap.with_name(f"{name or 'right'}.pcap"))
    words = ["trace", "check", *map(str, inputs.values()), "--format", "json", "--out"]
    assert main([*words, str(tmp_path / "out"), "--spark"]) == 1
    assert spark.range(9).count() == 9, "a session that was there before stays"
    said = json.loads(capsys.readouterr().out)["runs"]
    assert main([*words, str(tmp_path / "alone")]) == 1
    assert without_command(json.loads(capsys.readouterr().out)["runs"]) == without_command(said)
    before = tables(tmp_path / "alone")
    assert main([*words, str(tmp_path / "alone"), "--spark"]) == 1
    assert without_command(json.loads(capsys.readouterr().out)["runs"]) == without_command(said)
    assert set(tables(tmp_path / "alone") - before) == {"matrix", "history", "flakiness", "latency", "regressions"}
    known = [json.loads((tmp_path / name / "history.json").read_text("utf-8")) for name in ("out", "alone")]
    assert known[0] == known[1]
    runs = {run["run"].split(".pcap")[0]: run for run in said}
    assert broken(runs.pop("right")) == set()
    for name, run in runs.items():
        expected = set(MUTANTS[name].rules)
        assert broken(run) & expected, name
        assert not run["gate"]["open"]
    for path in (tmp_path / "out" / "cases").rglob("*.json"):
        case = json.loads(path.read_text("utf-8"))
        assert case["capture"]["packet"] in case["capture"]["packets"]
        assert case["steps"]
    assert len(list((tmp_path / "out" / "cases").iterdir())) == len(WRONG)
    assert "frame.number in {" in (tmp_path / "out" / "capture.html").read_text("utf-8")


def without_command(runs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without the command, which names the place of the results."""
    return [{name: value for name, value in run.items() if name != "command"} for run in runs]


def tables(out: Path) -> Counter[str]:
    """How often each table of the lake was written."""
    lake = Lake(out / "lake")
    return Counter({table: lake.version(table) for table in TABLES if lake.version(table)})


def broken(run: dict[str, Any]) -> set[str]:
    return {rule["id"] for rule in run["rules"] if rule["verdict"] == "broken"}

"""A capture as a whole: who talks to whom, what is missing, and what is said where there is nothing to read."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import codec
from benchmarks import packets
from benchmarks.packets import BEGIN_NS, MASK, Seg, Talk, moved
from codec import methods as m
from conformance.history.events import Event
from reports.capture.about import headers
from reports.capture.capture import Capture, NoTraffic
from reports.capture.files import BadCapture

Read = Callable[..., list[Event]]
BROKEN = {"gap", "joined", "cut"}


def timed(segments: list[Seg]) -> list[Seg]:
    """As if captured in this order."""
    return [moved(seg, time_ns=BEGIN_NS + n * 1000) for n, seg in enumerate(segments)]


def gist(event: Event) -> tuple[object, ...]:
    """All of an event but its place and time."""
    return event[2:5] + event[7:]


def test_a_connection_is_read_as_a_driver_would_tell_it(read: Read, talks: Any) -> None:
    events = read(talks.whole())
    assert [event.kind for event in events[:3]] == ["observed", "open", "protocol"]
    assert events[0].args == {"by": "capture", "others": True, "ordered": True}
    assert events[1].args == {"host": "10.0.0.1", "port": 5672, "client": "10.0.0.7:40000"}
    assert (events[-1].kind, events[-1].args) == ("end", {"cause": "closed"})
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    methods = [event.method for event in events if event.method.startswith("basic.")]
    assert methods == ["basic.publish", "basic.ack", "basic.deliver", "basic.ack"] * 6
    assert {event.history for event in events} == {"test.pcap 10.0.0.1:5672"}
    assert {event.connection for event in events[1:]} == {"10.0.0.7:40000"}


@pytest.mark.parametrize("link", packets.LINKS)
@pytest.mark.parametrize("hosts", [("10.0.0.7", "10.0.0.1"), ("fe80::7", "2001:db8::1")])
def test_link_layers_and_ip_versions_make_no_difference(
    read: Read,
    talks: Any,
    link: str,
    hosts: tuple[str, str],
) -> None:
    segments = talks.whole(client=(hosts[0], 40000), broker=(hosts[1], 5672))
    assert talks.heard(read(segments, link)) == talks.heard(read(talks.whole()))


@pytest.mark.parametrize("seed", range(40))
def test_reordering_doubling_and_recutting_make_no_difference(read: Read, talks: Any, seed: int) -> None:
    chance = random.Random(seed)
    whole = talks.whole(numbers=((1 << 32) - 3000, (1 << 32) - 100))
    segments = list(whole)
    for _ in range(12):
        at = chance.randrange(3, len(segments) - 4)
        seg = segments[at]
        if chance.random() < 0.5:
            other = min(at + chance.randint(1, 5), len(segments) - 4)
            segments[at], segments[other] = segments[other], seg
        elif len(seg.data) > 4:
            half = chance.randint(1, len(seg.data) - 2)
            segments[at : at + 1] = [
                moved(seg, data=seg.data[: half + 1]),
                moved(seg, seq=(seg.seq + half - 1) & MASK, data=seg.data[half - 1 :]),
            ]
    assert list(map(gist, read(timed(segments)))) == list(map(gist, read(whole)))


@pytest.mark.parametrize("seed", range(80))
def test_what_is_missing_is_said_and_nothing_is_made_up(read: Read, talks: Any, seed: int) -> None:
    chance = random.Random(seed)
    segments: list[Seg] = []
    talks.leave(talks.work(talks.start(Talk(segments)), 30))
    everything = talks.heard(read(segments))
    thinned = segments[chance.choice((0, chance.randrange(len(segments) - 40))) :]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(thinned) - 20)
        del thinned[at : at + chance.choice((1, 1, 3, 15))]
    events = read(timed(thinned))
    rest = iter(everything)
    assert all(piece in rest for piece in talks.heard(events)), "not a part of what was said"
    assert not {"malformed"} & {event.kind for event in events}
    assert BROKEN & set(talks.local(events))


def test_a_gap_stands_before_what_follows_from_it_and_where_frames_are_told_again(read: Read, talks: Any) -> None:
    segments: list[Seg] = []
    talk = talks.start(Talk(segments))
    lost = len(segments)
    talks.leave(talks.work(talk, 30))
    del segments[lost]
    events = read(timed(segments))
    gaps = [event for event in events if event.kind == "gap"]
    assert [event.args["direction"] for event in gaps] == [">", ">"]
    assert gaps[0].args["octets"] == len(
        codec.content(m.BasicPublish(1, 0, "x", "k1", False, False), b"\1" * 397, message_id="m1")
    )
    first = next(event for event in events if event.method == "basic.ack")
    again = next(event for event in events if event.direction == ">" and event.seq > gaps[1].seq)
    assert gaps[0].seq < first.seq
    assert again.seq == gaps[1].seq + 1
    assert not [event for event in events if event.direction == ">" and gaps[0].seq < event.seq < gaps[1].seq]


def test_a_capture_of_the_middle_is_joined_and_cut(read: Read, talks: Any) -> None:
    segments: list[Seg] = []
    talks.work(talks.start(Talk(segments)), 40)
    events = read(timed(segments[40:]))
    assert talks.local(events)[:2] == ["observed", "joined"]
    assert events[-1].kind == "cut"
    assert len(talks.heard(events)) > 40


def test_connections_to_one_broker_are_one_history_in_the_order_of_the_capture(read: Read, talks: Any) -> None:
    segments: list[Seg] = []
    both = [talks.start(Talk(segments, client=("10.0.0.7", port))) for port in (40000, 40001)]
    for n in range(1, 6):
        for talk in both:
            talks.work(talk, 1, n)
    other = talks.start(Talk(segments, broker=("10.0.0.2", 5672)))
    for talk in (*both, other):
        talks.leave(talk)
    events = read(segments)
    by_history = {event.history: [] for event in events}
    for event in events:
        by_history[event.history].append(event)
    assert [len({event.connection for event in own} - {""}) for own in by_history.values()] == [2, 1]
    one = next(iter(by_history.values()))
    assert [event.seq for event in one] == list(range(1, len(one) + 1))
    publishes = [event.connection[-1] for event in one if event.method == "basic.publish"]
    assert publishes == ["0", "1"] * 5


def test_a_port_that_is_used_again_is_another_connection(read: Read, talks: Any) -> None:
    segments = talks.whole() + talks.whole(numbers=(5_000_000, 7_000_000))
    events = read(timed(segments))
    assert talks.local(events) == ["observed", "open", "end", "open", "end"]
    assert sorted({event.connection for event in events}) == ["", "10.0.0.7:40000", "10.0.0.7:40000#2"]
    left_open: list[Seg] = []
    talks.start(Talk(left_open))
    events = read(timed(left_open + talks.whole(numbers=(5_000_000, 7_000_000))))
    assert talks.local(events) == ["observed", "open", "cut", "open", "end"]


def test_a_broker_on_any_port_is_known_by_the_protocol_header(read: Read, talks: Any) -> None:
    noise = [Seg(("10.0.0.7", 50000), ("10.0.0.9", 80), n, 1, 24, b"GET / HTTP/1.1") for n in range(3)]
    events = read(timed(noise + talks.whole(broker=("10.0.0.1", 45678))))
    assert talks.heard(events) == talks.heard(read(talks.whole()))
    assert events[1].kind == "open"


def test_octets_that_are_no_frames_are_the_senders_only_where_all_was_seen(read: Read, talks: Any) -> None:
    segments: list[Seg] = []
    talk = talks.start(Talk(segments))
    talk.broker(b"HTTP/1.1 400 Bad Request").client(m.ChannelClose(1, 200, "", 0, 0).encode())
    events = read(segments)
    bad = [event for event in events if event.kind == "malformed"]
    assert [(event.direction, event.args["offset"]) for event in bad] == [("<", 0)]
    assert events[-2].method == "channel.close"
    assert events[-1].kind == "cut"


def test_frames_larger_than_agreed_are_malformed(read: Read, talks: Any) -> None:
    segments: list[Seg] = []
    talk = Talk(segments).open().client(codec.ProtocolHeader().encode())
    talk.client(m.ConnectionTuneOk(0, 0, 4096, 0).encode(), codec.Body(1, bytes(4089)).encode())
    assert [event.kind for event in read(segments) if event.direction == ">"] == ["protocol", "method", "malformed"]


@pytest.mark.parametrize(
    ("end", "cause"),
    [
        (lambda talk: talk.close(), "closed"),
        (lambda talk: talk.reset(0), "aborted"),
        (lambda talk: talk.reset(1), "reset"),
    ],
)
def test_how_a_connection_ends(read: Read, talks: Any, end: Callable[[Talk], object], cause: str) -> None:
    segments: list[Seg] = []
    end(talks.start(Talk(segments)))
    assert read(segments)[-1].args == {"cause": cause}


def test_disordered_times_are_put_right_and_said(read: Read, talks: Any) -> None:
    segments = talks.whole()
    events = read([*segments[:8], segments[9], segments[8], *segments[10:]])
    assert talks.heard(events) == talks.heard(read(segments))
    assert [event.args["ordered"] for event in events if event.kind == "observed"][-1] is False


def test_rows_tell_file_and_packet(tmp_path: Path, talks: Any) -> None:
    path = tmp_path / "a.pcap"
    segments = talks.whole()
    path.write_bytes(packets.pcap(packets.packets(segments)))
    rows = [row for block in Capture([path]).blocks() for row in block.recorded()]
    assert {row["file"] for row in rows} == {"a.pcap"}
    for row in rows:
        assert row["time_ns"] == segments[row["packet"] - 1].time_ns // 1000 * 1000
    header = next(row for row in rows if row["kind"] == "protocol")
    assert segments[header["packet"] - 1].data == b"AMQP\0\0\x09\x01"


def output_of(tmp_path: Path, segments: list[Seg], link: int = 1, **how: Any) -> str:
    path = tmp_path / "dull.pcap"
    path.write_bytes(packets.pcap(packets.packets(segments), link))
    with pytest.raises(NoTraffic) as refused:
        list(Capture([path], **how).blocks())
    return str(refused.value)


def test_a_capture_without_amqp_is_told_what_it_has(tmp_path: Path, talks: Any) -> None:
    web = [Seg(("10.0.0.7", 50000), ("10.0.0.9", 8080), n, 1, 24, b"GET / HTTP/1.1") for n in range(3)]
    assert output_of(tmp_path, []).endswith("a capture without a packet.")
    words = output_of(tmp_path, web)
    assert "no AMQP 0-9-1 in 3 packets" in words
    assert "TCP ports that were seen: 8080" in words
    assert "--port" in words
    assert "type 147" in output_of(tmp_path, web, 147)
    assert "no TCP connection" in output_of(tmp_path, [moved(seg, data=b"") for seg in web])


@pytest.mark.parametrize("port", [5671, 5672])
def test_encrypted_traffic_is_called_that(tmp_path: Path, port: int) -> None:
    segments: list[Seg] = []
    Talk(segments, broker=("10.0.0.1", port)).open().client(b"\x16\x03\x01\x02\x00\x01" + bytes(200)).close()
    assert f"TCP port {port} is encrypted (TLS)" in output_of(tmp_path, segments)


def test_a_run_is_one_broker_of_a_capture_and_its_header_says_which(tmp_path: Path, talks: Any) -> None:
    path = tmp_path / "a.pcap"
    segments = talks.whole() + talks.whole(broker=("10.0.0.2", 45678), client=("10.0.0.7", 40009))
    path.write_bytes(packets.pcap(packets.packets(timed(segments))))
    found = headers("a", [path])
    runs = {event.run for block in Capture([path], name="a").blocks() for event in block.events()}
    assert runs == set(found) == {"a 10.0.0.1:5672", "a 10.0.0.2:45678"}
    assert found["a 10.0.0.1:5672"]["server_properties"] == {"product": "Birch"}
    assert found["a 10.0.0.1:5672"]["broker"] == "Birch at 10.0.0.1:5672"


@pytest.mark.parametrize("seed", range(100))
def test_a_damaged_file_is_never_a_traceback(tmp_path: Path, talks: Any, seed: int) -> None:
    chance = random.Random(seed)
    write = chance.choice((packets.pcap, packets.pcapng))
    content = bytearray(write(packets.packets(talks.whole())))
    for _ in range(chance.randint(1, 20)):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path = tmp_path / "a.pcap"
    path.write_bytes(content)
    told = ""
    try:
        told = next(Capture([path]).events()).kind
    except BadCapture as refused:
        told = str(refused)
    assert told == "observed" or str(path) in told

"""tshark reads the same captures, and agrees on every method: packet, direction, channel, delivery tag, all arguments.

It must be told to put segments into order first. Tables are compared in the codec's own tests. A method with content is
with us an event of the packet in which its content ends, with tshark one of the packet in which the method ends; so
methods are compared channel by channel, and the packets of content only for being no earlier.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable
from itertools import zip_longest
from pathlib import Path
from typing import Any, NamedTuple

import pika
import pytest

import codec
from benchmarks import packets
from benchmarks.packets import BEGIN_NS, MASK, Seg, Talk, moved
from conformance.history.events import TO_BROKER, TO_CLIENT
from reference_broker.embedded import ReferenceBroker
from reports.capture.capture import Capture
from tests.support.pcaps import capturing

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (apt install tshark)")

_COUNTED = "amqp.method.arguments.publish_number"  # its own count of what is to be confirmed


class Seen(NamedTuple):
    """A method as somebody sees it. `words` are the arguments, each with all the forms in which it may be shown."""

    packet: int
    index: tuple[int, int]
    words: tuple[frozenset[str], ...]
    body_size: int | None


Channels = dict[tuple[str, int, int], list[Seen]]
"""By direction, client's port and channel."""


def theirs(path: Path, port: int) -> Channels:
    command = [
        "tshark",
        "-r",
        str(path),
        "-o",
        "tcp.reassemble_out_of_order:TRUE",
        "-d",
        f"tcp.port=={port},amqp",
        "-T",
        "json",
        "-J",
        "frame tcp amqp",
        "--no-duplicate-keys",
        "-Y",
        "amqp",
    ]
    out = subprocess.run(command, capture_output=True, check=True).stdout
    found: Channels = defaultdict(list)
    for packet in json.loads(out):
        layers = packet["_source"]["layers"]
        source, destination = int(layers["tcp"]["tcp.srcport"]), int(layers["tcp"]["tcp.dstport"])
        end = (TO_BROKER, source) if destination == port else (TO_CLIENT, destination)
        frames = layers["amqp"] if isinstance(layers["amqp"], list) else [layers["amqp"]]
        for frame in frames:
            _take(found, int(layers["frame"]["frame.number"]), end, frame)
    return found


def _take(found: Channels, packet: int, end: tuple[str, int], frame: dict[str, Any]) -> None:
    if frame.get("amqp.type") == "1":
        index = int(frame["amqp.method.class"]), int(frame["amqp.method.method"])
        given = dict(frame.get("amqp.method.arguments") or {})
        given.pop(_COUNTED, None)
        words = tuple(frozenset([value] if isinstance(value, str) else ["table"]) for value in given.values())
        found[(*end, int(frame["amqp.channel"]))].append(Seen(packet, index, words, None))
    elif frame.get("amqp.type") == "2":
        listed = found[(*end, int(frame["amqp.channel"]))]
        listed[-1] = listed[-1]._replace(body_size=int(frame["amqp.header.body-size"]))


def ours(path: Path, port: int) -> Channels:
    found: Channels = defaultdict(list)
    for block in Capture([path], ports=[port]).blocks():
        for row, event in zip(block.rows, block.events(), strict=True):
            if event.kind == "method":
                method = codec.decode(event.raw[: 8 + int.from_bytes(event.raw[3:7], "big")])
                assert isinstance(method, codec.Method)
                words = tuple(_as_tshark_prints(getattr(method, name)) for name in method.FIELDS)
                client = int(event.connection.split("#")[0].rsplit(":", 1)[1])
                seen = Seen(row[-1], (event.class_id, event.method_id), words, event.body_size)
                found[event.direction, client, event.channel].append(seen)
    return found


def _as_tshark_prints(value: Any) -> frozenset[str]:
    """How tshark may print an argument."""
    if isinstance(value, list):
        return frozenset(["table", ""])
    if isinstance(value, bytes):
        return frozenset([value.decode("latin-1"), value.hex(":")])
    return frozenset([str(int(value)) if isinstance(value, bool) else str(value)])


def agree(path: Path, port: int = 5672) -> int:
    """Both see the same; how many methods that are."""
    we, they = ours(path, port), theirs(path, port)
    assert set(we) == set(they)
    for key, own in we.items():
        for ours_, theirs_ in zip_longest(own, they[key]):
            assert ours_ is not None, (key, theirs_)
            assert theirs_ is not None, (key, ours_)
            assert (ours_.index, ours_.body_size) == (theirs_.index, theirs_.body_size), (key, ours_, theirs_)
            late = ours_.body_size is not None and ours_.packet > theirs_.packet
            assert late or ours_.packet == theirs_.packet, (key, ours_, theirs_)
            assert all(a & b for a, b in zip(ours_.words, theirs_.words, strict=True)), (key, ours_, theirs_)
    return sum(map(len, we.values()))


def conversation(talks: Any) -> list[Seg]:
    """Two connections that take turns."""
    segments: list[Seg] = []
    pair = [
        talks.start(Talk(segments, client=("10.0.0.7", 40000 + n), numbers=((1 << 32) - 9000 + n, 1 << 31)))
        for n in range(2)
    ]
    for n in range(1, 26):
        for talk in pair:
            talks.work(talk, 1, n)
    for talk in pair:
        talks.leave(talk)
    return segments


@pytest.mark.parametrize("link", ["ethernet", "vlan", "qinq", "cooked", "cooked2", "null", "raw"])
@pytest.mark.parametrize("write", [packets.pcap, packets.pcapng])
def test_link_layers_and_formats(tmp_path: Path, talks: Any, link: str, write: Callable[..., bytes]) -> None:
    path = tmp_path / "a.pcap"
    path.write_bytes(write(packets.packets(conversation(talks), link), packets.LINKS[link][0], nano=link == "raw"))
    assert agree(path) == 224


def test_ip_version_6(tmp_path: Path, talks: Any) -> None:
    path = tmp_path / "a.pcap"
    segments = talks.whole(client=("fe80::7", 40000), broker=("2001:db8::1", 5672))
    path.write_bytes(packets.pcap(packets.packets(segments)))
    assert agree(path) == 36


@pytest.mark.parametrize("seed", range(6))
def test_reordered_doubled_and_overlapping_segments(tmp_path: Path, talks: Any, seed: int) -> None:
    """Within a direction only: where tshark meets an answer before its question, it knows no causal order."""
    chance = random.Random(seed)
    segments = conversation(talks)
    for _ in range(12):
        at = chance.randrange(30, len(segments) - 20)
        seg, after = segments[at], segments[at + 1]
        if seg.source == after.source and seg.data and after.data:
            segments[at : at + 2] = [after, seg]
        elif len(seg.data) > 4:
            half = chance.randint(1, len(seg.data) - 2)
            segments[at : at + 1] = [
                moved(seg, data=seg.data[: half + 1]),
                seg,
                moved(seg, seq=(seg.seq + half - 1) & MASK, data=seg.data[half - 1 :]),
            ]
    path = tmp_path / "a.pcap"
    timed = [moved(seg, time_ns=BEGIN_NS + n * 1000) for n, seg in enumerate(segments)]
    path.write_bytes(packets.pcap(packets.packets(timed)))
    assert agree(path) == 224


def test_real_tcp_of_a_real_client(tmp_path: Path) -> None:
    path = tmp_path / "real.pcap"
    with ReferenceBroker() as broker:
        parameters = pika.URLParameters(broker.url)
        with capturing(path, parameters.port):
            program(parameters)
    assert agree(path, parameters.port) > 300
    assert not {"gap", "joined", "malformed", "cut"} & {event.kind for event in Capture([path]).events()}


def program(parameters: pika.URLParameters) -> None:
    """Publishes and consumes bodies from nothing to several segments."""
    with pika.BlockingConnection(parameters) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True).method.queue
        channel.confirm_delivery()
        for n in range(100):
            properties = pika.BasicProperties(message_id=str(n), headers={"n": n})
            channel.basic_publish("", queue, b"b" * (n * n * 11), properties)
        for method, _, _ in channel.consume(queue):
            channel.basic_ack(method.delivery_tag, multiple=method.delivery_tag % 3 == 0)
            if method.delivery_tag == 100:
                break
        channel.cancel()

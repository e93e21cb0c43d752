"""The corpus is a stream of good frames, and the bench compares like with like."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import codec
from benchmarks import codec_bench, corpus
from benchmarks.codec_peers import PEERS


@pytest.fixture(scope="module")
def frames() -> list[bytes]:
    return corpus.build(3000)


def test_the_corpus_is_made_of_good_frames(frames: list[bytes]) -> None:
    assert [codec.decode(raw).encode() for raw in frames] == frames
    assert corpus.build(3000) == frames


def test_the_corpus_has_its_mix(frames: list[bytes]) -> None:
    decoded = codec.decode_many(b"".join(frames))[0]
    kinds = Counter(frame.NAME if isinstance(frame, codec.Method) else type(frame).__name__ for frame in decoded)
    assert kinds["Header"] == pytest.approx(kinds["basic.deliver"] + kinds["basic.publish"], abs=1)
    assert 0.5 < kinds["basic.publish"] / kinds["basic.deliver"] < 0.7
    tables = sum(isinstance(frame, codec.Header) and frame.headers is not None for frame in decoded)
    assert 0.3 < tables / kinds["Header"] < 0.4
    assert {"basic.ack", "basic.nack", "queue.declare", "connection.start", "Heartbeat"} <= set(kinds)


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
def test_peers_do_the_whole_work(peer: codec_bench.Any, frames: list[bytes]) -> None:
    """All write the same octets; but pamqp shortens integers in tables and sorts them."""
    peer.decode(frames)
    written = peer.encode(peer.objects(frames))
    same = sum(a == b for a, b in zip(written, frames, strict=True))
    assert same > 0.8 * len(frames)


def test_our_own_work_is_whole(frames: list[bytes]) -> None:
    octets = b"".join(frames)
    assert b"".join(codec_bench.encode(codec.decode_many(octets)[0])) == octets


def test_results_replace_those_of_the_same_name(tmp_path: Path) -> None:
    path = tmp_path / "build" / "bench.json"
    codec_bench.merge([codec_bench.Result("codec.decode", "pika", 2.0, 1.0, 2.0)], path)
    others = [{"name": "broker.rate.transient", "peer": "lavinmq", "ratio": 1}]
    path.write_text(json.dumps(others + json.loads(path.read_text())))
    codec_bench.merge([codec_bench.Result("codec.decode", "pika", 3.0, 1.0, 3.0)], path)
    assert json.loads(path.read_text()) == [
        *others,
        {"name": "codec.decode", "peer": "pika", "ours": 3.0, "theirs": 1.0, "ratio": 3.0, "better": "higher"},
    ]


def test_a_missed_goal_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    results = [codec_bench.Result("codec.decode", "pika", 1.0, 1.0, ratio) for ratio in (2.4, 2.6)]
    assert codec_bench.show(results) == results[:1]
    assert capsys.readouterr().out.count("missed") == 1

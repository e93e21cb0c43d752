"""A crash campaign in small: real processes, real sockets, SIGKILL."""

from __future__ import annotations

import json
from random import Random

import pytest

import codec
from benchmarks import crash
from benchmarks.crash import Campaign, Process, Unreadable
from benchmarks.crash_clients import Content, Tally


def test_what_was_confirmed_is_there_after_each_kill(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["crash", "--kills", "5", "--seed", "7"])
    monkeypatch.setattr(crash, "AUDIT", 2)
    monkeypatch.setattr(crash, "EARLY", 0.3)
    monkeypatch.setattr(crash, "LOAD", (0.2, 0.8))
    assert crash.main() == 0
    figures = json.loads((tmp_path / "build" / "crash.json").read_text())
    assert figures["kills"] == 5
    assert figures["confirmed"] > 0
    assert figures["settled"] > 0
    assert [figures[name] for name in ("lost", "resurrected", "unreadable_logs", "unmarked")] == [0, 0, 0, 0]
    assert capsys.readouterr().out.startswith("seed 7\n5 kills, ")


@pytest.fixture
def made(tmp_path, monkeypatch):
    """A campaign whose broker has these messages in its queues."""

    def make(there, **known):
        monkeypatch.setattr(crash, "contents", lambda url: set(there))
        campaign = Campaign(tmp_path / "data", 1, "fsync")
        campaign.tally = Tally(**{name: set(numbers) for name, numbers in known.items()})
        campaign.audit("amqp://nowhere")
        return campaign

    return make


def test_a_confirmed_message_that_nobody_let_go_of_is_lost(made):
    assert made([1], confirmed=[1, 2, 3], let_go=[3]).lost == {2}


def test_a_settled_message_that_is_there_is_resurrected(made):
    assert made([1, 2], confirmed=[1, 2], let_go=[1, 2], settled=[2]).resurrected == {2}


def test_a_message_that_comes_again_has_to_say_so(made):
    campaign = made([], delivered=[1, 2], settled=[2], confirmed=[1, 2], let_go=[1, 2])
    campaign.judge(Tally(delivered={1, 2, 3}, unmarked={1, 3}))
    assert campaign.outcome.unmarked == 1
    assert campaign.resurrected == {2}


def test_a_body_may_come_in_pieces():
    content = Content()
    frames = [codec.header(1, 4), codec.Body(1, b"12"), codec.Body(1, b"34")]
    assert [content.whole(frame) for frame in frames] == [False, False, True]
    assert content.body == b"1234"


def test_a_log_that_is_not_readable_is_counted(tmp_path):
    data = tmp_path / "data"
    for _ in range(2):
        with Process(data, "fsync").ready():
            pass
    (data / "00000001.log").write_bytes(b"AMQPLOG1" + Random(1).randbytes(100))
    with pytest.raises(Unreadable, match="damaged"):
        Process(data, "fsync").ready()
    campaign = Campaign(data, 1, "fsync")
    (data / "00000002.log").write_bytes(b"AMQPLOG1" + Random(1).randbytes(100))
    (data / "00000003.log").touch()
    assert campaign.run(1).unreadable_logs == 1

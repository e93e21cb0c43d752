"""The broker alone, on a real disk: what survives SIGKILL, disks that are full, directories that cannot be used."""

from __future__ import annotations

import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pika
import pytest

from reference_broker import ReferenceBroker
from reference_broker.nondeterminism import VARIATIONS
from reference_broker.store.keeper import SYNCS, Unusable

PERSISTENT = pika.BasicProperties(delivery_mode=2)


class Alone:
    """A broker process on a directory."""

    def __init__(self, data, *options, most_octets=None):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_octets, most_octets))

        command = [sys.executable, "-m", "reference_broker", "--port", "0", "--data", str(data), *options]
        self.process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=limit if most_octets is not None else None,
        )
        self.url = self.process.stdout.readline().split()[-1]

    def channel(self):
        channel = pika.BlockingConnection(pika.URLParameters(self.url)).channel()
        channel.confirm_delivery()
        return channel

    def end(self, number=signal.SIGKILL):
        """What it said on stderr."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=60)[1]


@pytest.fixture
def alone(tmp_path):
    brokers = []

    def start(*options, **limits):
        brokers.append(Alone(tmp_path / "data", *options, **limits))
        return brokers[-1]

    yield start
    for broker in brokers:
        broker.process.kill()
        broker.process.communicate()


def taken(channel, queue):
    """(body, redelivered) of all that is there."""
    found = []
    while (got := channel.basic_get(queue, auto_ack=True))[0] is not None:
        found.append((got[2].decode(), got[0].redelivered))
    return found


@pytest.mark.parametrize("sync", ["fsync", "write"])
def test_what_was_confirmed_survives_a_kill(alone, sync):
    broker = alone("--sync", sync)
    channel = broker.channel()
    channel.queue_declare("q", durable=True)
    for number in range(5):
        channel.basic_publish("", "q", str(number), PERSISTENT)
    channel.basic_publish("", "q", "transient")
    channel.basic_ack(channel.basic_get("q")[0].delivery_tag)
    channel.basic_publish("", "q", "last", PERSISTENT)
    broker.end()
    again = alone("--sync", sync)
    assert taken(again.channel(), "q") == [(body, True) for body in ("1", "2", "3", "4", "last")]
    assert re.search(r"/data: 5 messages in 1 queues recovered in \d", again.end())


@pytest.mark.parametrize("sync", SYNCS)
def test_everything_survives_an_orderly_end(alone, sync):
    broker = alone("--sync", sync)
    channel = broker.channel()
    channel.queue_declare("q", durable=True)
    channel.basic_publish("", "q", "a", PERSISTENT)
    broker.end(signal.SIGTERM)
    assert broker.process.returncode == 0
    assert taken(alone().channel(), "q") == [("a", False)]


def test_a_full_disk_is_a_nack_and_one_line_and_what_was_confirmed_before_stays(alone):
    broker = alone(most_octets=20_000)
    channel = broker.channel()
    channel.queue_declare("q", durable=True)
    confirmed = 0
    with pytest.raises(pika.exceptions.NackError):
        for _ in range(100):
            channel.basic_publish("", "q", "x" * 1000, PERSISTENT)
            confirmed += 1
    assert 5 < confirmed < 20
    channel.basic_publish("", "q", "transient")
    complaint = broker.end()
    assert re.search(r"data: cannot write: File too large\. Nothing persistent is confirmed .*basic\.nack\n", complaint)
    assert complaint.count("cannot write") == 1
    assert len(taken(alone().channel(), "q")) >= confirmed


def test_an_end_while_the_disk_is_full_says_what_that_means(alone):
    broker = alone(most_octets=5_000)
    channel = broker.channel()
    channel.queue_declare("q", durable=True)
    with pytest.raises(pika.exceptions.NackError):
        channel.basic_publish("", "q", "x" * 10_000, PERSISTENT)
    assert broker.end(signal.SIGTERM).endswith("data: still cannot be written; what waited for that is not kept\n")
    assert taken(alone().channel(), "q") == []


def test_a_directory_has_one_broker(tmp_path):
    with ReferenceBroker(data=tmp_path / "data") as broker:
        second = ReferenceBroker(data=tmp_path / "data")
        with pytest.raises(Unusable, match=r"cannot keep data in .*: another broker is using it"):
            second.start()
        pika.BlockingConnection(pika.URLParameters(broker.url)).close()
    with ReferenceBroker(data=tmp_path / "data"):
        pass


def refused(*options):
    command = [sys.executable, "-m", "reference_broker", "--port", "0", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    return done.stderr


def test_a_directory_that_is_none_is_one_line(tmp_path):
    Path(tmp_path, "file").touch()
    assert re.fullmatch(
        r"reference-broker: cannot keep data in .*/file: it is there, and no directory\n",
        refused("--data", str(tmp_path / "file")),
    )


def test_a_log_that_this_broker_cannot_live_with_is_one_line(tmp_path):
    with ReferenceBroker(data=tmp_path / "data", dialect="rabbitmq-3.10") as broker:
        channel = pika.BlockingConnection(pika.URLParameters(broker.url)).channel()
        channel.queue_declare("q", durable=True, arguments={"x-consumer-timeout": 1000})
        channel.connection.close()
    assert re.fullmatch(
        r"reference-broker: .*data holds what this broker cannot have: queue 'q': invalid arg .*\n",
        refused("--data", str(tmp_path / "data")),
    )


def test_in_a_process_it_keeps_what_it_kept(tmp_path):
    lawful = [name for name in VARIATIONS if name != "confirms.refuse"]
    for expected in ([], [("a", False)]):
        with ReferenceBroker(data=tmp_path / "data", sync="write", nondeterminism=lawful) as broker:
            channel = pika.BlockingConnection(pika.URLParameters(broker.url)).channel()
            channel.confirm_delivery()
            channel.queue_declare("q", durable=True)
            assert taken(channel, "q") == expected
            channel.basic_publish("", "q", "a", PERSISTENT)
            channel.connection.close()


def test_names_made_by_the_broker_are_not_made_again_in_its_next_life(tmp_path):
    names = []
    for _ in range(2):
        with ReferenceBroker(data=tmp_path / "data") as broker:
            channel = pika.BlockingConnection(pika.URLParameters(broker.url)).channel()
            names.append(channel.queue_declare("", durable=True).method.queue)
            channel.connection.close()
    assert names[0] != names[1]

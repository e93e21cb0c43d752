"""The reference broker answers like the RabbitMQ whose dialect it speaks: each conversation is played on both."""

import os
import socket
from urllib.parse import urlsplit

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import ReferenceBroker
from tests.reference_broker.conversations.connections import CONNECTIONS, FROM_JAVA
from tests.reference_broker.conversations.consumers import CONSUMERS
from tests.reference_broker.conversations.exchanges import EXCHANGES
from tests.reference_broker.conversations.messages import MESSAGES
from tests.reference_broker.conversations.queues import LOCKED, QUEUES
from tests.reference_broker.conversations.words import MARK, Await, Other, X, Y

pytestmark = [
    pytest.mark.rabbitmq,
    pytest.mark.skipif("AMQP_RABBITMQ_URL" not in os.environ, reason="AMQP_RABBITMQ_URL is not set"),
]

CASES = {**EXCHANGES, **QUEUES, **LOCKED, **MESSAGES, **CONSUMERS, **CONNECTIONS, **FROM_JAVA}
CLOSES = (m.ChannelClose, m.ConnectionClose)
CAPABILITIES = {"consumer_cancel_notify": True}
COMPARED = ("rabbitmq-3.10", "rabbitmq-4.0", "rabbitmq-4.3")
UNLIKE = {
    ("rabbitmq-3.10", "leader locator"): "refused as foreign to the queue type, not for its value",
    ("rabbitmq-4.3", "rejected to an exchange"): "a dead letter that was delivered before it died is redelivered",
    ("rabbitmq-4.3", "rejected twice"): "a dead letter that was delivered before it died is redelivered",
}
"""What RabbitMQ does there and its dialect does not."""


class Line:
    """A connection that is logged in, with channel 1 open; `heard` is all it was told since."""

    def __init__(self, url, mark=MARK):
        self.mark = mark.encode()
        at = urlsplit(url)
        self.socket = socket.create_connection((at.hostname, at.port or 5672), timeout=60)
        self.reader = codec.FrameReader()
        self.heard = []
        login = f"\0{at.username or 'guest'}\0{at.password or 'guest'}".encode()
        self.call(m.ConnectionStart, codec.ProtocolHeader())
        announced = values.table({"capabilities": CAPABILITIES})
        self.properties = self.heard[0].server_properties
        self.call(m.ConnectionTune, m.ConnectionStartOk(0, announced, "PLAIN", login, "en_US"))
        self.call(m.ChannelOpenOk, m.ConnectionTuneOk(0, 2047, 131072), m.ConnectionOpen(0, "/"), m.ChannelOpen(1))
        self.heard = []

    def call(self, kind, *items):
        """Send, and read until there is one more frame of that kind, or a close."""
        already = self.count(kind)
        octets = b"".join(item if isinstance(item, bytes) else item.encode() for item in items)
        self.socket.sendall(octets.replace(MARK.encode(), self.mark))
        self.read(kind, already + 1)

    def read(self, kind, times):
        while self.count(kind) < times and not self.closed():
            data = self.socket.recv(1 << 18)
            assert data, "the broker hung up"
            self.heard += self.reader.feed(data)
        self.read_content()

    def read_content(self):
        """A method with content is heard only with all of it."""
        while self.heard and self.incomplete():
            self.heard += self.reader.feed(self.socket.recv(1 << 18))

    def incomplete(self):
        headers = [at for at, frame in enumerate(self.heard) if isinstance(frame, codec.Header)]
        contents = [frame for frame in self.heard if isinstance(frame, codec.Method) and frame.HAS_CONTENT]
        return len(headers) < len(contents) or (
            headers and headers[-1] == len(self.heard) - 1 and self.heard[-1].body_size > 0
        )

    def count(self, kind):
        return sum(isinstance(frame, kind) for frame in self.heard)

    def closed(self):
        return any(isinstance(frame, CLOSES) for frame in self.heard)

    def say(self, item):
        """Send and wait for a round trip behind it. (RabbitMQ bears nothing behind tx.commit.)"""
        behind = () if isinstance(item, m.TxCommit | m.TxRollback) else (m.ChannelFlow(1, True),)
        self.call((m.ChannelFlowOk, m.TxCommitOk, m.TxRollbackOk), item, *behind)

    def hang_up(self):
        """Orderly, so that exclusive queues are gone before the next conversation wants them."""
        hard, self.heard = self.count(m.ConnectionClose), []
        if not hard:
            self.call(m.ConnectionCloseOk, m.ConnectionClose(0, 200))
        self.socket.close()


def play(url, conversation, mark=MARK):
    """What the two lines are told, up to the first close."""
    lines = [Line(url, mark), Line(url, mark)]
    for item in conversation:
        if isinstance(item, Await):
            lines[0].read(item.kind, item.times)
        elif isinstance(item, Other):
            lines[1].say(item.item)
        else:
            lines[0].say(item)
        if any(line.closed() for line in lines):
            break
    told = [[comparable(frame) for frame in line.heard if not isinstance(frame, m.ChannelFlowOk)] for line in lines]
    for line in reversed(lines):
        line.hang_up()
    sweep(Line(url, mark))
    return told


def sweep(line):
    """Exchanges stay until they were bound and are so no more."""
    for name in (X, Y):
        line.call(m.ExchangeDeleteOk, m.ExchangeDelete(1, 0, name))
    line.hang_up()


def comparable(frame):
    """A nack to a publisher has flags that mean nothing to it: all numbers up to this one are resolved already."""
    if isinstance(frame, m.BasicNack):
        return "nack", frame.delivery_tag
    if isinstance(frame, codec.Header):
        return {name: value if name != "headers" else timeless(value) for name, value in frame.properties().items()}
    return frame


def timeless(fields):
    """Headers without the times in them, and in an order of their own."""
    return sorted((name, letter, plain(letter, value)) for name, letter, value in fields)


def plain(letter, value):
    if letter == "F":
        return [field for field in timeless(value) if field[1] != "T"]
    if letter == "A":
        return [plain(kind, each) for kind, each in value]
    return value


@pytest.fixture(scope="module")
def peers():
    """The addresses of a real broker and of a reference broker that speaks its dialect."""
    real = os.environ["AMQP_RABBITMQ_URL"]
    version = values.lookup(Line(real).properties, "version")
    spoken = "rabbitmq-" + ".".join(version.split(".")[:2])
    if spoken not in COMPARED:
        pytest.skip(f"RabbitMQ {version} is not compared")
    with ReferenceBroker(dialect=spoken) as reference:
        yield spoken, real, reference.url


@pytest.mark.parametrize("name", CASES)
def test_both_answer_alike(peers, name):
    spoken, *urls = peers
    mark = f"{os.getpid() % 10**7:07}{list(CASES).index(name):03}"
    real, reference = (play(url, CASES[name], mark) for url in urls)
    assert (reference == real) is ((spoken, name) not in UNLIKE), (reference, real)

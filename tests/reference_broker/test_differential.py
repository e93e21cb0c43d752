"""The reference broker and a real RabbitMQ 3.10 answer the same frames with the same frames."""

import os
import socket
from time import monotonic
from urllib.parse import urlsplit

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import ReferenceBroker

pytestmark = [
    pytest.mark.rabbitmq,
    pytest.mark.skipif("AMQP_RABBITMQ_URL" not in os.environ, reason="AMQP_RABBITMQ_URL is not set"),
]

Q = f"amqp-conformance.differential.{os.getpid()}"
PUBLISH = m.BasicPublish(1, 0, "", Q)
CLOSES = (m.ChannelClose, m.ConnectionClose)
ONE_IS_READY = m.QueueDeclare(1, 0, Q, passive=True)
"""Asked until one message is ready, and then left out: no round trip waits for dead letters."""
DECLARE = m.QueueDeclare(1, 0, Q, exclusive=True)


def declare(**arguments):
    table = values.table({name.replace("_", "-"): value for name, value in arguments.items()})
    return m.QueueDeclare(1, 0, Q, exclusive=True, arguments=table)


def publish(*bodies, method=PUBLISH, **properties):
    return b"".join(codec.content(method, body.encode(), **properties) for body in bodies)


def gets(count, no_ack=False):
    return b"".join(m.BasicGet(1, 0, Q, no_ack).encode() for _ in range(count))


def requeue(tag, multiple=False):
    return m.BasicNack(1, tag, multiple, True)


CASES = {
    "gets and acks": [DECLARE, publish(*"1234"), gets(3), m.BasicAck(1, 2, True), gets(2)],
    "requeue order": [
        DECLARE, publish(*"12345678"), gets(5), requeue(4), requeue(2), m.BasicReject(1, 5, True), gets(6),
    ],
    "requeue all": [DECLARE, publish(*"1234"), gets(3), requeue(0, True), gets(4)],
    "auto ack": [DECLARE, publish("1"), gets(1, True), m.BasicAck(1, 1)],
    "ack twice": [DECLARE, publish("1"), gets(1), m.BasicAck(1, 1), m.BasicAck(1, 1)],
    "stale multiple": [DECLARE, publish(*"123"), gets(3), m.BasicAck(1, 2), m.BasicAck(1, 2, True)],
    "beyond multiple": [DECLARE, publish("1"), gets(1), m.BasicNack(1, 5, True)],
    "zero alone": [DECLARE, publish("1"), gets(1), m.BasicReject(1, 0)],
    "zero on nothing": [m.BasicAck(1, 0, True), m.BasicNack(1, 0, True)],
    "largest tag": [m.BasicAck(1, 2**64 - 1)],
    "recover": [DECLARE, publish(*"12"), gets(2), m.BasicRecover(1, True), m.BasicAck(1, 1)],
    "recover without requeue": [m.BasicRecover(1)],
    "prefetch size": [m.BasicQos(1, 5)],
    "immediate": [publish("1", method=m.BasicPublish(1, 0, "", Q, False, True))],
    "flow off": [m.ChannelFlow(1, False)],
    "consumer tag twice": [DECLARE, m.BasicConsume(1, 0, Q, "t", no_wait=True), m.BasicConsume(1, 0, Q, "t")],
    "cancel unknown": [m.BasicCancel(1, "nobody")],
    "opened twice": [m.ChannelOpen(1)],
    "client cancel-ok": [m.BasicCancelOk(1, "t")],
    "channel 0": [m.BasicAck(0, 1)],
    "body first": [codec.Body(1, b"x")],
    "method for header": [PUBLISH, m.BasicAck(1, 1)],
    "header for body": [PUBLISH, codec.header(1, 2), codec.header(1, 2)],
    "confirm to tx": [m.ConfirmSelect(1), m.TxSelect(1)],
    "tx to confirm": [m.TxSelect(1), m.ConfirmSelect(1)],
    "no tx": [m.TxRollback(1)],
    "tx": [
        DECLARE, m.TxSelect(1), publish("1"), gets(1), m.TxCommit(1), gets(1), m.BasicAck(1, 1), m.TxRollback(1),
        m.BasicAck(1, 1), m.BasicAck(1, 1),
    ],
    "confirm unroutable": [m.ConfirmSelect(1), publish("1", method=m.BasicPublish(1, 0, "", "nowhere." + Q, True))],
    "no exchange": [publish("1", method=m.BasicPublish(1, 0, "none." + Q, ""))],
    "bad expiration": [publish("1", expiration="1.5")],
    "foreign user": [publish("1", user_id="bob")],
    "no queue": [m.BasicGet(1, 0, "none." + Q)],
    "no last queue": [m.BasicGet(1)],
    "purge": [DECLARE, publish(*"123"), gets(1), m.QueuePurge(1, 0, Q)],
    "delete counts": [DECLARE, publish(*"123"), m.QueueDelete(1, 0, Q), m.QueueDelete(1, 0, Q)],
    "not empty": [DECLARE, publish("1"), m.QueueDelete(1, 0, Q, if_empty=True)],
    "reserved": [m.QueueDeclare(1, 0, "amq.x")],
    "unequal": [declare(x_max_length=5), declare(x_max_length=6)],
    "unequal exclusive": [DECLARE, m.QueueDeclare(1, 0, Q)],
    "drop head": [declare(x_max_length=2), publish(*"1234"), gets(3)],
    "negative ttl": [declare(x_message_ttl=-1)],
    "text ttl": [declare(x_message_ttl="5")],
    "odd overflow": [declare(x_overflow="odd")],
    "key without exchange": [declare(x_dead_letter_routing_key="k")],
    "unknown argument": [declare(x_odd=1)],
    "default exchange": [DECLARE, m.QueueBind(1, 0, Q, "", "k")],
    "delete predeclared": [m.ExchangeDelete(1, 0, "amq.direct")],
    "unequal exchange": [m.ExchangeDeclare(1, 0, "amq.direct", "fanout", durable=True)],
    "unknown type": [m.ExchangeDeclare(1, 0, "x." + Q, "odd")],
    "topic": [
        DECLARE, m.QueueBind(1, 0, Q, "amq.topic", f"{Q}.*.#"),
        publish("1", method=m.BasicPublish(1, 0, "amq.topic", Q)),
        publish("2", method=m.BasicPublish(1, 0, "amq.topic", f"{Q}.a")),
        publish("3", method=m.BasicPublish(1, 0, "amq.topic", f"{Q}.a.b")),
        gets(3, True),
    ],
    "extra keys": [
        DECLARE, publish("1", method=m.BasicPublish(1), headers=[("CC", "A", [("S", Q.encode())])]), gets(1),
    ],
    "dead letters": [
        declare(x_dead_letter_exchange="", x_dead_letter_routing_key=Q), publish("1"), gets(1),
        m.BasicReject(1, 1), ONE_IS_READY, gets(1),
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def peers():
    """(host, port, user, password) of the two brokers."""
    real = urlsplit(os.environ["AMQP_RABBITMQ_URL"])
    with ReferenceBroker() as reference:
        yield [
            (part.hostname, part.port or 5672, part.username or "guest", part.password or "guest")
            for part in (real, urlsplit(reference.url))
        ]


class Line:
    """A connection that is logged in, with channel 1 open."""

    def __init__(self, peer):
        host, port, user, password = peer
        self.socket = socket.create_connection((host, port), timeout=60)
        self.reader = codec.FrameReader()
        self.seen = []
        properties = values.table({"capabilities": {"consumer_cancel_notify": True}})
        login = m.ConnectionStartOk(0, properties, "PLAIN", f"\0{user}\0{password}".encode(), "en_US")
        self.until(m.ConnectionStart, codec.ProtocolHeader())
        self.until(m.ConnectionTune, login)
        self.until(m.ChannelOpenOk, m.ConnectionTuneOk(0, 2047, 131072), m.ConnectionOpen(0, "/"), m.ChannelOpen(1))

    def until(self, kinds, *items):
        """Send, then read until such a frame is there; everything that came up to it."""
        self.socket.sendall(b"".join(item if isinstance(item, bytes) else item.encode() for item in items))
        while not any(isinstance(frame, kinds) for frame in self.seen):
            data = self.socket.recv(65536)
            assert data, "the broker hung up"
            self.seen += self.reader.feed(data)
        found, self.seen = self.seen, []
        return found

    def settled(self, item):
        """Send and wait for a round trip behind it. (RabbitMQ bears nothing behind tx.commit.)"""
        if item is ONE_IS_READY:
            return self.wait_until_one_is_ready()
        if isinstance(item, m.TxCommit | m.TxRollback):
            return self.until((m.TxCommitOk, m.TxRollbackOk, *CLOSES), item)
        return self.until((m.ChannelFlowOk, *CLOSES), item, m.ChannelFlow(1, True))

    def wait_until_one_is_ready(self):
        end = monotonic() + 60
        while self.until((m.QueueDeclareOk, *CLOSES), ONE_IS_READY)[-1].message_count != 1:
            assert monotonic() < end, "no dead letter in a minute"
        return []

    def hang_up(self, seen):
        """Orderly, so that the exclusive queue is gone before the next connection wants it."""
        hard = any(isinstance(frame, m.ConnectionClose) for frame in seen)
        if not hard:
            self.until(m.ConnectionCloseOk, m.ConnectionClose(0, 200))
        self.socket.close()


def answers(peer, sent):
    """What comes back, up to a close or the round trip behind the last frame."""
    line = Line(peer)
    seen = []
    for item in [*sent, b""]:
        seen += line.settled(item)
        if any(isinstance(frame, CLOSES) for frame in seen):
            break
    line.hang_up(seen)
    return [comparable(frame) for frame in seen if not isinstance(frame, m.ChannelFlowOk)]


def comparable(frame):
    if isinstance(frame, codec.Header):
        return {name: value for name, value in frame.properties().items() if name != "headers"}, death(frame)
    return frame


def death(header):
    """x-death without its time."""
    deaths = values.lookup(header.headers or [], "x-death", [])
    return [{name: value for name, value in each.items() if name != "time"} for each in deaths]


@pytest.mark.parametrize("name", CASES)
def test_both_answer_alike(peers, name):
    real, reference = (answers(peer, CASES[name]) for peer in peers)
    assert reference == real

"""The broker over real sockets: foreign clients, the clock, starting and stopping."""

import select
import socket
import struct
import threading
import time

import amqp
import pika
import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import ReferenceBroker, peer
from reference_broker.core.parts import HANDLERS
from reference_broker.mutants import UnknownMutant


@pytest.fixture
def broker():
    with ReferenceBroker() as broker:
        yield broker


@pytest.fixture
def pika_channel(broker):
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    yield connection.channel()
    if connection.is_open:
        connection.close()


class Raw:
    """A socket that speaks frames."""

    def __init__(self, port, heartbeat=0):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.reader = codec.FrameReader()
        self.seen = []
        properties = values.table({"capabilities": {"consumer_cancel_notify": True}})
        start_ok = m.ConnectionStartOk(0, properties, "PLAIN", b"\0guest\0guest", "en_US")
        self.send(codec.ProtocolHeader(), start_ok, m.ConnectionTuneOk(0, 0, 0, heartbeat), m.ConnectionOpen(0, "/"))
        self.until(m.ConnectionOpenOk)

    def send(self, *items):
        self.socket.sendall(b"".join(item if isinstance(item, bytes) else item.encode() for item in items))

    def until(self, kind):
        """The next frame of that kind; frames before it are dropped."""
        while True:
            while self.seen:
                frame = self.seen.pop(0)
                if isinstance(frame, kind):
                    return frame
            data = self.socket.recv(65536)
            if not data:
                raise EOFError
            self.seen += self.reader.feed(data)


@pytest.fixture
def raw(broker):
    opened = []

    def connect(**how):
        opened.append(Raw(broker.port, **how))
        return opened[-1]

    yield connect
    for each in opened:
        each.socket.close()


def test_who_still_talks_when_it_is_over_hears_the_close_ok(raw):
    """As amqplib does, whose close overtakes what it has to publish."""
    client, publish = raw(), codec.content(m.BasicPublish(1, 0, "", "q"), bytes(100_000))
    client.send(m.ChannelOpen(1), m.ConnectionClose(0, 200))
    for _ in range(100):
        client.send(publish)
    client.until(m.ConnectionCloseOk)
    client.socket.settimeout(0.3)
    with pytest.raises(TimeoutError):  # and nothing more; it is left to hang up
        client.until(m.ConnectionCloseOk)


def test_who_closed_and_does_not_hang_up_is_hung_up_on(raw, monkeypatch):
    monkeypatch.setattr(peer, "PARTING", 0.2)
    client = raw()
    client.send(m.ConnectionClose(0, 200))
    client.until(m.ConnectionCloseOk)
    with pytest.raises(EOFError):
        client.until(m.ConnectionCloseOk)


def test_pika_publishes_with_confirms_and_consumes(pika_channel):
    pika_channel.queue_declare("q")
    pika_channel.confirm_delivery()
    for number in range(10):
        pika_channel.basic_publish("", "q", str(number).encode())
    with pytest.raises(pika.exceptions.UnroutableError):
        pika_channel.basic_publish("", "nowhere", b"", mandatory=True)
    pika_channel.basic_qos(prefetch_count=3)
    seen = []
    for method, _, body in pika_channel.consume("q", inactivity_timeout=60):
        seen.append(int(body))
        pika_channel.basic_ack(method.delivery_tag)
        if len(seen) == 10:
            break
    assert seen == list(range(10))


def test_pika_sees_a_channel_error_and_goes_on(pika_channel):
    with pytest.raises(pika.exceptions.ChannelClosedByBroker, match="no queue 'none'"):
        pika_channel.basic_get("none")
    assert pika_channel.connection.channel().queue_declare("").method.queue.startswith("amq.gen-")


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("guest:guest", "guest:wrong", pika.exceptions.ProbableAuthenticationError),
        ("%2F", "none", pika.exceptions.ProbableAccessDeniedError),
    ],
)
def test_pika_is_refused(broker, old, new, error):
    with pytest.raises(error):
        pika.BlockingConnection(pika.URLParameters(broker.url.replace(old, new)))


def test_py_amqp_transacts_and_consumes(broker):
    with amqp.Connection(f"127.0.0.1:{broker.port}", "guest", "guest") as connection:
        channel = connection.channel()
        channel.exchange_declare("topics", "topic")
        queue = channel.queue_declare().queue
        channel.queue_bind(queue, "topics", "a.#")
        channel.tx_select()
        channel.basic_publish(amqp.Message("hello", application_headers={"n": 1}), "topics", "a.b")
        assert channel.basic_get(queue) is None
        channel.tx_commit()
        seen = []
        channel.basic_consume(queue, callback=seen.append)
        while not seen:
            connection.drain_events(timeout=60)
        assert seen[0].body == "hello"
        assert seen[0].headers == {"n": 1}
        channel.basic_ack(seen[0].delivery_tag)
        channel.tx_commit()


def test_py_amqp_logs_in_with_amqplain(broker):
    with amqp.Connection(f"127.0.0.1:{broker.port}", "guest", "guest", login_method="AMQPLAIN") as connection:
        assert connection.connected


@pytest.mark.parametrize("reset", [False, True], ids=["fin", "rst"])
def test_a_connection_that_breaks_gives_its_messages_back(raw, reset):
    doomed, other = raw(), raw()
    for each in (doomed, other):
        each.send(m.ChannelOpen(1), m.QueueDeclare(1, 0, "q"))
        each.until(m.QueueDeclareOk)
    doomed.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"x"), m.BasicGet(1, 0, "q"))
    doomed.until(m.BasicGetOk)
    other.send(m.BasicConsume(1, 0, "q", "c"))
    other.until(m.BasicConsumeOk)
    if reset:
        doomed.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    doomed.socket.close()
    assert other.until(m.BasicDeliver).redelivered


def test_what_is_due_together_leaves_in_one_write(raw):
    client = raw()
    client.send(m.ChannelOpen(1), m.ConfirmSelect(1), m.QueueDeclare(1, 0, "q"))
    client.until(m.QueueDeclareOk)
    client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"x") * 20)
    confirm = client.until(m.BasicAck)
    assert confirm.multiple
    assert confirm.delivery_tag > 1


def test_a_peer_that_does_not_read_holds_up_nobody(raw):
    slow, quick = raw(), raw()
    for each in (slow, quick):
        each.send(m.ChannelOpen(1), m.QueueDeclare(1, 0, "q"))
        each.until(m.QueueDeclareOk)
    slow.send(m.BasicConsume(1, 0, "q", "slow", no_ack=True))
    slow.until(m.BasicConsumeOk)
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"x" * 100_000)
    for _ in range(300):
        quick.send(publish)
    quick.send(m.BasicGet(1, 0, "q", True))
    assert isinstance(quick.until(m.BasicGetOk), m.BasicGetOk)


def test_a_virtual_clock_moves_only_when_told():
    with ReferenceBroker(clock="virtual") as broker:
        client = Raw(broker.port)
        arguments = values.table({"x-message-ttl": 1_800_000})
        client.send(m.ChannelOpen(1), m.QueueDeclare(1, 0, "q", arguments=arguments))
        client.until(m.QueueDeclareOk)
        client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"x"), m.QueueDeclare(1, 0, "q", passive=True))
        assert client.until(m.QueueDeclareOk).message_count == 1
        broker.advance(1800)
        client.send(m.QueueDeclare(1, 0, "q", passive=True))
        assert client.until(m.QueueDeclareOk).message_count == 0
        client.socket.close()


def test_the_real_clock_expires_messages_by_itself(raw):
    client = raw()
    client.send(m.ChannelOpen(1), m.QueueDeclare(1, 0, "dead"))
    arguments = values.table({"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-message-ttl": 20})
    client.send(m.QueueDeclare(1, 0, "q", arguments=arguments), m.BasicConsume(1, 0, "dead", "c"))
    client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"x"))
    assert client.until(m.BasicDeliver).consumer_tag == "c"


def test_a_defect_of_ours_costs_one_connection_and_says_so(monkeypatch, caplog):
    def fail(channel, method):
        raise ZeroDivisionError

    monkeypatch.setitem(HANDLERS, m.TxSelect, fail)
    with ReferenceBroker() as defective:
        client, other = Raw(defective.port), Raw(defective.port)
        client.send(m.ChannelOpen(1), m.TxSelect(1))
        assert client.until(m.ConnectionClose).reply_code == 541
        other.send(m.ChannelOpen(1))
        assert other.until(m.ChannelOpenOk)
        for each in (client, other):
            each.socket.close()
    assert "ZeroDivisionError" in caplog.text


@pytest.mark.parametrize("clock", ["real", "virtual", "elastic"])
def test_heartbeats_arrive(clock):
    with ReferenceBroker(clock=clock) as broker:
        client = Raw(broker.port, heartbeat=1)
        assert client.until(codec.Heartbeat) == codec.Heartbeat()
        client.socket.close()


def test_stop_closes_everything_and_start_again_works():
    broker = ReferenceBroker()
    for _ in range(2):
        with broker.start() as started:
            assert started is broker
            client = Raw(broker.port)
            client.send(m.ChannelOpen(1), m.QueueDeclare(1, 0, "q", passive=True))
            assert client.until(m.ChannelClose).reply_code == 404
            client.send(m.ChannelCloseOk(1), m.ChannelOpen(1), m.QueueDeclare(1, 0, "q", durable=True))
            client.until(m.QueueDeclareOk)
        assert select.select([client.socket], [], [], 60)[0]
        with pytest.raises((EOFError, ConnectionError)):
            client.until(codec.Heartbeat)
        client.socket.close()
        broker.port = 0
    broker.stop()


def test_stopping_leaves_no_thread_behind():
    before = set(threading.enumerate())
    with ReferenceBroker():
        (own,) = set(threading.enumerate()) - before
    assert not own.is_alive()


def test_a_taken_port_is_an_error_at_start(broker):
    with pytest.raises(OSError, match="in use"):
        ReferenceBroker(port=broker.port).start()


def test_an_unknown_mutant_is_an_error_at_once():
    with pytest.raises(UnknownMutant):
        ReferenceBroker(mutants=["no.such-mutant"])


def test_names_depend_on_the_seed_alone():
    def name(seed):
        with ReferenceBroker(seed=seed) as broker:
            client = Raw(broker.port)
            client.send(m.ChannelOpen(1), m.QueueDeclare(1))
            found = client.until(m.QueueDeclareOk).queue
            client.socket.close()
            return found

    assert name(1) == name(1) != name(2)


def test_starting_is_a_matter_of_milliseconds():
    def start():
        begun = time.perf_counter()
        with ReferenceBroker():
            return time.perf_counter() - begun

    assert any(start() < 0.05 for _ in range(100)), "never, on however crowded a machine"

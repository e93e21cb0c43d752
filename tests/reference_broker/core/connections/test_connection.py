"""Handshake, framing, heartbeats, and how output is gathered."""

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import dialects
from reference_broker.core.connections.limits import Limits

HEADER = codec.ProtocolHeader().encode()


def login(mechanism="PLAIN", response=b"\0guest\0guest", **capabilities):
    properties = values.table({"capabilities": capabilities})
    return m.ConnectionStartOk(0, properties, mechanism, response, "en_US")


def greeted(connect):
    client = connect(log_in=False)
    client.send(HEADER)
    return client


def test_handshake_octet_by_octet(connect):
    client = connect(log_in=False)
    frames = []
    for item in (codec.ProtocolHeader(), login(), m.ConnectionTuneOk(0, 10, 4096, 0), m.ConnectionOpen(0, "/")):
        for octet in item.encode():
            client.feed(bytes([octet]))
        frames += client.read()
    assert [type(frame) for frame in frames] == [m.ConnectionStart, m.ConnectionTune, m.ConnectionOpenOk]


@pytest.mark.parametrize("octets", [b"AMQP\0\0\x08\0", b"AMQP\1\1\0\x09", b"GET / HTTP/1.1\r\n", b"AMQPX"])
def test_another_protocol_is_told_ours(connect, octets):
    client = connect(log_in=False)
    client.feed(octets)
    assert client.connection.take() == HEADER
    assert client.connection.finished


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        ("PLAIN", b"\0guest\0guest"),
        ("AMQPLAIN", b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x05guest"),
    ],
)
def test_login(connect, mechanism, response):
    (tune,) = greeted(connect).send(login(mechanism, response))
    assert tune == m.ConnectionTune(0, 2047, Limits().frame_max, 60)


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        ("PLAIN", b"\0guest\0wrong"),
        ("PLAIN", b"\0nobody\0guest"),
        ("PLAIN", b"nonsense"),
        ("AMQPLAIN", b"\x05LOGINS\0\0\0\x05guest\x08PASSWORDS\0\0\0\x03bad"),
        ("AMQPLAIN", b"\xff\xff"),
        ("AMQPLAIN", b""),
    ],
)
def test_login_refused(connect, mechanism, response):
    client = greeted(connect)
    (close,) = client.send(login(mechanism, response, authentication_failure_close=True))
    assert close.reply_text == (
        f"ACCESS_REFUSED - Login was refused using authentication mechanism {mechanism}. "
        "For details see the broker logfile."
    )
    assert (close.reply_code, close.class_id, close.method_id) == (403, 0, 0)


def test_login_refused_in_silence_without_the_capability(connect):
    client = greeted(connect)
    assert client.send(login(response=b"\0guest\0wrong")) == []
    assert client.connection.finished


def test_unknown_mechanism(connect):
    (close,) = greeted(connect).send(login("EXTERNAL"))
    assert close.reply_text == "COMMAND_INVALID - unknown authentication mechanism 'EXTERNAL'"


@pytest.mark.parametrize(
    ("dialect", "tune", "open_"),
    [
        ("documented", (2047, 1000), False),
        ("documented", (2047, 131073), False),
        ("documented", (2048, 4096), False),
        ("documented", (0, 0), True),
        ("documented", (1, 4096), True),
        ("rabbitmq-4.0", (2047, 4096), True),
        ("rabbitmq-4.0", (0, 4096), False),
        ("rabbitmq-4.0", (2047, 0), False),
        ("rabbitmq-4.3", (2047, 8191), False),
        ("rabbitmq-4.3", (2047, 8192), True),
    ],
)
def test_who_wants_more_than_was_offered_is_closed_without_a_word(core, connect, dialect, tune, open_):
    core.remake(dialects.dialect(dialect).parts())
    client = greeted(connect)
    said = client.send(login(), m.ConnectionTuneOk(0, *tune), m.ConnectionOpen(0, "/"))
    assert ([type(frame) for frame in said[1:]], client.connection.finished) == (
        ([m.ConnectionOpenOk], False) if open_ else ([], True)
    )


def test_unknown_vhost(connect):
    frames = greeted(connect).send(login(), m.ConnectionTuneOk(0), m.ConnectionOpen(0, "nope"))
    assert frames[-1] == m.ConnectionClose(0, 530, "NOT_ALLOWED - vhost nope not found", 10, 40)


def test_channels_are_limited(connect):
    client = greeted(connect)
    client.send(login(), m.ConnectionTuneOk(0, 2, 4096, 0), m.ConnectionOpen(0, "/"))
    frames = client.send(m.ChannelOpen(1), m.ChannelOpen(65535), m.ChannelOpen(3))
    assert (frames[2].reply_code, frames[2].reply_text) == (
        530,
        "NOT_ALLOWED - number of channels opened (2) has reached the negotiated channel_max (2)",
    )


def test_channel_methods_before_open(connect):
    (close,) = greeted(connect).send(m.ChannelOpen(1))
    assert close.reply_code == 504


def test_a_broken_frame_closes_after_what_came_before_it(client):
    broken = m.BasicAck(1, 1).encode()[:-1] + b"\0"
    flow_ok, close = client.send(m.ChannelFlow(1, True), broken)
    assert flow_ok == m.ChannelFlowOk(1, True)
    assert (close.reply_code, close.class_id, close.method_id) == (501, 60, 80)


def test_frame_max_binds_both_ways(connect):
    client = greeted(connect)
    client.send(login(), m.ConnectionTuneOk(0, 0, 4096, 0), m.ConnectionOpen(0, "/"), m.ChannelOpen(1))
    client.queue()
    client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b"x" * 10_000, 4096))
    frames = client.send(m.BasicGet(1, 0, "q", True))
    assert [len(frame.payload) for frame in frames[2:]] == [4088, 4088, 1824]
    assert client.send(codec.Body(1, b"x" * 4097))[0].reply_code == 501


def test_a_frame_may_be_too_large_by_its_overhead(connect):
    client = greeted(connect)
    client.send(login(), m.ConnectionTuneOk(0, 0, 4096, 0), m.ConnectionOpen(0, "/"), m.ChannelOpen(1))
    client.queue()
    client.send(m.BasicPublish(1, 0, "", "q"), codec.header(1, 4096), codec.Body(1, b"x" * 4096))
    assert client.depth() == 1


def test_an_empty_body_needs_no_body_frame(client):
    client.send(codec.content(m.BasicPublish(1, 0, "", "q"), b""))
    frames = client.send(m.BasicGet(1, 0, "q"))
    assert [type(frame) for frame in frames[:1]] == [m.BasicGetOk]
    assert frames[1].body_size == 0
    assert len(frames) == 2


def test_content_of_two_channels_may_interleave(client):
    client.open(2)
    one, two = m.BasicPublish(1, 0, "", "q"), m.BasicPublish(2, 0, "", "q")
    client.send(one, codec.header(1, 2), two, codec.Body(1, b"a"), codec.header(2, 1), codec.Body(2, b"c"))
    client.send(codec.Body(1, b"b"))
    assert client.gets(2) == ["c", "ab"]


def test_properties_arrive_as_they_were_sent(client):
    headers = [("a", "I", 1), ("a", "S", b"x")]
    how = {"content_type": "text/plain", "headers": headers, "delivery_mode": 2, "priority": 3}
    client.publish("1", **how)
    frames = client.send(m.BasicGet(1, 0, "q"))
    assert frames[1].properties() == how


def test_heartbeats_are_sent_in_silence_and_expected(core, connect):
    client = greeted(connect)
    client.send(login(), m.ConnectionTuneOk(0, 0, 4096, 10), m.ConnectionOpen(0, "/"))
    core.move_to(5.0)
    assert client.read() == [codec.Heartbeat()]
    core.move_to(18.0)
    client.send(codec.Heartbeat())
    core.move_to(38.0)
    assert not client.connection.finished
    core.move_to(45.0)
    assert client.connection.finished


def test_a_dead_peer_gives_back_what_it_held(core, connect, client):
    dead = greeted(connect)
    dead.send(login(), m.ConnectionTuneOk(0, 0, 4096, 10), m.ConnectionOpen(0, "/"), m.ChannelOpen(1))
    client.publish("1")
    dead.get()
    core.move_to(100.0)
    assert client.drain() == [("1", True)]


def test_a_full_outgoing_side_stops_its_consumers_until_it_was_written(client):
    body = "x" * (Limits().outgoing // 4)
    client.publish(*[body] * 10)
    client.feed(m.BasicConsume(1, 0, "q", "c").encode())
    queue = client.core.vhost.queues["q"]
    assert queue.count() == 6
    client.connection.take()
    assert queue.count() == 2
    client.connection.take()
    assert queue.count() == 0


def test_a_stalled_transport_stops_its_consumers_only(connect, client, found_in):
    client.consume("mine")
    client.connection.stall(True)
    other = connect().open()
    other.consume("theirs")
    client.publish("1")
    client.publish("2")
    assert [body for _, body, _ in found_in(other.read())] == ["1", "2"]
    other.send(m.BasicCancel(1, "theirs"))
    client.publish("3")
    assert client.depth() == 1
    client.connection.stall(False)
    assert [body for _, body, _ in found_in(client.read())] == ["3"]

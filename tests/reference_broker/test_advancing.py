"""Time that a test turns: behind what clients have handed over, and without anybody's heartbeats."""

import socket
import threading

import pika
import pytest

import codec
from codec import methods as m
from reference_broker import ReferenceBroker

TRIES = 50
SECOND = {"x-message-ttl": 1000}


@pytest.fixture(params=["virtual", "elastic"])
def broker(request):
    with ReferenceBroker(clock=request.param) as broker:
        yield broker


def connect(broker, **more):
    parameters = pika.URLParameters(broker.url)
    for name, value in more.items():
        setattr(parameters, name, value)
    return pika.BlockingConnection(parameters)


def depth(channel, queue="q"):
    return channel.queue_declare(queue, passive=True).method.message_count


@pytest.mark.parametrize("size", [1, 3_000_000])
def test_what_was_published_before_is_there_when_time_passes(broker, size):
    with connect(broker) as connection:
        channel = connection.channel()
        channel.queue_declare("q", arguments=SECOND)
        for _ in range(TRIES if size == 1 else 5):
            channel.basic_publish("", "q", bytes(size))
            broker.advance(1)
            assert depth(channel) == 0


def test_so_it_is_with_a_peer_that_waits_for_acknowledgement_of_each_segment(broker):
    """Nagle's algorithm is on, and a message goes out in three pieces."""
    with connect(broker) as connection:
        channel = connection.channel()
        channel.queue_declare("q", arguments=SECOND)
        line = connection._impl._transport._sock
        line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 0)
        for _ in range(TRIES):
            octets = codec.content(m.BasicPublish(channel.channel_number, 0, "", "q"), b"x")
            for part in (octets[:20], octets[20:40], octets[40:]):
                line.send(part)
            broker.advance(1)
            assert depth(channel) == 0


def test_who_never_stops_talking_does_not_stop_time(broker):
    over = threading.Event()

    def talk():
        with connect(broker) as connection:
            channel = connection.channel()
            while not over.is_set():
                channel.basic_publish("", "nowhere", bytes(1000))

    talker = threading.Thread(target=talk)
    talker.start()
    try:
        for _ in range(3):
            broker.advance(1)
    finally:
        over.set()
        talker.join()


def test_who_has_hung_up_is_not_waited_for(broker):
    with connect(broker) as connection:
        other = connect(broker)
        other.channel().queue_declare("gone", exclusive=True)
        other._impl._transport._sock.shutdown(socket.SHUT_RDWR)
        broker.advance(1)
        with pytest.raises(pika.exceptions.ChannelClosedByBroker):
            depth(connection.channel(), "gone")


def test_a_blocked_publisher_is_not_waited_for(broker):
    with connect(broker) as connection:
        channel = connection.channel()
        channel.queue_declare("q")
        broker.alarm("low")
        for _ in range(3):
            channel.basic_publish("", "q", b"x")
        broker.advance(1)
        broker.alarm(None)
        assert depth(channel) == 3


def test_heartbeats_do_not_mind_time_that_leaps(broker):
    with connect(broker, heartbeat=60) as connection:
        channel = connection.channel()
        channel.queue_declare("q", arguments=SECOND)
        for _ in range(3):
            broker.advance(hours=1)
        channel.basic_publish("", "q", b"x")
        assert depth(channel) == 1


def test_a_leap_of_everything_costs_the_silent_their_connection(broker):
    connection = connect(broker, heartbeat=60)
    broker.leap(151)
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        connection.channel()


def test_minutes_and_hours(broker):
    with connect(broker) as connection:
        channel = connection.channel()
        channel.queue_declare("q", arguments={"x-message-ttl": 3_661_000})
        channel.basic_publish("", "q", b"x")
        broker.advance(hours=1, minutes=1)
        assert depth(channel) == 1
        broker.advance(minutes=1 / 60)
        assert depth(channel) == 0


@pytest.mark.parametrize("seconds", [-1, float("inf"), float("nan")])
def test_time_passes_forwards(broker, seconds):
    for passes in (broker.advance, broker.leap):
        with pytest.raises(ValueError, match="forwards"):
            passes(seconds)
    with pytest.raises(ValueError, match="forwards"):
        broker.advance(1, minutes=-1)


def test_a_real_clock_is_not_turned_by_hand():
    with ReferenceBroker() as broker, pytest.raises(ValueError, match="virtual"):
        broker.advance(1)

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

import codec
from codec import methods as m
from conformance.drive.drivers.raw import ConnectionLost, RawConnection, Target, open_connection
from conformance.history import events
from conformance.history.events import Event
from conformance.history.recorder import Recorder

Serve = Callable[[Callable[[Any], None]], Target]


def opened(serve: Serve, recorder: Recorder, script: Callable[[Any], object], **how: Any) -> RawConnection:
    """A connection to a server that plays the script when our side, too, is through with the handshake."""
    through = threading.Event()

    def played(peer: Any) -> None:
        peer.welcome()
        assert through.wait(60)
        script(peer)

    connection = open_connection(serve(played), recorder, "c1", **how)
    through.set()
    return connection


def until(connection: RawConnection, done: Callable[[Event], bool]) -> Event:
    """Reads until an event that is `done` comes."""
    for _ in range(50):
        for event in connection.receive(1.0):
            if done(event):
                return event
    raise AssertionError("it did not come")


def ended(event: Event) -> bool:
    return event.kind == events.END


def describe_log(log: list[Event], since: int) -> list[str]:
    return [f"{event.direction}{event.method or event.kind}" for event in log[since:]]


def test_a_send_is_logged_before_it_leaves(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    connection = opened(serve, recorder, lambda peer: peer.sock.recv(1))
    since = len(log)
    connection.queue(m.ChannelOpen(1), (m.BasicPublish(1, routing_key="q"), b"body", {"message_id": "m1"}))
    assert describe_log(log, since) == [">channel.open", ">basic.publish"]
    published = log[-1]
    assert (published.message, published.body_size, published.routing_key) == ("m1", 4, "q")
    assert published.args["properties"] == {"message_id": "m1"}
    connection.abort()


def test_what_is_sent_together_leaves_in_one_piece(serve: Serve, recorder: Recorder) -> None:
    received: list[bytes] = []

    def script(peer: Any) -> None:
        received.append(peer.sock.recv(65536))
        peer.sock.close()

    connection = opened(serve, recorder, script)
    sent = (m.ChannelOpen(1), m.BasicQos(1, 0, 5, False))
    connection.send(*sent)
    until(connection, ended)
    assert received == [b"".join(method.encode() for method in sent)]


@pytest.mark.parametrize(
    ("octets", "logged"),
    [
        (m.ChannelOpen(1).encode() + b"\x00\x00", [">channel.open", ">malformed"]),
        (m.ChannelOpen(1).encode()[:-1] + b"\x00", [">malformed"]),
        (b"\x01\x00\x01\x00\x00\x00\x04\x00\x3c\x00\x63\xce", [">malformed"]),
        (b"GET / HTTP/1.1\r\n", [">malformed"]),
        (b"AMQP\x00\x00\x09\x01", [">protocol"]),
        (codec.Heartbeat().encode(), [">heartbeat"]),
    ],
)
def test_broken_octets_are_sent_and_logged_as_what_they_are(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
    octets: bytes,
    logged: list[str],
) -> None:
    received: list[bytes] = []

    def script(peer: Any) -> None:
        received.append(peer.sock.recv(65536))

    connection = opened(serve, recorder, script)
    since = len(log)
    connection.send(octets)
    assert describe_log(log, since) == logged
    assert b"".join(event.raw for event in log[since:]) == octets
    until(connection, ended)
    assert received == [octets]


def test_closes_are_answered_after_all_that_came_with_them(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    def script(peer: Any) -> None:
        peer.send(m.ChannelClose(1, 406, "no", 60, 80), m.ChannelOpenOk(2))
        peer.expect(m.ChannelCloseOk)
        peer.send(m.ConnectionClose(0, 541, "ouch", 0, 0))
        peer.expect(m.ConnectionCloseOk)

    connection = opened(serve, recorder, script)
    since = len(log)
    until(connection, ended)
    assert describe_log(log, since) == [
        "<channel.close",
        "<channel.open-ok",
        ">channel.close-ok",
        "<connection.close",
        ">connection.close-ok",
        "-end",
    ]
    assert log[-1].args["cause"] in ("fin", "reset")
    assert not connection.alive


def test_flow_is_answered_until_the_channel_is_closed_from_here(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    def script(peer: Any) -> None:
        peer.send(m.ChannelFlow(1, True))
        peer.expect(m.ChannelFlowOk)
        peer.expect(m.ChannelClose)
        peer.send(m.ChannelFlow(1, True), m.ChannelCloseOk(1))

    connection = opened(serve, recorder, script)
    since = len(log)
    until(connection, lambda event: event.method == "channel.flow")
    connection.send(m.ChannelClose(1, 200, "done", 0, 0))
    until(connection, ended)
    assert describe_log(log, since) == [
        "<channel.flow",
        ">channel.flow-ok",
        ">channel.close",
        "<channel.flow",
        "<channel.close-ok",
        "-end",
    ]


def test_close_ok_can_be_held_back(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    def script(peer: Any) -> None:
        peer.send(m.ChannelClose(3, 406, "no", 60, 80))
        peer.expect(m.ChannelCloseOk)

    connection = opened(serve, recorder, script)
    connection.holding = True
    until(connection, lambda event: event.method == "channel.close")
    assert log[-1].method == "channel.close"
    connection.release()
    assert (log[-1].method, log[-1].channel) == ("channel.close-ok", 3)
    until(connection, ended)


def test_content_in_pieces_is_one_event(serve: Serve, recorder: Recorder) -> None:
    content = codec.content(m.BasicDeliver(1, "c", 1, False, "", "q"), b"x" * 20_000, frame_max=4096, message_id="m1")

    def script(peer: Any) -> None:
        for octet in (content[:1], content[1:9], content[9:5000], content[5000:]):
            peer.sock.sendall(octet)
        peer.expect(m.ConnectionClose)
        peer.send(m.ConnectionCloseOk(0))

    connection = opened(serve, recorder, script)
    delivery = until(connection, lambda event: event.kind == events.METHOD)
    assert (delivery.delivery_tag, delivery.message, delivery.body_size) == (1, "m1", 20_000)
    assert delivery.raw == content
    connection.close()
    assert not connection.alive


def test_octets_that_are_no_frame_end_the_connection(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    def script(peer: Any) -> None:
        peer.sock.sendall(m.ChannelOpenOk(1).encode() + m.ChannelOpenOk(2).encode()[:-1] + b"\x00")
        peer.sock.recv(1)

    connection = opened(serve, recorder, script)
    since = len(log)
    until(connection, ended)
    assert describe_log(log, since) == ["<channel.open-ok", "<malformed", "-end"]


def test_a_lost_connection_is_an_event_and_then_refuses(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    connection = opened(serve, recorder, lambda peer: None)
    until(connection, ended)
    assert connection.receive(0.1) == []
    with pytest.raises(ConnectionLost):
        connection.send(m.ChannelOpen(1))
    assert [event.kind for event in log].count(events.END) == 1
    connection.close()


def test_the_last_words_of_a_peer_that_is_gone_are_still_read(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    def script(peer: Any) -> None:
        peer.expect(m.ChannelOpen)
        peer.send(m.ConnectionClose(0, 320, "CONNECTION_FORCED - going down", 0, 0))

    connection = opened(serve, recorder, script)
    since = len(log)
    connection.send(m.ChannelOpen(1))
    while connection.alive:
        connection.receive(1)
        if connection.alive:
            connection.send(codec.Heartbeat().encode())
    assert describe_log(log, since)[:3] == [">channel.open", "<connection.close", ">connection.close-ok"]
    assert log[-1].kind == events.END


def test_both_sides_may_have_full_buffers(
    serve: Serve,
    recorder: Recorder,
    log: list[Event],
) -> None:
    much = codec.content(m.BasicDeliver(1, "c", 1, False, "", "q"), b"x" * 8000) * 1500

    def script(peer: Any) -> None:
        peer.sock.sendall(much)
        left = len(much)
        while left > 0:
            left -= len(peer.sock.recv(1 << 20))

    connection = opened(serve, recorder, script)
    connection.send(much)
    while connection.alive:
        connection.receive(2)
    assert describe_log(log, 0).count("<basic.deliver") == 1500


def test_heartbeats_are_sent_when_they_are_due(
    serve: Serve,
    recorder: Recorder,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def script(peer: Any) -> None:
        while isinstance(peer.reader.feed(peer.sock.recv(65536))[0], codec.Heartbeat):
            peer.sock.sendall(codec.Heartbeat().encode())

    connection = opened(serve, recorder, script, heartbeat=10)
    assert connection.receive() == [], "none is due yet"
    now = [1000.0]
    monkeypatch.setattr("conformance.drive.drivers.link.time.monotonic", lambda: now[0])
    connection.send(codec.Heartbeat().encode())
    assert connection.receive(1)[0].kind == events.HEARTBEAT
    now[0] += 6
    assert connection.receive(1)[0].kind == events.HEARTBEAT
    connection.abort()


def test_an_end_is_agreed_to_once(serve: Serve, recorder: Recorder, log: list[Event]) -> None:
    """A broker may answer the answer by one more close, and so on for ever."""

    def script(peer: Any) -> None:
        again = m.ChannelClose(1, 504, "no such channel", 0, 0)
        peer.send(again, again)
        peer.expect(m.ChannelCloseOk)
        peer.send(again)
        peer.expect(m.ChannelOpen)
        peer.send(again)
        peer.expect(m.ChannelCloseOk)
        peer.send(*[m.ConnectionClose(0, 541, "ouch", 0, 0)] * 2)
        peer.expect(m.ConnectionCloseOk)
        peer.send(m.ConnectionClose(0, 541, "ouch", 0, 0))

    connection = opened(serve, recorder, script)
    since = len(log)
    until(connection, lambda event: event.method == "channel.close")
    connection.send(m.ChannelOpen(1))
    until(connection, ended)
    sent = [event.method for event in log[since:] if event.direction == events.TO_BROKER]
    assert sent == ["channel.close-ok", "channel.open", "channel.close-ok", "connection.close-ok"]

"""What a peer may send when, and what it costs to send something else."""

import pytest

import codec
from codec import methods as m
from codec.errors import ReplyCode
from reference_broker.core.connections import lifecycle
from reference_broker.core.connections.connection import Connection
from reference_broker.core.connections.lifecycle import CHANNEL, CONNECTION, ChannelPhase, Phase
from reference_broker.core.errors import ConnectionException
from reference_broker.core.parts import HANDLERS

HARD = "hard"


def test_every_action_of_the_tables_exists():
    actions = [action for row in CONNECTION.values() for action, _ in row.values()]
    actions += [action for row in CHANNEL.values() for action in row.values()]
    assert [action for action in actions if not callable(getattr(Connection, action, None))] == []


def test_every_method_a_client_may_send_has_its_place():
    """Either a table or a handler; the others are sent by servers only."""
    from_tables = {method for rows in (CONNECTION, CHANNEL) for row in rows.values() for method in row}
    placed = {method.NAME for method in from_tables | set(HANDLERS) | {m.BasicPublish}}
    ends = ("-ok", ".start", ".tune", ".secure", ".deliver", ".return", ".get-empty", ".blocked", ".unblocked")
    servers_only = {name for name in m.BY_NAME if name.endswith(ends)}
    assert set(m.BY_NAME) - placed - servers_only == set()
    answers = {
        "connection.start-ok",
        "connection.tune-ok",
        "connection.close-ok",
        "channel.close-ok",
        "basic.cancel-ok",
    }
    assert placed & servers_only == answers


@pytest.mark.parametrize("phase", [Phase.CLOSING, Phase.CLOSED])
def test_while_closing_everything_else_is_discarded(phase):
    assert lifecycle.connection_step(phase, m.ConnectionOpen) is None


def test_a_missing_entry_is_a_protocol_error():
    with pytest.raises(ConnectionException) as caught:
        lifecycle.connection_step(Phase.TUNING, m.ConnectionOpen)
    assert caught.value.code is ReplyCode.CHANNEL_ERROR
    with pytest.raises(ConnectionException):
        lifecycle.channel_step(ChannelPhase.ABSENT, m.BasicAck)


def closed(frames, code, text, *offender):
    """The last frame is a close with this code, text and offender."""
    (frame,) = [frame for frame in frames if isinstance(frame, m.ChannelClose | m.ConnectionClose)]
    assert frame is frames[-1]
    assert (frame.reply_code, frame.reply_text) == (code, f"{ReplyCode(code).text} - {text}")
    assert (frame.class_id, frame.method_id) == offender
    return frame


PUBLISH = m.BasicPublish(1, 0, "", "q")
HARD_ERRORS = {
    "unopened": ([m.BasicAck(5, 1)], 504, "expected 'channel.open'", 60, 80),
    "unopened close": ([m.ChannelClose(5, 200)], 504, "expected 'channel.open'", 20, 40),
    "opened twice": ([m.ChannelOpen(1)], 504, "second 'channel.open' seen", 20, 10),
    "channel 0": ([m.BasicAck(0, 1)], 504, "unexpected method in connection state running", 60, 80),
    "server method": ([m.BasicCancelOk(1, "x")], 503, "unimplemented method", 60, 31),
    "connection method on a channel": ([m.ConnectionClose(1, 200)], 503, "unimplemented method", 10, 50),
    "close-ok of nothing": ([m.ChannelCloseOk(1)], 503, "unimplemented method", 20, 41),
    "client delivers": ([m.BasicDeliver(1), codec.header(1, 0)], 503, "unimplemented method", 60, 60),
    "body first": (
        [codec.Body(1, b"x")], 505, "expected method frame, got non method frame instead", 0, 0,
    ),
    "method for header": (
        [PUBLISH, m.BasicAck(1, 1)], 505,
        "expected content header for class 60, got non content header frame instead", 60, 40,
    ),
    "method for body": (
        [PUBLISH, codec.header(1, 2), m.BasicAck(1, 1)], 505,
        "expected content body, got non content body frame instead", 60, 40,
    ),
    "header for body": (
        [PUBLISH, codec.header(1, 2), codec.header(1, 2)], 505,
        "expected content body, got non content body frame instead", 60, 40,
    ),
    "flow off": ([m.ChannelFlow(1, False)], 540, "active=false", 20, 20),
    "immediate": ([codec.content(m.BasicPublish(1, 0, "", "q", False, True), b"")], 540, "immediate=true", 60, 40),
    "prefetch size": ([m.BasicQos(1, 10)], 540, "prefetch_size!=0 (10)", 60, 10),
    "recover without requeue": ([m.BasicRecover(1, False)], 540, "requeue=false", 60, 110),
    "consumer tag in use": (
        [m.BasicConsume(1, 0, "q", "t", no_wait=True)] * 2, 530, "attempt to reuse consumer tag 't'", 60, 20,
    ),
    "unknown exchange type": ([m.ExchangeDeclare(1, 0, "e", "odd")], 503, "unknown exchange type 'odd'", 40, 10),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD_ERRORS)
def test_hard_errors_close_the_connection(client, name):
    sent, code, text, *offender = HARD_ERRORS[name]
    frame = closed(client.send(*sent), code, text, *offender)
    assert isinstance(frame, m.ConnectionClose)
    assert client.send(m.ChannelOpen(7), m.BasicGet(1, 0, "q")) == []
    assert client.send(m.ConnectionCloseOk(0)) == []
    assert client.connection.finished


SOFT_ERRORS = {
    "no queue": ([m.BasicGet(1, 0, "none")], 404, "no queue 'none' in vhost '/'", 60, 70),
    "no exchange": ([codec.content(m.BasicPublish(1, 0, "none"), b"")], 404, "no exchange 'none' in vhost '/'", 60, 40),
    "bad expiration": (
        [codec.content(PUBLISH, b"", expiration="bad")], 406, "invalid expiration 'bad': no_integer", 60, 40,
    ),
    "somebody else": (
        [codec.content(PUBLISH, b"", user_id="bob")], 406,
        "user_id property set to 'bob' but authenticated user was 'guest'", 60, 40,
    ),
    "unknown tag": ([m.BasicAck(1, 7)], 406, "unknown delivery tag 7", 60, 80),
    "confirm to tx": ([m.ConfirmSelect(1, True), m.TxSelect(1)], 406, "cannot switch from confirm to tx mode", 90, 10),
    "no tx": ([m.TxCommit(1)], 406, "channel is not transactional", 90, 20),
    "too large": (
        [PUBLISH, codec.header(1, 2**40)], 406,
        "message size 1099511627776 is larger than configured max size 134217728", 60, 40,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", SOFT_ERRORS)
def test_soft_errors_close_the_channel_only(client, name):
    client.open(2)
    sent, code, text, *offender = SOFT_ERRORS[name]
    assert isinstance(closed(client.send(*sent), code, text, *offender), m.ChannelClose)
    assert client.send(m.ChannelFlow(2, True)) == [m.ChannelFlowOk(2, True)]
    assert client.send(m.ChannelCloseOk(1), m.ChannelOpen(1)) == [m.ChannelOpenOk(1)]


def test_after_its_close_the_broker_discards_all_but_closes(client):
    client.publish("before")
    pipelined = codec.content(PUBLISH, b"after")
    frames = client.send(m.BasicAck(1, 9), pipelined, m.QueueDelete(1, 0, "q"), m.ChannelFlow(1, True))
    assert [type(frame) for frame in frames] == [m.ChannelClose]
    assert client.send(m.ChannelClose(1, 200)) == [m.ChannelCloseOk(1)]
    assert client.send(m.ChannelCloseOk(1), m.ChannelOpen(1)) == [m.ChannelOpenOk(1)]
    assert client.drain() == [("before", False)]


def test_a_reopened_channel_is_fresh(client):
    client.publish("1")
    client.send(m.ConfirmSelect(1), m.BasicQos(1, 0, 1))
    client.get()
    client.send(m.BasicAck(1, 9), m.ChannelCloseOk(1), m.ChannelOpen(1))
    assert client.publish("2") == []
    assert client.consume() == [(1, "1", True), (2, "2", False)]


def test_crossing_connection_closes(client):
    client.send(m.BasicAck(5, 1))
    assert client.send(m.ConnectionClose(0, 200)) == [m.ConnectionCloseOk(0)]
    client.send(m.ConnectionCloseOk(0))
    assert client.connection.finished


def test_a_peer_that_never_answers_our_close_is_cut_off(core, client):
    client.send(m.BasicAck(5, 1))
    core.move_to(9.9)
    assert not client.connection.finished
    core.move_to(10.0)
    assert client.connection.finished

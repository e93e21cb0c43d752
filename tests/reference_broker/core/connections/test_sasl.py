"""Logging in, and entering a virtual host."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker.core.access import Permission
from reference_broker.core.broker import Broker
from reference_broker.core.connections.limits import Limits
from reference_broker.core.connections.origin import Certificate, Origin, is_loopback

TOLD = values.table({"capabilities": {"authentication_failure_close": True}})
ELSEWHERE = Origin("192.0.2.7", 40000, "192.0.2.1", 5672)


def amqplain(user: str, password: str) -> bytes:
    """A table without its length."""
    table = m.QueueDeclare(1, arguments=values.table({"LOGIN": user, "PASSWORD": password})).encode()
    return table[19:-1]


@pytest.fixture
def knock(core: Broker, connect: Callable[..., Any]) -> Callable[..., list[Any]]:
    """The answers to a start-ok, after connection.start, from somewhere."""

    def enter(mechanism: str, response: bytes, origin: Origin | None = None, about: Any = TOLD) -> list[Any]:
        client = connect(log_in=False)
        client.connection.origin = origin or Origin()
        client.send(codec.ProtocolHeader())
        answers = client.send(m.ConnectionStartOk(0, about, mechanism, response, "en_US"))
        return answers or [client.connection.finished]

    return enter


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        ("PLAIN", b"\0guest\0guest"),
        ("PLAIN", b"guest\0guest\0guest"),
        ("AMQPLAIN", amqplain("guest", "guest")),
    ],
)
def test_with_the_right_password(knock: Callable[..., Any], mechanism: str, response: bytes) -> None:
    assert isinstance(knock(mechanism, response)[0], m.ConnectionTune)


@pytest.mark.parametrize(
    ("mechanism", "response"),
    [
        ("PLAIN", b"\0guest\0wrong"),
        ("PLAIN", b"\0nobody\0guest"),
        ("PLAIN", b"nonsense"),
        ("AMQPLAIN", b"\0\0\0"),
        ("AMQPLAIN", amqplain("guest", "wrong")),
    ],
)
def test_with_a_wrong_one(knock: Callable[..., Any], mechanism: str, response: bytes) -> None:
    """Only who said that it understands is told; others are cut off, as RabbitMQ does it."""
    (close,) = knock(mechanism, response)
    assert isinstance(close, m.ConnectionClose)
    assert close.reply_code == 403
    assert close.reply_text.startswith(
        f"ACCESS_REFUSED - Login was refused using authentication mechanism {mechanism}."
    )
    assert knock(mechanism, response, about=[]) == [True]


def test_guest_is_refused_from_elsewhere(knock: Callable[..., Any], core: Broker) -> None:
    (close,) = knock("PLAIN", b"\0guest\0guest", ELSEWHERE)
    assert close.reply_code == 403
    core.access.put("alice", password="secret")
    assert isinstance(knock("PLAIN", b"\0alice\0secret", ELSEWHERE)[0], m.ConnectionTune)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("127.0.0.1", True),
        ("127.8.9.1", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("localhost", True),
        ("192.0.2.7", False),
        ("::ffff:192.0.2.7", False),
        ("fe80::1%eth0", False),
        ("example.org", False),
    ],
)
def test_what_is_this_machine(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


@pytest.mark.parametrize("name", ["CN=alice,O=us", "alice"])
def test_by_certificate(knock: Callable[..., Any], core: Broker, name: str) -> None:
    """The user is called like the subject, or like its common name."""
    shown = Origin(tls="TLSv1.3", certificate=Certificate("CN=alice,O=us", "alice"))
    core.access.external = True
    assert knock("EXTERNAL", b"", shown)[0].reply_code == 403
    core.access.put(name)
    assert isinstance(knock("EXTERNAL", b"", shown)[0], m.ConnectionTune)


def test_where_it_is_not_switched_on_a_certificate_lets_nobody_in(
    knock: Callable[..., Any], connect: Callable[..., Any], core: Broker
) -> None:
    core.access.put("alice")
    shown = Origin(tls="TLSv1.3", certificate=Certificate("CN=alice", "alice"))
    assert knock("EXTERNAL", b"", shown)[0].reply_code == 503
    client = connect(log_in=False)
    client.connection.origin = shown
    assert client.send(codec.ProtocolHeader())[0].mechanisms == b"PLAIN AMQPLAIN"


def test_without_a_certificate_external_is_not_offered(
    knock: Callable[..., Any], connect: Callable[..., Any], core: Broker
) -> None:
    core.access.external = True
    (start,) = connect(log_in=False).send(codec.ProtocolHeader())
    assert start.mechanisms == b"PLAIN AMQPLAIN"
    assert knock("EXTERNAL", b"")[0].reply_code == 503


def entered(core: Broker, connect: Callable[..., Any], vhost: str) -> Any:
    client = connect(log_in=False)
    return client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, TOLD, "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0),
        m.ConnectionOpen(0, vhost),
    )[-1]


def test_virtual_hosts_are_worlds_of_their_own(core: Broker, connect: Callable[..., Any]) -> None:
    core.add_vhost("other")
    refused = entered(core, connect, "other")
    assert refused.reply_code == 530
    assert refused.reply_text == "NOT_ALLOWED - access to vhost 'other' refused for user 'guest'"
    assert entered(core, connect, "none").reply_text == "NOT_ALLOWED - vhost none not found"
    core.permit("guest", "other", Permission())
    client = connect(log_in=False)
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, TOLD, "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0),
        m.ConnectionOpen(0, "other"),
        m.ChannelOpen(1),
        m.QueueDeclare(1, 0, "theirs"),
    )
    assert (list(core.vhosts["other"].queues), list(core.vhost.queues)) == (["theirs"], [])
    (close,) = client.send(m.BasicGet(1, 0, "none"))
    assert close.reply_text == "NOT_FOUND - no queue 'none' in vhost 'other'"
    core.delete_vhost("other")
    (close,) = client.read()
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - vhost 'other' is deleted")


def test_a_deleted_user_is_shown_out(core: Broker, client: Any) -> None:
    core.delete_user("guest")
    (close,) = client.read()
    assert (close.reply_code, close.reply_text) == (320, "CONNECTION_FORCED - user 'guest' is deleted")


@pytest.mark.parametrize("said", [b"", b"AMQP", codec.ProtocolHeader().encode()])
def test_who_does_not_say_who_it_is_has_ten_seconds(core: Broker, connect: Callable[..., Any], said: bytes) -> None:
    idle, busy = connect(log_in=False), connect()
    idle.feed(said)
    core.move_to(Limits().handshake - 0.1)
    assert not idle.connection.finished
    core.move_to(Limits().handshake)
    assert idle.connection.finished
    assert not busy.connection.finished


def test_before_the_login_frames_are_small(connect: Callable[..., Any]) -> None:
    client = connect(log_in=False)
    client.send(codec.ProtocolHeader())
    about = values.table({"x": "y" * Limits().first_frame_max})
    (close,) = client.send(m.ConnectionStartOk(0, about, "PLAIN", b"\0guest\0guest", "en_US"))
    assert close.reply_code == 501

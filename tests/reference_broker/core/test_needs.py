"""Which permission each method needs: measured on RabbitMQ 3.8, 3.10, 4.0 and 4.3, and the same here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import dialects
from reference_broker.core.access import Permission, TopicPermission
from reference_broker.core.broker import Broker

PERMISSION = Permission(configure="^c", write=r"^(w|cw|amq\.default)", read="^(r|cr)")
DEAD, ALTERNATE = "x-dead-letter-exchange", "alternate-exchange"


def published(exchange: str, **how: Any) -> bytes:
    return codec.content(m.BasicPublish(1, 0, exchange, "k"), b"x", **how)


@pytest.fixture
def clerk(connect: Callable[..., Any], core: Broker) -> Any:
    """A client on channel 1 of a broker where it may do little."""
    owner = connect().open()
    for queue in ("c-q", "w-q", "r-q"):
        owner.queue(queue)
    for exchange in ("w-x", "r-x"):
        owner.send(m.ExchangeDeclare(1, 0, exchange, "topic"))
    owner.send(m.ExchangeDeclare(1, 0, "r-int", "fanout", internal=True))
    core.access.put("clerk", password="p")
    core.permit("clerk", "/", PERMISSION)
    client = connect(log_in=False)
    client.send(
        codec.ProtocolHeader(),
        m.ConnectionStartOk(0, [], "PLAIN", b"\0clerk\0p", "en_US"),
        m.ConnectionTuneOk(0),
        m.ConnectionOpen(0, "/"),
        m.ChannelOpen(1),
    )
    return client


REFUSED = [
    (m.QueueDeclare(1, 0, "w-q"), "configure access to queue 'w-q'"),
    (m.QueueDeclare(1, 0, "new"), "configure access to queue 'new'"),
    (m.QueueDeclare(1, 0, ""), "configure access to queue 'amq.gen-"),
    (m.QueueDeclare(1, 0, "c-d", arguments=values.table({DEAD: "w-x"})), "read access to queue 'c-d'"),
    (m.QueueDeclare(1, 0, "cr-d", arguments=values.table({DEAD: "r-x"})), "write access to exchange 'r-x'"),
    (m.QueueDelete(1, 0, "w-q"), "configure access to queue 'w-q'"),
    (m.QueueDelete(1, 0, "none"), "configure access to queue 'none'"),
    (m.QueuePurge(1, 0, "w-q"), "read access to queue 'w-q'"),
    (m.BasicGet(1, 0, "w-q"), "read access to queue 'w-q'"),
    (m.BasicGet(1, 0, "none"), "read access to queue 'none'"),
    (m.BasicConsume(1, 0, "w-q", "t"), "read access to queue 'w-q'"),
    (m.ExchangeDeclare(1, 0, "w-x", "topic"), "configure access to exchange 'w-x'"),
    (
        m.ExchangeDeclare(1, 0, "c-a", "topic", arguments=values.table({ALTERNATE: "w-x"})),
        "read access to exchange 'c-a'",
    ),
    (
        m.ExchangeDeclare(1, 0, "cr-a", "topic", arguments=values.table({ALTERNATE: "r-x"})),
        "write access to exchange 'r-x'",
    ),
    (m.ExchangeDelete(1, 0, "w-x"), "configure access to exchange 'w-x'"),
    (m.QueueBind(1, 0, "r-q", "r-x", "k"), "write access to queue 'r-q'"),
    (m.QueueBind(1, 0, "w-q", "w-x", "k"), "read access to exchange 'w-x'"),
    (m.QueueBind(1, 0, "r-q", "", "k"), "write access to queue 'r-q'"),
    (m.QueueUnbind(1, 0, "r-q", "r-x", "k"), "write access to queue 'r-q'"),
    (m.ExchangeBind(1, 0, "r-x", "r-x", "k"), "write access to exchange 'r-x'"),
    (m.ExchangeBind(1, 0, "w-x", "w-x", "k"), "read access to exchange 'w-x'"),
    (m.ExchangeUnbind(1, 0, "r-x", "r-x", "k"), "write access to exchange 'r-x'"),
    (published("r-x"), "write access to exchange 'r-x'"),
    (published("none"), "write access to exchange 'none'"),
    (published("r-int"), "write access to exchange 'r-int'"),
    (published("r-x", user_id="somebody"), "write access to exchange 'r-x'"),
]
EARLIER = [
    (m.QueueDeclare(1, 0, "amq.mine"), "queue name 'amq.mine' contains reserved prefix 'amq.*'"),
    (m.ExchangeDeclare(1, 0, "", "topic"), "operation not permitted on the default exchange"),
    (m.ExchangeDelete(1, 0, "amq.topic"), "deletion of system exchange 'amq.topic' in vhost '/' not allowed"),
    (m.QueueBind(1, 0, "w-q", "", "k"), "operation not permitted on the default exchange"),
]
GRANTED = [
    m.QueueDeclare(1, 0, "c-q"),
    m.QueueDeclare(1, 0, "w-q", passive=True),
    m.QueuePurge(1, 0, "r-q"),
    m.QueueDeclare(1, 0, "cr-d", arguments=values.table({DEAD: "w-x"})),
    m.BasicGet(1, 0, "r-q"),
    m.BasicConsume(1, 0, "r-q", "t"),
    m.QueueBind(1, 0, "w-q", "r-x", "k"),
    m.ExchangeBind(1, 0, "w-x", "r-x", "k"),
    m.ExchangeDeclare(1, 0, "w-x", "topic", passive=True),
    m.ExchangeDeclare(1, 0, "cr-a", "topic", arguments=values.table({ALTERNATE: "w-x"})),
    m.QueueDelete(1, 0, "c-q"),
]


def close_reason(frames: list[Any]) -> tuple[int, str]:
    (close,) = [frame for frame in frames if isinstance(frame, m.ChannelClose)]
    return close.reply_code, close.reply_text


@pytest.mark.parametrize(("frame", "what"), REFUSED, ids=lambda one: one if isinstance(one, str) else "")
def test_what_is_not_granted_costs_the_channel(clerk: Any, frame: Any, what: str) -> None:
    code, text = close_reason(clerk.send(frame))
    assert code == 403
    assert text.startswith(f"ACCESS_REFUSED - {what}")
    assert text.endswith("in vhost '/' refused for user 'clerk'")


@pytest.mark.parametrize(("frame", "what"), EARLIER, ids=lambda one: one if isinstance(one, str) else "")
def test_some_refusals_come_even_earlier(clerk: Any, frame: Any, what: str) -> None:
    assert close_reason(clerk.send(frame)) == (403, f"ACCESS_REFUSED - {what}")


@pytest.mark.parametrize("frame", GRANTED, ids=lambda one: one.NAME)
def test_what_is_granted_is_done(clerk: Any, frame: codec.Method) -> None:
    (answer,) = clerk.send(frame)
    assert not isinstance(answer, m.ChannelClose)


@pytest.mark.parametrize("exchange", ["w-x", ""])
def test_publishing_where_one_may(clerk: Any, exchange: str) -> None:
    assert clerk.send(published(exchange)) == []


def test_permissions_change_for_those_who_are_there(clerk: Any, core: Broker) -> None:
    core.permit("clerk", "/", Permission())
    assert isinstance(clerk.send(m.QueueDeclare(1, 0, "new"))[0], m.QueueDeclareOk)
    core.permit("clerk", "/", None)
    assert close_reason(clerk.send(m.QueueDeclare(1, 0, "new")))[0] == 403


def test_dialects_differ_in_passive_declarations_and_words(connect: Callable[..., Any]) -> None:
    for name, passive, words in (("rabbitmq-3.10", False, "access to"), ("rabbitmq-4.3", True, "configure access to")):
        core = Broker(parts=dialects.dialect(name).parts())
        core.permit("guest", "/", Permission("^$", "", ""))
        client = type(connect())(core).open()
        code, _ = close_reason(client.send(m.QueueDeclare(1, 0, "q", passive=True)))
        assert code == (403 if passive else 404)
        client.reopen()
        assert close_reason(client.send(m.QueueDeclare(1, 0, "q")))[1].startswith(f"ACCESS_REFUSED - {words} queue 'q'")


# -- topics: one permission more where a user has some for the exchange; measured likewise

TOPICS = {
    "t-x": TopicPermission("^(a|{username}/{vhost})", "^b"),
    "t-int": TopicPermission("^a", ""),
    "t-d": TopicPermission("^a", "^b"),
}


def sent(key: str, exchange: str = "t-x", **how: Any) -> bytes:
    return codec.content(m.BasicPublish(1, 0, exchange, key), b"x", **how)


@pytest.fixture
def narrowed(connect: Callable[..., Any], core: Broker) -> Any:
    """Guest, which may do everything but use other topics."""
    client = connect().open()
    client.queue("q")
    for exchange, kind, internal in (("t-x", "topic", False), ("t-int", "topic", True), ("t-d", "direct", False)):
        client.send(m.ExchangeDeclare(1, 0, exchange, kind, internal=internal))
    core.permit_topics("guest", "/", TOPICS)
    return client


COPY, BLIND = ({"headers": values.table({name: ["zz"]})} for name in ("CC", "BCC"))


@pytest.mark.parametrize(
    ("dialect", "request_", "text"),
    [
        ("documented", sent("a.b"), None),
        ("documented", sent("guest//"), None),
        ("documented", sent("zz", "t-d"), None),
        ("documented", sent("zz", "amq.topic"), None),
        ("documented", sent("zz"), "write access to topic 'zz' in exchange 't-x'"),
        ("rabbitmq-3.10", sent("zz"), "access to topic 'zz' in exchange 't-x'"),
        ("documented", sent("a", **COPY), "write access to topic 'zz' in exchange 't-x'"),
        ("documented", sent("a", **BLIND), "write access to topic 'zz' in exchange 't-x'"),
        ("rabbitmq-3.10", sent("a", **COPY), None),
        ("documented", sent("zz", user_id="nobody"), "write access to topic 'zz' in exchange 't-x'"),
        ("documented", sent("zz", "t-int"), "cannot publish to internal exchange 't-int'"),
        ("documented", m.QueueBind(1, 0, "q", "t-x", "b", no_wait=True), None),
        ("documented", m.QueueBind(1, 0, "q", "t-d", "zz", no_wait=True), None),
        ("documented", m.QueueBind(1, 0, "q", "t-int", "", no_wait=True), None),
        ("documented", m.QueueBind(1, 0, "q", "t-int", "b"), "read access to topic 'b' in exchange 't-int'"),
        ("documented", m.QueueBind(1, 0, "q", "t-x", "c"), "read access to topic 'c' in exchange 't-x'"),
        ("documented", m.QueueBind(1, 0, "", "t-x", ""), "read access to topic 'q' in exchange 't-x'"),
        ("documented", m.QueueBind(1, 0, "none", "t-x", "c"), "read access to topic 'c' in exchange 't-x'"),
        ("documented", m.QueueUnbind(1, 0, "q", "t-x", "c"), "read access to topic 'c' in exchange 't-x'"),
        ("documented", m.ExchangeBind(1, 0, "t-d", "t-x", "c"), "read access to topic 'c' in exchange 't-x'"),
        ("documented", m.ExchangeUnbind(1, 0, "t-d", "t-x", "c"), "read access to topic 'c' in exchange 't-x'"),
    ],
)
def test_topics_need_a_permission(narrowed: Any, core: Broker, dialect: str, request_: Any, text: str | None) -> None:
    narrowed.speaking(dialect)
    narrowed.queue("q")
    said = narrowed.send(request_)
    if text is None:
        assert said == []
    else:
        (close,) = said
        assert (type(close), close.reply_code) == (m.ChannelClose, 403)
        assert close.reply_text.startswith(f"ACCESS_REFUSED - {text}")


def test_topics_hold_at_once_and_no_longer_than_they_are_there(narrowed: Any, core: Broker) -> None:
    core.permit_topics("guest", "/", {"t-x": TopicPermission("^zz", "")})
    assert narrowed.send(sent("zz")) == []
    core.permit_topics("guest", "/", {})
    assert narrowed.send(sent("a"), sent("b")) == []


def test_an_impersonator_speaks_for_others(connect: Callable[..., Any], core: Broker) -> None:
    core.access.users["guest"].tags = ("administrator", "impersonator")
    assert connect().open().send(sent("k", "amq.topic", user_id="somebody")) == []

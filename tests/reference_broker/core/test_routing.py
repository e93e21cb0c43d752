"""Exchanges: which queues a message reaches."""

import pytest

import codec
from codec import methods as m
from codec import values


@pytest.fixture
def bound(client):
    """Binds queue `q` (and others, declared on the way) to an exchange."""

    def bind(exchange, key="", queue="q", **arguments):
        client.queue(queue)
        return client.send(m.QueueBind(1, 0, queue, exchange, key, arguments=values.table(arguments)))

    return bind


def reaches(client, exchange, key="", queue="q", **properties):
    client.publish("x", exchange=exchange, queue=key, **properties)
    return len(client.drain(queue))


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("a.b", ["a.b"], ["a", "a.b.c", "", "a.x"]),
        ("a.*", ["a.b", "a."], ["a", "a.b.c"]),
        ("*.*", ["a.b", "."], ["a", "a.b.c"]),
        ("#", ["", "a", "a.b.c"], []),
        ("a.#", ["a", "a.b", "a.b.c"], ["b.a", ""]),
        ("#.b.#", ["b", "a.b", "b.c", "a.b.c", "x.y.b.z"], ["a", "a.c"]),
        ("*.#", ["a", "a.b"], [""]),
        ("#.#.x", ["x", "a.x", "a.b.x"], ["a"]),
        ("*", ["a"], ["a.b", ""]),
    ],
)
def test_topic(client, bound, pattern, matching, others):
    bound("amq.topic", pattern)
    assert [key for key in matching if reaches(client, "amq.topic", key) != 1] == []
    assert [key for key in others if reaches(client, "amq.topic", key) != 0] == []


def test_topic_unbind_leaves_the_others(client, bound):
    bound("amq.topic", "a.*")
    bound("amq.topic", "a.*.c")
    client.send(m.QueueUnbind(1, 0, "q", "amq.topic", "a.*"))
    assert reaches(client, "amq.topic", "a.b") == 0
    assert reaches(client, "amq.topic", "a.b.c") == 1
    client.send(m.QueueUnbind(1, 0, "q", "amq.topic", "a.*.c"))
    assert client.core.vhost.exchanges["amq.topic"].root.children == {}


def test_many_wildcards_stay_cheap(client, bound):
    bound("amq.topic", ".".join(["#"] * 30 + ["end"]))
    assert reaches(client, "amq.topic", ".".join(["w"] * 60)) == 0


def test_direct_and_fanout(client, bound):
    bound("amq.direct", "k")
    bound("amq.fanout")
    assert reaches(client, "amq.direct", "k") == 1
    assert reaches(client, "amq.direct", "K") == 0
    assert reaches(client, "amq.fanout", "anything") == 1


@pytest.mark.parametrize(
    ("how", "headers", "expected"),
    [
        ("all", {"a": 1, "b": "x", "c": 0}, 1),
        ("all", {"a": 1}, 0),
        ("any", {"a": 1}, 1),
        ("any", {"a": 2, "b": "y"}, 0),
        ("all", {}, 0),
    ],
)
def test_headers(client, bound, how, headers, expected):
    bound("amq.headers", **{"a": 1, "b": "x", "x-match": how, "x-other": 5})
    assert reaches(client, "amq.headers", headers=values.table(headers)) == expected


def test_headers_match_on_presence(client, bound):
    bound("amq.match", a=None)
    assert reaches(client, "amq.match", headers=values.table({"a": "whatever"})) == 1


def test_headers_refuses_an_unknown_way_to_match(client, bound):
    (close,) = bound("amq.headers", **{"x-match": "most"})
    assert close.reply_code == 406


def test_a_queue_gets_a_message_once(client, bound):
    for key in ("a.#", "#.b", "a.b"):
        bound("amq.topic", key)
    assert reaches(client, "amq.topic", "a.b") == 1


def test_exchange_to_exchange_even_in_circles(client, bound):
    for name in ("one", "two"):
        client.send(m.ExchangeDeclare(1, 0, name, "fanout"))
    client.send(m.ExchangeBind(1, 0, "two", "one", ""), m.ExchangeBind(1, 0, "one", "two", ""))
    bound("two")
    assert reaches(client, "one") == 1
    client.send(m.ExchangeUnbind(1, 0, "two", "one", ""))
    assert reaches(client, "one") == 0


def test_the_default_exchange_and_extra_keys(client):
    client.queue("other")
    lists = [("CC", "A", [("S", b"other")]), ("BCC", "A", [("S", b"q")])]
    client.publish("1", queue="nowhere", headers=lists)
    frames = client.send(m.BasicGet(1, 0, "q", True))
    assert [name for name, _, _ in frames[1].headers] == ["CC"]
    assert client.drain("other") == [("1", False)]


def test_alternate_exchange(client, bound):
    arguments = values.table({"alternate-exchange": "amq.fanout"})
    client.send(m.ExchangeDeclare(1, 0, "main", "direct", arguments=arguments))
    bound("amq.fanout")
    assert reaches(client, "main", "nobody") == 1


def test_unroutable(client):
    assert client.publish("1", queue="nowhere") == []
    returned, header, body = client.publish("1", queue="nowhere", mandatory=True, message_id="m1")
    assert returned == m.BasicReturn(1, 312, "NO_ROUTE", "", "nowhere")
    assert (header.message_id, body.payload) == ("m1", b"1")


def test_auto_delete_goes_with_the_last_binding(client, bound):
    client.send(m.ExchangeDeclare(1, 0, "brief", "direct", auto_delete=True))
    bound("brief", "a")
    bound("brief", "b")
    client.send(m.QueueUnbind(1, 0, "q", "brief", "a"))
    assert "brief" in client.core.vhost.exchanges
    client.send(m.QueueDelete(1, 0, "q"))
    assert "brief" not in client.core.vhost.exchanges


def refusal(frames):
    (close,) = frames
    return close.reply_code, close.reply_text.partition(" - ")[2]


@pytest.mark.parametrize(
    ("method", "code", "why"),
    [
        (m.ExchangeDeclare(1, 0, "amq.x", "direct"), 403, "exchange name 'amq.x' contains reserved prefix 'amq.*'"),
        (m.ExchangeDeclare(1, 0, "", "direct"), 403, "operation not permitted on the default exchange"),
        (m.ExchangeDelete(1, 0, "amq.topic"), 403, "deletion of system exchange 'amq.topic' in vhost '/' not allowed"),
        (m.ExchangeDeclare(1, 0, "none", "direct", passive=True), 404, "no exchange 'none' in vhost '/'"),
        (m.QueueBind(1, 0, "q", "none", ""), 404, "no exchange 'none' in vhost '/'"),
        (m.QueueBind(1, 0, "none", "amq.direct", ""), 404, "no queue 'none' in vhost '/'"),
        (m.QueueBind(1, 0, "q", "", "x"), 403, "operation not permitted on the default exchange"),
        (
            m.ExchangeDeclare(1, 0, "amq.topic", "direct", durable=True), 406,
            "inequivalent arg 'type' for exchange 'amq.topic' in vhost '/': received 'direct' but current is 'topic'",
        ),
    ],
)  # fmt: skip
def test_refusals(client, method, code, why):
    assert refusal(client.send(method)) == (code, why)


def test_in_use_and_internal(client, bound):
    client.send(m.ExchangeDeclare(1, 0, "inner", "direct", internal=True))
    bound("inner", "k")
    code, why = refusal(client.send(codec.content(m.BasicPublish(1, 0, "inner", "k"), b"")))
    assert (code, why) == (403, "cannot publish to internal exchange 'inner' in vhost '/'")
    client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    assert refusal(client.send(m.ExchangeDelete(1, 0, "inner", if_unused=True)))[0] == 406


def test_deleting_what_is_not_there_is_fine(client):
    assert client.send(m.ExchangeDelete(1, 0, "none")) == [m.ExchangeDeleteOk(1)]
    assert client.send(m.ExchangeUnbind(1, 0, "none", "nil", "")) == [m.ExchangeUnbindOk(1)]
    assert client.send(m.QueueUnbind(1, 0, "none", "nil", "")) == [m.QueueUnbindOk(1)]

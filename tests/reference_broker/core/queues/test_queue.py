"""Queues: declaration, limits, time to live, dead letters, consumers that come and go."""

import pytest

import codec
from codec import methods as m
from codec import values


def declare(name="q2", channel=1, arguments=None, **options):
    return m.QueueDeclare(channel, 0, name, arguments=values.table(arguments or {}), **options)


def text(frames):
    return frames[-1].reply_text.partition(" - ")[2]


def test_declare_counts_messages_and_consumers(client):
    client.publish("1", "2")
    client.send(m.BasicQos(1, 0, 1))
    client.consume()
    assert client.send(declare("q")) == [m.QueueDeclareOk(1, "q", 1, 1)]


def test_a_server_named_queue_is_the_last_one_declared(client):
    (ok,) = client.send(declare(""))
    assert ok.queue.startswith("amq.gen-")
    client.publish("1", queue=ok.queue)
    assert client.get("") == (1, "1", False)


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ({"durable": True}, {}, "arg 'durable' for queue 'q2' in vhost '/': received 'false' but current is 'true'"),
        (
            {},
            {"auto_delete": True},
            "arg 'auto_delete' for queue 'q2' in vhost '/': received 'true' but current is 'false'",
        ),
        (
            {"arguments": {"x-max-length": 5}},
            {},
            "arg 'x-max-length' for queue 'q2' in vhost '/': "
            "received none but current is the value '5' of type 'signedint'",
        ),
        (
            {"arguments": {"x-max-length": 5}},
            {"arguments": {"x-max-length": 6}},
            "arg 'x-max-length' for queue 'q2' in vhost '/': received '6' but current is '5'",
        ),
        (
            {"arguments": {"x-message-ttl": 10}},
            {"arguments": {"x-message-ttl": 10.0}},
            "arg 'x-message-ttl' for queue 'q2' in vhost '/': received '10.0' but current is '10'",
        ),
    ],
)
def test_an_unequal_declaration_is_refused(client, first, second, why):
    frames = client.send(declare(**first), declare(**second))
    assert frames[-1].reply_code == 406
    assert text(frames) == f"inequivalent {why}"


def test_equal_declarations_are_fine(client):
    same = {"x-queue-type": "classic", "x-unknown": 1}
    frames = client.send(declare(), declare(arguments=same), declare(passive=True, durable=True))
    assert [type(frame) for frame in frames] == [m.QueueDeclareOk] * 3


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"x-message-ttl": -1}, "{value_negative,-1}"),
        ({"x-message-ttl": "5"}, '"expected integer, got longstr"'),
        ({"x-message-ttl": 2**40}, "{value_too_large,1099511627776}"),
        ({"x-expires": 0}, "{value_zero,0}"),
        ({"x-max-length": True}, '"expected integer, got bool"'),
        ({"x-overflow": "odd"}, "invalid_overflow"),
        ({"x-queue-type": "stream"}, "\"unsupported queue type 'stream'\""),
        ({"x-queue-type": 5}, "{unacceptable_type,signedint}"),
        ({"x-dead-letter-routing-key": "k"}, "routing_key_but_no_dlx_defined"),
    ],
)
def test_arguments_that_are_refused(client, arguments, why):
    frames = client.send(declare(arguments=arguments))
    assert text(frames) == f"invalid arg '{next(iter(arguments))}' for queue 'q2' in vhost '/': {why}"
    client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    assert client.send(declare(passive=True))[0].reply_code == 404


@pytest.mark.parametrize("argument", ["x-consumer-timeout", "x-quorum-initial-group-size", "x-delivery-limit"])
def test_what_only_quorum_queues_have_is_refused(client, argument):
    assert "of queue type rabbit_classic_queue" in text(client.send(declare(arguments={argument: 1})))


def test_reserved_names(client):
    frames = client.send(declare("amq.mine"))
    assert (frames[0].reply_code, text(frames)) == (403, "queue name 'amq.mine' contains reserved prefix 'amq.*'")


def test_an_exclusive_queue_belongs_to_its_connection(client, connect):
    client.send(declare("mine", exclusive=True))
    other = connect()
    for attempt in (declare("mine", exclusive=True), declare("mine", passive=True), m.BasicGet(1, 0, "mine")):
        other.open()
        assert other.send(attempt)[0].reply_code == 405
        other.send(m.ChannelCloseOk(1))
    client.connection.lost()
    other.open()
    assert other.send(declare("mine", passive=True))[0].reply_code == 404


def test_auto_delete_waits_for_a_first_consumer(client):
    client.send(declare(auto_delete=True))
    assert client.depth("q2") == 0
    client.consume("a", "q2")
    client.consume("b", "q2")
    client.send(m.BasicCancel(1, "a"))
    assert client.depth("q2") == 0
    client.send(m.BasicCancel(1, "b"))
    assert client.send(declare(passive=True))[0].reply_code == 404


def test_delete_if_unused_and_if_empty(client):
    client.publish("1")
    assert "not empty" in text(client.send(m.QueueDelete(1, 0, "q", if_empty=True)))
    client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    client.consume()
    assert "in use" in text(client.send(m.QueueDelete(1, 0, "q", if_unused=True)))
    client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    assert client.send(m.QueueDelete(1, 0, "q", True)) == [m.QueueDeleteOk(1, 1)]
    assert client.send(m.QueueDelete(1, 0, "q")) == [m.QueueDeleteOk(1, 0)]


def test_purge_takes_ready_messages_only(client):
    client.publish("1", "2", "3")
    client.get()
    assert client.send(m.QueuePurge(1, 0, "q")) == [m.QueuePurgeOk(1, 2)]
    client.send(m.BasicNack(1, 1, False, True))
    assert client.drain() == [("1", True)]


# -- length limits


def test_drop_head(client):
    client.queue("q2", arguments={"x-max-length": 2})
    client.publish("1", "2", "3", queue="q2")
    assert client.drain("q2") == [("2", False), ("3", False)]


def test_drop_head_by_octets(client):
    client.queue("q2", arguments={"x-max-length-bytes": 5})
    client.publish("12", "34", "567", queue="q2")
    assert client.drain("q2") == [("34", False), ("567", False)]


def test_a_requeued_head_over_the_limit_is_dropped(client):
    client.queue("q2", arguments={"x-max-length": 1})
    client.publish("1", queue="q2")
    client.get("q2")
    client.publish("2", queue="q2")
    client.send(m.BasicNack(1, 1, False, True))
    assert client.drain("q2") == [("2", False)]


def test_reject_publish_nacks_what_does_not_fit(client):
    client.queue("q2", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    client.send(m.ConfirmSelect(1))
    frames = client.publish("1", "2", "3", "4", queue="q2")
    assert frames == [m.BasicAck(1, 2, True), m.BasicNack(1, 3), m.BasicNack(1, 4)]
    assert client.drain("q2") == [("1", False), ("2", False)]


# -- time


def test_a_queue_wide_time_to_live(client, core):
    client.queue("q2", arguments={"x-message-ttl": 1000})
    client.publish("1", queue="q2")
    core.move_to(0.5)
    client.publish("2", queue="q2")
    core.move_to(1.0)
    assert client.drain("q2") == [("2", False)]


def test_a_message_shields_those_behind_it(client, core):
    client.publish("long")
    client.publish("short", expiration="10")
    core.move_to(1.0)
    assert client.depth() == 2
    assert client.gets(2) == ["long"]


def test_nothing_expires_while_it_is_unacked(client, core):
    client.publish("1", expiration="1000")
    client.get()
    core.move_to(5.0)
    assert client.send(m.BasicNack(1, 1, False, True)) == []
    assert client.depth() == 0


def test_time_to_live_of_zero_means_now_or_never(client, found_in):
    client.queue("q2", arguments={"x-message-ttl": 0})
    client.publish("1", queue="q2")
    client.consume("c", "q2", no_ack=True)
    assert found_in(client.publish("2", queue="q2")) == [(1, "2", False)]


def test_an_expired_message_is_not_delivered_late(client, core):
    client.send(m.BasicQos(1, 0, 1))
    client.publish("1", expiration="5000")
    client.publish("2", expiration="1000")
    client.publish("3", expiration="9000")
    assert client.consume() == [(1, "1", False)]
    core.move_to(2.0)
    frames = client.send(m.BasicAck(1, 1))
    assert frames[-1].payload == b"3"


def test_an_unused_queue_expires(client, core):
    client.queue("q2", arguments={"x-expires": 1000})
    core.move_to(0.9)
    client.depth("q2")
    client.consume("c", "q2")
    core.move_to(5.0)
    client.send(m.BasicCancel(1, "c"))
    core.move_to(5.9)
    assert client.depth("q2") == 0
    core.move_to(6.9)
    assert client.send(declare(passive=True))[0].reply_code == 404


# -- dead letters


def dead_letters(client, name="dead"):
    """(body, headers, expiration) of what a queue holds."""
    found = []
    while len(frames := client.send(m.BasicGet(1, 0, name, True))) > 1:
        header = frames[1]
        found.append((frames[2].payload.decode(), values.plain(header.headers), header.expiration))
    return found


@pytest.fixture
def dead(client):
    client.queue("dead")
    arguments = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead", "x-max-length": 3}
    client.queue("q2", arguments=arguments)
    return client


def test_discarded_messages_are_dead_lettered(dead):
    dead.publish("1", "2", "3", queue="q2", headers=[("mine", "I", 7)])
    dead.gets(3, "q2")
    dead.send(m.BasicNack(1, 2, True, False), m.BasicReject(1, 3, False))
    letters = dead_letters(dead)
    assert [body for body, _, _ in letters] == ["1", "2", "3"]
    headers = letters[0][1]
    assert headers["mine"] == 7
    assert headers["x-first-death-reason"] == "rejected"
    (death,) = headers["x-death"]
    assert (death["queue"], death["reason"], death["count"]) == ("q2", "rejected", 1)
    assert (death["exchange"], death["routing-keys"]) == ("", ["q2"])


def test_expired_and_overlong_are_dead_lettered(dead, core):
    dead.publish("1", queue="q2", expiration="1000")
    core.move_to(1.0)
    dead.publish("2", "3", "4", "5", queue="q2")
    letters = dead_letters(dead)
    assert [(body, expiration) for body, _, expiration in letters] == [("1", None), ("2", None)]
    assert [headers["x-death"][0]["reason"] for _, headers, _ in letters] == ["expired", "maxlen"]
    assert letters[0][1]["x-death"][0]["original-expiration"] == "1000"


def test_dying_again_counts(dead):
    dead.publish("1", queue="q2")
    for tag in (1, 3):
        assert dead.get("q2") == (tag, "1", False)
        dead.send(m.BasicReject(1, tag))
        frames = dead.send(m.BasicGet(1, 0, "dead", True))
        header, body = frames[1], frames[2]
        publish = m.BasicPublish(1, 0, "", "q2")
        dead.send(publish, codec.header(1, 1, headers=header.headers), body)
    assert values.plain(header.headers)["x-death"][0]["count"] == 2


def test_a_circle_without_rejection_ends(client, core):
    client.queue("q2", arguments={"x-dead-letter-exchange": "", "x-message-ttl": 1000})
    client.publish("1", queue="q2")
    core.move_to(10.0)
    assert client.depth("q2") == 0


def test_a_missing_dead_letter_exchange_drops(client):
    client.queue("q2", arguments={"x-dead-letter-exchange": "later"})
    client.publish("1", queue="q2")
    client.get("q2")
    assert client.send(m.BasicReject(1, 1), m.ChannelFlow(1, True)) == [m.ChannelFlowOk(1, True)]


# -- consumers


def test_an_exclusive_consumer_is_alone(client):
    client.consume("a", exclusive=True)
    frames = client.send(m.BasicConsume(1, 0, "q", "b"))
    assert (frames[0].reply_code, text(frames)) == (403, "queue 'q' in vhost '/' in exclusive use")


def test_nobody_becomes_exclusive_beside_others(client):
    client.consume("a")
    assert client.send(m.BasicConsume(1, 0, "q", "b", exclusive=True))[0].reply_code == 403


def test_a_server_named_consumer(client):
    (ok,) = client.send(m.BasicConsume(1, 0, "q"))
    assert ok.consumer_tag.startswith("amq.ctag-")


def test_messages_go_round(client, found_in):
    client.consume("a")
    client.consume("b")
    frames = client.publish("1", "2", "3", "4")
    assert [frame.consumer_tag for frame in frames if isinstance(frame, m.BasicDeliver)] == ["a", "b", "a", "b"]


def test_cancel_requeues_nothing(client):
    client.publish("1")
    client.consume()
    assert client.send(m.BasicCancel(1, "c")) == [m.BasicCancelOk(1, "c")]
    assert client.depth() == 0
    assert client.send(m.BasicCancel(1, "c"), m.BasicCancel(1, "c", True)) == [m.BasicCancelOk(1, "c")]


def test_a_deleted_queue_tells_its_consumers(client, connect):
    other = connect().open(1, 2)
    other.consume("a")
    other.consume("b", channel=2)
    client.consume("own")
    assert client.send(m.QueueDelete(1, 0, "q")) == [m.QueueDeleteOk(1, 0), m.BasicCancel(1, "own", True)]
    assert other.read() == [m.BasicCancel(1, "a", True), m.BasicCancel(2, "b", True)]
    client.queue()
    assert other.consume("a") == []


@pytest.mark.parametrize("capability", [False, None, "true", 1])
def test_nobody_is_told_who_did_not_ask(client, connect, capability):
    other = connect(capabilities={} if capability is None else {"consumer_cancel_notify": capability}).open()
    other.consume("a")
    client.send(m.QueueDelete(1, 0, "q"))
    assert other.read() == []
    assert other.send(m.BasicCancel(1, "a")) == [m.BasicCancelOk(1, "a")]

"""What is there again after the machine failed, after an orderly end, and what is not."""

from __future__ import annotations

import sys

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker.core.access import Permission, TopicPermission
from reference_broker.core.queues.arguments import QueueArguments
from reference_broker.core.routing import Topic
from reference_broker.core.settings import Policy
from tests.support.disks import FakeDisk
from tests.support.kept import Host

LATER = 100.0


@pytest.fixture
def client(client_on, host):
    """On channel 1, with the durable queue `q`."""
    client = client_on(host.broker)
    client.queue(durable=True)
    host.settle()
    return client


def kept(client, *bodies, **how):
    client.publish(*bodies, delivery_mode=2, **how)


# -- messages


def test_persistent_messages_are_there_in_their_order_and_say_that_they_may_come_again(client, host, client_on):
    kept(client, "a", "b", "c")
    host.settle()
    assert client_on(host.after_crash().broker).drain() == [("a", True), ("b", True), ("c", True)]


def test_transient_messages_are_not(client, host):
    client.publish("a", delivery_mode=1)
    client.publish("b")
    kept(client, "c")
    host.settle()
    assert host.after_crash().bodies("q") == ["c"]


def test_a_quorum_queue_keeps_all(client, host):
    client.quorum("r")
    client.publish("a", "b", queue="r", delivery_mode=1)
    host.settle()
    assert host.after_crash().bodies("r") == ["a", "b"]


def test_everything_about_a_message_is_kept(client, host, client_on):
    fields = [("n", "l", 7), ("t", "F", [("x", "S", b"y")])]
    kept(client, "body", content_type="text/plain", headers=fields, priority=3, message_id="m", timestamp=5)
    host.settle()
    again = client_on(host.after_crash().broker)
    ok, header, body = again.send(m.BasicGet(1, 0, "q", True))
    assert (ok.exchange, ok.routing_key, body.payload) == ("", "q", b"body")
    wanted = {"content_type": "text/plain", "headers": fields, "priority": 3, "message_id": "m", "timestamp": 5}
    assert header.properties() == {**wanted, "delivery_mode": 2}


def test_what_was_settled_is_gone_whatever_settled_it(client, host):
    client.queue("dead", durable=True)
    client.queue(
        "l",
        durable=True,
        arguments={"x-max-length": 1, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"},
    )
    host.settle()
    kept(client, "acked", "rejected", "auto-acked", "stays")
    tags = [client.get()[0] for _ in range(2)]
    client.send(m.BasicAck(1, tags[0], False), m.BasicReject(1, tags[1], False))
    client.get(no_ack=True)
    kept(client, "too many", "last", queue="l")
    host.settle()
    again = host.after_crash()
    assert (again.bodies("q"), again.bodies("l"), again.bodies("dead")) == (["stays"], ["last"], ["too many"])


def test_purged_and_deleted_messages_do_not_come_back_in_a_namesake(client, host):
    kept(client, "purged")
    client.send(m.QueuePurge(1, 0, "q"))
    client.queue("d", durable=True)
    kept(client, "deleted", queue="d")
    host.settle()
    client.send(m.QueueDelete(1, 0, "d"))
    client.queue("d", durable=True)
    kept(client, "new", queue="d")
    host.settle()
    again = host.after_crash()
    assert (again.bodies("q"), again.bodies("d")) == ([], ["new"])


def test_unacked_messages_are_ready_again_at_their_places(client, host):
    kept(client, "a", "b", "c")
    for _ in range(2):
        client.get()
    host.settle()
    assert host.after_crash().bodies("q") == ["a", "b", "c"]


def test_a_transaction_is_kept_whole_or_not_at_all(client, host):
    kept(client, "before")
    client.send(m.ChannelOpen(2), m.TxSelect(2))
    client.get(channel=2)
    kept(client, "a", "b", channel=2)
    client.send(m.BasicAck(2, 1, False))
    host.settle()
    assert host.after_crash().bodies("q") == ["before"]
    client.send(m.TxCommit(2))
    host.settle()
    assert host.after_crash().bodies("q") == ["a", "b"]


def test_after_an_orderly_end_it_is_known_what_was_delivered(client, host, client_on):
    kept(client, "delivered", "never")
    client.get()
    again = host.after_end()
    assert client_on(again.broker).drain() == [("delivered", True), ("never", False)]


def test_what_a_crash_left_in_doubt_stays_in_doubt(client, host, client_on):
    kept(client, "a")
    host.settle()
    second = host.after_crash()
    kept(client_on(second.broker), "b")
    third = second.after_end()
    assert client_on(third.broker).drain() == [("a", True), ("b", False)]


def counts(client, queue):
    """Body and failures of each message, which stay out."""
    found = []
    while True:
        got = client.send(m.BasicGet(1, 0, queue))
        if isinstance(got[0], m.BasicGetEmpty):
            return found
        found.append((got[2].payload.decode(), values.lookup(got[1].headers or [], "x-delivery-count", 0)))


def test_what_a_quorum_queue_had_out_at_a_crash_is_a_failure(client, host, client_on):
    client.quorum("r")
    host.settle()
    client.publish("out", "back", "acked", "returned and out", "never out", queue="r")
    tags = [client.get("r")[0] for _ in range(4)]
    client.send(m.BasicNack(1, tags[1], False, True), m.BasicAck(1, tags[2]), m.BasicNack(1, tags[3], False, True))
    host.settle()
    assert client.gets(2, "r") == ["back", "returned and out"]
    client.send(m.BasicNack(1, tags[3] + 1, False, True))
    host.settle()
    again = client_on(host.after_crash().broker)
    assert sorted(counts(again, "r")) == [("back", 0), ("never out", 0), ("out", 1), ("returned and out", 1)]


def test_what_a_consumer_of_a_quorum_queue_had_at_a_crash_is_a_failure_too(client, host, client_on):
    client.quorum("r")
    client.send(m.BasicQos(1, 0, 1))
    client.consume("c", "r")
    client.publish("with the consumer", "never out", queue="r")
    host.settle()
    again = client_on(host.after_crash().broker)
    assert counts(again, "r") == [("with the consumer", 1), ("never out", 0)]


def test_failures_at_crashes_add_up_to_the_delivery_limit(client, host, client_on):
    client.queue("dead", durable=True)
    client.quorum("r", delivery_limit=1, dead_letter_exchange="", dead_letter_routing_key="dead")
    host.settle()
    client.publish("1", queue="r", delivery_mode=2)
    for before in (0, 1):
        assert counts(client, "r") == [("1", before)]
        host.settle()
        host = host.after_crash()
        client = client_on(host.broker)
    assert (host.bodies("r"), host.bodies("dead")) == ([], ["1"])
    host.settle()
    assert (host.after_crash().bodies("r"), host.after_crash().bodies("dead")) == ([], ["1"])


def test_what_is_out_is_known_to_be_so_wherever_it_was_written_again(host, client_on):
    host = type(host)(host.disk, segment_octets=2000)
    client = client_on(host.broker)
    client.quorum("r")
    client.publish("out", "in", queue="r")
    client.get("r")
    client.queue(durable=True)
    for number in range(200):
        kept(client, str(number) + "x" * 100)
        client.get(no_ack=True)
        host.settle()
    assert len(host.disk.names()) < 20
    assert counts(client_on(host.after_crash().broker), "r") == [("out", 1), ("in", 0)]


def test_a_quorum_queue_knows_what_was_returned_how_often_and_in_which_order(client, host, client_on):
    client.quorum("r")
    host.settle()
    client.publish("a", "b", "c", queue="r")
    tags = [client.get("r")[0] for _ in range(3)]
    client.send(*[m.BasicReject(1, tag, True) for tag in (tags[1], tags[0])])
    again = host.after_end()
    assert again.bodies("r") == ["b", "a", "c"]
    _, header, _ = client_on(again.broker).send(m.BasicGet(1, 0, "r", False))
    assert values.lookup(header.headers, "x-delivery-count") == 1


def test_time_goes_on_while_nobody_is_there(client, host):
    client.queue("t", durable=True, arguments={"x-message-ttl": 50_000})
    kept(client, "short", queue="t")
    kept(client, "long", expiration="150000")
    host.settle()
    assert host.after_crash(later=40).bodies("t") == ["short"]
    assert host.after_crash(later=LATER).bodies("t") == []
    assert host.after_crash(later=LATER).bodies("q") == ["long"]


def test_a_message_in_many_queues_is_written_once(client, host):
    client.send(m.ExchangeDeclare(1, 0, "f", "fanout"))
    for number in range(20):
        client.queue(f"f{number}", durable=True)
        client.send(m.QueueBind(1, 0, f"f{number}", "f"))
    host.settle()
    before = sum(map(len, host.disk.contents().values()))
    kept(client, "x" * 1000, exchange="f", queue="")
    host.settle()
    assert sum(map(len, host.disk.contents().values())) - before < 2500
    assert all(host.after_crash().bodies(f"f{number}") == ["x" * 1000] for number in range(20))


# -- everything else


def test_durable_exchanges_and_bindings_are_there(client, host, client_on):
    alternate = values.table({"alternate-exchange": "amq.fanout"})
    client.send(
        m.ExchangeDeclare(1, 0, "t", "topic", durable=True, arguments=alternate),
        m.ExchangeDeclare(1, 0, "lost", "topic"),
        m.ExchangeDeclare(1, 0, "inner", "headers", durable=True, internal=True),
        m.QueueBind(1, 0, "q", "t", "a.*"),
        m.QueueBind(1, 0, "q", "amq.fanout", ""),
        m.ExchangeBind(1, 0, "inner", "t", "#"),
        m.QueueBind(1, 0, "q", "lost", ""),
        m.QueueBind(1, 0, "q", "inner", "", arguments=values.table({"x-match": "any", "k": 1})),
        m.QueueBind(1, 0, "q", "t", "gone"),
        m.QueueUnbind(1, 0, "q", "t", "gone"),
    )
    host.settle()
    vhost = host.after_crash().broker.vhost
    assert {"t", "inner"} <= set(vhost.exchanges)
    assert "lost" not in vhost.exchanges
    exchange = vhost.exchanges["t"]
    assert (exchange.TYPE, exchange.alternate, vhost.exchanges["inner"].internal) == ("topic", "amq.fanout", True)
    bound = {(one.source.name, one.destination.name, one.key) for found in vhost.bound_to.values() for one in found}
    assert bound == {("t", "q", "a.*"), ("amq.fanout", "q", ""), ("t", "inner", "#"), ("inner", "q", "")}


def test_what_was_deleted_is_not(client, host):
    client.send(m.ExchangeDeclare(1, 0, "t", "topic", durable=True), m.QueueBind(1, 0, "q", "t", "x"))
    host.settle()
    client.send(m.ExchangeDelete(1, 0, "t"), m.QueueDelete(1, 0, "q"))
    host.settle()
    again = host.after_crash()
    assert "t" not in again.broker.vhost.exchanges
    assert not again.broker.vhost.queues
    assert not again.journal.definitions.keys() - {("user", "guest"), ("permission", "guest", "/")}


def test_queues_that_end_with_somebody_are_gone(client, host):
    client.queue("transient")
    client.queue("mine", durable=True, exclusive=True)
    client.queue("unused", durable=True, auto_delete=True)
    client.queue("used", durable=True, auto_delete=True)
    client.consume(queue="used")
    host.settle()
    again = host.after_crash()
    assert set(again.broker.vhost.queues) == {"q", "unused"}
    again.settle()
    assert set(again.after_crash().broker.vhost.queues) == {"q", "unused"}


def test_arguments_of_a_queue_still_mean_the_same(client, host, client_on):
    client.queue("l", durable=True, arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    host.settle()
    host = host.after_crash()
    host.settle()
    again = client_on(host.broker)
    kept(again, "a", "b", "c", queue="l")
    host.settle()
    assert again.depth("l") == 2
    other = m.QueueDeclare(1, 0, "l", durable=True, arguments=values.table({"x-max-length": 3}))
    assert [type(frame) for frame in again.send(other)] == [m.ChannelClose]


def test_policies_virtual_hosts_users_and_permissions_are_there(host):
    broker = host.broker
    broker.vhost.set_policy(Policy("p", "^q", {"max-length": 5}, "queues", 2))
    broker.vhost.set_policy(Policy("o", "^q", {"max-length": 4}), operator=True)
    broker.add_vhost("other")
    broker.access.put("anna", password="secret", tags=["monitoring"])
    broker.permit("anna", "other", Permission("a", "b", "c"))
    broker.permit_topics("anna", "other", {"amq.topic": TopicPermission("^w", "^r")})
    broker.permit("guest", "/", Permission("", "", ""))
    host.settle()
    again = host.after_crash().broker
    assert again.vhost.settings.operator_policies["o"] == Policy("o", "^q", {"max-length": 4})
    assert again.access.users["anna"].topics == {"other": {"amq.topic": TopicPermission("^w", "^r")}}
    assert again.vhost.settings.policies["p"] == Policy("p", "^q", {"max-length": 5}, "queues", 2)
    anna = again.access.users["anna"]
    assert anna.knows("secret")
    assert (anna.tags, anna.permissions) == (("monitoring",), {"other": Permission("a", "b", "c")})
    assert again.access.permission("guest", "/") == Permission("", "", "")


def test_a_user_and_a_virtual_host_that_were_deleted_stay_away(host):
    broker = host.broker
    broker.add_vhost("other")
    broker.access.put("anna", password="secret")
    broker.permit("anna", "other", Permission())
    other = broker.vhosts["other"]
    other.add_exchange(Topic("ex"))
    other.add_queue("q", True, False, None, [], QueueArguments())
    other.bind(other.exchange("ex"), other.queue("q"), "k", [])
    other.set_policy(Policy("p", "^q", {"max-length": 5}))
    host.settle()
    broker.delete_user("guest")
    broker.delete_vhost("other")
    host.settle()
    again = host.after_crash()
    assert set(again.broker.access.users) == {"anna"}
    assert set(again.broker.vhosts) == {"/"}
    assert again.broker.access.users["anna"].permissions == {}


def test_an_empty_body_and_a_long_one(client, host):
    kept(client, "", "x" * 300_000)
    host.settle()
    assert host.after_crash().bodies("q") == ["", "x" * 300_000]


def test_a_second_queue_of_carbon_copies_keeps_the_keys(client, host):
    client.queue("copy", durable=True)
    kept(client, "a", headers=[("CC", "A", [("S", b"copy")])])
    host.settle()
    again = host.after_crash()
    assert (again.bodies("q"), again.bodies("copy")) == (["a"], ["a"])
    (entry,) = again.broker.vhost.queues["q"].ready.entries()
    assert entry.message.routing_keys() == ("q", "copy")
    assert isinstance(entry.message.header, codec.Header)


def test_reading_costs_the_same_per_message_however_many_there_are(client_on):
    def steps(messages):
        """Calls of Python functions and builtins while a log of that many is read and the broker made again."""
        host = Host(FakeDisk(), segment_octets=2000)
        client = client_on(host.broker)
        client.queue(durable=True)
        for _ in range(messages):
            kept(client, "x")
            host.settle()
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(trace)
        try:
            again = host.after_crash()
        finally:
            sys.setprofile(None)
        assert len(again.bodies("q")) == messages
        return count

    small, large = steps(40), steps(800)
    assert large / small < 1.2 * 800 / 40

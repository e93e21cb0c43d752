"""Every mutant shows on the wire, names rules, and costs the honest broker nothing."""

import re

import pytest

import codec
from codec import methods as m
from codec import values
from reference_broker import dialects
from reference_broker.mutants import MUTANTS, UnknownMutant, parts_with
from reference_broker.parts import HANDLERS, Parts
from reference_broker.settings import Policy

FLOW = m.ChannelFlow(1, True)


def requeue(tag, multiple=False):
    return m.BasicNack(1, tag, multiple, True)


def reopen(client):
    client.send(m.ChannelCloseOk(1), m.ChannelOpen(1))


def settle_singles(client):
    client.publish(*"123456")
    client.gets(5)
    client.send(m.BasicAck(1, 3), requeue(5), m.BasicReject(1, 4), m.BasicReject(1, 2, True), FLOW)
    client.gets(2)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))


def settle_multiples(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(m.BasicAck(1, 2), m.BasicAck(1, 4, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))


def nack_multiples(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(m.BasicNack(1, 2), requeue(4, True), FLOW)
    client.gets(2)
    client.send(m.BasicNack(1, 6, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))


def multiple_over_everything(client):
    client.queue("other")
    client.publish("1", "2", "3")
    client.publish("a", "b", queue="other")
    client.get()
    client.consume("x")
    client.consume("y", "other")
    client.send(m.BasicCancel(1, "x"), m.BasicCancel(1, "y"))
    client.send(m.BasicAck(1, 5, True), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.drain("other")


def tag_zero(client):
    client.open(2)
    client.publish(*"1234")
    client.get(channel=2)
    client.gets(2)
    client.send(m.BasicAck(1, 0, True), FLOW)
    client.send(m.ChannelClose(1, 200), m.ChannelClose(2, 200), m.ChannelOpen(1))


def tag_zero_on_nothing(client):
    client.send(m.BasicAck(1, 0, True), FLOW)
    client.send(m.BasicNack(1, 0, True), FLOW)


def tag_zero_alone(client):
    for method in (m.BasicAck(1, 0), m.BasicReject(1, 0), m.BasicNack(1, 0)):
        client.publish("1")
        client.get()
        client.send(method, FLOW)
        reopen(client)


def stale_multiple(client):
    client.publish(*"1234")
    client.gets(4)
    client.send(m.BasicAck(1, 2), m.BasicAck(1, 2, True), FLOW)
    reopen(client)


def stale_nack_multiple(client):
    client.publish(*"1234")
    client.gets(4)
    client.send(m.BasicAck(1, 2), m.BasicNack(1, 2, True), FLOW)
    reopen(client)


def multiple_beyond(client):
    client.publish(*"123")
    client.gets(3)
    client.send(m.BasicAck(1, 9, True), FLOW)
    reopen(client)


def large_tags(client):
    client.publish("1")
    client.get()
    for tag, multiple in ((2**63, False), (2**64 - 1, True)):
        client.send(m.BasicAck(1, tag, multiple), FLOW)
        reopen(client)


def doubles(client):
    for first in (m.BasicAck(1, 1), requeue(1), m.BasicReject(1, 1)):
        for second in (m.BasicAck(1, 1), m.BasicNack(1, 1), m.BasicReject(1, 1)):
            client.publish("1")
            client.get()
            client.send(first, second, FLOW)
            reopen(client)
            client.gets(3, no_ack=True)


def auto_ack(client):
    client.publish(*"12")
    client.get(no_ack=True)
    client.consume("auto", no_ack=True)
    client.publish("3")
    client.consume("manual")
    client.publish(*"4567")
    client.send(m.BasicAck(1, 1), FLOW)
    reopen(client)


def auto_ack_lost(client):
    other = type(client)(client.core).open()
    other.consume("auto", no_ack=True)
    client.publish("1", "2")
    other.connection.lost()


def two_consumers(client):
    client.queue("other")
    client.consume("x")
    client.consume("y", "other")
    sent = [codec.content(m.BasicPublish(1, 0, "", queue), b"m") for queue in ("q", "other", "q")]
    client.send(*sent)
    client.get()
    client.publish("z", queue="other")


def get_between_deliveries(client):
    client.send(m.BasicQos(1, 0, 1))
    client.publish(*"123")
    client.consume()
    client.get()
    client.send(m.BasicAck(1, 1), FLOW)


def close_and_reopen(client):
    client.publish(*"123")
    client.gets(2)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.send(m.BasicAck(1, 1), FLOW)
    reopen(client)
    client.get()


def two_channels(client):
    client.open(2)
    client.publish(*"12")
    client.get()
    client.get(channel=2)
    client.send(m.BasicAck(1, 1), m.ChannelFlow(2, True))


def foreign_tag(client):
    client.open(2)
    client.publish(*"12")
    client.gets(2)
    client.send(m.BasicAck(2, 2), m.ChannelFlow(2, True), FLOW)
    client.send(m.ChannelCloseOk(2), m.ChannelClose(1, 200), m.ChannelOpen(1))


def error_beside_a_consumer(client):
    client.open(2)
    client.consume("c", channel=2)
    client.send(m.BasicAck(1, 9))
    reopen(client)
    client.publish("1")
    client.send(m.ChannelFlow(2, True))


def pipelined_after_error(client):
    client.consume()
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"late")
    client.send(m.BasicAck(1, 9), publish, FLOW)
    other = type(client)(client.core).open()
    other.publish("1")
    client.read()
    reopen(client)


def pipelined_without_consumer(client):
    publish = codec.content(m.BasicPublish(1, 0, "", "q"), b"late")
    client.send(m.BasicAck(1, 9), publish, FLOW)
    reopen(client)


def modes_after_reopen(client):
    client.send(m.ConfirmSelect(1), m.BasicQos(1, 0, 1), m.BasicAck(1, 9))
    reopen(client)
    client.publish(*"123")
    client.consume()


def crossing_closes(client):
    client.send(m.BasicAck(1, 9))
    client.send(m.ChannelClose(1, 200))
    reopen(client)


def hard_error(client):
    client.send(m.BasicQos(1, 10))


def consumer_tag_twice(client):
    client.consume("t")
    client.consume("t")


def unopened(client):
    client.send(m.BasicAck(7, 1), FLOW)


def publish_and_consume_confirmed(client):
    client.send(m.ConfirmSelect(1))
    client.publish("1", "2")
    client.consume()
    client.publish("3")


def many_acks_then_close(client):
    client.publish(*map(str, range(60)))
    client.gets(60)
    client.send(*[m.BasicAck(1, tag) for tag in range(1, 61)], m.ChannelClose(1, 200), m.ChannelOpen(1))


def cancel_then_settle(client):
    client.publish(*"12")
    client.consume()
    client.send(m.BasicCancel(1, "c"))
    client.get()
    client.send(m.BasicAck(1, 1), m.BasicNack(1, 2), FLOW)
    reopen(client)


def settle_of_deleted_queue(client):
    client.queue("brief")
    client.publish("1", queue="brief")
    client.get("brief")
    client.send(m.QueueDelete(1, 0, "brief"), m.BasicAck(1, 1), FLOW)


def discard_with_dead_letters(client):
    client.queue("dead")
    client.queue("q2", arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"})
    client.publish("1", "2", queue="q2")
    client.gets(2, "q2")
    client.send(m.BasicNack(1, 2, True, False), FLOW)
    client.drain("dead")


def requeue_order(client):
    client.publish(*"12345678")
    client.gets(6)
    client.send(requeue(4), requeue(2), m.BasicReject(1, 5, True), requeue(6, True))


def requeue_to_a_consumer(client):
    client.publish(*"123")
    client.consume()
    client.send(requeue(2), FLOW)
    client.send(requeue(3, True), FLOW)


def requeue_elsewhere(client):
    other = type(client)(client.core).open()
    client.publish(*"123")
    client.gets(2)
    client.send(requeue(1))
    other.gets(3)
    client.publish("4")
    other.get()
    client.log += other.log


def recover(client):
    client.publish(*"123")
    client.get()
    client.consume()
    client.send(m.BasicRecover(1, True), FLOW)
    client.send(m.BasicAck(1, 1), FLOW)


def mixed_persistence(client):
    for body, mode in (("1", 1), ("2", 2), ("3", 1)):
        client.publish(body, delivery_mode=mode)


def deletion_with_consumers(client):
    client.open(2)
    client.queue("brief")
    client.publish(*"12345", queue="brief")
    client.send(m.BasicQos(1, 0, 1), m.BasicQos(2, 0, 1))
    for tag, queue, channel in (("a", "brief", 1), ("b", "brief", 1), ("c", "brief", 2), ("d", "q", 1)):
        client.consume(tag, queue, channel)
    client.send(m.QueueDelete(2, 0, "brief"))
    client.publish("4")
    client.send(m.BasicCancel(1, "a"), m.BasicAck(1, 1), m.BasicCancelOk(1, "b"), FLOW)


def deletion_before_the_deaf(client):
    for announced in ({}, {"consumer_cancel_notify": 1}):
        other = type(client)(client.core, capabilities=announced).open()
        client.queue("brief")
        other.consume("a", "brief")
        client.send(m.QueueDelete(1, 0, "brief"))
        other.read()
        client.log += other.log


def cancels_of_all_kinds(client):
    client.open(2)
    client.consume("c")
    client.send(m.BasicCancel(1, "c"), FLOW)
    client.publish("0")
    client.send(m.BasicCancel(1, "c"), FLOW)
    client.send(m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.consume("s", channel=2)
    client.publish("1")
    client.consume("c")
    client.send(m.BasicCancel(1, "c", True), FLOW)
    client.consume("c")
    client.consume("s")


def close_of_a_laden_channel(client):
    client.publish(*"1234")
    client.gets(2)
    client.consume("gone")
    client.send(m.BasicCancel(1, "gone"), m.ChannelClose(1, 200), m.ChannelOpen(1))


def close_of_a_laden_connection(client):
    client.open(2)
    client.publish(*"12")
    client.get()
    client.get(channel=2)
    client.send(m.ConnectionClose(0, 200))


def loss_with_much_unread(client):
    client.publish(*map(str, range(30)))
    client.consume()


def error_of_a_laden_channel(client):
    client.publish(*"12")
    client.gets(2)
    client.send(m.BasicAck(1, 9))


def close_in_a_transaction(client):
    client.publish(*"12")
    client.send(m.TxSelect(1))
    client.gets(2)
    client.send(m.BasicAck(1, 1), m.ChannelClose(1, 200))


def silence(client):
    other = type(client)(client.core, log_in=False)
    other.send(
        codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0, 2047, 131072, 2), m.ConnectionOpen(0, "/"),
    )  # fmt: skip
    for _ in range(8):
        client.core.move_to(client.core.clock.now + 1)
        other.read()
        client.log.append(other.connection.finished)


def close_before_one_who_waits(client):
    other = type(client)(client.core).open()
    client.publish("1")
    client.get()
    other.consume()
    client.send(m.ChannelClose(1, 200))
    other.read()
    client.log += other.log


def limit(count, shared=False, channel=1):
    return m.BasicQos(channel, 0, count, shared)


def limits_of_consumers(client):
    client.queue("other")
    client.publish(*"123456")
    client.publish(*"abcdef", queue="other")
    client.send(limit(2), limit(2))
    client.consume("x")
    client.consume("y")
    client.send(limit(4), limit(0))
    client.consume("z", "other")
    client.get()


def limits_of_channels(client):
    client.queue("other")
    client.publish(*"123456")
    client.publish(*"abcdefgh", queue="other")
    client.gets(2)
    client.send(limit(4, True), limit(3))
    client.consume("x", "other")
    client.consume("y")
    client.send(m.BasicAck(1, 1), limit(2, True), m.BasicAck(1, 3), limit(6, True), FLOW)


def limits_the_other_way_round(client):
    client.publish(*"1234567")
    client.send(limit(3), limit(5, True))
    client.consume("x")
    client.consume("y")


def limits_of_two_channels(client):
    client.open(2)
    client.publish(*"123456")
    client.send(limit(2), limit(1, True))
    client.consume("x", channel=2)


def limits_lowered(client):
    client.publish(*"123456789")
    client.consume("x")
    client.send(limit(2, True))
    client.publish("a", "b")
    client.send(m.BasicAck(1, 8, True), FLOW, m.BasicAck(1, 9), FLOW)


def automatic_under_limits(client):
    client.queue("other")
    client.publish(*"1234")
    client.publish(*"abcd", queue="other")
    client.send(limit(2), limit(3, True))
    client.consume("x", no_ack=True)
    client.consume("y", "other")


def limit_and_global_on_a_quorum_queue(client):
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum"})
    client.send(limit(2, True))
    client.consume("x", "qq")


def slots_one_by_one(client):
    client.publish(*"123456789abcdef")
    client.send(limit(4))
    client.consume("x")
    for method in (m.BasicAck(1, 3), m.BasicReject(1, 2), requeue(4), m.BasicAck(1, 1)):
        client.send(method, FLOW)


def slots_of_several(client):
    client.queue("other")
    client.publish(*"123456789abcdef")
    client.publish(*"123456789abcdef", queue="other")
    client.send(limit(3))
    client.consume("x")
    client.send(limit(2))
    client.consume("y", "other")
    client.send(m.BasicAck(1, 2), FLOW, m.BasicAck(1, 5, True), FLOW)


def slots_of_cancelled_consumers(client):
    client.publish(*"123456789")
    client.send(limit(3), limit(4, True))
    client.consume("x")
    client.send(m.BasicCancel(1, "x"))
    client.consume("y")
    client.send(m.BasicAck(1, 3, True), FLOW)


def slots_and_gets(client):
    client.publish(*"123456")
    client.get()
    client.send(limit(2))
    client.consume("x")
    client.send(m.BasicAck(1, 1), FLOW)


def slots_before_commit(client):
    client.publish(*"123456")
    client.send(m.TxSelect(1), limit(2))
    client.consume("x")
    client.send(m.BasicAck(1, 1), FLOW, m.TxCommit(1))


def returns_to_a_quorum_queue(client):
    client.open(2)
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum"})
    client.publish(*"123456", queue="qq")
    client.gets(4, "qq")
    client.send(requeue(3), m.BasicReject(1, 2, True), FLOW)
    client.gets(3, "qq", 2)


def returns_beyond_the_limit(client):
    client.queue("qq", durable=True, arguments={"x-queue-type": "quorum", "x-delivery-limit": 2})
    for give_back in (lambda tag: m.BasicReject(1, tag, True), requeue):
        client.publish("1", queue="qq")
        for _ in range(4):
            delivery = client.get("qq")
            if delivery is not None:
                client.send(give_back(delivery[0]), FLOW)


def quorum(client, name, **arguments):
    named = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
    client.queue(name, durable=True, arguments={"x-queue-type": "quorum", **named})


def eat(client, tag, queue, timeout=None, channel=1):
    arguments = [] if timeout is None else values.table({"x-consumer-timeout": timeout})
    client.consume(tag, queue, channel, arguments=arguments)


def wait(client, seconds):
    """Time passes in steps, and what is said meanwhile is read after each."""
    for _ in range(round(seconds * 10)):
        client.core.move_to(client.core.clock.now + 0.1)
        client.read()
        client.send(FLOW)


def timeout_levels(client):
    settings = client.core.vhost.settings
    for name, level in (("u", 2000), ("v", 3000)):
        settings.policies[name] = Policy(name, f"^{name}$", {"consumer-timeout": level})
    settings.policies["q"] = Policy("q", "^q$", {"consumer-timeout": 500})
    client.open(2)
    for name, argument in (("t", 1000), ("u", 3000), ("v", 2000)):
        quorum(client, name, consumer_timeout=argument)
    quorum(client, "w")
    quorum(client, "x", consumer_timeout=4000)
    settings.consumer_timeout = 1500
    for name in "tuvwxq":
        client.publish("1", queue=name)
    for tag, queue, timeout in (("a", "t", 1700), ("b", "u", None), ("c", "v", None), ("d", "w", None), ("e", "x", 0)):
        eat(client, tag, queue, timeout, 2)
    eat(client, "f", "q", None, 2)
    wait(client, 3.5)


def timeout_default(client):
    quorum(client, "t")
    client.publish("1", queue="t")
    eat(client, "a", "t")
    client.core.move_to(client.core.clock.now + 1801)
    client.read()
    client.send(FLOW)


def timed_out(client, *settle):
    """Two consumers and three deliveries, of which two time out one after the other; then this is done."""
    quorum(client, "t")
    quorum(client, "u")
    client.publish("a", queue="u")
    client.send(m.BasicQos(1, prefetch_count=2))
    eat(client, "y", "u", 60000)
    eat(client, "x", "t", 1000)
    wait(client, 0.3)
    client.publish("1", queue="t")
    wait(client, 0.5)
    client.publish("2", "3", "4", queue="t")
    eat(client, "z", "t", 60000)
    wait(client, 2)
    client.send(*settle, FLOW)
    wait(client, 1.5)


def timeout_settled(client):
    timed_out(client, m.BasicAck(1, 2), FLOW, m.BasicAck(1, 3), FLOW)


def timeout_settled_again(client):
    timed_out(client, m.BasicAck(1, 2), FLOW, m.BasicAck(1, 2), FLOW)


def timeout_settled_late(client):
    timed_out(client, m.BasicAck(1, 1), m.BasicAck(1, 4), FLOW, m.BasicNack(1, 2), m.BasicAck(1, 3))


def timeout_alone(client):
    """One consumer, one message, which goes back again and again."""
    quorum(client, "t")
    client.publish("1", "2", "3", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    eat(client, "x", "t", 0)
    for number in range(1, 24):
        wait(client, 0.1)
        client.send(m.BasicAck(1, number), FLOW)


def timeout_in_time(client):
    quorum(client, "t")
    client.publish("1", queue="t")
    eat(client, "x", "t", 500)
    client.send(m.BasicAck(1, 1), FLOW)
    wait(client, 1)


def timeout_agreed(client):
    quorum(client, "t")
    client.publish("1", "2", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    eat(client, "x", "t", 500)
    wait(client, 1)
    client.send(m.BasicCancelOk(1, "x"), FLOW)
    eat(client, "x", "t", 60000)
    client.send(m.BasicAck(1, 1), FLOW, m.ChannelClose(1, 200), m.ChannelOpen(1))
    client.drain("t")


def timeout_unannounced(client):
    """A client that can be notified and one that cannot share a queue."""
    quorum(client, "t")
    client.publish("1", "2", queue="t")
    client.send(m.BasicQos(1, prefetch_count=1))
    eat(client, "x", "t", 500)
    other = type(client)(client.core, {}).open()
    other.send(m.BasicQos(1, prefetch_count=1))
    eat(other, "y", "t", 500)
    wait(client, 1)
    other.read()
    other.send(m.ChannelCloseOk(1), m.ChannelOpen(1))
    client.log += other.log


def timeout_by_tick(client):
    client.core.vhost.dialect = dialects.dialect("rabbitmq-4.0")
    client.queue("t", arguments={"x-consumer-timeout": 1000})
    client.publish("1", queue="t")
    client.consume("x", "t")
    client.core.move_to(client.core.clock.now + 61)
    client.read()
    client.send(FLOW)


def content(body, queue="q", exchange="", mandatory=False, **properties):
    return codec.content(m.BasicPublish(1, 0, exchange, queue, mandatory), body.encode(), **properties)


def confirms_selected_twice(client):
    client.send(m.ConfirmSelect(1, True), FLOW)
    client.publish("1", "2")
    client.send(m.ConfirmSelect(1))
    client.publish("3")


def confirms_after_plain_publishes(client):
    client.publish("1")
    client.send(m.ConfirmSelect(1), content("2"))
    client.publish("3")


def confirms_on_several_channels(client):
    client.open(2, 3)
    client.send(m.ConfirmSelect(1), m.ConfirmSelect(2))
    for channel in (1, 2, 3, 1):
        client.publish("m", channel=channel)


def confirms_and_transactions(client):
    client.send(m.ConfirmSelect(1), m.TxSelect(1))
    reopen(client)
    client.send(m.TxSelect(1), m.ConfirmSelect(1))


def confirms_of_all_sizes(client):
    client.send(m.ConfirmSelect(1))
    for body in ("", "x" * 300_000, "y"):
        client.publish(body)


def confirms_of_what_leaves(client):
    client.send(m.ConfirmSelect(1))
    client.send(content("1"), m.QueuePurge(1, 0, "q"))


def confirms_beside_acknowledgements(client):
    client.publish("1", "2")
    client.gets(2)
    client.send(m.ConfirmSelect(1), content("3"), content("4"), m.BasicAck(1, 1))


def confirms_of_full_queues(client):
    client.queue("full", arguments={"x-max-length": 2, "x-overflow": "reject-publish"})
    client.send(m.ConfirmSelect(1), m.QueueBind(1, 0, "full", "amq.fanout"), m.QueueBind(1, 0, "q", "amq.fanout"))
    client.publish(*"12345", queue="full")
    client.publish("6", exchange="amq.fanout")
    client.drain("full")


def confirms_of_fanned_out(client):
    client.queue("other")
    client.send(m.ConfirmSelect(1), m.QueueBind(1, 0, "other", "amq.fanout"), m.QueueBind(1, 0, "q", "amq.fanout"))
    client.publish("1", exchange="amq.fanout")
    client.drain("other")
    client.drain()


def confirms_of_unroutable(client):
    client.send(m.ConfirmSelect(1))
    for mandatory in (False, True):
        client.publish("1", queue="nowhere", mandatory=mandatory)
        client.publish("2", mandatory=mandatory)


def confirms_of_failing_publishes(client):
    client.send(m.ConfirmSelect(1), content("1", expiration="soon"))
    reopen(client)


def transaction_with_a_wrong_ack(client):
    client.send(m.TxSelect(1), m.BasicAck(1, 9), FLOW, m.TxCommit(1))
    reopen(client)


def transaction_rolled_back(client):
    client.publish("1", "2")
    client.send(m.TxSelect(1))
    client.gets(1)
    client.send(m.BasicAck(1, 1), m.TxRollback(1))
    client.get()
    client.send(m.BasicAck(1, 1), FLOW)
    reopen(client)


def transaction_with_publishes(client):
    client.send(m.TxSelect(1), content("1"), content("2", "nowhere", mandatory=True))
    client.drain()
    client.send(m.TxCommit(1))


def no_transaction(client):
    for method in (m.TxCommit(1), m.TxRollback(1)):
        client.send(method)
        reopen(client)


SCRIPTS = [
    script for name, script in list(globals().items())
    if callable(script) and getattr(script, "__module__", None) == __name__
    and name not in ("requeue", "reopen", "limit", "quorum", "eat", "wait", "timed_out", "content")
]  # fmt: skip


def transcripts(client_of, *mutants):
    """What each script makes the broker send; the queue is drained at the end, by another connection."""
    seen = {}
    for script in SCRIPTS:
        client = client_of(*mutants)
        script(client)
        client.connection.lost()
        drainer = type(client)(client.core).open()
        drainer.drain()
        seen[script.__name__] = [repr(frame) for frame in client.log + drainer.log]
    return seen


@pytest.fixture(scope="module")
def honest(client_of):
    return transcripts(client_of)


@pytest.mark.parametrize("name", MUTANTS)
def test_each_mutant_shows_on_the_wire(client_of, honest, name):
    mutated = transcripts(client_of, name)
    assert [script for script in mutated if mutated[script] != honest[script]] != []


def test_each_mutant_names_rules_and_says_what_it_does():
    for name, mutant in MUTANTS.items():
        assert mutant.name == name
        assert re.fullmatch(r"[a-z]+\.[a-z0-9-]+", name)
        assert mutant.says[:1].islower()
        assert mutant.rules
        assert all(re.fullmatch(r"[A-Z]{2,4}-\d{3}", rule) for rule in mutant.rules)


def test_mutants_of_different_parts_go_together(client_of):
    client = client_of("tags.start-at-zero", "requeue.at-tail")
    client.publish("1", "2", "3")
    assert client.get() == (0, "1", False)
    client.send(m.BasicNack(1, 0, True, True))
    assert [body for body, _ in client.drain()] == ["2", "3", "1"]


def test_an_unknown_mutant_is_named_with_its_neighbours():
    with pytest.raises(UnknownMutant, match=r"'settle.single-takes-oldst'; did you mean settle.single-takes-oldest"):
        parts_with(["settle.single-takes-oldst"])


def test_without_mutants_every_part_is_the_honest_one():
    assert parts_with([]) == Parts()
    parts_with(MUTANTS)
    assert Parts().handlers == HANDLERS

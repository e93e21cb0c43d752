"""Whatever clients send, in whatever order: the core does not fail, loses nothing, and serves whom it can."""

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from reference_broker.core.broker import Broker
from reference_broker.core.connections.lifecycle import Phase
from tests.support.octets import strategies
from tests.support.octets.strategies import damaged

LOGIN = b"".join(
    item.encode()
    for item in (
        codec.ProtocolHeader(), m.ConnectionStartOk(0, [], "PLAIN", b"\0guest\0guest", "en_US"),
        m.ConnectionTuneOk(0), m.ConnectionOpen(0, "/"), m.ChannelOpen(1), m.ChannelOpen(2),
    )
)  # fmt: skip
QUEUES = {
    "plain": {},
    "short": {"x-max-length": 2},
    "strict": {"x-max-length": 2, "x-overflow": "reject-publish"},
    "brief": {"x-message-ttl": 1000, "x-dead-letter-exchange": "", "x-dead-letter-routing-key": "plain"},
}

channels = st.sampled_from([1, 2])
queues = st.sampled_from([*QUEUES, "plain", "plain"])
flags = st.booleans()
seldom = st.sampled_from([False] * 7 + [True])
counts = st.sampled_from([0, 1, 2, 5])
consumer_tags = st.sampled_from(["a", "b", "c"])


def build(kind, **arguments):
    return st.builds(kind, channels, **arguments)


def settling(kind, **arguments):
    """A settlement of one of the tags that are outstanding when it is sent: commands that meet are what finds bugs."""
    return build(kind, delivery_tag=st.integers(0, 1000), **arguments).map(lambda method: [method])


publishes = st.builds(
    lambda channel, queue, body, mandatory, how, count: count * codec.content(
        m.BasicPublish(channel, 0, "", queue, mandatory), body, **how
    ),
    channels, queues, st.sampled_from([b"", b"xy", b"z" * 50]), flags, st.sampled_from([{}, {"expiration": "500"}]),
    st.sampled_from([1, 2, 4]),
)  # fmt: skip
consumes = build(m.BasicConsume, queue=queues, consumer_tag=consumer_tags, no_ack=seldom)
OFTEN = [
    *[publishes] * 4,
    build(m.BasicGet, queue=queues, no_ack=seldom),
    consumes,
    consumes,
    build(m.BasicCancel, consumer_tag=consumer_tags),
    build(m.BasicQos, prefetch_count=counts, global_=flags),
    *[settling(m.BasicAck, multiple=flags)] * 2,
    settling(m.BasicNack, multiple=flags, requeue=flags),
    settling(m.BasicReject, requeue=flags),
]
SELDOM = [
    build(m.BasicAck, delivery_tag=st.integers(0, 12), multiple=flags),
    build(m.BasicRecover, requeue=st.just(True)),
    build(m.ConfirmSelect),
    build(m.TxSelect),
    build(m.TxCommit),
    build(m.TxRollback),
    build(m.QueuePurge, queue=queues),
    build(m.QueueDelete, queue=queues),
    st.builds(lambda channel: m.ChannelClose(channel).encode() + m.ChannelOpen(channel).encode(), channels),
]
COMMANDS = st.sampled_from([OFTEN] * 5 + [SELDOM]).flatmap(st.sampled_from).flatmap(lambda command: command)
STEPS = st.lists(st.tuples(st.integers(0, 1), COMMANDS, st.sampled_from([0, 0, 0, 0.4])), min_size=30, max_size=60)


def octets(connection, command):
    """What to send for a drawn command; nothing if there is nothing to settle, commit or roll back."""
    if isinstance(command, bytes):
        return command
    if isinstance(command, m.TxCommit | m.TxRollback) and not connection.channels[command.channel].transaction:
        return b""
    if isinstance(command, m.BasicConsume) and command.consumer_tag in connection.channels[command.channel].consumers:
        return b""
    if not isinstance(command, list):
        return command.encode()
    holding = [channel for channel in connection.channels.values() if channel.unacked.by_tag]
    if not holding:
        return b""
    method = codec.decode(command[0].encode())
    channel = holding[method.channel % len(holding)]
    outstanding = list(channel.unacked.by_tag)
    method.channel = channel.number
    method.delivery_tag = outstanding[method.delivery_tag % len(outstanding)]
    return method.encode()


def repair(core, connections, number):
    """A client that was refused opens its channel, or a connection, anew."""
    connection = connections[number]
    if connection.phase is not Phase.RUNNING:
        connection.lost()
        connection = connections[number] = core.connect()
        connection.feed(LOGIN)
    for channel in (1, 2):
        if connection.channels[channel].closing:
            connection.feed(m.ChannelCloseOk(channel).encode() + m.ChannelOpen(channel).encode())
    declare(connection)


def fresh():
    core = Broker()
    connections = [core.connect() for _ in range(2)]
    for connection in connections:
        connection.feed(LOGIN)
    declare(connections[0])
    return core, connections


def declare(connection):
    for name, arguments in QUEUES.items():
        connection.feed(m.QueueDeclare(1, 0, name, no_wait=True, arguments=values.table(arguments)).encode())


def check(core):
    """What must be true between any two inputs."""
    outstanding = [d for c in core.connections for channel in c.channels.values() for d in unsettled(channel)]
    for queue in core.vhost.queues.values():
        entries = [entry for _, entry in queue.ready.returned] + list(queue.ready.fresh)
        entries += [delivery.entry for delivery in outstanding if delivery.queue is queue]
        assert len({id(entry) for entry in entries}) == len(entries)
        assert len({entry.position for entry in entries}) == len(entries)
        assert queue.ready.octets == sum(len(entry.message.body) for entry in entries[: len(queue.ready)])
        waiting_rooms(queue)
    for connection in core.connections:
        for channel in connection.channels.values():
            held(channel)


def waiting_rooms(queue):
    """A consumer is in the ring or parked, not both; while there are messages, only full limits keep it back."""
    for consumer in queue.consumers:
        lots = [lot for lot in (consumer.own, consumer.shared, consumer.channel.connection.outbox.limit)
                if consumer in lot.parked]  # fmt: skip
        assert queue.ring.count(consumer) + len(lots) == 1
        assert not lots or lots[0].full()
    assert not (queue.ring and queue.ready)
    assert set(queue.ring) <= set(queue.consumers)


def unsettled(channel):
    parked = channel.transaction.settled if channel.transaction else []
    return [*channel.unacked.by_tag.values(), *(delivery for deliveries, _ in parked for delivery in deliveries)]


def held(channel):
    deliveries = [delivery for delivery in unsettled(channel) if delivery.consumer is not None]
    by_consumer = Counter(delivery.consumer for delivery in deliveries)
    assert channel.limit.held == len(deliveries)
    assert all(consumer.own.held == by_consumer[consumer] for consumer in channel.consumers.values())
    assert all(not c.own.count or c.own.held <= c.own.count for c in channel.consumers.values())
    assert list(channel.unacked.by_tag) == sorted(channel.unacked.by_tag)


@given(STEPS)
@settings(max_examples=150, deadline=None)
def test_any_sequence_of_commands_keeps_the_books_straight(steps):
    core, connections = fresh()
    for number, command, pause in steps:
        core.move_to(core.clock.now + pause)
        connections[number].feed(octets(connections[number], command))
        check(core)
        for connection in connections:
            out = connection.take()
            assert codec.decode_many(out)[1] == len(out)
        repair(core, connections, number)
        check(core)
    for connection in connections:
        connection.lost()
    for queue in core.vhost.queues.values():
        assert not queue.consumers
        assert not queue.ring
        positions = [queue.ready.pop().position for _ in range(len(queue.ready))]
        assert positions == sorted(positions)


@given(st.lists(st.one_of(strategies.frames(), damaged(), st.binary(max_size=40)), max_size=12))
@settings(max_examples=150, deadline=None)
def test_any_octets_are_answered_with_whole_frames(pieces):
    core, (connection, _) = fresh()
    connection.take()
    for piece in pieces:
        connection.feed(piece)
        out = connection.take()
        assert codec.decode_many(out)[1] == len(out)
    check(core)


@given(st.binary(max_size=60))
@settings(max_examples=50, deadline=None)
def test_any_greeting_is_survived(octets):
    connection = Broker().connect()
    connection.feed(octets)
    connection.take()
    assert connection.phase in (Phase.GREETING, Phase.LOGIN, Phase.CLOSING, Phase.CLOSED)

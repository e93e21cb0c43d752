"""QUEUE: queues declared, declared again, looked for, shared and deleted, lawfully and not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from codec import Method
from codec import methods as m
from conformance.catalogue.rules.features import PASSIVE, asked_of
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.scenes.marks import QueueType, rule
from conformance.drive.scenes.props import BAD_TAG, confirming, reopen, stocked
from conformance.drive.stage import Stage

CLASSIC: tuple[QueueType, ...] = ("classic",)
GONE = 2.1
"""Seconds after which what goes with something else has certainly gone."""
SEVERAL = 9
LENGTH, OCTETS, LEVELS = "x-max-length", "x-max-length-bytes", "x-max-priority"
DEAD_LETTERS, DEAD_KEY = "x-dead-letter-exchange", "x-dead-letter-routing-key"


def typed(stage: Stage, **arguments: object) -> dict[str, object]:
    """Arguments of a declaration, with the type of queue that the stage is about."""
    return {**({"x-queue-type": stage.queue_type} if stage.profile.typed else {}), **arguments}


def delete_if(channel: Channel, queue: str, *, unused: bool = False, empty: bool = False) -> None:
    """By this channel, on these conditions."""
    channel.send(m.QueueDelete(channel.number, queue=queue, if_unused=unused, if_empty=empty))


def elsewhere(stage: Stage) -> Channel:
    """A channel of another connection."""
    return stage.channel(connection=stage.connect(f"other{len(stage.connections)}"))


def owned(stage: Stage, *, no_wait: bool = False) -> tuple[str, Channel]:
    """A queue that is exclusive to a connection of its own, and the channel that declared it."""
    owner = stage.connect(f"owner{len(stage.connections)}")
    channel, queue = stage.channel(connection=owner), stage.recorder.private_name()
    stage.belongings.queues[queue] = owner
    channel.declare(queue, durable=False, exclusive=True, no_wait=no_wait, arguments=typed(stage))
    stage.barrier(channel)
    return queue, channel


def leave(stage: Stage, connection: RawConnection) -> None:
    """The client closes the connection, unless the broker has ended it, and waits until the broker agrees."""
    if not connection.alive:
        return
    connection.queue(m.ConnectionClose(0, 200, "normal shutdown"))
    connection.flush()
    stage.waiter.settles(lambda: any(_agreed(stage, connection)))


def _agreed(stage: Stage, connection: RawConnection) -> list[bool]:
    return [one.connection == connection.name and one.method == "connection.close-ok" for one in stage.events]


@rule("QUEUE-001")
def test_missing_queues_are_not_found(stage: Stage) -> None:
    """Deleted by another channel, and by the one that asks; looked for twice, and once more after a declaration of that
    name which brokers refuse. One that is there has the name of the first, but for its case. And one that was deleted
    with if-empty, if that was granted, while its message was out."""
    if stage.queue_type == "classic":
        queue, channel = stocked(stage, 1), stage.channel()
        stage.fetch(elsewhere(stage), queue)
        for asks in (partial(delete_if, channel, empty=True), partial(channel.declare, passive=True)):
            asks(queue)
            stage.quiesce()
            if channel.state != "open":
                reopen(stage, channel)
    for own in (False, True):
        queue, channel = stage.queue(), stage.channel()
        stage.queue(name=queue.swapcase())
        (channel if own else stage.backstage(queue)).delete(queue)
        stage.quiesce()
        for _ in range(2):
            channel.declare(queue, passive=True)
            reopen(stage, channel)
        if not stage.offers(LENGTH):
            continue
        channel.declare(queue, arguments=typed(stage, **{LENGTH: -1}))
        stage.quiesce()
        if channel.state == "open":
            return  # it makes one of it
        reopen(stage, channel)
        channel.declare(queue, passive=True)
        reopen(stage, channel)


@rule("QUEUE-007", queue_types=CLASSIC, last=True)
def test_exclusive_queues_are_locked(stage: Stage) -> None:
    """Its own connection uses the queue by another channel than the one that declared it; then another connection does,
    in every way, with an answer or without; its own then finds it. And again, where it was declared with nowait; and
    where channels of its own have failed, among them the one that had declared it."""
    for no_wait in (False, True) if stage.offers("nowait") else (False,):
        _locked(stage, *owned(stage, no_wait=no_wait))
    _locked(stage, *owned(stage), failed=True)


def _locked(stage: Stage, queue: str, owner: Channel, *, failed: bool = False) -> None:
    beside, exchange = stage.channel(connection=owner.connection), stage.exchange()
    for method in _offered(stage, _uses(beside, queue, exchange)[:-1]):
        beside.send(method)
        stage.quiesce()
        if beside.state != "open":
            reopen(stage, beside)
    for one in (beside, owner) if failed else ():
        if one.state == "open":
            one.ack(BAD_TAG)
            reopen(stage, one)
    channel = elsewhere(stage)
    for method in _offered(stage, (*_uses(channel, queue, exchange), *_quiet_uses(channel, queue, exchange))):
        channel.send(method)
        reopen(stage, channel)
    if stage.offers(PASSIVE):
        stage.channel(connection=owner.connection).declare(queue, passive=True)
        stage.quiesce()


def _offered(stage: Stage, methods: Iterable[Method]) -> Iterator[Method]:
    """Those that this broker takes at all: the others are no use of the queue."""
    return (method for method in methods if all(map(stage.offers, asked_of(method))))


def _uses(channel: Channel, queue: str, exchange: str) -> tuple[Method, ...]:
    """First what brokers are known to forget: one that ends the connection is not asked for the rest."""
    number = channel.number
    return (
        m.BasicGet(number, queue=queue),
        m.QueuePurge(number, queue=queue),
        m.QueueUnbind(number, queue=queue, exchange=exchange, routing_key=queue),
        m.QueueBind(number, queue=queue, exchange=exchange, routing_key=queue),
        m.QueueDeclare(number, queue=queue, passive=True),
        m.QueueDeclare(number, queue=queue, exclusive=True),
        m.BasicConsume(number, queue=queue, consumer_tag="other"),
        m.QueueDelete(number, queue=queue),
    )


def _quiet_uses(channel: Channel, queue: str, exchange: str) -> tuple[Method, ...]:
    number = channel.number
    return (
        m.QueueDeclare(number, queue=queue, passive=True, no_wait=True),
        m.QueueBind(number, queue=queue, exchange=exchange, routing_key=queue, no_wait=True),
        m.QueuePurge(number, queue=queue, no_wait=True),
        m.BasicConsume(number, queue=queue, consumer_tag="quiet", no_wait=True),
        m.QueueDelete(number, queue=queue, no_wait=True),
    )


@rule("QUEUE-008", queue_types=CLASSIC)
def test_exclusive_queues_go_with_their_connection(stage: Stage) -> None:
    """Connections are closed, and some of their clients hang up, others do not; when the queues must have gone, they
    are looked for. Every second queue was declared twice, and one connection has several of them. The last is closed by
    the broker, over a mistake."""
    owners, queues = [], []
    kinds = (False, False, SEVERAL), (False, True, 0), (True, False, 0), (True, True, 0), (False, False, 1)
    for lingers, again, several in kinds:
        queue, owner = owned(stage, no_wait=lingers and stage.offers("nowait"))
        more = [stage.recorder.private_name() for _ in range(several)]
        for one in (*more, *([queue] if again else [])):
            stage.belongings.queues[one] = owner.connection
            owner.declare(one, durable=False, exclusive=True, arguments=typed(stage))
            stage.quiesce()
        owner.connection.lingering = lingers
        owners.append(owner.connection)
        queues += [queue, *more]
    owners[-1].send(m.ChannelOpen(owner.number))
    stage.quiesce()
    for connection in owners:
        leave(stage, connection)
    wait(stage, GONE)
    channel = elsewhere(stage)
    for queue in queues:
        channel.declare(queue, passive=True)
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)
    for connection in owners:
        connection.hang_up()


@rule("QUEUE-009")
def test_reserved_names_of_queues(stage: Stage) -> None:
    """Names that nobody has declared: one is looked for before and afterwards, for nothing was made."""
    channel, (queue, sought) = stage.channel(), ["amq." + stage.recorder.private_name() for _ in "12"]
    stage.belongings.queues.update(dict.fromkeys((queue, sought), channel.connection))
    channel.declare(queue, arguments=typed(stage))
    stage.quiesce()
    seeker = elsewhere(stage)
    seeker.declare(sought, passive=True)
    reopen(stage, seeker)
    seeker.declare(sought, arguments=typed(stage))
    if _refused(stage, seeker):
        seeker.declare(sought, passive=True)
        stage.quiesce()


def _refused(stage: Stage, channel: Channel) -> bool:
    """Has the broker closed the channel? Then it is open again."""
    stage.quiesce()
    if channel.state == "open":
        return False
    reopen(stage, channel)
    return True


@rule("QUEUE-010", queue_types=CLASSIC)
def test_names_that_the_broker_chooses(stage: Stage) -> None:
    """Four exclusive queues, on two connections; and another one on each, when the first is emptied and deleted."""
    for channel in (stage.channel(), elsewhere(stage)):
        seen = len(stage.events)
        for _ in range(2):
            channel.declare("", durable=False, exclusive=True)
            stage.quiesce()
        first = next((one.queue for one in stage.events[seen:] if one.method == "queue.declare-ok"), "")
        if first:
            if stage.offers("queue.purge"):
                channel.purge(first)
                stage.quiesce()
            channel.delete(first)
            stage.quiesce()
            channel.declare("", durable=False, exclusive=True)
            stage.quiesce()


@rule("QUEUE-011", queue_types=CLASSIC)
def test_answers_name_the_queue(stage: Stage) -> None:
    """Names with capitals, signs, and of full length."""
    channel = stage.channel()
    for more in ("", ".Red-Hot_1:2", "x" * 60):
        queue = stage.recorder.private_name() + more
        stage.belongings.queues[queue] = channel.connection
        channel.declare(queue, arguments=typed(stage))
        stage.quiesce()


@rule("QUEUE-012", queue_types=CLASSIC, last=True)
def test_queues_in_use_are_spared(stage: Stage) -> None:
    """A consumer of the same connection, one of another, and one that needs no acknowledgements; the queue is there
    afterwards. Once both conditions are made."""
    for consumer, no_ack in ((stage.channel(), False), (elsewhere(stage), False), (elsewhere(stage), True)):
        queue, channel = stage.queue(), stage.channel()
        consumer.consume(queue, no_ack)
        stage.quiesce()
        channel.send(m.QueueDelete(channel.number, queue=queue, if_unused=True))
        reopen(stage, channel)
        channel.declare(queue, passive=True)
        stage.quiesce()
    queue, channel = stage.queue(), stage.channel()
    channel.consume(queue)
    stage.quiesce()
    delete_if(channel, queue, unused=True, empty=True)
    stage.quiesce()


@rule("QUEUE-013", queue_types=CLASSIC)
def test_queues_with_messages_are_spared(stage: Stage) -> None:
    """The queue is there afterwards, with its messages. All of them may have been given back, and both conditions be
    made."""
    for returned in (False, True):
        queue, channel = stocked(stage, 3 if returned else 2), stage.channel()
        if returned:
            for tag in stage.fetch(channel, queue, 3):
                channel.reject(tag, requeue=True)
            stage.fetch(channel, queue, no_ack=True)
        delete_if(channel, queue, unused=returned, empty=True)
        reopen(stage, channel)
        channel.declare(queue, passive=True)
        stage.quiesce()
        stage.fetch(channel, queue, 2)


@rule("QUEUE-014")
def test_missing_queues_are_not_purged(stage: Stage) -> None:
    """Deleted by another channel, and by the one that purges."""
    for own in (False, True):
        queue, channel = stage.queue(), stage.channel()
        (channel if own else stage.backstage(queue)).delete(queue)
        stage.quiesce()
        channel.purge(queue)
        stage.quiesce()


@rule("QUEUE-015", queue_types=CLASSIC)
def test_the_last_queue_of_the_channel(stage: Stage) -> None:
    """Each method with the empty name, where only another channel has declared a queue; then on that one, which uses
    others by their names; on one that has declared a queue whose name the broker chose; and on one that has declared it
    with nowait. A binding of it without a key has its name for one."""
    exchange, queue, *others = stage.exchange(kind="direct"), *(stage.queue() for _ in range(5))
    channel, idle = stage.channel(), stage.channel()
    channel.declare(queue, passive=True)
    stage.quiesce()
    bind, get, purge, _ = _by_last_name(idle, exchange)
    for method in (bind, purge, get):  # a get costs some brokers the connection
        idle.send(method)
        stage.quiesce()
        if idle.state != "open":
            stage.reopen(idle)
    confirming(stage).publish(queue, 2)
    stage.quiesce()
    _use_by_name(stage, channel, exchange, others)
    for method in _by_last_name(channel, exchange):
        channel.send(method)
        stage.quiesce()
    named = stage.channel()
    named.declare("", durable=False, exclusive=True)
    stage.quiesce()
    for method in _by_last_name(named, exchange):
        named.send(method)
        stage.quiesce()
    quiet = stage.channel()
    quiet.declare(queue, passive=True, no_wait=True)
    for kind in ("direct", "topic") if stage.offers("topic exchange") else ("direct",):
        exchange = stage.exchange(kind=kind)
        quiet.bind("", exchange)
        stage.barrier(quiet)
        for key in (queue, ""):
            confirming(stage).publish(key, exchange=exchange, mandatory=True)
            stage.quiesce()


def _use_by_name(stage: Stage, channel: Channel, exchange: str, queues: Sequence[str]) -> None:
    """None of these has been declared by this channel."""
    bound, purged, got, consumed = queues
    channel.bind(bound, exchange, "another key")
    channel.purge(purged)
    channel.get(got)
    channel.consume(consumed)
    stage.quiesce()


def _by_last_name(channel: Channel, exchange: str) -> tuple[Method, ...]:
    number = channel.number
    return (
        m.QueueBind(number, queue="", exchange=exchange, routing_key="key"),
        m.BasicGet(number, queue="", no_ack=True),
        m.QueuePurge(number, queue=""),
        m.BasicConsume(number, queue="", consumer_tag="last"),
    )


@rule("QUEUE-016", queue_types=CLASSIC)
def test_senseless_limits(stage: Stage) -> None:
    """Negative ones, and texts."""
    for name in (LENGTH, "x-message-ttl", "x-expires"):
        for value in (-1, "many"):
            channel, queue = stage.channel(), stage.recorder.private_name()
            stage.belongings.queues[queue] = channel.connection
            channel.declare(queue, arguments=typed(stage, **{name: value}))
            stage.quiesce()


@rule("QUEUE-017", queue_types=CLASSIC, last=True)
def test_what_is_in_use_is_deleted(stage: Stage) -> None:
    """A queue with messages, and one with a consumer on another connection; then they are looked for."""
    filled, used = stocked(stage, 2), stage.queue()
    elsewhere(stage).consume(used)
    stage.quiesce()
    for queue in (filled, used):
        channel = stage.channel()
        channel.delete(queue)
        stage.quiesce()
        if channel.state == "open":
            channel.declare(queue, passive=True)
            stage.quiesce()


@rule("QUEUE-018", queue_types=CLASSIC)
def test_what_is_gone_is_deleted(stage: Stage) -> None:
    """By the channel that had deleted it, and by another one; at last without an answer."""
    queue, channel = stage.queue(), stage.channel()
    for one in (channel, channel, stage.channel()):
        one.delete(queue)
        stage.quiesce()
    if stage.offers("nowait"):
        channel.delete(queue, no_wait=True)
        stage.barrier(channel)


@rule("QUEUE-019")
def test_a_purge_spares_what_is_out(stage: Stage) -> None:
    """Two of four messages are out, the queue is purged, with an answer or without, and the two are returned and got
    again. Then one is looked for in a queue whose three messages are purged, and in one whose messages have different
    priorities."""
    for no_wait in (False, True) if stage.offers("nowait") else (False,):
        queue, channel = stocked(stage, 4), stage.channel()
        tags, purging = stage.fetch(channel, queue, 2), stage.channel()
        purging.send(m.QueuePurge(purging.number, queue=queue, no_wait=no_wait))
        stage.barrier(purging)
        for tag in tags:
            channel.reject(tag)
        stage.barrier(channel)
        stage.fetch(stage.channel(), queue, 2)
    emptied, taker = stocked(stage, 3), stage.channel()
    stage.backstage(emptied).purge(emptied)
    stage.quiesce()
    taker.get(emptied, no_ack=True)
    stage.quiesce()
    if stage.queue_type == "classic" and stage.offers(LEVELS):
        ranked, publisher = stage.queue({LEVELS: 5}), confirming(stage)
        for priority in (0, 5, 2, 0, 5):
            publisher.publish(ranked, properties={"priority": priority})
        stage.confirmed(publisher)
        stage.backstage(ranked).purge(ranked)
        stage.quiesce()
        taker.get(ranked, no_ack=True)
        stage.quiesce()


@rule("QUEUE-021", queue_types=CLASSIC)
def test_unused_queues_wait(stage: Stage) -> None:
    """With a message that was got; looked for on this connection and on another, twice each."""
    queue = stage.queue(auto_delete=True)
    confirming(stage).publish(queue)
    stage.quiesce()
    stage.fetch(stage.channel(), queue, no_ack=True)
    for channel in (stage.channel(), elsewhere(stage)):
        for _ in range(2):
            channel.declare(queue, passive=True)
            stage.quiesce()

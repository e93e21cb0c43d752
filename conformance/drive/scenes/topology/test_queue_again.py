"""QUEUE: queues declared again, in the same way and in another, and what the answer tells of their consumers."""

from __future__ import annotations

from functools import partial
from itertools import product

from codec import methods as m
from codec import values
from conformance.catalogue.rules.features import DURABLE, TRANSIENT
from conformance.drive.around import wait
from conformance.drive.scenes.consumers.test_consume import QUIET_TRIPS
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import BAD_TAG, reopen, stocked
from conformance.drive.scenes.topology.test_exch import CLASSIC
from conformance.drive.scenes.topology.test_queue import (
    DEAD_KEY,
    DEAD_LETTERS,
    GONE,
    LENGTH,
    OCTETS,
    elsewhere,
    owned,
    typed,
)
from conformance.drive.stage import Stage

UNKNOWN = {"amqpconf-note": "red", "amqpconf-number": 3}
"""Arguments that mean nothing to a broker."""
SINGLE = "x-single-active-consumer"
OTHERS: tuple[tuple[str, object, object], ...] = (
    ("x-max-length-bytes", 1000, 2000),
    ("x-message-ttl", 600_000, 700_000),
    ("x-expires", 600_000, 700_000),
    ("x-overflow", "drop-head", "reject-publish"),
    (DEAD_LETTERS, "amqpconf.red", "amqpconf.blue"),
    (DEAD_KEY, "red", "blue"),
)
"""Arguments that must be the same, and two values for each."""


@rule("QUEUE-003")
def test_the_same_queue_again(stage: Stage) -> None:
    """With messages in it, which are still there: on this connection and on another, three times each. A limit comes in
    one octet, and in eight, before other arguments and behind them. And an argument that nobody knows, where that was
    taken before."""
    queue = stocked(stage, 2)
    for channel in (stage.channel(), elsewhere(stage)) * 3:
        channel.declare(queue, arguments=typed(stage))
        stage.quiesce()
    stage.fetch(stage.channel(), queue, 2)
    if stage.offers(LENGTH):
        more = {OCTETS: 1 << 20} if stage.offers(OCTETS) else {}
        limited, channel = stage.queue({LENGTH: 10, **more}), stage.channel()
        given = values.table(typed(stage, **more))
        for letter in ("b", "l"):
            limit = (LENGTH, letter, 10)
            for arguments in ([*given, limit], [limit, *given]):
                channel.send(m.QueueDeclare(channel.number, queue=limited, durable=stage.durable, arguments=arguments))
                stage.quiesce()
    name, channel = stage.recorder.private_name(), stage.channel()
    stage.belongings.queues[name] = stage.connection
    for _ in range(2):
        channel.declare(name, arguments=typed(stage, **UNKNOWN))
        stage.quiesce()
        if channel.state != "open":
            return
    _at_once(stage)


def _at_once(stage: Stage) -> None:
    """Clients of three connections declare the same new queue, and none of them waits for another."""
    channels = [stage.channel(connection=stage.connect(f"at once {number}")) for number in range(3)]
    stage.quiesce()
    for _ in range(3):
        name = stage.recorder.private_name()
        stage.belongings.queues[name] = stage.connection
        for channel in channels:
            channel.declare(name, arguments=typed(stage))
        stage.quiesce()


@rule("QUEUE-004", queue_types=CLASSIC)
def test_other_flags_of_a_queue(stage: Stage) -> None:
    """A durable queue as a transient one, and a transient one as a durable one; then as they are. By a channel that has
    not declared them before, and by the one that has."""
    kinds = [feature == DURABLE for feature in (DURABLE, TRANSIENT) if stage.offers(feature)]
    for durable, own in product(kinds, (False, True)):
        queue, channel = stage.queue(durable=durable), stage.channel()
        if own:
            queue = stage.recorder.private_name()
            stage.belongings.queues[queue] = stage.connection
            channel.declare(queue, durable=durable, arguments=typed(stage))
            stage.quiesce()
        channel.declare(queue, durable=not durable, arguments=typed(stage))
        reopen(stage, channel)
        channel.declare(queue, durable=durable, arguments=typed(stage))
        stage.quiesce()


@rule("QUEUE-037", queue_types=CLASSIC)
def test_another_auto_delete(stage: Stage) -> None:
    """Where the queue has it not, and where it has it; then as they are."""
    for queue, auto_delete in ((stage.queue(), False), (stage.queue(auto_delete=True), True)):
        channel = stage.channel()
        channel.declare(queue, auto_delete=not auto_delete, arguments=typed(stage))
        reopen(stage, channel)
        channel.declare(queue, auto_delete=auto_delete, arguments=typed(stage))
        stage.quiesce()


@rule("QUEUE-005", queue_types=CLASSIC)
def test_other_arguments(stage: Stage) -> None:
    """A limit that is another one, that is left out, and that is new; and each other argument with another value."""
    limited, free = stage.queue({LENGTH: 10}), stage.queue()
    for queue, arguments in ((limited, {LENGTH: 11}), (limited, {}), (free, {LENGTH: 10})):
        stage.channel().declare(queue, arguments=typed(stage, **arguments))
        stage.quiesce()
    stage.channel().declare(limited, arguments=typed(stage, **{LENGTH: 10}))
    stage.quiesce()
    for name, one, other in OTHERS:
        beside = {DEAD_LETTERS: "amqpconf.red"} if name == DEAD_KEY else {}
        if all(stage.offers(argument) for argument in (name, *beside)):
            queue = stage.queue({**beside, name: one})
            stage.channel().declare(queue, arguments=typed(stage, **{**beside, name: other}))
            stage.quiesce()


@rule("QUEUE-006", queue_types=CLASSIC)
def test_exclusive_or_not(stage: Stage) -> None:
    """An exclusive queue as a shared one, by its own connection; a shared one as an exclusive one."""
    queue, owner = owned(stage)
    owner.declare(queue, durable=False, arguments=typed(stage))
    stage.quiesce()
    shared, channel = stage.queue(), stage.channel()
    channel.declare(shared, exclusive=True, arguments=typed(stage))
    stage.quiesce()


def _cancelled_quietly(stage: Stage) -> None:
    queue, channel = stage.queue(), elsewhere(stage)
    tag = channel.consume(queue)
    stage.quiesce()
    channel.cancel(tag, no_wait=True)
    for _ in range(QUIET_TRIPS):
        stage.barrier(channel)
    wait(stage, GONE)
    for asking in (channel, stage.channel()):
        asking.declare(queue, passive=True)
        stage.quiesce()


@rule("QUEUE-020", queue_types=CLASSIC)
def test_consumers_are_counted(stage: Stage) -> None:
    """Of this connection, and of another, with more messages than consumers out with them; asked by a third after
    each. Those of one more connection may hold one message each, and hold it; the last two need no acknowledgements.
    Then they leave with it, and others with their channels: the last of these fails. And one that is cancelled without
    an answer."""
    if stage.cancels and stage.offers("nowait"):
        _cancelled_quietly(stage)
    queue, asking, busy = stocked(stage, 7), elsewhere(stage), elsewhere(stage)
    if stage.offers("basic.qos"):
        busy.qos(1)
    closing, failing = stage.channel(), elsewhere(stage)
    for channel, no_ack in ((busy, False), (closing, False), (failing, False), (stage.channel(), True)):
        for _ in range(2):
            channel.consume(queue, no_ack)
            stage.quiesce()
            asking.declare(queue, passive=True)
            stage.quiesce()
    closing.close()
    for end in (partial(busy.connection.close, stage.deadline), partial(failing.ack, BAD_TAG)):
        end()
        stage.quiesce()
        wait(stage, GONE)
        asking.declare(queue, passive=True)
        stage.quiesce()

"""QUEUE: names of all signs and of full length, and the empty one."""

from __future__ import annotations

from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming, reopen
from conformance.drive.scenes.topology.test_exch import CLASSIC
from conformance.drive.scenes.topology.test_queue import DEAD_KEY, DEAD_LETTERS, LENGTH, elsewhere, leave, owned, typed
from conformance.drive.stage import Stage

SIGNS = "Red-Hot_1.2:3"
SHORT_STRING = 255


def of_length(stage: Stage, length: int, ending: str = "") -> str:
    """A name of so many octets that nobody else has."""
    name = stage.recorder.private_name() + ending
    return name + "n" * (length - len(name.encode()))


def declared_anew(stage: Stage, channel: Channel, name: str) -> None:
    """A queue that is deleted first, so that it is certainly not there."""
    if channel.state != "open":
        reopen(stage, channel)
    channel.delete(name)
    stage.quiesce()
    if channel.state != "open":
        reopen(stage, channel)
    stage.belongings.queues[name] = channel.connection
    channel.declare(name, arguments=typed(stage))
    stage.quiesce()
    if channel.state != "open":
        stage.belongings.queues.pop(name, None)


def shared_after_all(stage: Stage) -> None:
    """A queue is shared, where an exclusive one of its name was deleted before. All may use it, and it outlives the
    connection of that one."""
    queue, owner = owned(stage)
    owner.delete(queue)
    stage.quiesce()
    heir, third = elsewhere(stage), elsewhere(stage)
    stage.belongings.queues[queue] = heir.connection
    for channel in (heir, third):
        channel.declare(queue, arguments=typed(stage))
        stage.quiesce()
    third.bind(queue, "amq.direct", queue)
    stage.quiesce()
    stage.get(third, queue, no_ack=True)
    leave(stage, owner.connection)
    for _ in range(2):
        stage.channel().declare(queue, passive=True)
        stage.quiesce()
    heir.declare(queue, arguments=typed(stage))
    stage.quiesce()


@rule("QUEUE-002")
def test_queues_are_found_by_name(stage: Stage) -> None:
    """With other flags and arguments than it has, on this connection and on another. One has an argument that is a text
    beyond ASCII. And one whose name an exclusive queue had before."""
    if stage.queue_type == "classic":
        shared_after_all(stage)
    queue = stage.queue()
    if stage.offers(DEAD_LETTERS) and stage.offers(DEAD_KEY):
        foreign = stage.queue({DEAD_LETTERS: "", DEAD_KEY: "schlüssel.🐇"})
        for channel in (stage.channel(), elsewhere(stage)):
            channel.declare(foreign, passive=True)
            stage.quiesce()
    for channel in (stage.channel(), elsewhere(stage)):
        channel.declare(queue, passive=True, durable=False, auto_delete=True)
        stage.quiesce()
        if stage.offers(LENGTH):
            channel.declare(queue, passive=True, arguments={LENGTH: 7})
        stage.quiesce()


@rule("QUEUE-022")
def test_plain_names_of_queues(stage: Stage) -> None:
    """All signs that the text lets them have, and as many octets. And a name that an exclusive queue had before."""
    if stage.queue_type == "classic":
        shared_after_all(stage)
    channel = stage.channel()
    for name in (of_length(stage, 0, SIGNS), of_length(stage, 127, SIGNS), of_length(stage, 127)):
        declared_anew(stage, channel, name)


@rule("QUEUE-023")
def test_long_names_of_queues(stage: Stage) -> None:
    """As many octets as there can be, and letters of two, three and four octets; each found again. Two names differ
    in the last octet alone."""
    channel = stage.channel()
    for name in (
        of_length(stage, SHORT_STRING),
        of_length(stage, SHORT_STRING, "üß漢🐇"),
        of_length(stage, 0, "Größe"),
    ):
        declared_anew(stage, channel, name)
        if channel.state == "open":
            channel.declare(name, passive=True)
            stage.quiesce()
    _twins(stage)


def _twins(stage: Stage) -> None:
    """Two names that differ in their last octet; a message to each, and a look into each."""
    name, publisher = of_length(stage, SHORT_STRING)[:-1], confirming(stage)
    names = [stage.queue(name=name + last) for last in "ab"]
    for one in names:
        publisher.publish(one)
        stage.confirmed(publisher)
    reader = stage.channel()
    for one in names:
        for _ in range(2):
            stage.get(reader, one, no_ack=True)


@rule("QUEUE-028", queue_types=CLASSIC)
def test_deleting_the_last_queue(stage: Stage) -> None:
    """Where the channel has declared two, one and none; then the queues are looked for."""
    first, second, idle = stage.queue(), stage.queue(), stage.channel()
    for queues in ((first, second), (first,)):
        channel = stage.channel()
        for queue in queues:
            channel.declare(queue, arguments=typed(stage))
            stage.quiesce()
        channel.delete("")
        stage.quiesce()
        stage.channel().declare(queues[-1], passive=True)
        stage.quiesce()
    idle.delete("")
    stage.quiesce()


@rule("QUEUE-035", queue_types=CLASSIC)
def test_long_names_are_refused(stage: Stage) -> None:
    """Names that nobody has: of ASCII, and of other letters; each looked for by a connection of its own."""
    for ending in ("", "üß漢"):
        name, channel = of_length(stage, SHORT_STRING, ending), elsewhere(stage)
        channel.delete(name)
        stage.quiesce()
        if channel.state != "open":
            reopen(stage, channel)
        channel.declare(name, passive=True)
        stage.quiesce()

"""DUR, messages: what is in durable queues when the broker restarts, and what of that comes afterwards."""

from __future__ import annotations

from typing import Any

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_dur import EXPIRED, LATER, LIFE, PRIORITY, SPECIAL, Things, offered
from conformance.drive.stage import SceneOver, Stage
from conformance.drive.waiting import Hurry

COUNT, TRANSIENT, TAKEN = 9, 3, 2
"""So many messages come to a queue; of them so many may be transient, and so many are settled."""
FULL: dict[str, Any] = {"x-max-length": 3, "x-overflow": "reject-publish"}
PRIORITIES = (1, 3, 0, 9, 3, 0)


@rule(
    *("DUR-013", "DUR-014", "DUR-015", "DUR-016", "DUR-017", "DUR-018", "DUR-019", "DUR-020", "DUR-023"),
    last=True,
)
def test_what_is_in_durable_queues(stage: Stage) -> None:
    """Persistent and transient messages, large and small. Some are taken and settled, some are taken and held, one
    transaction is committed and one is not. Others have priorities, or are to expire while the broker is away; they are
    dead letters, came to several queues, were given back, fill a queue that refuses more, or are settled in other ways.
    Then all are taken, and one more message is returned."""
    if stage.around.restart is None:
        return
    things = Things(stage, stage.channel(connection=stage.living()))
    plain, mixed = things.queue("plain"), things.queue("mixed")
    stage.quiesce()
    publisher, taker = stage.channel(connection=stage.living()), stage.channel(connection=stage.living())
    publisher.confirm()
    stage.quiesce()
    for number in range(COUNT):
        publisher.publish(plain, persistent=True, properties=_properties(number), body=_body(number))
        publisher.publish(mixed, persistent=number % 3 != 2, properties=_properties(number), body=_body(COUNT - number))
    stage.confirmed(publisher)
    for queue in (plain, mixed):
        stage.get(taker, queue, no_ack=True)
        first, _ = stage.fetch(taker, queue, 2)
        taker.ack(first)
        stage.fetch(taker, queue)
        taker.declare(queue, passive=True)
    kept = {plain: COUNT - TAKEN, mixed: COUNT - TAKEN - (TRANSIENT if stage.queue_type == "classic" else 0)}
    if offered(stage, "tx.select"):
        kept[plain] += _transactions(stage, plain)
    stage.quiesce()
    kept.update(_ranked(things, publisher))
    kept.update(_long_lived(things, publisher))
    kept.update(_in_several(things, publisher))
    kept.update(_settled(things, publisher))
    kept.update(_given_back(things, publisher))
    kept.update(_full(things, publisher))
    mortal = _mortal(things, publisher)
    stage.around.revive(stage)
    reader = stage.channel(connection=stage.living())
    if mortal:
        wait(stage, EXPIRED)
    for queue in mortal:
        stage.get(reader, queue, no_ack=True)
    for queue, count in kept.items():
        _taken(stage, reader, queue, count)
        _return_one(stage, queue)


def _in_several(things: Things, publisher: Channel) -> dict[str, int]:
    """Messages that come to two queues at once, some of them by way of another exchange."""
    exchange, queues = things.exchange("to several", "fanout"), [things.queue("one of two"), things.queue("another")]
    ways = [exchange]
    for queue in queues:
        things.channel.bind(queue, exchange)
    if offered(things.stage, "exchange.bind"):
        ways.append(things.exchange("to that", "fanout"))
        things.channel.bind_exchange(exchange, ways[-1])
    things.stage.quiesce()
    for way in ways:
        publisher.publish("", 2, exchange=way, persistent=True)
        things.stage.confirmed(publisher)
    return dict.fromkeys(queues, 2 * len(ways))


def _given_back(things: Things, publisher: Channel) -> dict[str, int]:
    """A queue of whose messages the first have been given back."""
    stage, queue, taker = (
        things.stage,
        things.queue("given back"),
        things.stage.channel(connection=things.stage.living()),
    )
    stage.quiesce()
    publisher.publish(queue, COUNT, persistent=True)
    stage.confirmed(publisher)
    for tag in stage.fetch(taker, queue, 2):
        taker.reject(tag)
    stage.barrier(taker)
    return {queue: COUNT}


def _full(things: Things, publisher: Channel) -> dict[str, int]:
    """A queue that has all that it may have, and refuses more."""
    if not offered(things.stage, *FULL):
        return {}
    queue = things.queue("full", arguments=dict(FULL))
    things.stage.quiesce()
    publisher.publish(queue, FULL["x-max-length"], persistent=True)
    things.stage.confirmed(publisher)
    return {queue: FULL["x-max-length"]}


def _settled(things: Things, publisher: Channel) -> dict[str, int]:
    """Of each queue all but the last message are settled: together, in a transaction, by a rejection, after which
    they are dead letters, or gone, or by being delivered. Or in a transaction that is rolled back."""
    stage = things.stage
    ways = "together", "committed", "undone", "rejected", "delivered"
    queues, heir = {how: things.queue(how) for how in ways}, ""
    if offered(stage, "x-dead-letter-exchange", "x-dead-letter-routing-key"):
        heir = things.queue("heir")
        to_heir = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir}
        queues["dead"] = things.queue("dead", arguments=to_heir)
    stage.quiesce()
    for queue in queues.values():
        publisher.publish(queue, 3, persistent=True)
    stage.confirmed(publisher)
    for how, queue in queues.items():
        if how in ("committed", "undone") and not offered(stage, "tx.select"):
            continue
        taker = stage.channel(connection=stage.living())
        if how == "delivered":
            taker.consume(queue, no_ack=True)
            stage.quiesce()
            stage.get(taker, queue)
            taker.close()
            stage.quiesce()
            publisher.publish(queue, persistent=True)
            stage.confirmed(publisher)
            continue
        if how in ("committed", "undone"):
            taker.tx_select()
            stage.quiesce()
        tags = stage.fetch(taker, queue, 2)
        if how in ("rejected", "dead"):
            for tag in tags:
                taker.reject(tag, requeue=False)
        else:
            taker.ack(tags[-1], multiple=True)
        if how in ("committed", "undone"):
            taker.tx_commit() if how == "committed" else taker.tx_rollback()
            stage.quiesce()
        stage.get(taker, queue)
    kept = dict.fromkeys(queues.values(), 1)
    if offered(stage, "tx.select"):
        kept[queues["undone"]] = 3
    if heir:
        wait(stage, EXPIRED)
        kept[heir] = 2
    return kept


def _ranked(things: Things, publisher: Channel) -> dict[str, int]:
    """A queue with priorities, and how many messages are in it."""
    stage = things.stage
    if stage.queue_type != "classic" or not offered(stage, PRIORITY):
        return {}
    queue = things.queue("ranks", arguments=dict(SPECIAL["ranks"]))
    stage.quiesce()
    for priority in PRIORITIES:
        publisher.publish(queue, persistent=True, properties={"priority": priority})
    stage.confirmed(publisher)
    return {queue: len(PRIORITIES)}


def _long_lived(things: Things, publisher: Channel) -> dict[str, int]:
    """A queue with messages that expire, but not so soon."""
    stage = things.stage
    if not stage.profile.queue(stage.queue_type).messages_expire or not offered(stage, "expiration"):
        return {}
    queue = things.queue("lives long")
    stage.quiesce()
    publisher.publish(queue, 2, persistent=True, properties={"expiration": LATER})
    stage.confirmed(publisher)
    return {queue: 2}


def _mortal(things: Things, publisher: Channel) -> list[str]:
    """Queues with a message that expires soon: by itself, or by what its queue says."""
    stage, queues = things.stage, list[str]()
    if not stage.profile.queue(stage.queue_type).messages_expire:
        return queues
    if offered(stage, "expiration"):
        queues.append(things.queue("expires"))
    if offered(stage, "x-message-ttl"):
        queues.append(things.queue("ages", arguments=dict(SPECIAL["ages"])))
    stage.quiesce()
    for queue in queues:
        own = {} if queue == things.queues.get("ages", ("",))[0] else {"expiration": str(LIFE)}
        publisher.publish(queue, persistent=True, properties=own)
    stage.confirmed(publisher)
    if offered(stage, "tx.select"):
        queues += _mortal_by_commit(things, len(queues) > 1)
    return queues


def _mortal_by_commit(things: Things, ages: bool) -> list[str]:
    """The same, published by a transaction."""
    stage, channel = things.stage, things.stage.channel(connection=things.stage.living())
    queues = [things.queue("expires, committed")]
    if ages:
        queues.append(things.queue("ages, committed", arguments=dict(SPECIAL["ages"])))
    channel.tx_select()
    stage.quiesce()
    for queue, own in zip(queues, ({"expiration": str(LIFE)}, dict[str, Any]()), strict=False):
        channel.publish(queue, persistent=True, properties=own)
    channel.tx_commit()
    stage.quiesce()
    return queues


def _return_one(stage: Stage, queue: str) -> None:
    """The queue works as before: what is rejected comes again, and is marked."""
    channel = stage.channel(connection=stage.living())
    channel.confirm()
    stage.quiesce()
    channel.publish(queue, persistent=True)
    stage.confirmed(channel)
    (first,) = stage.fetch(channel, queue)
    channel.reject(first, requeue=True)
    stage.quiesce()
    stage.get(channel, queue, no_ack=True)


def _transactions(stage: Stage, queue: str) -> int:
    """One that is committed, and one that is open when the broker ends."""
    channel = stage.channel(connection=stage.living())
    channel.tx_select()
    stage.quiesce()
    channel.publish(queue, 2, persistent=True)
    channel.tx_commit()
    stage.quiesce()
    channel.publish(queue, 2, persistent=True)
    stage.go_round(channel)
    stage.quiesce()
    return 2


def _properties(number: int) -> dict[str, Any]:
    return {
        "content_type": "text/plain",
        "correlation_id": f"c{number}",
        "priority": 1,
        "timestamp": 1_700_000_000 + number,
        "headers": [("ink", "S", b"red"), ("number", "I", number)],
    }


def _body(number: int) -> bytes:
    """Small and large ones."""
    return bytes([65 + number]) * (number * 700 + 1)


def _taken(stage: Stage, reader: Channel, queue: str, count: int) -> None:
    """Takes what is there, and waits for what must be."""
    found, hurry = 0, Hurry(stage.waiter)
    while reader.state == "open":
        if stage.get(reader, queue, no_ack=True) is not None:
            found += 1
            hurry.again()
        elif found >= count:
            return
        elif hurry.over and not hurry.longer():
            stage.waiter.give_up("drain", hurry.waited, queue=queue)
            return
        else:
            hurry.wait()
    raise SceneOver(f"{queue} cannot be read")

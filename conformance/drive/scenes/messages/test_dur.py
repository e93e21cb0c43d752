"""DUR: a history with a restart in its midst.

A restart of a real broker takes seconds, so one scene is for many rules: what is declared, and what is in queues. What
is to be there afterwards is asked for first, and only then used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import MOST, heeded, only, put
from conformance.drive.stage import SceneOver, Stage
from conformance.drive.waiting import Hurry

PREDECLARED = ("amq.direct", "amq.fanout", "amq.topic", "amq.headers")
ROOM: Mapping[str, Any] = {"x-max-length": 1000}
ALTERNATE = "alternate-exchange"
COUNT, TRANSIENT, TAKEN = 9, 3, 2
"""So many messages come to a queue; of them so many may be transient, and so many are settled."""


PRIORITIES, LENGTH = (1, 3, 0, 9, 3, 0), 2
PRIORITY, EXPIRED = "x-max-priority", 0.4
"""Seconds after which what lives for `LIFE` milliseconds is gone."""
LIFE, LATER = 150, "36000000"
SPECIAL: Mapping[str, Mapping[str, Any]] = {
    "drops": {"x-max-length": 2},
    "refuses": {"x-max-length": 2, "x-overflow": "reject-publish"},
    "ranks": {PRIORITY: 5},
    "ages": {"x-message-ttl": LIFE},
    "serves one": {"x-single-active-consumer": True},
}
"""Queues by what their arguments make of them."""
Route = tuple[str, str, dict[str, Any]]
"""An exchange, by what is special or by its name, a routing key, and properties."""


@dataclass
class Things:
    """What one history declares on one connection."""

    stage: Stage
    channel: Channel
    queues: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict)
    """By what is special: name, and flags and arguments."""
    exchanges: dict[str, tuple[str, str, dict[str, Any]]] = field(default_factory=dict)
    """The same, with the type in between."""

    def queue(self, what: str, durable: bool = True, **about: Any) -> str:
        name, kind = self.stage.recorder.private_name(), self.stage.queue_type
        arguments = {**({"x-queue-type": kind} if self.stage.profile.typed else {}), **about.pop("arguments", {})}
        self.queues[what] = name, {"durable": durable, "arguments": arguments, **about}
        self.stage.belongings.queues[name] = self.channel.connection
        self.channel.declare(name, **self.queues[what][1])
        return name

    def exchange(self, what: str, kind: str = "direct", durable: bool = True, **about: Any) -> str:
        name = self.stage.recorder.private_name()
        self.exchanges[what] = name, kind, {"durable": durable, **about}
        self.stage.belongings.exchanges[name] = None
        self.channel.declare_exchange(name, kind, **self.exchanges[what][2])
        return name


@rule(
    *("DUR-001", "DUR-002", "DUR-003", "DUR-004", "DUR-005", "DUR-006", "DUR-007", "DUR-008", "DUR-009", "DUR-010"),
    *("DUR-011", "DUR-012", "DUR-021"),
    queue_types=("classic",),
    last=True,
)
def test_what_is_declared_and_bound(stage: Stage) -> None:
    """Durable and transient things, some of them removed again; afterwards each is asked for, and then used. What is
    used later was used before: only what worked then must work. At last queues must be what their arguments say."""
    if stage.around.restart is None:
        return
    things = Things(stage, stage.channel(connection=stage.living()))
    routes = _declared(things)
    special = [what for what, arguments in SPECIAL.items() if offered(stage, *arguments)]
    for what in special:
        things.queue(what, arguments=dict(SPECIAL[what]))
    things.channel.declare("", durable=True)
    stage.quiesce()
    made = _names_made(stage)
    _looked_for(stage, PREDECLARED)
    _declared_again(stage, things)
    _published(stage, things, routes)
    stage.around.revive(stage)
    stage.belongings.queues.update(dict.fromkeys(made, stage.living()))
    _looked_for(stage, PREDECLARED, things, made)
    _declared_again(stage, things)
    _published(stage, things, routes)
    for what in special:
        _filled(stage, things.queues[what][0], what)
    stage.channel(connection=stage.living()).declare("", durable=True)
    stage.quiesce()
    stage.belongings.queues.update(dict.fromkeys(_names_made(stage), stage.living()))


def offered(stage: Stage, *features: str) -> bool:
    """Have these been seen to work? What got no answer when it was tried would only spoil the rest."""
    return not any(one in stage.profile.refused or one in stage.profile.shunned for one in features)


def _declared(things: Things) -> list[Route]:
    """All kinds of things. The exchanges, keys and properties by which publishes show the bindings."""
    stage, channel = things.stage, things.channel
    plain, full = things.queue("plain"), things.queue("with arguments", arguments=ROOM)
    things.queue("goes with its last consumer", auto_delete=True)
    transient = things.queue("transient", durable=False)
    for durable in (False, True):
        things.queue(f"exclusive {durable}", durable=durable, exclusive=True)
    deleted, renewed, purged = (things.queue(what) for what in ("deleted", "renewed", "purged"))
    direct, other = things.exchange("direct"), things.exchange("fanout", "fanout")
    things.exchange("transient", durable=False)
    things.exchange("internal", "fanout", internal=True)
    gone = things.exchange("deleted")
    routes: list[Route] = [("direct", key, {}) for key in ("a", "b", "gone", "noted")]
    channel.bind(plain, PREDECLARED[0], plain)
    routes.append((PREDECLARED[0], plain, {}))
    for queue, key in ((plain, "a"), (full, "b"), (plain, "gone"), (transient, "t"), (full, "gone")):
        channel.bind(queue, direct, key)
    channel.bind(full, direct, "noted", {"note": "red"})
    channel.bind(full, other)
    channel.unbind(plain, direct, "gone")
    channel.unbind(full, direct, "gone")
    if offered(stage, "topic exchange"):
        channel.bind(plain, things.exchange("topic", "topic"), "a.*.#")
        routes.append(("topic", "a.b.c", {}))
    if offered(stage, "headers exchange"):
        channel.bind(full, things.exchange("headers", "headers"), "", {"x-match": "any", "ink": "red"})
        routes += [("headers", "", {"headers": [("ink", "S", ink)]}) for ink in (b"red", b"green")]
    if offered(stage, "exchange.bind"):
        channel.bind_exchange(other, direct, "onward")
        routes.append(("direct", "onward", {}))
        if "headers" in things.exchanges:
            chosen = things.exchange("headers onward", "headers")
            channel.bind_exchange(other, chosen, "", {"x-match": "all", "ink": "red"})
            routes += [("headers onward", "", {"headers": [("ink", "S", ink)]}) for ink in (b"red", b"green")]
    if offered(stage, ALTERNATE):
        things.exchange("alternate", arguments={ALTERNATE: other})
        routes.append(("alternate", "nowhere", {}))
    channel.delete(deleted)
    channel.delete_exchange(gone)
    stage.quiesce()
    _emptied(stage, renewed, purged, **things.queues["renewed"][1])
    return routes


def _emptied(stage: Stage, renewed: str, purged: str, **about: Any) -> None:
    """Both have messages that would outlast a restart. One is deleted, and declared again as it was; one is purged."""
    channel = stage.channel(connection=stage.living())
    channel.confirm()
    stage.quiesce()
    for queue in (renewed, purged):
        channel.publish(queue, 2, persistent=True)
        stage.confirmed(channel)
    channel.delete(renewed)
    channel.declare(renewed, **about)
    channel.purge(purged)
    stage.quiesce()


def _names_made(stage: Stage) -> list[str]:
    """The queues whose names the broker chose."""
    known = stage.belongings.queues
    made = [
        event.queue or "" for event in stage.events if event.method == "queue.declare-ok" and event.direction == "<"
    ]
    return [name for name in made if name and name not in known and name.startswith("amq.")]


def _looked_for(stage: Stage, exchanges: Sequence[str], things: Things | None = None, made: Sequence[str] = ()) -> None:
    """Each on a channel of its own, for what is not there costs the channel."""
    line = stage.living()
    for name in [*made, *(name for name, _ in (things.queues.values() if things else ()))]:
        stage.channel(connection=line).declare(name, passive=True)
    for name in [*exchanges, *(name for name, _, _ in (things.exchanges.values() if things else ()))]:
        stage.channel(connection=line).find_exchange(name)
    stage.quiesce()


def _declared_again(stage: Stage, things: Things) -> None:
    """What is durable and not deleted is declared just as it was."""
    line = stage.living()
    for what, (name, about) in things.queues.items():
        if about["durable"] and not about.get("exclusive") and what != "deleted":
            stage.channel(connection=line).declare(name, **about)
    for what, (name, kind, flags) in things.exchanges.items():
        if flags["durable"] and what != "deleted":
            stage.channel(connection=line).declare_exchange(name, kind, **flags)
    stage.quiesce()


def _published(stage: Stage, things: Things, routes: Sequence[Route]) -> None:
    """A mandatory message for each of these."""
    publisher = stage.channel(connection=stage.living())
    publisher.confirm()
    stage.quiesce()
    for what, key, properties in routes:
        exchange = things.exchanges[what][0] if what in things.exchanges else what
        publisher.publish(key, exchange=exchange, mandatory=True, properties=properties)
        stage.confirmed(publisher)


def _filled(stage: Stage, queue: str, what: str) -> None:
    """Four messages of different priorities come to it; where it serves one consumer, two are there before. Then all
    is taken."""
    publisher, *channels = stage.channels(3, stage.living())
    publisher.confirm()
    stage.quiesce()
    for channel in channels if what == "serves one" else ():
        channel.qos(1)
        channel.consume(queue)
        stage.quiesce()
    for priority in (1, 3, 0, 4):
        publisher.publish(queue, properties={"priority": priority} if what == "ranks" else {})
        stage.confirmed(publisher)
    if what == "ages":
        wait(stage, EXPIRED)
    for _ in range(5 if what != "serves one" else 0):
        if stage.get(channels[0], queue, no_ack=True) is None:
            break


@rule(
    *("DUR-013", "DUR-014", "DUR-015", "DUR-016", "DUR-017", "DUR-018", "DUR-019", "DUR-020", "DUR-023"),
    last=True,
)
def test_what_is_in_durable_queues(stage: Stage) -> None:
    """Persistent and transient messages, large and small. Some are taken and settled, some are taken and held, one
    transaction is committed and one is not. Others have priorities, or are to expire while the broker is away; they are
    dead letters, came to several queues, or are settled in other ways. Then all are taken, and one more message is
    returned."""
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
    """Messages that come to two queues at once."""
    exchange, queues = things.exchange("to several", "fanout"), [things.queue("one of two"), things.queue("another")]
    for queue in queues:
        things.channel.bind(queue, exchange)
    things.stage.quiesce()
    publisher.publish("", 2, exchange=exchange, persistent=True)
    things.stage.confirmed(publisher)
    return dict.fromkeys(queues, 2)


def _settled(things: Things, publisher: Channel) -> dict[str, int]:
    """Of each queue all but the last message are settled: together, in a transaction, by a rejection, after which
    they are dead letters, or gone, or by being delivered."""
    stage = things.stage
    queues, heir = {how: things.queue(how) for how in ("together", "committed", "rejected", "delivered")}, ""
    if offered(stage, "x-dead-letter-exchange", "x-dead-letter-routing-key"):
        heir = things.queue("heir")
        to_heir = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": heir}
        queues["dead"] = things.queue("dead", arguments=to_heir)
    stage.quiesce()
    for queue in queues.values():
        publisher.publish(queue, 3, persistent=True)
    stage.confirmed(publisher)
    for how, queue in queues.items():
        if how == "committed" and not offered(stage, "tx.select"):
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
        if how == "committed":
            taker.tx_select()
            stage.quiesce()
        tags = stage.fetch(taker, queue, 2)
        if how in ("rejected", "dead"):
            for tag in tags:
                taker.reject(tag, requeue=False)
        else:
            taker.ack(tags[-1], multiple=True)
        if how == "committed":
            taker.tx_commit()
            stage.quiesce()
        stage.get(taker, queue)
    kept = dict.fromkeys(queues.values(), 1)
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


@rule("DUR-022", queue_types=("classic",), last=True)
def test_what_policies_set(stage: Stage) -> None:
    """The queue is filled and emptied, before the restart and afterwards."""
    if stage.around.restart is None:
        return
    things = Things(stage, stage.channel(connection=stage.living()))
    queue = things.queue("ruled")
    stage.quiesce()
    put(stage, only(queue), {MOST: LENGTH})
    heeded(stage)
    _filled(stage, queue, "ruled")
    stage.around.revive(stage)
    _declared_again(stage, things)
    _filled(stage, queue, "ruled")


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

"""DUR: a history with a restart in its midst.

A restart of a real broker takes seconds, so one scene is for many rules: what is declared, and what is in queues. What
is to be there afterwards is asked for first, and only then used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from codec import methods as m
from conformance.catalogue.rules.features import TRANSIENT
from conformance.drive.around import wait
from conformance.drive.channel import Channel
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import MOST, heeded, only, put
from conformance.drive.scenes.topology.test_queue import GONE
from conformance.drive.stage import Stage

PREDECLARED = ("amq.direct", "amq.fanout", "amq.topic", "amq.headers")
ROOM: Mapping[str, Any] = {"x-max-length": 1000}
ALTERNATE = "alternate-exchange"
LENGTH, BY_ITSELF, PURGED = 2, "goes with its last binding", ("purged", "purged without an answer")
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
RULERS: Mapping[str, Mapping[bool, int]] = {
    "ruled by a user": {False: LENGTH},
    "ruled by an operator": {True: LENGTH},
    "ruled by both": {False: LENGTH + 1, True: LENGTH},
}
"""Queues by whose policies hold for them: an operator's or not, and the length that it sets."""
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

    def queue(self, what: str, durable: bool = True, name: str = "", **about: Any) -> str:
        name, kind = name or self.stage.recorder.private_name(), self.stage.queue_type
        arguments = {**({"x-queue-type": kind} if self.stage.profile.typed else {}), **about.pop("arguments", {})}
        self.queues[what] = name, {"durable": durable, "arguments": arguments, **about}
        self.stage.belongings.queues[name] = self.channel.connection
        self.channel.declare(name, **self.queues[what][1])
        return name

    def exchange(self, what: str, kind: str = "direct", durable: bool = True, name: str = "", **about: Any) -> str:
        name = name or self.stage.recorder.private_name()
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
    """Durable and transient things, some of them removed again; others are in another virtual host. Afterwards each is
    asked for, and then used. What is used later was used before: only what worked then must work. Queues must be what
    their arguments say. Then the broker restarts once more, and all is asked for and used again."""
    if stage.around.restart is None:
        return
    things = Things(stage, stage.channel(connection=stage.living()))
    routes = _declared(things)
    special = [what for what, arguments in SPECIAL.items() if offered(stage, *arguments)]
    for what in special:
        things.queue(what, arguments=dict(SPECIAL[what]))
    things.channel.declare("", durable=True)
    stage.quiesce()
    away = _elsewhere(stage)
    made = _names_made(stage)
    _looked_for(stage, PREDECLARED)
    _declared_again(stage, things)
    _published(stage, things, routes)
    stage.around.revive(stage)
    stage.belongings.queues.update(dict.fromkeys(made, stage.living()))
    _looked_for(stage, PREDECLARED, things, made)
    _looked_for_there(stage, away)
    _looked_into(stage, *(things.queues[what][0] for what in ("renewed", *PURGED)))
    _declared_again(stage, things)
    _published(stage, things, routes)
    for what in special:
        _filled(stage, things.queues[what][0], what)
    stage.channel(connection=stage.living()).declare("", durable=True)
    stage.quiesce()
    stage.belongings.queues.update(dict.fromkeys(_names_made(stage), stage.living()))
    stage.around.revive(stage)
    _looked_for(stage, PREDECLARED, things, made)
    _published(stage, things, routes)
    _goes_now(stage, things)


def _goes_now(stage: Stage, things: Things) -> None:
    """What is to go with its last binding loses that, and is looked for when it must have gone."""
    exchange, channel = things.exchanges[BY_ITSELF][0], stage.channel(connection=stage.living())
    channel.unbind(things.queues["plain"][0], exchange, "still")
    stage.quiesce()
    wait(stage, GONE)
    channel.find_exchange(exchange)
    stage.quiesce()


def _elsewhere(stage: Stage) -> Things | None:
    """Durable and transient things in a virtual host of this history's own."""
    if stage.around.admin is None:
        return None
    away = Things(stage, stage.channel(connection=stage.connect("away", vhost=stage.around.vhost(stage))))
    for durable in (True, False):
        if durable or offered(stage, TRANSIENT):
            away.queue(f"durable {durable}", durable=durable)
        away.exchange(f"durable {durable}", durable=durable)
    stage.quiesce()
    return away


def _looked_for_there(stage: Stage, things: Things | None) -> None:
    """Each on a channel of its own."""
    if things is None:
        return
    line = stage.connect("away again", vhost=things.channel.connection.target.vhost)
    for name, _ in things.queues.values():
        stage.channel(connection=line).declare(name, passive=True)
    for name, _, _ in things.exchanges.values():
        stage.channel(connection=line).find_exchange(name)
    stage.quiesce()


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
    deleted, renewed, *purged = (things.queue(what) for what in ("deleted", "renewed", *PURGED))
    direct, other = things.exchange("direct"), things.exchange("fanout", "fanout")
    passing = things.exchange("transient", durable=False)
    things.exchange("internal", "fanout", internal=True)
    gone = things.exchange("deleted")
    routes: list[Route] = [("direct", key, {}) for key in ("a", "b", "gone", "noted")]
    channel.bind(plain, PREDECLARED[0], plain)
    routes.append((PREDECLARED[0], plain, {}))
    for queue, key in ((plain, "a"), (full, "b"), (plain, "gone"), (transient, "t"), (full, "gone")):
        channel.bind(queue, direct, key)
    channel.bind(full, direct, "noted", {"note": "red"})
    channel.bind(full, other)
    channel.bind(full, passing, "b")
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
        channel.bind_exchange(PREDECLARED[0], direct, plain)
        routes.append(("direct", plain, {}))
    if offered(stage, ALTERNATE):
        things.exchange("alternate", arguments={ALTERNATE: other})
        routes.append(("alternate", "nowhere", {}))
    channel.delete(deleted)
    channel.delete_exchange(gone)
    stage.quiesce()
    routes += _made_twice(things, plain, direct)
    if offered(stage, "nowait"):
        routes.append(_made_quietly(things, direct))
    _emptied(stage, renewed, *purged, **things.queues["renewed"][1])
    return routes


def _made_quietly(things: Things, direct: str) -> Route:
    """A queue that is declared and bound without an answer, on a channel of its own."""
    channel = things.stage.channel(connection=things.stage.living())
    queue = Things(things.stage, channel, things.queues).queue("quiet", no_wait=True)
    channel.send(m.QueueBind(channel.number, queue=queue, exchange=direct, routing_key="quiet", no_wait=True))
    things.stage.barrier(channel)
    del things.queues["quiet"][1]["no_wait"]
    return "direct", "quiet", {}


def _made_twice(things: Things, plain: str, direct: str) -> list[Route]:
    """A binding that was made twice, and removed once; names that durable things had before transient ones, and the
    other way round; and an exchange that would go with its last binding, which it has still."""
    stage, channel = things.stage, things.channel
    for _ in range(2):
        channel.bind(plain, direct, "twice")
    channel.unbind(plain, direct, "twice")
    channel.bind(plain, things.exchange(BY_ITSELF, auto_delete=True), "still")
    for durable in (True, False):
        if offered(stage, TRANSIENT):
            queue = things.queue(f"other than durable {durable}", durable=durable)
            channel.delete(queue)
            things.queue(f"other than durable {durable}", durable=not durable, name=queue)
        exchange = things.exchange(f"other than durable {durable}", durable=durable)
        channel.delete_exchange(exchange)
        things.exchange(f"other than durable {durable}", durable=not durable, name=exchange)
    stage.quiesce()
    return [("direct", "twice", {}), (BY_ITSELF, "still", {})]


def _emptied(stage: Stage, renewed: str, purged: str, quietly: str, **about: Any) -> None:
    """All have messages that would outlast a restart. One is deleted, and declared again as it was; the others are
    purged, the last one without an answer."""
    channel = stage.channel(connection=stage.living())
    channel.confirm()
    stage.quiesce()
    for queue in (renewed, purged, quietly):
        channel.publish(queue, 2, persistent=True)
        stage.confirmed(channel)
    channel.delete(renewed)
    channel.declare(renewed, **about)
    channel.purge(purged)
    channel.send(m.QueuePurge(channel.number, queue=quietly, no_wait=offered(stage, "nowait")))
    stage.barrier(channel)


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


def _looked_into(stage: Stage, *queues: str) -> None:
    """All were emptied before the restart."""
    channel = stage.channel(connection=stage.living())
    for queue in queues:
        stage.get(channel, queue, no_ack=True)


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


@rule("DUR-022", queue_types=("classic",), last=True)
def test_what_policies_set(stage: Stage) -> None:
    """Queues are filled and emptied, before the restart and afterwards. A user has set what holds for the one, an
    operator for another, and for one more both have."""
    if stage.around.restart is None:
        return
    things = Things(stage, stage.channel(connection=stage.living()))
    for what in RULERS:
        things.queue(what)
    stage.quiesce()
    for what, (name, _) in things.queues.items():
        for operator, most in RULERS[what].items():
            put(stage, only(name), {MOST: most}, operator=operator)
    heeded(stage)
    for what, (name, _) in things.queues.items():
        _filled(stage, name, what)
    stage.around.revive(stage)
    _declared_again(stage, things)
    for what, (name, _) in things.queues.items():
        _filled(stage, name, what)

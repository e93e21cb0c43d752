"""The rights machine: two users, whose rights change, try every method on names that they may use or not.

Queues and exchanges belong to the user of the run. Each of the two gets patterns for each of the rights: none, all,
certain names, a part of a name, or an empty one; where the broker knows such, also for the routing keys of a topic
exchange; and in some histories rights in another virtual host, which must not count. Who gets other rights enters anew,
for a broker may remember for the life of a connection what it has looked up. Users are gone when a history ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from hypothesis import strategies as st

from codec import Method, values
from codec import methods as m
from conformance.catalogue.profiles import Profile
from conformance.drive.channel import Channel
from conformance.drive.clerks import EVERYTHING, NOTHING, enter, exactly, patterns, user
from conformance.drive.machines import search
from conformance.drive.machines.shape import Shape
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.world import World
from conformance.drive.stage import Stage

CLERKS = 2
DEFAULT = "amq.default"
DEAD_LETTERS, ALTERNATE = "x-dead-letter-exchange", "alternate-exchange"
Form = Literal["plain", "quiet", "other"]
KEYS = ("w.a", "r.a", "a.w.a", "b")
TOPICS = (".*", r"^w\.", r"^r\.", "^w", NOTHING)
CHANGES = 6
"""So many times users get other rights in a history: each time one enters anew."""


class Office(World):
    """Names of queues and exchanges, of which one each is new, and a channel for each user."""

    def __init__(self, stage: Stage, shape: Shape) -> None:
        self.stage, self.shape = stage, shape
        self.topical = stage.offers("topic exchange") and stage.offers("topic permissions")
        self._queues = [stage.queue(), stage.queue(), stage.recorder.private_name()]
        kind = "topic" if self.topical else "direct"
        topic = stage.exchange(self._queues[0], kind=kind, key="#" if self.topical else KEYS[0])
        self.exchanges = [stage.exchange(self._queues[0]), topic, stage.recorder.private_name()]
        stage.belongings.queues[self._queues[2]] = stage.connection
        stage.belongings.exchanges[self.exchanges[2]] = None
        self.changes = CHANGES
        self.logins = [user(stage, patterns()) for _ in range(CLERKS)]
        self.channels = [enter(stage, login) for login in self.logins]

    @property
    def often(self) -> int:
        return 1

    @property
    def names(self) -> list[str]:
        return [*self._queues, *self.exchanges, DEFAULT]

    def clerk(self, index: int) -> Channel:
        """The channel of this user, open; another connection, where the broker has ended the last one."""
        place = index % CLERKS
        if not self.channels[place].connection.alive:
            self.channels[place] = enter(self.stage, self.logins[place])
        channel = self.channels[place]
        if channel.state != "open":
            self.stage.quiesce()
            self.stage.reopen(channel)
        return channel

    def keep(self) -> None:
        """What a user has declared, or declared again, is removed in the end as well."""
        for queue in self._queues:
            self.stage.belongings.queues.setdefault(queue, self.stage.connection)
        for exchange in self.exchanges:
            self.stage.belongings.exchanges.setdefault(exchange, None)

    def grant(self, index: int, may: Mapping[str, str], topics: Mapping[str, str], *, elsewhere: bool) -> None:
        place, around = index % CLERKS, self.stage.around
        if not self.changes:
            return
        self.changes -= 1
        name = self.logins[place][0]
        if elsewhere:
            vhost = self.prop_of_vhost()
            around.permit(self.stage, name, EVERYTHING, vhost=vhost)
        keys = {self.exchanges[1]: topics} if self.topical else None
        around.permit(self.stage, name, may, topics=keys)
        self.channels[place].connection.close(self.stage.deadline)
        self.channels[place] = enter(self.stage, self.logins[place])

    def prop_of_vhost(self) -> str:
        """Another virtual host, of this history."""
        self._vhost = getattr(self, "_vhost", "") or self.stage.around.vhost(self.stage)
        return self._vhost


@dataclass(frozen=True, slots=True)
class Pattern:
    """One of the kinds of patterns, and which names it is about."""

    kind: int
    names: int

    def of(self, names: list[str]) -> str:
        some = [name for place, name in enumerate(names) if self.names >> place & 1]
        first = names[self.names % len(names)].replace(".", "[.]")
        kinds = (exactly(*some), exactly(*some), ".*", "", NOTHING, f"^{first}", f"{first}$")
        return kinds[self.kind % len(kinds)]


@dataclass(frozen=True, slots=True)
class Grant:
    """A user gets other rights, and enters anew."""

    clerk: int
    configure: Pattern
    write: Pattern
    read: Pattern
    topics: tuple[str, str]
    elsewhere: bool

    def perform(self, world: World) -> None:
        office = cast(Office, world)
        names, (write, read) = office.names, self.topics
        may = {"configure": self.configure.of(names), "write": self.write.of(names), "read": self.read.of(names)}
        office.grant(self.clerk, may, {"write": write, "read": read}, elsewhere=self.elsewhere)


@dataclass(frozen=True, slots=True)
class Try:
    """A method on some of the names; the next one of the user meets an open channel again. It may want no answer, and
    may name no queue, but mean the last that its channel has declared. Publishes may be part of a transaction."""

    clerk: int
    method: str
    queue: int
    exchange: int
    other: int
    key: int
    form: Form

    def perform(self, world: World) -> None:
        office = cast(Office, world)
        channel = office.clerk(self.clerk)
        stage, queue = office.stage, office.queue(self.queue)
        exchange, other = (office.exchanges[place % len(office.exchanges)] for place in (self.exchange, self.other))
        key = KEYS[self.key % len(KEYS)]
        if self.method == "delete exchange" and exchange == office.exchanges[1]:
            return  # rights for its topics are given while it is there
        if self.method.startswith("publish"):
            through, to = ("", queue) if self.method == "publish to queue" else (exchange, key)
            self._begin(stage, channel)
            channel.publish(to, exchange=through)
        else:
            method = METHODS[self.method](stage, channel.number, queue, exchange, other, key)
            channel.send(*self._formed(stage, channel, method))
        if (self.method.startswith("publish") or self.form == "quiet") and stage.offers("channel.flow"):
            stage.go_round(channel)  # what is not answered is over before another connection goes on
        stage.quiesce()
        office.keep()

    def _begin(self, stage: Stage, channel: Channel) -> None:
        if self.form == "other" and stage.offers("tx.select") and channel.view and not channel.view.transactional:
            channel.tx_select()
            stage.quiesce()

    def _formed(self, stage: Stage, channel: Channel, method: Method) -> Sequence[Method]:
        """The method in this form, where it has that."""
        if self.form == "quiet" and hasattr(method, "no_wait"):
            method.no_wait = True
        elif self.form == "other" and isinstance(method, OF_THE_LAST):
            channel.declare(method.queue, passive=True)
            stage.quiesce()
            if channel.state != "open":
                return ()
            method.queue = ""
        return (method,)


def _declare(stage: Stage, heir: str = "") -> values.FieldTable:
    typed = {"x-queue-type": stage.queue_type} if stage.profile.typed else {}
    return values.table({**typed, **({DEAD_LETTERS: heir} if heir else {})})


def _new_queue(stage: Stage, n: int, queue: str, exchange: str, other: str, key: str) -> Method:
    stage.require(DEAD_LETTERS)
    return m.QueueDeclare(n, queue=queue, durable=stage.durable, arguments=_declare(stage, exchange))


def _new_exchange(stage: Stage, n: int, queue: str, exchange: str, other: str, key: str) -> Method:
    stage.require(ALTERNATE)
    arguments = values.table({ALTERNATE: other})
    return m.ExchangeDeclare(n, exchange=exchange, type="fanout", arguments=arguments)


def _between(stage: Stage, n: int, queue: str, exchange: str, other: str, key: str) -> Method:
    stage.require("exchange.bind")
    return m.ExchangeBind(n, destination=exchange, source=other, routing_key=key)


OF_THE_LAST = (m.QueueDelete, m.QueuePurge, m.BasicGet, m.BasicConsume, m.QueueBind, m.QueueUnbind)
"""Methods that may leave the name of their queue out."""
Made = Callable[[Stage, int, str, str, str, str], Method]
METHODS: Mapping[str, Made] = {
    "declare": lambda stage, n, q, x, y, k: m.QueueDeclare(
        n, queue=q, durable=stage.durable, arguments=_declare(stage)
    ),
    "declare with heir": _new_queue,
    "look for queue": lambda stage, n, q, x, y, k: m.QueueDeclare(n, queue=q, passive=True),
    "delete": lambda stage, n, q, x, y, k: m.QueueDelete(n, queue=q),
    "purge": lambda stage, n, q, x, y, k: m.QueuePurge(n, queue=q),
    "get": lambda stage, n, q, x, y, k: m.BasicGet(n, queue=q, no_ack=True),
    "consume": lambda stage, n, q, x, y, k: m.BasicConsume(
        n, queue=q, consumer_tag=stage.payloads.next_consumer(), no_ack=True
    ),
    "bind": lambda stage, n, q, x, y, k: m.QueueBind(n, queue=q, exchange=x, routing_key=k),
    "unbind": lambda stage, n, q, x, y, k: m.QueueUnbind(n, queue=q, exchange=x, routing_key=k),
    "bind exchanges": _between,
    "declare exchange": lambda stage, n, q, x, y, k: m.ExchangeDeclare(n, exchange=x, type="fanout"),
    "declare exchange with alternate": _new_exchange,
    "look for exchange": lambda stage, n, q, x, y, k: m.ExchangeDeclare(n, exchange=x, type="fanout", passive=True),
    "delete exchange": lambda stage, n, q, x, y, k: m.ExchangeDelete(n, exchange=x),
}
PUBLISHES = ("publish", "publish", "publish to queue")
RARE = ("delete", "delete exchange")
USUAL = tuple(name for name in METHODS if name not in RARE)

_clerk, _place = st.integers(0, CLERKS - 1), st.integers(0, 2)
_pattern = st.builds(Pattern, st.integers(0, 6), st.integers(0, 127))
_topics = st.tuples(st.sampled_from(TOPICS), st.sampled_from(TOPICS))
_rarely = st.sampled_from((*(False,) * 9, True))
_form: st.SearchStrategy[Form] = st.sampled_from(("plain", "plain", "quiet", "other"))


def _tries(*methods: str) -> tuple[st.SearchStrategy[object], ...]:
    return _clerk, st.sampled_from(methods), _place, _place, _place, st.integers(0, 3), _form


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(8, Try, *_tries(*USUAL)),
        weighted(3, Try, *_tries(*PUBLISHES)),
        weighted(1, Try, *_tries(*RARE)),
        weighted(4, Grant, _clerk, _pattern, _pattern, _pattern, _topics, _rarely),
    )


RIGHTS = search.Machine("rights", commands, (1,), Office, wide=(1,), small=True, managed=True, times=0.25)

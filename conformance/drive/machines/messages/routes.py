"""The routes machine: exchanges of all types that lead to queues and to each other, and publishes that find their way.

Most publishes are aimed: their key and headers are made from a binding that is there, to fit it or to miss it by a
little. Long keys, many headers, many queues and many keys in CC are drawn as often as short ones, so that what counts
to a limit is exceeded. Bindings come and go, exchanges and queues are deleted and declared anew. An exchange may have
an alternate. Each command comes to rest before the next, for a route is certain only then. All is mandatory, so what
finds no way must come back, and what finds one must not.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import strategies as st

from codec import methods as m
from codec import values
from conformance.catalogue.profiles import Profile
from conformance.drive.around import wait
from conformance.drive.machines import search
from conformance.drive.machines.alphabet import Barrier
from conformance.drive.machines.confirms import Begin, End
from conformance.drive.machines.messages.acts import patiently
from conformance.drive.machines.messages.binding import Bind, Post, Renew, Unbind
from conformance.drive.machines.messages.network import (
    EMPTY_WORDS,
    NODES,
    Network,
    network,
)
from conformance.drive.machines.shape import Lot
from conformance.drive.machines.swarm import Alphabet, weighted
from conformance.drive.machines.world import World

QUEUES, MANY = 3, 40
"""Queues that are used all the time, and queues beside, all bound at once."""
SWEPT = 60
"""So many gets empty a queue, or leave it."""
DEATHS = "deaths"
DEAD = "x-dead-letter-exchange"
ARRIVED = 1.3
"""Seconds after which a dead letter has certainly come."""


@dataclass(frozen=True, slots=True)
class Wear:
    """A binding goes and comes back so often, in one write, and at last is gone or there; messages are aimed at it.
    What it leads to leads on by one that is like it."""

    one: Bind
    times: int
    gone: bool
    post: Post

    def perform(self, world: World) -> None:
        net = network(world)
        if self.one.onward:
            replace(self.one, source=self.one.to, onward=False).perform(world)
        before = len(net.ties)
        self.one.perform(world)
        if len(net.ties) == before:
            return
        tie, channel = net.ties[before], world.channel(self.one.channel)
        source = net.nodes[tie.source].name
        remove = channel.unbind_exchange if tie.onward else channel.unbind
        add = channel.bind_exchange if tie.onward else channel.bind
        with world.stage.batch():
            for _ in range(self.times):
                remove(tie.to, source, tie.key, tie.arguments)
                add(tie.to, source, tie.key, tie.arguments)
            if self.gone:
                remove(tie.to, source, tie.key, tie.arguments)
        world.stage.quiesce()
        if self.gone:
            net.ties = [one for one in net.ties if one != tie]
        for post in (replace(self.post, twist="", copies=0), self.post):
            post.at(world, source, tie)
        world.stage.quiesce()


@dataclass(frozen=True, slots=True)
class Spend:
    """All that leads away from an exchange is unbound, and it is deleted because it is unused: all in one write. Then
    it is declared as it was."""

    channel: int
    node: int

    def perform(self, world: World) -> None:
        net, channel = network(world), world.channel(self.channel)
        node = net.node(self.node)
        with world.stage.batch():
            for tie in net.ties:
                if tie.source == self.node % NODES:
                    remove = channel.unbind_exchange if tie.onward else channel.unbind
                    remove(tie.to, node.name, tie.key, tie.arguments)
            channel.send(m.ExchangeDelete(channel.number, exchange=node.name, if_unused=True))
        world.stage.quiesce()
        net.untie(node.name)
        world.channel(0)
        net.declare(node)


@dataclass(frozen=True, slots=True)
class Replace:
    """A queue is deleted, and there is another of its name."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        name, channel = world.queue(self.queue), world.channel(self.channel)
        channel.delete(name)
        world.stage.quiesce()
        network(world).untie(name)
        world.stage.queue(name=name)


@dataclass(frozen=True, slots=True)
class Crowd:
    """Many queues are bound to one exchange by one key, and one message comes to all of them."""

    source: int
    count: int

    def perform(self, world: World) -> None:
        net = network(world)
        source, channel = net.node(self.source), world.channel(0)
        if source.kind == "headers" or net.crowd:
            return
        net.crowd = [world.stage.queue() for _ in range(self.count)]
        for name in net.crowd:
            channel.bind(name, source.name, "all.of.them")
        world.stage.quiesce()
        channel.publish("all.of.them", exchange=source.name, mandatory=True)


@dataclass(frozen=True, slots=True)
class Mail:
    """A message for a queue, or for nobody, that names queues in CC or BCC, the others of them far behind."""

    channel: int
    queue: int
    nobody: bool
    copies: int

    def perform(self, world: World) -> None:
        if not world.stage.offers("sender-selected distribution"):
            return
        named = [*(f"nobody.{number}" for number in range(self.copies)), world.queue(self.queue + 1)]
        headers = values.table({"BCC" if self.copies % 2 else "CC": named})
        key = "nobody" if self.nobody else world.queue(self.queue)
        world.channel(self.channel).publish(key, mandatory=True, properties={"headers": headers})


@dataclass(frozen=True, slots=True)
class Bury:
    """A message dies in a queue whose dead letters go to an exchange, aimed as any other; then all queues are looked
    into. Where time is not ours, that happens seldom."""

    post: Post
    own_key: bool

    def perform(self, world: World) -> None:
        net, stage = network(world), world.stage
        if DEATHS not in world.shape.lot.traits or not net.ties or not net.deaths or not stage.offers(DEAD):
            return
        net.deaths -= 1
        tie = net.ties[self.post.aim % len(net.ties)]
        at = net.node(self.post.source if self.post.away else tie.source)
        key, headers = self.post.key_for(net, tie), self.post.headers_for(tie)
        about = {DEAD: at.name} | ({"x-dead-letter-routing-key": key} if self.own_key else {})
        queue, channel = stage.queue(about), world.channel(0)
        channel.publish(queue, mandatory=True, properties={"headers": values.table(headers)} if headers else {})
        stage.confirmed(channel)
        tag = stage.get(channel, queue)
        if tag is not None:
            channel.reject(tag, requeue=False)
            stage.barrier(channel)
        wait(stage, ARRIVED)
        patiently(stage, lambda: self._sweep(world))

    def _sweep(self, world: World) -> None:
        for place in range(QUEUES):
            Sweep(0, place).perform(world)


@dataclass(frozen=True, slots=True)
class Lead:
    """A way over two exchanges, or by an alternate one, is laid to a queue, and messages are sent on it."""

    first: Bind
    second: Bind
    alternate: bool
    posts: tuple[Post, ...]

    def perform(self, world: World) -> None:
        net = network(world)
        first, second = self.first.source % NODES, self.second.source % NODES
        if first == second:
            return
        if self.alternate:
            Renew(0, first, self.first.to, second).perform(world)
        replace(self.first, to=second, onward=not self.alternate).perform(world)
        before = len(net.ties)
        replace(self.second, onward=False).perform(world)
        for post in self.posts:
            replace(post, source=first, aim=before, away=1).perform(world)
        world.stage.quiesce()


@dataclass(frozen=True, slots=True)
class Loosen:
    """Two bindings lead to the same place, and one is removed; messages are aimed at both."""

    one: Bind
    other: Bind
    posts: tuple[Post, ...]

    def perform(self, world: World) -> None:
        net = network(world)
        if self.one.onward:
            replace(self.other, source=self.one.to, onward=False).perform(world)
        before = len(net.ties)
        self.one.perform(world)
        replace(self.other, source=self.one.source, to=self.one.to, onward=self.one.onward).perform(world)
        Unbind(self.one.channel, before, wrong=False).perform(world)
        for post in self.posts:
            replace(post, aim=before, away=0).perform(world)
        world.stage.quiesce()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Takes all that is in a queue."""

    channel: int
    queue: int

    def perform(self, world: World) -> None:
        channel, queue = world.channel(self.channel), world.queue(self.queue)
        for _ in range(SWEPT):
            if channel.state != "open" or world.stage.get(channel, queue, no_ack=True) is None:
                break


_channel, _to = st.sampled_from((0, 0, 0, 1)), st.integers(0, NODES - 1)
_queue, _aim = st.integers(0, QUEUES - 1), st.integers(0, 11)
_word = st.sampled_from(("a", "a", "b", "", "*", "*", "#", "#"))
_words = st.lists(_word, min_size=1, max_size=3).map(lambda found: tuple(found) if found.count("#") < 3 else ("#", "#"))
"""RabbitMQ 4.3 allows no key to have more than two wildcards of that kind."""
_fill = st.lists(st.sampled_from(("a", "b", "")), max_size=3).map(tuple)
_repeated = st.sampled_from((1, 1, 1, 1, 1, 3, 5, 11))
_value = st.sampled_from(("red", "red", "blue", 1, 2, None))
_name = st.sampled_from(("ink", "size", "x-tag", "xtag", "X-tag", *(f"h{number}" for number in range(9))))
_headers = st.dictionaries(_name, _value, min_size=1, max_size=8).map(lambda found: tuple(found.items()))
_form = st.sampled_from(("", "all", "all", "any", "any", "all-with-x", "any-with-x"))
_twist = st.sampled_from(("", "", "", "", "longer", "shorter", "other"))
_copies = st.sampled_from((0, 0, 0, 0, 0, 0, 1, 2, 5, 18))
_rarely, _mostly = st.sampled_from((False, False, False, True)), st.sampled_from((True, True, True, False))


_bind = _channel, _to, _to, st.booleans(), _words, _repeated, _headers, _form
_post = st.sampled_from((0, 0, 0, 0, 1, 2)), _to, _aim, st.integers(0, 1), _fill, _twist, _copies
_binds, _posts = st.builds(Bind, *_bind), st.lists(st.builds(Post, *_post), min_size=1, max_size=3).map(tuple)


def commands(profile: Profile, queue_type: str) -> Alphabet:
    return (
        weighted(5, Bind, *_bind),
        weighted(8, Post, *_post),
        weighted(8, Lead, _binds, _binds, _rarely, _posts),
        weighted(3, Loosen, _binds, _binds, _posts),
        weighted(2, Mail, _channel, _queue, st.booleans(), st.sampled_from((0, 0, 1, 2, 4, 17))),
        weighted(8, Bury, st.builds(Post, *_post), st.sampled_from((True, True, False))),
        weighted(2, Unbind, _channel, _aim, _rarely),
        weighted(2, Wear, _binds, st.sampled_from((3, 20, 20)), _mostly, st.builds(Post, *_post)),
        weighted(1, Spend, _channel, _to),
        weighted(2, Renew, _channel, _to, _to, st.none() | _to),
        weighted(1, Replace, _channel, _queue),
        weighted(1, Crowd, _to, st.sampled_from((5, 20, MANY))),
        weighted(4, Sweep, _channel, _queue),
        weighted(1, Begin, st.just(2)),
        weighted(1, End, st.just(2), st.booleans(), st.just(False)),
        weighted(1, Barrier, _channel),
    )


LOTS = st.sampled_from((Lot(), Lot(), Lot(frozenset({EMPTY_WORDS})), Lot(frozenset({DEATHS}))))
"""Where dead letters may come into any queue, less is certain of all others."""
ROUTES = search.Machine("routes", commands, (QUEUES,), Network, wide=(1,), small=True, times=2, lots=LOTS)

"""The stage: one history being made.

A scene (a directed check, or one run of a machine) provokes the broker through a stage and asserts nothing. Every
event goes to the recorder and, at once, to the judge; only the judge's findings say anything about the broker.

What a stage waits for, and how long, its waiter decides (`waiting`). Its roster knows which channels there are, and
`ending` how a history ends. A stage owns the queues it declares and removes them whatever happens. A scene that cannot
go on is left with `SceneOver`; `finish` lets the judge speak.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from codec import Method
from conformance.catalogue import rules as catalogue
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.features import CROWD, DECLARATIONS, DEFAULT, DURABLE, GET, GETS, MEANS, asked_of
from conformance.drive import ending
from conformance.drive.around import Around
from conformance.drive.belongings import Belongings
from conformance.drive.channel import Channel
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.raw import ConnectionLost, Item, RawConnection, Target, open_connection
from conformance.drive.guard import Guard
from conformance.drive.payloads import Payloads
from conformance.drive.roster import Roster
from conformance.drive.standin import OneQueue, Takers, instead
from conformance.drive.waiting import DRAIN, Endless, Hurry, NotOffered, SceneOver, Spared, Waiter, read_all
from conformance.history import events
from conformance.history.events import TO_CLIENT, Event
from conformance.history.recorder import Recorder
from conformance.oracle.model.views import ChannelView
from conformance.oracle.monitors import Judge
from conformance.oracle.verdicts import Judgement

__all__ = ["Endless", "NotOffered", "SceneOver", "Stage"]

CLOSES = ("channel.close", "connection.close")
"""So the words of a broker begin that refuses something."""

_BOUND = frozenset({"exchange.declare-ok", "queue.bind-ok"})


class Stage:
    """Connections, channels and private queues of one history."""

    def __init__(
        self,
        target: Target,
        profile: Profile,
        recorder: Recorder,
        name: str,
        rules: Sequence[str] = (),
        queue_type: str = "classic",
        deadline: float = 5.0,
        guard: Guard | None = None,
    ) -> None:
        self.recorder, self.judge, self.deadline = recorder.begin(name), Judge(profile), deadline
        self.guard = guard or Guard()
        self.events: list[Event] = []
        self.connections: dict[str, RawConnection] = {}
        self.spared = ""
        """What was not sent, and why; empty where all was."""
        self.waiter = Waiter(self.read, self.note, self.judge, deadline, self.guard, self.connections, self.events)
        self.target, self.profile, self.name, self.rules = self.guard.at(target), profile, name, tuple(rules)
        self.queue_type = queue_type
        needs = {(feature, catalogue.get(rule).family) for rule in rules for feature in catalogue.get(rule).needs}
        about = {feature for feature, family in needs if family in MEANS.get(feature, {family})}
        shunned = {name: words for name, words in profile.shunned.items() if name not in about}
        self._without = {**profile.refused, **shunned}
        self.around = Around()
        self.belongings = Belongings()
        self._local = self.recorder.builder("")
        self._roster = Roster(self)
        self.lacking = ""
        """What the broker refuses, without which the scene could not go on, or shows little."""
        self.shows_little(*(name for name, _ in sorted(needs) if name in shunned))
        self.payloads = Payloads(profile.body)
        self._own = self.by_name = ""
        """The exchange that stands in for the default exchange, where the broker has none."""
        self._gets, self._takers = OneQueue(profile.shunned.get(GETS, ""), free=self.offers(GETS)), Takers(self)
        self._names: set[str] = set()
        """Of all connections that this history has had."""
        self._batching = False
        self._over = self._amid = False
        self.recorder.subscribe(self._watch)
        self.note(events.SCENE, name=name, rules=list(self.rules), queue_type=queue_type, profile=profile.name)

    # -- what there is

    @property
    def judgement(self) -> Judgement:
        return self.judge.judgement

    @property
    def connection(self) -> RawConnection:
        """The first connection; opened when first asked for."""
        return self.connections.get("c1") or self.connect("c1")

    def connect(
        self,
        name: str,
        capabilities: Mapping[str, object] | None = None,
        *,
        heartbeat: int | None = None,
        properties: Mapping[str, object] | None = None,
        login: tuple[str, str] | None = None,
        vhost: str | None = None,
        channel_max: int = 0,
    ) -> RawConnection:
        """One more connection in this history; by another user, where a login is given, or into another vhost; with so
        many channels at most, where that is less than the broker allows. One that was not let in keeps its name. No
        capabilities are announced by leaving their table out, or, where that does not let one in, by an empty one."""
        enter = partial(
            open_connection,
            self.target_of(login, vhost),
            self.recorder,
            capabilities=capabilities,
            heartbeat=heartbeat,
            channel_max=channel_max,
        )
        self.make_room()
        name = self.unused(name)
        if properties is None and capabilities is None and login is None and vhost is None and not channel_max:
            self._roster.plain.add(name)
        try:
            connection = enter(name, properties=properties)
        except Unreachable:
            if capabilities is None or capabilities:
                raise
            name = self.unused(name)
            connection = enter(name, properties={**(properties or {}), "capabilities": {}})
        self.connections[name] = connection
        return connection

    def make_room(self) -> None:
        """Raises NotOffered where the broker lets in no more connections than there are."""
        most = self.profile.crowd
        if most is not None and sum(link.alive for link in self.connections.values()) >= most:
            raise NotOffered(f"the broker does not offer {CROWD}: {self.profile.refused.get(CROWD, '')}", refused=True)

    def unused(self, name: str) -> str:
        """This name for a connection, or one like it that none in this history has had."""
        while name in self._names:
            name += " again"
        return name

    def target_of(self, login: tuple[str, str] | None, vhost: str | None = None) -> Target:
        """The broker, as this user, or as the one of the run; in this vhost, or in that of the run."""
        user, password = login or (self.target.user, self.target.password)
        return replace(self.target, user=user, password=password, vhost=vhost or self.target.vhost)

    def channel(self, number: int | None = None, connection: RawConnection | None = None) -> Channel:
        """Opens a channel and waits until it is open."""
        self._prepare()
        channel = self._roster.channel(number, connection or self.connection)
        self.reopen(channel)
        return channel

    def channels(self, count: int, connection: RawConnection | None = None) -> list[Channel]:
        """Opens this many channels at once, and waits until all are open."""
        self._prepare()
        channels = [self._roster.channel(None, connection or self.connection) for _ in range(count)]
        with self.batch():
            for channel in channels:
                channel.open()
        for channel in channels:
            self._await_open(channel)
        return channels

    def reopen(self, channel: Channel) -> None:
        """Opens a channel that is closed, and waits until it is open."""
        channel.open()
        self._await_open(channel)

    @property
    def cancels(self) -> bool:
        """May a consumer be cancelled at any time, without harm to everything else?"""
        return self.offers("basic.cancel") and self.profile.queue(self.queue_type).cancel_any_time

    def offers(self, feature: str) -> bool:
        """May it be used here? What came to no lawful end when it was tried is only for the rules that are about it."""
        return feature not in self._without

    @property
    def durable(self) -> bool:
        """Are queues declared as durable, where a scene has no wish of its own? On a broker that has such."""
        return self.offers(DURABLE)

    def require(self, *features: str) -> None:
        """Raises NotOffered where one of these may not be used here."""
        for feature in features:
            if feature in self._without:
                words = self._without[feature]
                refused = feature in {*self.profile.refused, *DECLARATIONS} or words.startswith(CLOSES)
                raise NotOffered(f"the broker does not offer {feature}: {words}", refused=refused)

    def shows_little(self, *features: str) -> None:
        """The scene goes on without these; what it shows may not be enough."""
        for feature in features if not self.lacking else ():
            self.lacking = self.lacking or f"the broker does not offer {feature}: {self._without[feature]}"

    def used(self) -> list[Channel]:
        """All channels of the scene, open or not."""
        return self._roster.channels()

    def queue(
        self,
        arguments: Mapping[str, Any] | None = None,
        durable: bool | None = None,
        *,
        name: str | None = None,
        **declare: Any,
    ) -> str:
        """Declares a fresh private queue of the stage's type, or one that it has deleted, and waits for declare-ok."""
        self.require(*(arguments or ()))
        self._prepare()
        name = name or self.payloads.long(self.recorder.private_name())
        connection = self.connection if self.connection.alive else self._home(name)
        channel, seen = self._hand(connection), len(self.events)
        self.belongings.queues[name] = connection
        channel.declare(
            name,
            durable=durable,
            arguments={**({"x-queue-type": self.queue_type} if self.profile.typed else {}), **(arguments or {})},
            **declare,
        )
        self.waiter.need(lambda: self._all_declared(channel, seen), f"queue {name} is not declared", channel)
        if self.by_name:
            self.bind(name, self.by_name, name)
        return name

    def _prepare(self) -> None:
        """Declares an exchange of our own, where something must stand in for the default exchange, or for round trips
        by channel.flow, and that is asked for the first time."""
        if self._own or (self.offers(DEFAULT) and self.offers("channel.flow")):
            return
        self._own = self.recorder.private_name()
        self.by_name = "" if self.offers(DEFAULT) else self._own
        self.exchange(kind="direct", name=self._own, durable=self.durable)

    def _all_declared(self, channel: Channel, since: int) -> bool:
        """Are all declarations answered that the channel has sent since then?"""
        place = channel.connection.name, channel.number
        said = (one for one in self.events[since:] if not one.has("no_wait"))
        here = [one.method for one in said if (one.connection, one.channel) == place]
        return 0 < here.count("queue.declare") <= here.count("queue.declare-ok")

    def exchange(
        self,
        *queues: str,
        kind: str = "fanout",
        key: str = "",
        arguments: Mapping[str, Any] | None = None,
        name: str | None = None,
        durable: bool = False,
    ) -> str:
        """Declares a private exchange that leads to these queues, and waits until it does. It has a fresh name, unless
        it is given one that is free."""
        self.require(*(arguments or ()))
        name = name or self.recorder.private_name()
        channel, seen = self._hand(self.connection), len(self.events)
        self.belongings.exchanges[name] = None
        channel.declare_exchange(name, kind, arguments=arguments, durable=durable)
        for queue in queues:
            channel.bind(queue, name, key)
        self.waiter.need(
            lambda: sum(event.method in _BOUND for event in self.events[seen:]) > len(queues),
            f"exchange {name} is not declared and bound",
            channel,
        )
        return name

    def bind(self, queue: str, exchange: str, key: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        """Binds the queue, and waits until that is answered."""
        self._change(lambda channel: channel.bind(queue, exchange, key, arguments), "queue.bind-ok")

    def unbind(self, queue: str, exchange: str, key: str = "", arguments: Mapping[str, Any] | None = None) -> None:
        """Removes the binding, and waits until that is answered."""
        self._change(lambda channel: channel.unbind(queue, exchange, key, arguments), "queue.unbind-ok")

    def bind_exchange(self, destination: str, source: str, key: str = "") -> None:
        """Binds one exchange to another, and waits until that is answered."""
        self._change(lambda channel: channel.bind_exchange(destination, source, key), "exchange.bind-ok")

    def _change(self, ask: Callable[[Channel], None], answer: str) -> None:
        channel, seen = self._hand(self.connection), len(self.events)
        ask(channel)
        self.waiter.need(
            lambda: any(event.method == answer for event in self.events[seen:]), f"{answer} does not come", channel
        )

    def backstage(self, queue: str = "") -> Channel:
        """The open channel of our own on the connection that declared the queue, or on one that lives."""
        return self._hand(self._home(queue))

    # -- reading and waiting

    def read(self, timeout: float) -> list[Event]:
        """One round of reading on all connections, after waiting up to `timeout` seconds for something to come."""
        return read_all(self.connections.values(), timeout)

    def quiesce(self, deadline: float | None = None) -> bool:
        """Reads until nothing is owed. False, and a DEADLINE event, when something stays owed for the deadline."""
        return self.waiter.quiesce(deadline)

    def barrier(self, channel: Channel) -> None:
        """A round trip on the channel that changes nothing; all that was sent on it before has been handled then."""
        self.go_round(channel)
        self.quiesce()

    def confirmed(self, channel: Channel) -> bool:
        """Waits until none of the channel's publishes is unconfirmed, or none need be confirmed."""
        view = channel.view
        self.waiter.settles(lambda: view is None or not view.unconfirmed or not self.judge.owed())
        return self.quiesce() and not (view is not None and view.unconfirmed)

    def note(self, kind: str, **about: object) -> None:
        """Something beside the wire that the judge must know."""
        self.recorder.emit(self._local.local(kind, **about))

    # -- sending

    def transmit(self, channel: Channel, *items: Item) -> None:
        """Sends for a channel: at once, or with its batch. Raises NotOffered for what the broker does not offer, and
        Spared for what breaks it down."""
        if self.guard.deeds.deadly:
            self._spare(items)
        if self._without:
            self.require(*itertools.chain.from_iterable(asked_of(item) for item in items if isinstance(item, Method)))
        self._gets.note(channel, items)
        try:
            channel.connection.queue(*(instead(items, self.by_name) if self.by_name else items))
        except ConnectionLost as lost:
            raise SceneOver(str(lost)) from lost
        if not self._batching:
            channel.connection.flush()

    @contextlib.contextmanager
    def batch(self) -> Iterator[None]:
        """Everything sent inside leaves in one write per connection."""
        before, self._batching = self._batching, True
        try:
            yield
        finally:
            self._batching = before
            if not before:
                self._flush()

    @contextlib.contextmanager
    def hold_close_ok(self, connection: RawConnection | None = None) -> Iterator[None]:
        """Inside, a channel.close of the broker is not answered; at the end it is."""
        connection = connection or self.connection
        connection.holding = True
        try:
            yield
        finally:
            connection.release()

    # -- getting, and round trips

    def rounds(self) -> None:
        """A round trip on each connection: whatever the broker had said before has been read then."""
        for connection in [one for one in self.connections.values() if one.alive]:
            with contextlib.suppress(SceneOver):
                self.go_round(self._hand(connection))
        self.quiesce()

    def go_round(self, channel: Channel) -> None:
        """Asks for an answer on this channel that changes nothing."""
        if self.offers("channel.flow"):
            channel.flow()
        else:
            self._prepare()
            channel.declare_exchange(self._own, "direct", passive=True, durable=self.durable)

    def fetch(self, channel: Channel, queue: str, n: int = 1, no_ack: bool = False) -> list[int]:
        """Gets n messages, one after the other, and tells their tags."""
        tags: list[int] = []
        hurry = Hurry(self.waiter)
        while len(tags) < n:
            taken = self._take(channel, queue, n - len(tags), no_ack)
            if taken:
                tags += taken
                hurry.again()
            elif channel.state != "open" or not self.judge.ready(queue) or hurry.over:
                self.guard.patience.in_vain(DRAIN if hurry.over else ())
                raise SceneOver(f"only {len(tags)} of {n} messages could be fetched from {queue}")
            else:
                hurry.wait(self.waiter.vain)
        return tags

    def get(self, channel: Channel, queue: str, *, no_ack: bool = False) -> int | None:
        """One get and its answer: the tag that came, None where none came."""
        return next(iter(self._take(channel, queue, 1, no_ack)), None)

    def _take(self, channel: Channel, queue: str, n: int, no_ack: bool) -> list[int]:
        """The tag that one get brings, if any; where there are no gets, those of n messages that a consumer takes."""
        if not self.offers(GET):
            return self._takers.take(channel, queue, n, no_ack=no_ack)
        if self._roster.is_own(channel) and self._gets.turns(channel, queue):
            channel.close()
            self.quiesce()
            self.reopen(channel)
        seen = len(self.events)
        channel.get(queue, no_ack)
        self.quiesce()
        key = TO_CLIENT, channel.connection.name, channel.number, "basic.get-ok"
        return [
            event.delivery_tag
            for event in self.events[seen:]
            if (event.direction, event.connection, event.channel, event.method) == key
            and event.delivery_tag is not None
        ][:1]

    # -- the end

    def finish(self, *, give_back: bool = False) -> Judgement:
        """Brings the history to its end: all settled, all queues drained and deleted, all connections closed."""
        if not self._over:
            self._flush()
            ending.finish(self, give_back=give_back)
            self._end()
        return self.judgement

    def cut(self) -> Judgement:
        """Breaks the history off: connections are reset, queues removed unseen. The judge keeps what it has."""
        if not self._over:
            for connection in self.connections.values():
                connection.abort()
            self._end()
        self.cleanup()
        return self.judgement

    def cleanup(self) -> None:
        """Leaves nothing behind, however the scene ended. Safe to call at any time, and more than once."""
        for connection in self.connections.values():
            connection.abort()
        self.around.clean()
        self.belongings.sweep(self.guard, self.target, self.deadline)

    # -- inside

    def meant(self, channel: Channel, tag: int) -> int:
        """The tag that a scene means by this one. Raises SceneOver where that is none: fewer came than are meant."""
        if tag < 0:
            raise SceneOver(f"fewer deliveries have come than the scene counts on: it means tag {tag}")
        return tag

    def view_of(self, channel: Channel) -> ChannelView | None:
        connection = self.judge.connection(channel.connection.name)
        return connection.channel(channel.number) if connection else None

    def _spare(self, items: Iterable[Item]) -> None:
        why = self.guard.deeds.forbids(self.events, (item for item in items if isinstance(item, Method)))
        if why:
            self.spared = why
            raise Spared(why)

    def _watch(self, event: Event) -> None:
        """A judge that was interrupted amid a step is told no more."""
        self.events.append(event)
        self._names.add(event.connection)
        if not self._amid:
            self._amid = True
            self.judge.step(event)
            self._amid = False
        self.belongings.watch(event)

    def _await_open(self, channel: Channel) -> None:
        self.waiter.need(lambda: channel.state == "open", f"{channel} does not open", line=channel.connection)

    def _home(self, queue: str) -> RawConnection:
        """The connection that declared the queue, or where that is gone, one that lives."""
        home = self.belongings.queues.get(queue)
        return home if home is not None and home.alive else self.living()

    def living(self) -> RawConnection:
        """A connection that lives; a new one, where none does."""
        for connection in self.connections.values():
            if connection.alive:
                return connection
        return self.connect(f"c{len(self.connections) + 1}")

    def _hand(self, connection: RawConnection) -> Channel:
        """The channel of our own on this connection, opened where it is not."""
        channel = self._roster.own(connection)
        if channel.state != "open":
            self.reopen(channel)
        return channel

    def _flush(self) -> None:
        for connection in self.connections.values():
            if connection.alive:
                connection.flush()

    def _end(self) -> None:
        self._over = True
        self.judge.end(True)

"""The stage: one history being made.

A scene (a directed check, or one run of a machine) provokes the broker through a stage and asserts nothing. Every
event goes to the recorder and, at once, to the judge; only the judge's findings say anything about the broker.

Silence is never taken on trust. `quiesce` reads until the judge says that nothing is owed, however long single
answers take, and only when nothing more has come for a whole deadline does it put a DEADLINE event into the history,
from which the judge draws its conclusion. A stage owns the queues it declares and removes them whatever happens.

A scene that cannot go on (its connection is gone, a message it needs does not come) is left with `SceneOver`. That
is no verdict: what led to it stands in the history, and `finish` lets the judge speak.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from codec import methods as m
from conformance import events
from conformance.around import Around
from conformance.channel import Channel
from conformance.drivers.raw import ConnectionLost, Item, RawConnection, Target
from conformance.drivers.sweep import sweep
from conformance.drivers.wire import wait_any
from conformance.events import TO_CLIENT, Event
from conformance.model.views import ChannelView
from conformance.monitors import Judge
from conformance.profiles import Profile
from conformance.recorder import Recorder
from conformance.verdicts import Judgement

PATIENCE = 20
"""A broker that keeps answering without ever coming to rest is given up after this many deadlines."""
SURPLUS = 1000
"""At most so many messages are taken from a queue that should be empty."""
SOON, LATER = 0.002, 0.1
"""Seconds between two looks into a queue whose messages are not back yet: few at first, then more."""
BACKSTAGE = 900
"""The channel, where the broker allows so many, on which queues are declared and deleted."""

_BOUND = frozenset({"exchange.declare-ok", "queue.bind-ok"})


class SceneOver(Exception):
    """The scene cannot go on. Not a failure by itself: the judgement tells."""


class Stage:
    """Connections, channels and private queues of one history."""

    def __init__(
        self, target: Target, profile: Profile, recorder: Recorder, name: str, rules: Sequence[str] = (),
        queue_type: str = "classic", deadline: float = 5.0,
    ) -> None:
        self.target, self.profile, self.name, self.rules = target, profile, name, tuple(rules)
        self.queue_type, self.deadline = queue_type, deadline
        self.judge = Judge(profile)
        self.around = Around()
        self.recorder = recorder.begin(name)
        self.events: list[Event] = []
        self.connections: dict[str, RawConnection] = {}
        self._queues: dict[str, RawConnection] = {}
        self._exchanges: dict[str, None] = {}
        self._deleting: dict[tuple[str, int], str] = {}
        self._gets: dict[tuple[str, int], Event] = {}
        self._channels: dict[tuple[str, int], Channel] = {}
        self._hands: dict[str, Channel] = {}
        self._numbers: defaultdict[str, Iterator[int]] = defaultdict(lambda: itertools.count(1))
        self._messages, self._consumers = itertools.count(1), itertools.count(1)
        self._batching = False
        self._over = False
        self.recorder.subscribe(self._watch)
        self._local = self.recorder.builder("")
        self.recorder.emit(self._local.local(
            events.SCENE, name=name, rules=list(self.rules), queue_type=queue_type, profile=profile.name,
        ))

    # -- what there is

    @property
    def history(self) -> str:
        return self.recorder.history

    @property
    def judgement(self) -> Judgement:
        return self.judge.judgement

    @property
    def connection(self) -> RawConnection:
        """The first connection; opened when first asked for."""
        return self.connections.get("c1") or self.connect("c1")

    def connect(
        self, name: str, capabilities: Mapping[str, object] | None = None, *, heartbeat: int = 0,
        properties: Mapping[str, object] | None = None,
    ) -> RawConnection:
        """One more connection in this history."""
        connection = RawConnection.open(
            self.target, self.recorder, name, capabilities=capabilities, heartbeat=heartbeat, properties=properties,
        )
        self.connections[name] = connection
        return connection

    def channel(self, number: int | None = None, connection: RawConnection | None = None) -> Channel:
        """Opens a channel and waits until it is open."""
        connection = connection or self.connection
        number = number or next(self._numbers[connection.name])
        channel = self._channels.setdefault(
            (connection.name, number), Channel(self, connection, number),
        )
        self.reopen(channel)
        return channel

    def reopen(self, channel: Channel) -> None:
        """Opens a channel that is closed, and waits until it is open."""
        channel.open()
        self._need(lambda: channel.state == "open", f"{channel} does not open")

    def queue(
        self, arguments: Mapping[str, Any] | None = None, durable: bool | None = None, *, name: str | None = None,
        **declare: Any,
    ) -> str:
        """Declares a fresh private queue of the stage's type, or one that it has deleted, and waits for declare-ok."""
        name = name or self.recorder.private_name()
        connection = self.connection if self.connection.alive else self._home(name)
        channel, seen = self._backstage(connection), len(self.events)
        self._queues[name] = connection
        channel.declare(
            name, durable=True if durable is None else durable,
            arguments={"x-queue-type": self.queue_type, **(arguments or {})}, **declare,
        )
        self._need(
            lambda: any(event.method == "queue.declare-ok" for event in self.events[seen:]),
            f"queue {name} is not declared", channel,
        )
        return name

    def exchange(self, *queues: str, kind: str = "fanout", key: str = "") -> str:
        """Declares a fresh private exchange that leads to these queues, and waits until it does."""
        name = self.recorder.private_name()
        channel, seen = self._backstage(self.connection), len(self.events)
        self._exchanges[name] = None
        channel.declare_exchange(name, kind)
        for queue in queues:
            channel.bind(queue, name, key)
        self._need(
            lambda: sum(event.method in _BOUND for event in self.events[seen:]) > len(queues),
            f"exchange {name} is not declared and bound", channel,
        )
        return name

    # -- sending

    def transmit(self, channel: Channel, *items: Item) -> None:
        """Sends for a channel: at once, or with its batch."""
        try:
            channel.connection.queue(*items)
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

    # -- waiting

    def pump(self, timeout: float = 0.0) -> list[Event]:
        """One round of reading on all connections, after waiting up to `timeout` seconds for something to come."""
        live = [connection for connection in self.connections.values() if connection.alive]
        if len(live) == 1:
            return live[0].receive(timeout)
        for connection in live:
            connection.flush()
        wait_any([connection.wire for connection in live], timeout)
        return [event for connection in live for event in connection.receive()]

    def quiesce(self, deadline: float | None = None) -> bool:
        """Reads until nothing is owed. False, and a DEADLINE event, when something stays owed for the deadline."""
        if self.settles(lambda: not self.judge.owed(), deadline):
            return True
        self.give_up("replies")
        return False

    def ends(self, connection: RawConnection, patience: float) -> bool:
        """Waits until the broker has ended this connection. False, and a DEADLINE event, when it has not."""
        until = time.monotonic() + patience
        while connection.alive and time.monotonic() < until:
            self.pump(until - time.monotonic())
        if connection.alive:
            self.give_up("end", connection=connection.name)
        return not connection.alive

    def barrier(self, channel: Channel) -> None:
        """A round trip on the channel that changes nothing; all that was sent on it before has been handled then."""
        channel.flow()
        self.quiesce()

    def rounds(self) -> None:
        """A round trip on each connection: whatever the broker had said before has been read then."""
        for connection in [one for one in self.connections.values() if one.alive]:
            with contextlib.suppress(SceneOver):
                self._backstage(connection).flow()
        self.quiesce()

    def note(self, kind: str, **about: object) -> None:
        """Something beside the wire that the judge must know."""
        self.recorder.emit(self._local.local(kind, **about))

    def confirmed(self, channel: Channel) -> bool:
        """Waits until none of the channel's publishes is unconfirmed."""
        view = channel.view
        return self.settles(lambda: view is None or not view.unconfirmed) and self.quiesce()

    def fetch(self, channel: Channel, queue: str, n: int = 1, no_ack: bool = False) -> list[int]:
        """Gets n messages, one after the other, and tells their tags."""
        tags: list[int] = []
        until, pause = time.monotonic() + self.deadline, SOON
        while len(tags) < n:
            tag = self._get(channel, queue, no_ack)
            if tag is not None:
                tags.append(tag)
                until, pause = time.monotonic() + self.deadline, SOON
            elif channel.state != "open" or not self.judge.ready(queue) or time.monotonic() > until:
                raise SceneOver(f"only {len(tags)} of {n} messages could be fetched from {queue}")
            else:
                self.pump(pause)
                pause = min(2 * pause, LATER)
        return tags

    # -- the end

    def drain(self, queue: str, *, give_back: bool = False) -> None:
        """Ends whatever holds messages, then takes from the queue all that must still be there, and what is there.

        With `give_back` the channels first return what they hold by a negative acknowledgement, and a get proves
        that it arrived; else closing them returns it.
        """
        with contextlib.suppress(SceneOver):
            self._withdraw(queue, give_back)
            channel = self.channel(connection=self._home(queue))
            self._take_wanted(channel, queue)
            for _ in range(SURPLUS):
                if channel.state != "open" or self._get(channel, queue, no_ack=True) is None:
                    break
            channel.close()
            self.quiesce()

    def finish(self, *, give_back: bool = False) -> Judgement:
        """Brings the history to its end: all settled, all queues drained and deleted, all connections closed."""
        if self._over:
            return self.judgement
        self._flush()
        self.quiesce()
        for queue in list(self._queues):
            self.drain(queue, give_back=give_back)
        self._delete_queues()
        for connection in self.connections.values():
            if connection.alive:
                connection.send(m.ConnectionClose(0, 200, "done", 0, 0))
        if not self.settles(lambda: not any(link.alive for link in self.connections.values())):
            self.give_up("replies")
        return self._end()

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
        if self._queues or self._exchanges:
            sweep(self.target, self._queues, self._exchanges, self.deadline)
            self._queues.clear()
            self._exchanges.clear()

    # -- inside

    def view_of(self, channel: Channel) -> ChannelView | None:
        connection = self.judge.connection(channel.connection.name)
        return connection.channel(channel.number) if connection else None

    def next_message(self) -> str:
        return f"m{next(self._messages)}"

    def next_consumer(self) -> str:
        return f"c{next(self._consumers)}"

    def _watch(self, event: Event) -> None:
        self.events.append(event)
        self.judge.step(event)
        key = event.connection, event.channel
        if event.direction == TO_CLIENT:
            if event.method in ("basic.get-ok", "basic.get-empty"):
                self._gets[key] = event
            elif event.method in ("queue.delete-ok", "exchange.delete-ok"):
                gone = self._deleting.pop(key, "")
                self._queues.pop(gone, None)
                self._exchanges.pop(gone, None)
        elif event.method in ("queue.delete", "exchange.delete"):
            self._deleting[key] = event.queue or event.exchange or ""

    def settles(self, done: Callable[[], bool], deadline: float | None = None) -> bool:
        """Reads until `done`; False when nothing came for a whole deadline, or when no connection is left."""
        deadline = self.deadline if deadline is None else deadline
        begin = last = time.monotonic()
        while True:
            if done() and (not self.pump() or done()):
                return True
            now = time.monotonic()
            if now - last > deadline or now - begin > deadline * PATIENCE or not self._alive():
                return done()
            if any(event.kind != events.HEARTBEAT for event in self.pump(deadline)):
                last = time.monotonic()

    def _need(self, done: Callable[[], bool], otherwise: str, on: Channel | None = None) -> None:
        """Waits until `done`; in vain where the channel that it happens on is closed."""
        if not self.settles(lambda: done() or (on is not None and on.state == "closed")) and self.judge.owed():
            self.give_up("replies")
        if not done():
            raise SceneOver(otherwise)

    def give_up(self, what: str, **about: object) -> None:
        waited = round(self.deadline * 1000)
        self.recorder.emit(self._local.local(events.DEADLINE, **{"for": what, "waited_ms": waited, **about}))

    def _get(self, channel: Channel, queue: str, no_ack: bool) -> int | None:
        """One get and its answer."""
        key = channel.connection.name, channel.number
        self._gets.pop(key, None)
        channel.get(queue, no_ack)
        self.quiesce()
        answer = self._gets.get(key)
        return answer.delivery_tag if answer else None

    def _withdraw(self, queue: str, give_back: bool) -> None:
        """Cancels all consumers and closes all channels, so that what they hold goes back."""
        used = list(self._channels.values())
        for channel in self._open(used):
            for tag, consumer in (channel.view.consumers if channel.view else {}).items():
                if consumer.state == "live":
                    channel.cancel(tag)
        self.quiesce()
        for channel in self._open(used) if give_back else ():
            if channel.unacked and channel.view and not channel.view.in_flight_possible():
                channel.nack(0, multiple=True)
                channel.get(queue, no_ack=True)
        self.quiesce()
        for channel in self._open(used):
            channel.close()
        self.quiesce()

    def _take_wanted(self, channel: Channel, queue: str) -> None:
        """Gets until every message that must be there has been seen; the deadline restarts with each."""
        wanted, until, pause = len(self.judge.wanted(queue)), time.monotonic() + self.deadline, SOON
        while wanted and channel.state == "open":
            got = self._get(channel, queue, no_ack=True)
            left = len(self.judge.wanted(queue))
            if left < wanted:
                wanted, until, pause = left, time.monotonic() + self.deadline, SOON
            elif time.monotonic() > until:
                self.give_up("drain", queue=queue)
                return
            elif got is None:
                self.pump(pause)
                pause = min(2 * pause, LATER)

    def _delete_queues(self) -> None:
        with contextlib.suppress(SceneOver):
            for exchange in list(self._exchanges):
                self._backstage(self._home("")).delete_exchange(exchange)
                self.quiesce()
            for queue in list(self._queues):
                self._backstage(self._home(queue)).delete(queue)
                self.quiesce()

    def _home(self, queue: str) -> RawConnection:
        """The connection that declared the queue, or where that is gone, one that lives."""
        home = self._queues.get(queue)
        if home is not None and home.alive:
            return home
        for connection in self.connections.values():
            if connection.alive:
                return connection
        return self.connect(f"c{len(self.connections) + 1}")

    def _backstage(self, connection: RawConnection) -> Channel:
        """The channel of our own on this connection, opened where it is not."""
        number = min(BACKSTAGE, connection.tuned.channel_max)
        channel = self._hands.setdefault(connection.name, Channel(self, connection, number))
        if channel.state != "open":
            self.reopen(channel)
        return channel

    @staticmethod
    def _open(channels: Sequence[Channel]) -> Iterator[Channel]:
        return (channel for channel in channels if channel.connection.alive and channel.state == "open")

    def _alive(self) -> bool:
        return any(connection.alive for connection in self.connections.values())

    def _flush(self) -> None:
        for connection in self.connections.values():
            if connection.alive:
                connection.flush()

    def _end(self) -> Judgement:
        self._over = True
        self.judge.end(True)
        return self.judgement

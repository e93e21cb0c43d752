"""What a stage waits for, and for how long.

Silence is never taken on trust. `quiesce` reads until the judge says that nothing is owed, however long single answers
take, and only when nothing more has come for a whole deadline does it put a DEADLINE event into the history, from
which the judge draws its conclusion. A broker that keeps talking and still owes something is given up after several.
A deadline is over only when a look taken after it has found nothing, and only time in which this process was awake is
part of it: it is waited for in slices, each of which counts for what it was to last, however long it took.

A history as a whole has its limits, too, of time and of events: with a broker that answers close-ok with close there
is no end. Beyond them every wait raises `Endless`. Whoever has reason to wait longer than a deadline says so, and the
history may last that much longer.

Before silence becomes an event, the broker's pulse is taken, where there is one (`guard`): a broker that answers nobody
has broken down, which says nothing about a rule. Then a BREAKDOWN event ends the history, and every wait in it raises
`BrokenDown`. A broker that is slow to answer elsewhere gets more time here, many times what that answer took, and its
pulse is taken again. So late is not never, and what came late stands in the history as a LATE event. What was waited
for in vain before, at length, is not waited for at length again (`patience`), nor is anything on a connection that has
said nothing through `DEAF` such waits.

A scene that cannot go on (its connection is gone, a message it needs does not come) is left with `SceneOver`. That is
no verdict: what led to it stands in the history.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from conformance.drive.channel import Channel
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.drivers.wire import wait_any
from conformance.drive.guard import Guard
from conformance.drive.patience import SHORT, SLACK, kind_of
from conformance.history import events
from conformance.history.events import Event
from conformance.oracle.model.owed import Obligation
from conformance.oracle.monitors import Judge

PATIENCE = 6
"""If a broker keeps answering and never comes to rest, the wait ends after this many deadlines."""
LASTS, LEAST = 12, 2.5
"""A history may last this many deadlines, each of at least this many seconds, plus announced longer waits.
A busy machine needs much time; a broker without an end reaches the limit of events."""
FAR = 100
"""Where the broker is far away, as many beats of its pulse stand for a deadline: most of such a history is waiting."""
MOST_EVENTS = 40_000
"""A history may have this many events."""
SLICE = 0.05
"""Seconds that a deadline is waited for at a time."""
DRAIN = ("drain",)
"""The kind of what a drain waits for."""
DEAF = 2
"""After so many waits in vain, and no word in between, a connection is taken for deaf."""
AFTER = 0.1
"""Seconds at least that are left to what is owed once the broker has answered elsewhere."""


class SceneOver(Exception):
    """The scene cannot go on. Not a failure by itself: the judgement tells."""


class NotOffered(SceneOver):
    """The broker does not offer what was to be sent. Nothing was sent. `refused`: it refuses that, as it may."""

    def __init__(self, why: str, *, refused: bool = False) -> None:
        super().__init__(why)
        self.refused = refused


class BrokenDown(SceneOver):
    """The broker answers nobody any more; the message says what it does instead."""


class Spared(SceneOver):
    """What was to be sent is known to break the broker down. Nothing was sent."""


class OutOfTime(SceneOver):
    """The time of the check, or of the whole run, is over."""


class Endless(Exception):
    """The history has become too long, in seconds or in events; what is owed or wrong stands in it."""


def read_all(connections: Iterable[RawConnection], timeout: float) -> list[Event]:
    """One round of reading on those that are alive, after waiting up to `timeout` seconds for something to come."""
    live = [connection for connection in connections if connection.alive]
    if len(live) == 1:
        return live[0].receive(timeout)
    for connection in live:
        connection.flush()
    wait_any([connection.wire for connection in live], timeout)
    return [event for connection in live for event in connection.receive()]


class Note(Protocol):
    """Puts something into the history that the wire does not show."""

    def __call__(self, kind: str, **about: object) -> None: ...


@dataclass
class Waiter:
    """Reads on all connections of one history until something is so."""

    read: Callable[[float], list[Event]]
    """One round of reading, after waiting up to so many seconds for something to come."""
    note: Note
    judge: Judge
    deadline: float
    guard: Guard
    connections: Mapping[str, RawConnection]
    events: Sequence[Event]
    """The history so far."""
    down: str = ""
    """What the broker does instead of answering; empty while it answers."""
    vain: float = 0.0
    """Seconds that the last wait has lasted, while this process was awake, since something came."""

    def __post_init__(self) -> None:
        beat = self.guard.pulse.last if self.guard.pulse is not None else 0.0
        self._lasts, self._began = LASTS * max(self.deadline, LEAST, FAR * beat), time.monotonic()
        self._unheard = Counter[str]()
        """By connection: waits in vain for something on it, since it has said anything."""

    # -- reading

    def pump(self, timeout: float = 0.0) -> list[Event]:
        """One round of reading; raises where the history is to go on no longer."""
        self._bounded()
        return self.read(timeout)

    def settles(self, done: Callable[[], bool], deadline: float | None = None) -> bool:
        """Reads until `done`; False when nothing came for a whole deadline, or when no connection is left. What is owed
        when it has become quiet decides how long that is."""
        usual = deadline is None
        if deadline is None:
            deadline = self.deadline
        else:
            self._lasts += deadline
        begin = last = time.monotonic()
        self.vain = 0.0
        owed: Sequence[Obligation] = ()
        while True:
            if done() and (not self.pump() or done()):
                return True
            over = self.vain >= deadline
            if time.monotonic() - begin > max(deadline, self.deadline) * PATIENCE or not self._alive():
                return done()
            if self._hears(0.0 if over else deadline - self.vain):
                if usual:
                    self.came(owed, time.monotonic() - last)
                last, self.vain, owed = time.monotonic(), 0.0, ()
            elif over:
                return done()
            elif not owed:
                owed = self.judge.owed()
                deadline = self._allow(owed) if usual else deadline

    def quiesce(self, deadline: float | None = None) -> bool:
        """Reads until nothing is owed. False, and a DEADLINE event, when something stays owed for the deadline."""
        return self.settles(self._at_rest, deadline) or self.comes_late("replies", self._at_rest)

    def need(
        self, done: Callable[[], bool], otherwise: str, on: Channel | None = None, line: RawConnection | None = None
    ) -> None:
        """Waits until `done`, or raises SceneOver; in vain where the channel that it happens on is closed, or where the
        line is dead."""

        def over() -> bool:
            return done() or (on is not None and on.state == "closed") or (line is not None and not line.alive)

        if not self.settles(over) and self.judge.owed():
            self.comes_late("replies", lambda: done() or self._at_rest())
        if not done():
            raise SceneOver(otherwise)

    def ends(self, connection: RawConnection, patience: float) -> bool:
        """Waits until the broker has ended this connection. False, and a DEADLINE event, when it has not."""
        self.vain = 0.0
        return self._hears_of(lambda: not connection.alive, patience) or self.comes_late(
            "end",
            lambda: not connection.alive,
            connection=connection.name,
        )

    def beats(self, connection: RawConnection, patience: float) -> bool:
        """Waits for a heartbeat of the broker on this connection. False, and a DEADLINE event, when none comes."""
        seen, key = len(self.events), (events.HEARTBEAT, events.TO_CLIENT, connection.name)

        def beaten() -> bool:
            return any((one.kind, one.direction, one.connection) == key for one in self.events[seen:])

        self.vain = 0.0
        return self._hears_of(beaten, patience) or self.comes_late("heartbeats", beaten, connection=connection.name)

    def comes_late(
        self,
        what: str,
        done: Callable[[], bool],
        waited: float | None = None,
        **about: object,
    ) -> bool:
        """Nothing came in this many seconds. Waits on while the broker proves slow elsewhere as well, then gives up."""
        self.vain = self.vain if waited is None else waited
        owed, since, more = self.judge.owed(), time.monotonic() - self.vain, 1.0
        while more > 0.0:
            more = self.more_for(self.vain, since)
            if self._hears_of(done, more):
                self.came(owed, time.monotonic() - since, what)
                return True
        self.give_up(what, self.vain, **about)
        return False

    def more_for(self, waited: float, since: float) -> float:
        """Seconds for which to wait on, by what the pulse shows just now; nothing where those `waited` are enough.
        Raises BrokenDown where nobody is answered any more."""
        pulse = self.guard.pulse
        if pulse is None or pulse.alone:
            return 0.0
        if not pulse.beats():
            self.break_down(pulse.down)
        most = self.deadline * PATIENCE
        return 0.0 if time.monotonic() - since > most else max(0.0, min(SLACK * pulse.last, most) - waited)

    def give_up(self, what: str, waited: float, **about: object) -> None:
        """Notes that this was waited for in vain for this many seconds."""
        owed = self.judge.owed() if what == "replies" else ()
        self.guard.patience.in_vain(_kinds(owed) if what == "replies" else {what})
        self._unheard.update({one.connection for one in owed})
        self.note(events.DEADLINE, **{"for": what, "waited_ms": round(waited * 1000), **about})

    def came(self, owed: Sequence[Obligation], seconds: float, what: str = "replies") -> None:
        """Something came after this many seconds, in which these were owed, or `what` was waited for."""
        kinds = {*(_kinds(owed) - _kinds(self.judge.owed()))} if what == "replies" else {what}
        self.guard.patience.came(kinds, seconds)
        if owed or what != "replies":
            self.was_late(owed[0].what if owed else what, seconds)

    def was_late(self, what: str, seconds: float) -> None:
        """This came after so many seconds. If that is more than a deadline, it is late, which is no silence."""
        if seconds > self.deadline:
            self.note(events.LATE, what=what, waited_ms=round(seconds * 1000))

    def break_down(self, why: str) -> NoReturn:
        """Notes that the broker answers nobody any more, and ends the scene."""
        self.down = why
        self.note(events.BREAKDOWN, what=why)
        raise BrokenDown(f"the broker {why}")

    @contextlib.contextmanager
    def standing_still(self) -> Iterator[None]:
        """Inside, the broker restarts: the time of the history, and of its check, does not pass."""
        begin = time.monotonic()
        try:
            with self.guard.standing_still():
                yield
        finally:
            self._lasts += time.monotonic() - begin

    def _allow(self, owed: Sequence[Obligation]) -> float:
        """Seconds for which to wait for these."""
        allowed = self.guard.patience.allow(_kinds(owed), self.deadline)
        deaf = bool(owed) and all(self._unheard[one.connection] >= DEAF for one in owed)
        return min(allowed, SHORT) if deaf else allowed

    def _at_rest(self) -> bool:
        return not self.judge.owed()

    def _hears(self, seconds: float) -> bool:
        """Does anything come in a slice of this many seconds? If this process sleeps longer, that does not count."""
        asked, begin = min(seconds, SLICE), time.monotonic()
        said = self.pump(asked)
        took = time.monotonic() - begin
        self.vain += min(took, asked)
        if not said:
            self._lasts += max(0.0, took - asked)
        spoken = [event for event in said if event.kind != events.HEARTBEAT]
        for event in spoken:
            self._unheard.pop(event.connection, None)
        return bool(spoken)

    def _hears_of(self, done: Callable[[], bool], seconds: float) -> bool:
        """Reads on for this many seconds, and a moment after the broker has answered elsewhere; is it `done`?"""
        if self.guard.pulse is not None:
            seconds = max(seconds, AFTER)
        until, over = self.vain + seconds, False
        self._lasts += seconds
        while not (done() or over) and self._alive():
            over = self.vain >= until
            self._hears(0.0 if over else until - self.vain)
        return done()

    def _alive(self) -> bool:
        return any(connection.alive for connection in self.connections.values())

    def _bounded(self) -> None:
        pulse = self.guard.pulse
        self.down = self.down or (pulse.down if pulse is not None else "")
        if self.down:
            raise BrokenDown(f"the broker {self.down}")
        if self.guard.over:
            raise OutOfTime("the time for it is over")
        seconds = time.monotonic() - self._began
        if seconds > self._lasts or len(self.events) > MOST_EVENTS:
            raise Endless(
                f"after {seconds:.0f} s and {len(self.events)} events this history had not ended, and was stopped "
                f"(its limits: {self._lasts:.0f} s, {MOST_EVENTS} events)"
            )


def _kinds(owed: Iterable[Obligation]) -> Counter[str]:
    """How many of each kind are owed, as far as patience tells them apart."""
    return Counter(kind_of(f"{one.kind}: {one.what}") for one in owed)


class Hurry:
    """Time to look into a queue whose messages are not back yet: often at first, then less, for one deadline."""

    SOON, LATER = 0.002, 0.1
    """Seconds between two looks."""

    def __init__(self, waiter: Waiter) -> None:
        self._waiter, self._since = waiter, 0.0
        self.again()

    def again(self) -> None:
        """Something has come: the deadline begins anew."""
        if self._since:
            seconds = time.monotonic() - self._since
            self._waiter.guard.patience.came(DRAIN, seconds)
            self._waiter.was_late("a message in a drain", seconds)
        self._since = self.waited = 0.0
        self._allowed = self._waiter.guard.patience.allow(DRAIN, self._waiter.deadline)
        self._pause = self.SOON

    @property
    def over(self) -> bool:
        return self.waited > self._allowed

    def longer(self) -> bool:
        """Is the broker slow elsewhere as well? Then there is more time."""
        more = self._waiter.more_for(self.waited, self._since)
        self._allowed += more
        return more > 0.0

    def wait(self, looked: float = 0.0) -> None:
        """A moment for what is under way; the last look has waited in vain for so long by itself."""
        self._since = self._since or time.monotonic()
        self._waiter.pump(self._pause)
        self.waited += self._pause + looked
        self._pause = min(2 * self._pause, self.LATER)

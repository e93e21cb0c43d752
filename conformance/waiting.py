"""What a stage waits for, and for how long.

Silence is never taken on trust. `quiesce` reads until the judge says that nothing is owed, however long single answers
take, and only when nothing more has come for a whole deadline does it put a DEADLINE event into the history, from
which the judge draws its conclusion. A broker that keeps talking and still owes something is given up after several.
A deadline is over only when a look taken after it has found nothing: this process may have slept meanwhile, and what
came in the meantime came in time.

A history as a whole has its limits, too, of time and of events: with a broker that answers close-ok with close there
is no end. Beyond them every wait raises `Endless`. Whoever has reason to wait longer than a deadline says so, and the
history may last that much longer.

Before silence becomes an event, the broker's pulse is taken, where there is one (`guard`): a broker that answers nobody
has broken down, which says nothing about a rule. Then a BREAKDOWN event ends the history, and every wait in it raises
`BrokenDown`. What was waited for in vain before, at length, is not waited for at length again (`patience`).

A scene that cannot go on (its connection is gone, a message it needs does not come) is left with `SceneOver`. That is
no verdict: what led to it stands in the history.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NoReturn

from conformance import events
from conformance.channel import Channel
from conformance.drive.guard import Guard
from conformance.drive.patience import kind_of
from conformance.drivers.raw import RawConnection
from conformance.drivers.wire import wait_any
from conformance.events import Event
from conformance.monitors import Judge
from conformance.recorder import Recorder

PATIENCE = 6
"""A broker that keeps answering without ever coming to rest is given up after this many deadlines."""
LASTS, LEAST = 12, 2.5
"""A history may last this many deadlines, of so many seconds at least, and those longer waits that were announced: what
takes a moment takes many on a crowded machine, and who is endless has soon had all the events that it may have."""
MOST_EVENTS = 40_000
"""A history may have this many events."""


class SceneOver(Exception):
    """The scene cannot go on. Not a failure by itself: the judgement tells."""


class NotOffered(SceneOver):
    """The broker does not offer what was to be sent. Nothing was sent."""


class BrokenDown(SceneOver):
    """The broker answers nobody any more; the message says what it does instead."""


class Spared(SceneOver):
    """What was to be sent is known to break the broker down. Nothing was sent."""


class OutOfTime(SceneOver):
    """The time of the check, or of the whole run, is over."""


class Endless(Exception):
    """The history has become too long, in seconds or in events; what is owed or wrong stands in it."""


class Waiting:
    """Reading on all connections of one history until something is so."""

    def __init__(self, recorder: Recorder, judge: Judge, deadline: float, guard: Guard | None = None) -> None:
        self.recorder, self.judge, self.deadline = recorder, judge, deadline
        self.guard = guard or Guard()
        self.down = ""
        """What the broker does instead of answering; empty while it answers."""
        self.spared = ""
        """What was not sent, and why; empty where all was."""
        self.events: list[Event] = []
        self.connections: dict[str, RawConnection] = {}
        self._local = recorder.builder("")
        self._lasts, self._began = LASTS * max(deadline, LEAST), time.monotonic()

    # -- reading

    def pump(self, timeout: float = 0.0) -> list[Event]:
        """One round of reading on all connections, after waiting up to `timeout` seconds for something to come."""
        self._bounded()
        live = [connection for connection in self.connections.values() if connection.alive]
        if len(live) == 1:
            return live[0].receive(timeout)
        for connection in live:
            connection.flush()
        wait_any([connection.wire for connection in live], timeout)
        return [event for connection in live for event in connection.receive()]

    def settles(self, done: Callable[[], bool], deadline: float | None = None) -> bool:
        """Reads until `done`; False when nothing came for a whole deadline, or when no connection is left."""
        usual = deadline is None
        if deadline is None:
            deadline = self.guard.patience.allow(self._kinds(), self.deadline)
        else:
            self._lasts += deadline
        begin = last = time.monotonic()
        while True:
            if done() and (not self.pump() or done()):
                return True
            over = (now := time.monotonic()) - last > deadline
            if now - begin > max(deadline, self.deadline) * PATIENCE or not self._alive():
                return done()
            if any(event.kind != events.HEARTBEAT for event in self.pump(0 if over else deadline)):
                if usual:
                    self.guard.patience.came(time.monotonic() - last)
                last = time.monotonic()
            elif over:
                return done()

    def quiesce(self, deadline: float | None = None) -> bool:
        """Reads until nothing is owed. False, and a DEADLINE event, when something stays owed for the deadline."""
        if self.settles(lambda: not self.judge.owed(), deadline):
            return True
        self.give_up("replies")
        return False

    def need(self, done: Callable[[], bool], otherwise: str, on: Channel | None = None) -> None:
        """Waits until `done`, or raises SceneOver; in vain where the channel that it happens on is closed."""
        if not self.settles(lambda: done() or (on is not None and on.state == "closed")) and self.judge.owed():
            self.give_up("replies")
        if not done():
            raise SceneOver(otherwise)

    def ends(self, connection: RawConnection, patience: float) -> bool:
        """Waits until the broker has ended this connection. False, and a DEADLINE event, when it has not."""
        self._lasts += patience
        until = time.monotonic() + patience
        while connection.alive and time.monotonic() < until:
            self.pump(max(0.0, until - time.monotonic()))
        if connection.alive:
            self.pump()
        if connection.alive:
            self.give_up("end", connection=connection.name)
        return not connection.alive

    def go_round(self, channel: Channel) -> None:
        """Asks for an answer on this channel that changes nothing."""
        channel.flow()

    def barrier(self, channel: Channel) -> None:
        """A round trip on the channel that changes nothing; all that was sent on it before has been handled then."""
        self.go_round(channel)
        self.quiesce()

    def confirmed(self, channel: Channel) -> bool:
        """Waits until none of the channel's publishes is unconfirmed."""
        view = channel.view
        return self.settles(lambda: view is None or not view.unconfirmed) and self.quiesce()

    # -- what is noted beside the wire

    def note(self, kind: str, **about: object) -> None:
        """Something beside the wire that the judge must know."""
        self.recorder.emit(self._local.local(kind, **about))

    def give_up(self, what: str, **about: object) -> None:
        """Notes that this was waited for in vain; raises BrokenDown where nobody is answered any more."""
        pulse = self.guard.pulse
        if pulse is not None and not pulse.beats():
            self.break_down(pulse.down)
        kinds = self._kinds() if what == "replies" else {what}
        waited = self.guard.patience.allow(kinds, self.deadline)
        self.guard.patience.in_vain(kinds)
        self.note(events.DEADLINE, **{"for": what, "waited_ms": round(waited * 1000), **about})

    def break_down(self, why: str) -> NoReturn:
        """Notes that the broker answers nobody any more, and ends the scene."""
        self.down = why
        self.note(events.BREAKDOWN, what=why)
        raise BrokenDown(f"the broker {why}")

    def _kinds(self) -> set[str]:
        """What is owed just now, as far as patience tells it apart."""
        return {kind_of(f"{one.kind}: {one.what}") for one in self.judge.owed()}

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
                f"after {seconds:.0f} s and {len(self.events)} events this history had not come to its end, and was "
                f"broken off (its limits: {self._lasts:.0f} s, {MOST_EVENTS} events)"
            )


class Hurry:
    """Time to look into a queue whose messages are not back yet: often at first, then less, for one deadline."""

    SOON, LATER = 0.002, 0.1
    """Seconds between two looks."""

    def __init__(self, stage: Waiting) -> None:
        self._stage, self._since = stage, 0.0
        self.again()

    def again(self) -> None:
        """Something has come: the deadline begins anew."""
        if self._since:
            self._stage.guard.patience.came(time.monotonic() - self._since)
        self._since = 0.0
        allowed = self._stage.guard.patience.allow(("drain",), self._stage.deadline)
        self._until, self._pause = time.monotonic() + allowed, self.SOON

    @property
    def over(self) -> bool:
        return time.monotonic() > self._until

    def wait(self) -> None:
        """A moment for what is under way."""
        self._since = self._since or time.monotonic()
        self._stage.pump(self._pause)
        self._pause = min(2 * self._pause, self.LATER)

"""Is the broker still there? Asked between histories, and before silence counts against it.

A beat opens a channel, declares a queue, deletes it and closes the channel: what every history needs. It is sent in
one write on a connection that is kept, if channels are closed there. If that fails, it is sent again on a new
connection. A broker that accepts no connection, or leaves one of these methods without an answer, is *down*: what it
does then says nothing about a rule. So it is with one that has answered them all, and by now fails over them whenever
it is asked (541): something in it has broken. One that has answered all but one of them from the start is not down: of
that one the rules speak. If a broker answers a beat slowly, the pulse waits with growing patience; late is not never.

`restart` is the user's command that brings the broker back; `move` continues in another vhost. Every wait here ends.
Where the same command is to show what the broker keeps, `restart_orderly` sees first that it is fit for that: a
connection that was open is told of the end, and something durable that was there before is there after it.
"""

from __future__ import annotations

import secrets
import subprocess
import tempfile
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace

from codec import Method
from codec import methods as m
from conformance.catalogue.rules.features import AUTO_DELETE, DELETE, DURABLE, EXCLUSIVE
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.marks import Marks
from conformance.drive.drivers.raw import RawConnection
from conformance.drive.drivers.sweep import hasty, part, unrecorded
from conformance.drive.drivers.target import Target
from conformance.drive.drivers.turns import Turns
from conformance.history.events import Event

CLOSE = "channel.close"
INTERNAL_ERROR, FAILS = 541, "fails over what it did before"
OPTIONAL = (DELETE, CLOSE)
"""A broker that has never answered one of these can be examined all the same."""
CONNECTS = 5.0
"""Seconds for one step of a handshake."""
TRIES = 2
"""After this many new connections the broker is called down; each gets more time than the one before."""
KNOWN = 2.0
"""Seconds that an answer may take from a broker that has broken down before."""
AGAIN = 3
"""So often a broker is restarted that fails at once after it."""
RESTARTS = 180.0
"""Seconds for the command, and as many until the broker answers again. RabbitMQ 3.8 took 70 on two busy cores."""
ENDS = 5.0
"""Seconds until a connection to a broker that was killed has ended."""
PAUSE = 0.25
SLOW = 1.0
"""A beat that takes this many seconds, and `OFTEN` times that of the first ones, is slow."""
OFTEN = 20


class BadRestart(Exception):
    """The command that was to restart the broker, or to kill it, failed, or the broker does not answer after it."""


@dataclass
class Pulse:
    """Of one broker, for one process. `patience`: seconds that an answer may take."""

    target: Target
    patience: float = 5.0
    restart: str | None = None
    down: str = ""
    """Why the broker cannot be examined just now; empty while it can."""
    lacking: str = ""
    """The step that it did not answer when it was first asked; empty: it answered all."""
    alone: bool = False
    """The broker lets in no more than one client at a time: none is kept here, and none is heard during a history."""
    refused: Collection[str] = ()
    """Features that the broker does not offer."""
    revived: int = 0
    """How often there was a broker to go on with after a breakdown: restarted, or in another vhost."""
    elsewhere: str = ""
    """Why the vhost that was tried last is none to go on in."""
    _line: RawConnection | None = field(default=None, repr=False)
    _token: str = field(default_factory=lambda: secrets.token_hex(4), repr=False)
    _number: int = 0
    _beats: list[float] = field(default_factory=list, repr=False)
    _well: float = field(default_factory=time.monotonic, repr=False)
    """When it answered last."""
    _whole: bool = field(default=False, repr=False)
    """A beat was answered in full."""

    def beats(self) -> bool:
        """Does it answer? If not, `down` says what it does instead."""
        begin = time.monotonic()
        patience = min(self.patience, KNOWN) if self.revived else self.patience
        self.down = self._on(self._line, patience) if self._line is not None else "no connection yet"
        for attempt in range(1, TRIES + 1 - bool(self.revived)):
            if not self.down:
                break
            self.down = self._anew(patience * attempt)
        if not self.down:
            self._well = time.monotonic()
            self._beats.append(self._well - begin)
        if self.alone or self.lacking == CLOSE:
            self._part()
        return not self.down

    @property
    def slow(self) -> bool:
        """Were the last three beats slow, beside the first three?"""
        if len(self._beats) < 6:
            return False
        return min(self._beats[-3:]) > max(SLOW, OFTEN * max(self._beats[:3]))

    @property
    def last(self) -> float:
        """Seconds that the last beat took."""
        return self._beats[-1] if self._beats else 0.0

    def revive(self) -> None:
        """Restarts the broker and waits until it answers, unless another process has done so meanwhile: one restarts it
        at a time. One that fails by then may have been broken down anew by another process, and is restarted again, a
        few times. Raises BadRestart."""
        self.revived += 1
        with Turns(self.target) as turns:
            if turns.last > self._well and not self._anew(self.patience):
                self.down = ""
                return
            for _ in range(AGAIN):
                _run("--restart", str(self.restart))
                self.await_after("--restart", str(self.restart))
                turns.taken()
                if not self.down:
                    return
        raise BadRestart(f"the broker {self.down}, also after --restart {self.restart!r}, {AGAIN} times")

    def kill(self, command: str) -> None:
        """Runs the user's command, sees that the broker was killed by it, and waits until it answers again. Raises
        BadRestart."""
        line = unrecorded(hasty(self.target, max(self.patience, CONNECTS)))
        _run("--kill", command)
        self._ended(line, "--kill", command, "killed nothing", [])
        self.await_after("--kill", command)

    def restart_orderly(self) -> None:
        """Runs the user's command, sees that it shuts the broker down in good order and keeps its data, and waits until
        it answers again. Raises BadRestart."""
        command = str(self.restart)
        line = self._fresh_line()
        marks = Marks.made(line, self.patience)
        farewell: list[Event] = []

        def listen() -> bool:
            farewell.extend(line.receive(PAUSE))
            return line.alive

        _run("--restart", command, listen)
        self._ended(line, "--restart", command, "restarted nothing", farewell)
        self.await_after("--restart", command)
        left = marks.taken(self._fresh_line(), self.patience)
        if not any(event.method == "connection.close" for event in farewell):
            raise BadRestart(
                f"after --restart {command!r} a connection that was open before had ended without connection.close, "
                "as a kill does. The command must shut the broker down in good order"
            )
        if not left:
            raise BadRestart(
                f"after --restart {command!r} nothing durable is there: does the command keep the broker's data?"
            )

    def _fresh_line(self) -> RawConnection:
        try:
            return unrecorded(hasty(self.target, max(self.patience, CONNECTS)))
        except (Unreachable, ConnectionLost) as lost:
            raise BadRestart(f"the broker lets nobody in ({lost})") from None

    def _ended(self, line: RawConnection, option: str, command: str, did: str, said: list[Event]) -> None:
        """Waits until this connection has ended, as the command of this option must have brought about."""
        until = time.monotonic() + ENDS
        while line.alive and time.monotonic() < until:
            said += line.receive(PAUSE)
        if line.alive:
            line.abort()
            raise BadRestart(
                f"{option} {command!r} ended, but a connection that was open before is still open. The "
                f"command {did}, or another broker"
            )

    def await_after(self, option: str, command: str) -> None:
        """Waits until the broker answers, after the user's command of this option. Raises BadRestart. One that fails
        does answer; then it is down all the same."""
        self.drop()
        until = time.monotonic() + RESTARTS
        while (found := self._anew(self.patience)) and not found.startswith(FAILS):
            if time.monotonic() > until:
                raise BadRestart(f"the broker does not answer within {RESTARTS:g} s after {option} {command!r}")
            time.sleep(PAUSE)
        self.down = found

    def move(self, vhost: str) -> bool:
        """Goes on in this vhost, where the broker answers there."""
        self.drop()
        before, self.target = self.target, replace(self.target, vhost=vhost)
        self.elsewhere = self._anew(self.patience)
        if self.elsewhere:
            self.target = before
            return False
        self.revived += 1
        self.down = ""
        return True

    def drop(self) -> None:
        """Lets go of the connection."""
        if self._line is not None:
            self._line.abort()
            self._line = None

    def _steps(self) -> list[Method]:
        """What a beat sends. Where queues cannot be deleted, all beats declare the same one."""
        deletes = DELETE not in self.refused
        self._number += deletes
        name = f"amqpconf.pulse.{self._token}.{self._number}"
        close = m.ChannelClose(1, 200, "normal shutdown", 0, 0)
        return [m.ChannelOpen(1), self._declare(name), *([m.QueueDelete(1, queue=name)] if deletes else []), close]

    def _declare(self, name: str) -> m.QueueDeclare:
        """A queue that goes by itself, as far as this broker has such."""
        exclusive, auto_delete = EXCLUSIVE not in self.refused, AUTO_DELETE not in self.refused
        durable = not exclusive and DURABLE not in self.refused
        return m.QueueDeclare(1, queue=name, durable=durable, exclusive=exclusive, auto_delete=auto_delete)

    def _part(self) -> None:
        """Closes the connection in good order, so that there is room for another one."""
        if self._line is not None:
            part(self._line, self.patience)
            self._line = None

    def _anew(self, patience: float) -> str:
        """The same on a new connection, which is kept where that went well."""
        self.drop()
        try:
            line = unrecorded(hasty(self.target, max(patience, CONNECTS)))
        except Unreachable as unreachable:
            words = {"tcp": "accepts no connection", "header": "does not answer the protocol header"}
            return words.get(unreachable.layer, f"lets nobody in ({unreachable.layer})")
        found = self._on(line, patience)
        if found:
            line.abort()
        else:
            self._line = line
        return found

    def _on(self, line: RawConnection, patience: float) -> str:
        """One beat; what is missing, in words, or nothing."""
        steps = self._steps()
        try:
            line.send(*steps)
        except ConnectionLost:
            return "ends its connections"
        awaited = [name for name in (step.NAME for step in steps) if name != self.lacking]
        until = time.monotonic() + patience
        while line.alive and awaited:
            left = until - time.monotonic()
            for event in line.receive(max(0.0, left)):
                if event.method in ("channel.close", "connection.close"):
                    return self._refused(event)
                answered = event.method.removesuffix("-ok")
                awaited = [step for step in awaited if step != answered]
            if left < 0:
                break
        if not line.alive and awaited:
            return "ends its connections"
        self._whole = self._whole or not awaited
        if len(awaited) == 1 and awaited[0] in OPTIONAL and not self._beats:
            self.lacking = awaited[0]
            return ""
        return f"answers no {awaited[0]}" if awaited else ""

    def _refused(self, event: Event) -> str:
        """Who refuses answers, unless it is by an internal error where all was well before."""
        code, text = event.args.get("reply_code"), event.args.get("reply_text")
        broken = self._whole and code == INTERNAL_ERROR
        return f"{FAILS}: {event.method} {code} {text!r}" if broken else ""


def alarm(block: str, unblock: str, reason: str | None) -> None:
    """Runs the user's command by which the broker runs short of something, or the one that ends this. Raises
    BadRestart."""
    _run(*(("--unblock", unblock) if reason is None else ("--block", block)))


def _run(option: str, command: str, meanwhile: Callable[[], bool] | None = None) -> None:
    """The user's command, and what is done again and again until that says that it is over, or the command ends. What
    the command says goes to a file: a broker that it leaves running would keep a pipe open."""
    with tempfile.TemporaryFile("w+") as said:
        running = subprocess.Popen(command, shell=True, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        until = time.monotonic() + RESTARTS
        while meanwhile is not None and running.poll() is None and time.monotonic() < until and meanwhile():
            pass
        try:
            code = running.wait(max(0.0, until - time.monotonic()))
        except subprocess.TimeoutExpired:
            running.kill()
            running.wait()
            raise BadRestart(f"{option} {command!r} did not end within {RESTARTS:g} s") from None
        if code:
            said.seek(0)
            last = said.read().strip().rpartition("\n")[2]
            raise BadRestart(f"{option} {command!r} failed with exit code {code}: {last or 'no words'}")

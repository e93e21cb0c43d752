"""A broker that is asked, one question on a connection of its own.

A question is a few methods that leave nothing behind. Each is sent when the one before is answered. The answer is the
reply, or a refusal in the form that the protocol has for it, or neither: another kind of close, silence, a lost
connection. Who is gone was brought down by the question before, and is brought back a few times.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import codec
from codec import methods as m
from codec import values
from conformance.drive.drivers import effects
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.raw import Item, RawConnection
from conformance.drive.drivers.sweep import part, sweep, unrecorded
from conformance.drive.drivers.target import Target
from conformance.drive.probing.glances import Glances
from conformance.drive.standin import led
from conformance.history.events import Event

OFFERED, REFUSED, WRONG, SILENT, LOST = "offered", "refused", "refused wrongly", "no answer", "connection lost"
DEATHS = 5
"""So often a broker is brought back."""
LEAST, FAILURE = 400, 541
"""From this reply code on a close says what was wrong with a method, by whichever code; and it says with this one that
the broker has failed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question; `words` is what the broker said, where it did not simply comply."""

    feature: str
    state: str
    words: str = ""
    most: int | None = None
    """So many are possible, where that is the question."""


class Questioned:
    """One broker. `patience`: seconds for each answer; `revive` brings it back."""

    def __init__(self, target: Target, patience: float, revive: Callable[[], None] | None = None) -> None:
        self.target, self.patience, self._revive = target, patience, revive
        self._deaths, self._before = 0, ""
        self.last: Event | None = None
        """The reply that came last."""
        self.prefix = f"amqpconf.probe.{secrets.token_hex(4)}."
        self.queues: list[str] = []
        self.exchanges: list[str] = []
        self.capabilities: Mapping[str, object] = {}
        self.foiled, self.bare = "", False
        """Why nothing could be seen of what a question asks for; and whether it is asked without any arguments."""
        self.durable, self.instead = True, ""
        """How queues are declared, and which exchange stands in for the default one."""
        self.gets, self.cancels, self.deletes = True, True, True
        """Are there gets, is a consumer that takes what a get would cancelled, and are queues deleted?"""
        self.taken: Event | None = None
        """The message that the last get has brought, or the last consumer in its place."""

    def clean(self) -> None:
        """Removes what was declared."""
        sweep(self.target, self.queues if self.deletes else (), self.exchanges, self.patience)

    def ask(self, feature: str, steps: Sequence[Item], wanted: str = "", within: float | None = None) -> Answer:
        """Sends these steps on a connection of their own; `wanted` is what the last one asks for, if not its reply.
        Raises Unreachable where nobody listens any more."""
        try:
            connection = self._connected(feature)
        except Unreachable as unreachable:
            if unreachable.layer == "tcp":
                raise
            return Answer(feature, LOST, unreachable.message)
        self._before, self.taken = feature or self._before, None
        steps = tuple(led(steps, self.instead)) if self.instead else steps
        announced = connection.server_properties.get("capabilities")
        self.capabilities = announced if isinstance(announced, Mapping) else {}
        try:
            connection.send(m.ChannelOpen(1))
            glances = Glances(connection, self.patience, cancels=self.cancels)
            for step in steps:
                last = step is steps[-1]
                if isinstance(step, m.BasicGet):
                    answer = self._get(connection, step) if self.gets else self._looked(glances, step)
                else:
                    connection.send(step)
                    reply = (wanted if last else "") or _reply(step)
                    answer = self._heard(connection, reply, within if last else None)
                if answer[0] != OFFERED:
                    break
            return Answer(feature, *answer)
        except ConnectionLost as lost:
            return Answer(feature, LOST, str(lost))
        finally:
            part(connection, 1.0)

    def came(self, steps: Sequence[Item], wanted: str, within: float | None = None) -> str | None:
        """What came instead of all replies to these steps, the last one `within` so many seconds."""
        answer = self.ask("", steps, wanted, within)
        if answer.state in (WRONG, LOST) or (answer.state == SILENT and within is None):
            self.foiled = answer.words
        return None if answer.state == OFFERED else answer.words

    def at_once(self, first: Item, then: Sequence[Item], wanted: Sequence[str]) -> list[str]:
        """Asks this, and sends all the rest in one write: which of the wanted come, and in which order, until nothing
        more comes or each of the rest has had its answer."""
        connection, came = self._connected(""), list[str]()
        answers = sum(bool(_reply(one)) for one in then)
        try:
            connection.send(m.ChannelOpen(1), first)
            if self._heard(connection, _reply(first))[0] != OFFERED:
                return came
            connection.send(*led(then, self.instead) if self.instead else then)
            until = time.monotonic() + self.patience
            while len(came) < answers and connection.alive and time.monotonic() < until:
                heard = connection.receive(max(0.0, until - time.monotonic()))
                came += [one.method for one in heard if one.method in wanted]
        except ConnectionLost:
            pass
        finally:
            part(connection, 1.0)
        return came

    def _connected(self, feature: str) -> RawConnection:
        """A connection for the next question. Who is gone was brought down by the one before."""
        try:
            return unrecorded(self.target)
        except Unreachable as unreachable:
            if unreachable.layer != "tcp":
                raise
            if self._revive is None or self._deaths == DEATHS:
                last = self._before or feature
                raise Unreachable(
                    "tcp",
                    (
                        f"{self.target.address} stopped accepting connections when it had been asked for {last}. See "
                        "the broker's log for the reason, and start it again; run goes on after that if it is given "
                        "--restart COMMAND."
                    ),
                ) from unreachable
        self._deaths += 1
        self._revive()
        return unrecorded(self.target)

    def _heard(self, connection: RawConnection, wanted: str, within: float | None = None) -> tuple[str, str]:
        """What came of one step; a step without a reply is taken as it is."""
        if not wanted:
            return OFFERED, ""
        until = time.monotonic() + (self.patience if within is None else within)
        while connection.alive and time.monotonic() < until:
            for event in connection.receive(max(0.0, until - time.monotonic())):
                if event.method == wanted or (wanted, event.method) == ("basic.get-ok", "basic.get-empty"):
                    self.last = event
                    return OFFERED, ""
                if event.method in ("channel.close", "connection.close"):
                    return _refusal(event)
        if not connection.alive:
            return LOST, f"the broker dropped the connection instead of sending {wanted}"
        return SILENT, f"{wanted} does not come within {self.patience:g} s"

    def _get(self, connection: RawConnection, get: m.BasicGet) -> tuple[str, str]:
        """What a get has brought is `taken`."""
        connection.send(get)
        answer = self._heard(connection, effects.TAKEN)
        if not get.no_ack:
            answer = self._fetched(connection, get, answer)
        came = self.last if answer[0] == OFFERED else None
        self.taken = came if came is not None and came.method == effects.TAKEN else None
        return answer

    def _looked(self, glances: Glances, get: m.BasicGet) -> tuple[str, str]:
        """The same by a consumer. What is settled next has to be there."""
        self.taken, refusal = glances.look(get)
        if refusal is not None:
            return _refusal(refusal)
        if glances.broken:
            return SILENT if glances.alive else LOST, glances.broken
        if self.taken is None and not get.no_ack:
            return SILENT, f"a message does not come within {self.patience:g} s"
        return OFFERED, ""

    def _fetched(self, connection: RawConnection, get: m.BasicGet, answer: tuple[str, str]) -> tuple[str, str]:
        """What is settled next has to be there first: nothing has confirmed it, and it may be late."""
        until = time.monotonic() + self.patience
        while answer[0] == OFFERED and self.last is not None and self.last.method == "basic.get-empty":
            if time.monotonic() > until:
                return SILENT, f"a message does not come within {self.patience:g} s"
            time.sleep(effects.PAUSE)
            connection.send(get)
            answer = self._heard(connection, "basic.get-ok")
        return answer

    def exchange(self, kind: str, arguments: Mapping[str, object] | None = None) -> m.ExchangeDeclare:
        """The method that declares an exchange of a new name."""
        self.exchanges.append(f"{self.prefix}x{len(self.exchanges)}")
        table = values.table({} if self.bare else arguments or {})
        return m.ExchangeDeclare(1, exchange=self.exchanges[-1], type=kind, arguments=table)

    def queue(
        self, arguments: Mapping[str, object] | None = None, flags: Mapping[str, bool] | None = None
    ) -> m.QueueDeclare:
        """The method that declares a queue of a new name."""
        return self.declare(self.name(), arguments, flags)

    def declare(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        flags: Mapping[str, bool] | None = None,
    ) -> m.QueueDeclare:
        """The method that declares a queue in the way in which this broker lets queues be declared."""
        wanted = {"durable": self.durable, **(flags or {})}
        table = values.table({} if self.bare else arguments or {})
        return m.QueueDeclare(1, queue=name, arguments=table, **wanted)

    def last_word(self, declared: m.QueueDeclare) -> codec.Method:
        """What is answered where the channel goes on, and leaves nothing more behind than there is by now."""
        if self.deletes:
            return m.QueueDelete(1, 0, declared.queue)
        again = copy(declared)
        again.no_wait = False
        return again

    def name(self) -> str:
        """A new one for a queue."""
        self.queues.append(f"{self.prefix}{len(self.queues)}")
        return self.queues[-1]


def _reply(step: Item) -> str:
    """What must come before the next step is sent; nothing where a method has no reply."""
    if isinstance(step, m.BasicConsume) and step.no_wait:
        return "basic.deliver"
    name = step.NAME if isinstance(step, codec.Method) and not getattr(step, "no_wait", False) else ""
    return f"{name}-ok" if f"{name}-ok" in m.BY_NAME else ""


def _refusal(event: Event) -> tuple[str, str]:
    code, text = int(event.args.get("reply_code", 0)), str(event.args.get("reply_text", ""))
    return REFUSED if code >= LEAST and code != FAILURE else WRONG, f"{event.method} {code} {text!r}"

"""What does this broker offer? Asked once, before anything is judged, each question on a connection of its own.

A question is a few methods that leave nothing behind. Each is sent when the one before is answered. The answer is the
reply, or a refusal in the form that the protocol has for it, or neither: another kind of close, silence, a lost
connection. After a refusal the feature is not offered. After anything else the judge decides, so scenes of the rules
about the feature still use it, and all other scenes do without it. A queue type counts as known only if the broker
refuses a type that does not exist.

Some brokers let no client in that announces more than it must. They are asked with less, and the suite keeps what
works. Who announces that it lacks a feature lacks it, unless the answer shows the contrary. Who announces that it has
one refuses it lawfully by 540 alone. Who announces nothing of a method may never have heard of it, and may drop the
connection over it. An argument that nobody has to know must be announced. Who takes an argument and passes over it
(`effects`) does not offer it, unless the profile was made for this very product.

The first question finds a way to declare queues at all: as durable, or where that is refused, as transient. All others
then use that way. Where no message reaches a queue by its name, an exchange of the suite's own stands in.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import codec
from codec import methods as m
from codec import values
from conformance.catalogue.rules.features import (
    CAPABILITIES,
    CROWD,
    DEFAULT,
    DURABLE,
    EXCLUSIVE,
    GETS,
    LARGE,
    RESERVED,
    SERVER_NAMED,
)
from conformance.drive.drivers import effects
from conformance.drive.drivers.errors import ConnectionLost, Unreachable
from conformance.drive.drivers.questions import ABOUT_QUEUES, ARGUMENTS, DECLARED, EXCHANGES, METHODS, OTHER
from conformance.drive.drivers.raw import Item, RawConnection
from conformance.drive.drivers.sweep import hasty, part, sweep, unrecorded
from conformance.drive.drivers.target import Target
from conformance.drive.standin import led
from conformance.history.events import Event
from conformance.oracle.model.publishing import sizes

OFFERED, REFUSED, WRONG, SILENT, LOST = "offered", "refused", "refused wrongly", "no answer", "connection lost"
DOZEN = 12
"""The suite needs no more connections at once."""
DEATHS = 5
"""So often a broker is brought back."""
BODIES = 270_000, 100_000, 60_000, 30_000, 8_000, 1_000
"""Octets of bodies, of which the suite sends none larger than the first."""
LEAST, ACCESS_REFUSED, NOT_IMPLEMENTED, FAILURE = 400, 403, 540, 541
"""From this reply code on a close says what was wrong with a method, by whichever code; and it says with this one that
the broker has failed."""
NOBODY = "amqpconf-no-such-type"
QUEUE_TYPE = "x-queue-type"
UNSHOWN = frozenset({"basic.nack", "x-priority"})
"""A broker that passes over these answers as one that knows them does."""
ANNOUNCED = frozenset({"x-priority"})
"""Arguments that nobody has to know: only who announces them promises anything."""
UNHEARD_OF = frozenset({"basic.nack", "confirm.select", "exchange.bind", "direct reply-to"})
"""Methods of RabbitMQ, and its queue that is none. Who knows the text alone cannot read the methods and has no such
queue, and may drop the connection without a word, or wait in silence."""
REPLIES = "amq.rabbitmq.reply-to"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of one question; `words` is what the broker said, where it did not simply comply."""

    feature: str
    state: str
    words: str = ""
    most: int | None = None
    """So many are possible, where that is the question."""


class Inquiry:
    """Questions to one broker. `patience`: seconds for each answer; `stranger`: nobody knows which arguments mean
    anything to it; `revive` brings it back where a question has brought it down."""

    def __init__(
        self,
        target: Target,
        patience: float,
        *,
        stranger: bool = False,
        revive: Callable[[], None] | None = None,
    ) -> None:
        self._target, self._patience, self._stranger, self._revive = target, patience, stranger, revive
        self._deaths, self._before = 0, ""
        self.last: Event | None = None
        self._prefix = f"amqpconf.probe.{secrets.token_hex(4)}."
        self._queues: list[str] = []
        self._names: list[str] = []
        self._capabilities: Mapping[str, object] = {}
        self._durable, self._instead = True, ""

    def answers(self) -> list[Answer]:
        """All answers, in the order in which they were asked. What was declared is gone afterwards. Raises Unreachable
        where not even what every history needs is answered, or allowed."""
        try:
            about_queues = [*self._use(), *self._declarations()]
            about_queues += [*self._methods(), self._gets(), *self._nack(), *self._cancel()]
            about_queues += [*self._arguments(), *self._types()]
            about_queues += [*self._consumers(), *self._expiration()]
            found = [*about_queues, *self._exchanges(), *self._bindings(), *self._carbon(), self._crowd()]
            found += [self._large(), self._reserved()]
            return [self._by_its_effect(self._beside_what_it_announces(answer)) for answer in found]
        finally:
            sweep(self._target, self._queues, self._names, self._patience)

    def _beside_what_it_announces(self, answer: Answer) -> Answer:
        capability = CAPABILITIES.get(answer.feature, "")
        said = self._capabilities.get(capability)
        lacks = said is False or (said is None and answer.feature in ANNOUNCED)
        if said is True and answer.state == REFUSED and f" {NOT_IMPLEMENTED} " not in answer.words:
            return Answer(answer.feature, WRONG, f"{answer.words}, although the broker announces {capability}")
        if said is None and answer.feature in UNHEARD_OF and answer.state in (LOST, SILENT):
            return Answer(answer.feature, REFUSED, f"{answer.words}, and it announces no {capability}")
        if not lacks or (answer.state == OFFERED and answer.feature not in UNSHOWN):
            return answer
        return Answer(answer.feature, REFUSED, f"the broker announces no {capability}")

    def _by_its_effect(self, answer: Answer) -> Answer:
        """A stranger that takes an argument may pass over it."""
        if not self._stranger or answer.state != OFFERED or not effects.passed_over(self, answer.feature):
            return answer
        return Answer(answer.feature, REFUSED, "it is passed over")

    def came(self, steps: Sequence[Item], wanted: str, within: float | None = None) -> str | None:
        """What came instead of all replies to these steps, the last one `within` so many seconds."""
        answer = self._ask("", steps, wanted, within)
        return None if answer.state == OFFERED else answer.words

    def _use(self) -> list[Answer]:
        """A queue, a message into it and out of it: a durable one, else a transient one."""
        first = self._used()
        if first.state in (REFUSED, WRONG, LOST):
            self._durable = False
            self._durable = self._used().state != OFFERED
        if first.state == OFFERED or not self._durable:
            return [Answer(DURABLE, first.state, first.words)]
        if first.state == SILENT:
            declared = self._ask("queue.declare", (self.queue(),), "queue.declare-ok")
            if declared.state == OFFERED:
                return [Answer(DURABLE, OFFERED)]
            first = declared
        if first.state in (REFUSED, WRONG, LOST) and self._stands_in():
            return [Answer(DEFAULT, first.state, first.words), Answer(DURABLE, OFFERED)]
        layer, advice = self._advice(first)
        raise Unreachable(
            layer,
            (
                f"{self._target.address} lets the user {self._target.user!r} in, but a queue cannot be declared, "
                f"filled and emptied: {first.words}. {advice}"
            ),
        )

    def _stands_in(self) -> bool:
        """Does an exchange of our own lead to queues, where the default exchange does not?"""
        made = self.exchange("direct")
        self._durable, self._instead = True, made.exchange
        declared = self._ask("exchange.declare", (made,), "exchange.declare-ok")
        if declared.state == OFFERED and self._used().state == OFFERED:
            return True
        self._instead = ""
        return False

    def _used(self) -> Answer:
        queue = self.queue()
        steps: tuple[Item, ...] = (
            queue,
            (m.BasicPublish(1, 0, "", queue.queue), b"probe", {}),
            m.BasicGet(1, 0, queue.queue, True),
            m.QueueDelete(1, 0, queue.queue),
        )
        return self._ask("queue.declare", steps, "queue.delete-ok")

    def _declarations(self) -> Iterator[Answer]:
        """Other ways to declare queues. One that the broker has named ends with its connection, where that can be."""
        states = dict[str, str]()
        for feature, flags in DECLARED.items():
            declare = self.queue(flags=flags)
            answer = self._ask(feature, (declare, m.QueueDelete(1, 0, declare.queue)), "queue.delete-ok")
            states[feature] = answer.state
            yield answer
        flags = DECLARED[EXCLUSIVE] if states[EXCLUSIVE] == OFFERED else {}
        answer = self._ask(SERVER_NAMED, (self._declare("", flags=flags),), "queue.declare-ok")
        if answer.state == OFFERED and self.last is not None:
            self._queues.append(self.last.queue or "")
        yield answer

    def _advice(self, answer: Answer) -> tuple[str, str]:
        """The layer that fails where every history must begin, and what to do: only who refuses access speaks of
        rights. Raises Unreachable where nobody listens any more."""
        if _denied(answer):
            return "rights", (
                "The user needs the rights to configure, write and read queues named amqpconf.*; amqp-conformance "
                "doctor URL tells more."
            )
        if answer.state == SILENT:
            return "queues", "Check whether the broker hangs, is overloaded, or is blocked by an alarm."
        if answer.state == LOST:
            self._ask("queue.declare", (m.ChannelOpen(2),), "channel.open-ok")
        return "queues", "Every check needs that. See the broker's log for the reason."

    def _methods(self) -> Iterator[Answer]:
        for feature, method in METHODS.items():
            yield self._ask(feature, (method,), f"{method.NAME}-ok")
        queue = self.queue(flags={"no_wait": True})
        yield self._ask("nowait", (queue, m.QueueDelete(1, 0, queue.queue)), "queue.delete-ok")
        for feature, about in ABOUT_QUEUES.items():
            queue = self.queue()
            asked = about(queue.queue)
            yield self._ask(feature, (queue, asked), f"{asked.NAME}-ok")

    def _gets(self) -> Answer:
        """A channel that has asked one queue asks another one, which has a message."""
        first, second = self.queue(), self.queue()
        publish: Item = (m.BasicPublish(1, 0, "", second.queue), b"probe", {})
        gets = m.BasicGet(1, 0, first.queue, True), m.BasicGet(1, 0, second.queue, False)
        return self._ask(GETS, (first, second, publish, *gets), "basic.get-ok")

    def _nack(self) -> Iterator[Answer]:
        """A refusal has no answer: only that the channel goes on shows that it was taken. Who announces nothing of it
        may have passed over it; then what it is to return does not come back."""
        queue = self._name()
        steps: tuple[Item, ...] = (
            self._declare(queue),
            (m.BasicPublish(1, 0, "", queue), b"probe", {}),
            m.BasicGet(1, 0, queue, False),
            m.BasicNack(1, 1, False, False),
            m.QueueDelete(1, 0, queue),
        )
        answer = self._ask("basic.nack", steps, "queue.delete-ok")
        if answer.state == OFFERED and "basic.nack" not in self._capabilities:
            queue = self._name()
            returned: tuple[Item, ...] = (
                self._declare(queue),
                (m.BasicPublish(1, 0, "", queue), b"probe", {}),
                m.BasicGet(1, 0, queue, False),
                m.BasicNack(1, 1, False, True),
                m.BasicConsume(1, queue=queue, consumer_tag="probe", no_ack=True),
            )
            if self._ask("basic.nack", returned, "basic.deliver").state == SILENT:
                answer = Answer("basic.nack", REFUSED, "it is passed over")
        yield answer

    def _cancel(self) -> Iterator[Answer]:
        queue = self._name()
        steps: tuple[Item, ...] = (
            self._declare(queue),
            m.BasicConsume(1, queue=queue, consumer_tag="probe"),
            m.BasicCancel(1, "probe", False),
        )
        yield self._ask("basic.cancel", steps, "basic.cancel-ok")

    def _consumers(self) -> Iterator[Answer]:
        """Ways to consume that not every broker knows."""
        queue = self.queue()
        ranked = m.BasicConsume(1, queue=queue.queue, consumer_tag="probe", arguments=values.table({"x-priority": 1}))
        yield self._ask("x-priority", (queue, ranked), "basic.consume-ok")
        replies = m.BasicConsume(1, queue=REPLIES, consumer_tag="probe", no_ack=True)
        yield self._ask("direct reply-to", (replies,), "basic.consume-ok")

    def _arguments(self) -> Iterator[Answer]:
        for feature, arguments in ARGUMENTS.items():
            yield self._declares(feature, arguments)

    def _types(self) -> Iterator[Answer]:
        for name in ("quorum", NOBODY):
            yield self._declares(f"{QUEUE_TYPE} {name}", {QUEUE_TYPE: name})

    def _exchanges(self) -> Iterator[Answer]:
        for feature, (kind, arguments) in EXCHANGES.items():
            other = [self.exchange("fanout")] if OTHER in arguments.values() else []
            named = {key: other[0].exchange if value == OTHER else value for key, value in arguments.items()}
            yield self._ask(feature, (*other, self.exchange(kind, named)), "exchange.declare-ok")

    def _bindings(self) -> Iterator[Answer]:
        first, second = self.exchange("fanout"), self.exchange("fanout")
        bind = m.ExchangeBind(1, 0, second.exchange, first.exchange, "")
        yield self._ask("exchange.bind", (first, second, bind), "exchange.bind-ok")
        headers, queue = self.exchange("headers"), self.queue()
        form = values.table({"x-match": "all-with-x", "x-probe": "1"})
        compared = m.QueueBind(1, queue=queue.queue, exchange=headers.exchange, arguments=form)
        yield self._ask("x-match all-with-x", (headers, queue, compared), "queue.bind-ok")

    def _carbon(self) -> Iterator[Answer]:
        """A broker that knows nothing of CC passes over it: only that the queue is filled shows that it does not."""
        feature, queue = "sender-selected distribution", self._name()
        header = {"headers": [("CC", "A", [("S", queue.encode())])]}
        publish: Item = (m.BasicPublish(1, 0, "", f"{queue}.nobody"), b"probe", header)
        answer = self._ask(feature, (self._declare(queue), publish, m.BasicGet(1, 0, queue, True)), effects.TAKEN)
        taken = self.last is not None and self.last.method == effects.TAKEN
        if answer.state == OFFERED and not taken and effects.stays_empty(self, queue):
            answer = Answer(feature, REFUSED, "CC is passed over")
        yield answer

    def _crowd(self) -> Answer:
        """As many connections at once as the suite may need."""
        links, words = list[RawConnection](), ""
        try:
            while len(links) < DOZEN:
                links.append(unrecorded(hasty(self._target, self._patience)))
        except Unreachable as unreachable:
            words = unreachable.message.partition(". ")[0].partition(", so ")[0]
        finally:
            for link in links:
                part(link, 1.0)
        if len(links) == DOZEN or not links:
            return Answer(CROWD, OFFERED)
        return Answer(CROWD, REFUSED, f"not more than {len(links)}, then: {words}", len(links))

    def _large(self) -> Answer:
        """The largest body that is taken, where one is refused for its size. What else comes is for the judge."""
        refused = ""
        for octets in (*BODIES, 0):
            queue = self._name()
            publish: Item = (m.BasicPublish(1, 0, "", queue), bytes(octets), {})
            answer = self._ask(LARGE, (self._declare(queue), publish, m.BasicGet(1, 0, queue, True)), effects.TAKEN)
            if answer.state != REFUSED or not sizes.blames(answer.words, octets):
                break
            refused = refused or answer.words
        return Answer(LARGE, REFUSED if refused else OFFERED, refused, octets if refused or not answer.words else None)

    def _reserved(self) -> Answer:
        """May what the broker has declared be used? Whose rights end with the suite's own names is told by 403, also of
        a name that is nobody's. What else comes of an exchange that is always there is for the rules about it."""
        find = m.ExchangeDeclare(1, exchange="amq.direct", type="direct", passive=True)
        answer = self._ask(RESERVED, (find,), "exchange.declare-ok")
        if answer.state == OFFERED or (_denied(answer) and _denied(self._elsewhere())):
            return answer
        return Answer(RESERVED, WRONG, answer.words)

    def _elsewhere(self) -> Answer:
        find = m.ExchangeDeclare(1, exchange=f"nobodys.{self._prefix}x", type="direct", passive=True)
        return self._ask(RESERVED, (find,), "exchange.declare-ok")

    def _expiration(self) -> Iterator[Answer]:
        """A broker that knows nothing of it passes over it: that shows where gets find two messages that live for no
        time at all."""
        feature, queue = "expiration", self._name()
        publish: Item = (m.BasicPublish(1, 0, "", queue), b"probe", {"expiration": "0"})
        get = m.BasicGet(1, 0, queue, True)
        answer = self._ask(feature, (self._declare(queue), publish, publish, get, get), effects.TAKEN)
        found = answer.state == OFFERED and self.last is not None and self.last.method == effects.TAKEN
        if answer.state == LOST:  # what is there may come in no form that can be read
            counted = self._ask("queue.purge", (m.QueuePurge(1, 0, queue),), "queue.purge-ok")
            found = counted.state == OFFERED and self.last is not None and bool(self.last.args.get("message_count"))
        yield Answer(feature, REFUSED, "it is passed over") if found else answer

    def exchange(self, kind: str, arguments: Mapping[str, object] | None = None) -> m.ExchangeDeclare:
        self._names.append(f"{self._prefix}x{len(self._names)}")
        table = values.table(arguments or {})
        return m.ExchangeDeclare(1, exchange=self._names[-1], type=kind, arguments=table)

    def queue(
        self, arguments: Mapping[str, object] | None = None, flags: Mapping[str, bool] | None = None
    ) -> m.QueueDeclare:
        return self._declare(self._name(), arguments, flags)

    def _declare(
        self,
        name: str,
        arguments: Mapping[str, object] | None = None,
        flags: Mapping[str, bool] | None = None,
    ) -> m.QueueDeclare:
        wanted = {"durable": self._durable, **(flags or {})}
        return m.QueueDeclare(1, queue=name, arguments=values.table(arguments or {}), **wanted)

    def _declares(self, feature: str, arguments: Mapping[str, object]) -> Answer:
        return self._ask(feature, (self.queue(arguments),), "queue.declare-ok")

    def _name(self) -> str:
        self._queues.append(f"{self._prefix}{len(self._queues)}")
        return self._queues[-1]

    def _ask(self, feature: str, steps: Sequence[Item], wanted: str, within: float | None = None) -> Answer:
        try:
            connection = self._connected(feature)
        except Unreachable as unreachable:
            if unreachable.layer == "tcp":
                raise
            return Answer(feature, LOST, unreachable.message)
        self._before = feature or self._before
        steps = tuple(led(steps, self._instead)) if self._instead else steps
        announced = connection.server_properties.get("capabilities")
        self._capabilities = announced if isinstance(announced, Mapping) else {}
        try:
            connection.send(m.ChannelOpen(1))
            for step in steps:
                connection.send(step)
                last = step is steps[-1]
                answer = self._heard(connection, wanted if last else _reply(step), within if last else None)
                if isinstance(step, m.BasicGet) and not step.no_ack:
                    answer = self._fetched(connection, step, answer)
                if answer[0] != OFFERED:
                    break
            return Answer(feature, *answer)
        except ConnectionLost as lost:
            return Answer(feature, LOST, str(lost))
        finally:
            part(connection, 1.0)

    def _fetched(self, connection: RawConnection, get: m.BasicGet, answer: tuple[str, str]) -> tuple[str, str]:
        """What is settled next has to be there first: nothing has confirmed it, and it may be late."""
        until = time.monotonic() + self._patience
        while answer[0] == OFFERED and self.last is not None and self.last.method == "basic.get-empty":
            if time.monotonic() > until:
                return SILENT, f"a message does not come within {self._patience:g} s"
            time.sleep(effects.PAUSE)
            connection.send(get)
            answer = self._heard(connection, "basic.get-ok")
        return answer

    def _connected(self, feature: str) -> RawConnection:
        """A connection for the next question. Who is gone was brought down by the one before."""
        try:
            return unrecorded(self._target)
        except Unreachable as unreachable:
            if unreachable.layer != "tcp":
                raise
            if self._revive is None or self._deaths == DEATHS:
                last = self._before or feature
                raise Unreachable(
                    "tcp",
                    (
                        f"{self._target.address} stopped accepting connections when it had been asked for {last}. See "
                        "the broker's log for the reason, and start it again; run goes on after that if it is given "
                        "--restart COMMAND."
                    ),
                ) from unreachable
        self._deaths += 1
        self._revive()
        return unrecorded(self._target)

    def _heard(self, connection: RawConnection, wanted: str, within: float | None = None) -> tuple[str, str]:
        """What came of one step; a step without a reply is taken as it is."""
        if not wanted:
            return OFFERED, ""
        until = time.monotonic() + (self._patience if within is None else within)
        while connection.alive and time.monotonic() < until:
            for event in connection.receive(max(0.0, until - time.monotonic())):
                if event.method == wanted or (wanted, event.method) == ("basic.get-ok", "basic.get-empty"):
                    self.last = event
                    return OFFERED, ""
                if event.method in ("channel.close", "connection.close"):
                    return _refusal(event)
        if not connection.alive:
            return LOST, f"the broker dropped the connection instead of sending {wanted}"
        return SILENT, f"{wanted} does not come within {self._patience:g} s"


def _denied(answer: Answer) -> bool:
    """Is it refused as who has not the right is?"""
    return answer.state == REFUSED and f" {ACCESS_REFUSED} " in answer.words


def _reply(step: Item) -> str:
    """What must come before the next step is sent; nothing where a method has no reply."""
    if isinstance(step, m.BasicConsume) and step.no_wait:
        return "basic.deliver"
    name = step.NAME if isinstance(step, codec.Method) and not getattr(step, "no_wait", False) else ""
    return f"{name}-ok" if f"{name}-ok" in m.BY_NAME else ""


def _refusal(event: Event) -> tuple[str, str]:
    code, text = int(event.args.get("reply_code", 0)), str(event.args.get("reply_text", ""))
    return REFUSED if code >= LEAST and code != FAILURE else WRONG, f"{event.method} {code} {text!r}"

"""What does this broker offer? Asked once, before anything is judged, each question on a connection of its own.

After a lawful refusal the feature is not offered. After anything else but the reply the judge decides, so scenes of
the rules about the feature still use it, and all other scenes do without it. A queue type counts as known only if the
broker refuses a type that does not exist.

Some brokers let no client in that announces more than it must. They are asked with less, and the suite keeps what
works. Who announces that it lacks a feature lacks it, unless the answer shows the contrary. Who announces that it has
one refuses it lawfully by 540 alone. Who announces nothing of a method may never have heard of it, and may drop the
connection over it. An argument that nobody has to know must be announced. Who takes an argument and passes over it
(`effects`) does not offer it, unless the profile was made for this very product.

The first questions find a way to declare queues, to fill and to empty them (`ways`). All others then use that way.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from codec import methods as m
from codec import values
from conformance.catalogue.rules.features import (
    CAPABILITIES,
    CROWD,
    EXCLUSIVE,
    GETS,
    LARGE,
    PASSIVE,
    RESERVED,
    SERVER_NAMED,
)
from conformance.drive.drivers import effects
from conformance.drive.drivers.errors import Unreachable
from conformance.drive.drivers.questions import ABOUT_QUEUES, ARGUMENTS, DECLARED, EXCHANGES, METHODS, OTHER
from conformance.drive.drivers.raw import Item, RawConnection
from conformance.drive.drivers.sweep import hasty, part, unrecorded
from conformance.drive.drivers.target import Target
from conformance.drive.probing.questioned import LOST, OFFERED, REFUSED, SILENT, WRONG, Answer, Questioned
from conformance.drive.probing.ways import find_a_way, is_denied
from conformance.oracle.model.publishing import sizes

DOZEN = 12
"""The suite needs no more connections at once."""
BODIES = 270_000, 100_000, 60_000, 30_000, 8_000, 1_000
"""Octets of bodies, of which the suite sends none larger than the first."""
NOT_IMPLEMENTED = 540
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
IN_ORDER, EMPTY = "gets that see what their channel has published", "basic.get-empty"
ROUNDS, IN_ONE_WRITE = 3, 20


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
        self._broker, self._stranger = Questioned(target, patience, revive), stranger

    def answers(self) -> list[Answer]:
        """All answers, in the order in which they were asked. What was declared is gone afterwards. Raises Unreachable
        where not even what every history needs is answered, or allowed."""
        try:
            about_queues = [*find_a_way(self._broker), *self._declarations()]
            about_queues += [*self._methods(), *self._gets(), *self._nack(), *self._cancel()]
            about_queues += [*self._arguments(), *self._types()]
            about_queues += [*self._consumers(), *self._expiration()]
            found = [*about_queues, *self._exchanges(), *self._bindings(), *self._carbon(), self._crowd()]
            found += [self._large(), self._reserved(), *self._in_order()]
            return [self._by_its_effect(self._beside_what_it_announces(answer)) for answer in found]
        finally:
            self._broker.clean()

    def _beside_what_it_announces(self, answer: Answer) -> Answer:
        capability = CAPABILITIES.get(answer.feature, "")
        said = self._broker.capabilities.get(capability)
        lacks = said is False or (said is None and answer.feature in ANNOUNCED)
        if said is True and answer.state == REFUSED and f" {NOT_IMPLEMENTED} " not in answer.words:
            return Answer(answer.feature, WRONG, f"{answer.words}, although the broker announces {capability}")
        if said is None and answer.feature in UNHEARD_OF and answer.state in (LOST, SILENT):
            return Answer(answer.feature, REFUSED, f"{answer.words}, and it announces no {capability}")
        if not lacks or (answer.state == OFFERED and answer.feature not in UNSHOWN):
            return answer
        return Answer(answer.feature, REFUSED, f"the broker announces no {capability}")

    def _by_its_effect(self, answer: Answer) -> Answer:
        """A stranger that takes an argument may pass over it. Where it fails over something else that is needed to see
        that, and does so without the argument as well, nothing shows that it knows it."""
        if not self._stranger or answer.state != OFFERED:
            return answer
        passed_over, foiled = self._put(answer.feature)
        if passed_over:
            return Answer(answer.feature, REFUSED, "it is passed over")
        if foiled and self._put(answer.feature, bare=True)[1]:
            return Answer(answer.feature, REFUSED, f"that it has an effect does not show: {foiled}")
        return answer

    def _put(self, feature: str, *, bare: bool = False) -> tuple[bool, str]:
        """Is this certainly passed over, and why can nothing be seen?"""
        broker = self._broker
        broker.foiled, broker.bare = "", bare
        try:
            return effects.passed_over(broker, feature), broker.foiled
        finally:
            broker.bare = False

    def _declarations(self) -> Iterator[Answer]:
        """Other ways to declare queues. One that the broker has named ends with its connection, where that can be."""
        states = dict[str, str]()
        for feature, flags in DECLARED.items():
            declare = self._broker.queue(flags=flags)
            answer = self._broker.ask(feature, (declare, self._broker.last_word(declare)))
            states[feature] = answer.state
            yield answer
        flags = DECLARED[EXCLUSIVE] if states[EXCLUSIVE] == OFFERED else {}
        answer = self._broker.ask(SERVER_NAMED, (self._broker.declare("", flags=flags),), "queue.declare-ok")
        if answer.state == OFFERED and self._broker.last is not None:
            self._broker.queues.append(self._broker.last.queue or "")
        yield answer

    def _methods(self) -> Iterator[Answer]:
        for feature, method in METHODS.items():
            yield self._broker.ask(feature, (method,), f"{method.NAME}-ok")
        queue = self._broker.queue(flags={"no_wait": True})
        yield self._broker.ask("nowait", (queue, self._broker.last_word(queue)))
        for feature, about in ABOUT_QUEUES.items():
            queue = self._broker.queue()
            asked = about(queue)
            answer = self._broker.ask(feature, (queue, asked))
            yield self._made(answer) if feature == PASSIVE and answer.state == OFFERED else answer

    def _made(self, answer: Answer) -> Answer:
        """Some make the queue that they are only to look for: with them nobody can look for one."""
        finds = self._broker.queue(flags={"passive": True})
        found = self._broker.ask(PASSIVE, (finds,))
        return Answer(PASSIVE, WRONG, "it makes the queue that it is to look for") if found.state == OFFERED else answer

    def _gets(self) -> Iterator[Answer]:
        """A channel that has asked one queue asks another one, which has a message."""
        if not self._broker.gets:
            return
        first, second = self._broker.queue(), self._broker.queue()
        publish: Item = (m.BasicPublish(1, 0, "", second.queue), b"probe", {})
        gets = m.BasicGet(1, 0, first.queue, True), m.BasicGet(1, 0, second.queue, False)
        yield self._broker.ask(GETS, (first, second, publish, *gets), effects.TAKEN)

    def _nack(self) -> Iterator[Answer]:
        """A refusal has no answer: only that the channel goes on shows that it was taken. Who announces nothing of it
        may have passed over it; then what it is to return does not come back."""
        declare = self._broker.queue()
        steps: tuple[Item, ...] = (
            declare,
            (m.BasicPublish(1, 0, "", declare.queue), b"probe", {}),
            m.BasicGet(1, 0, declare.queue, False),
            m.BasicNack(1, 1, False, False),
            self._broker.last_word(declare),
        )
        answer = self._broker.ask("basic.nack", steps)
        if answer.state == OFFERED and "basic.nack" not in self._broker.capabilities:
            queue = self._broker.name()
            returned: tuple[Item, ...] = (
                self._broker.declare(queue),
                (m.BasicPublish(1, 0, "", queue), b"probe", {}),
                m.BasicGet(1, 0, queue, False),
                m.BasicNack(1, 1, False, True),
                m.BasicConsume(1, queue=queue, consumer_tag="probe", no_ack=True),
            )
            if self._broker.ask("basic.nack", returned, "basic.deliver").state == SILENT:
                answer = Answer("basic.nack", REFUSED, "it is passed over")
        yield answer

    def _cancel(self) -> Iterator[Answer]:
        queue = self._broker.name()
        steps: tuple[Item, ...] = (
            self._broker.declare(queue),
            m.BasicConsume(1, queue=queue, consumer_tag="probe"),
            m.BasicCancel(1, "probe", False),
        )
        yield self._broker.ask("basic.cancel", steps, "basic.cancel-ok")

    def _consumers(self) -> Iterator[Answer]:
        """Ways to consume that not every broker knows."""
        queue = self._broker.queue()
        ranked = m.BasicConsume(1, queue=queue.queue, consumer_tag="probe", arguments=values.table({"x-priority": 1}))
        yield self._broker.ask("x-priority", (queue, ranked), "basic.consume-ok")
        replies = m.BasicConsume(1, queue=REPLIES, consumer_tag="probe", no_ack=True)
        yield self._broker.ask("direct reply-to", (replies,), "basic.consume-ok")

    def _arguments(self) -> Iterator[Answer]:
        for feature, arguments in ARGUMENTS.items():
            yield self._declares(feature, arguments)

    def _types(self) -> Iterator[Answer]:
        for name in ("quorum", NOBODY):
            yield self._declares(f"{QUEUE_TYPE} {name}", {QUEUE_TYPE: name})

    def _exchanges(self) -> Iterator[Answer]:
        for feature, (kind, arguments) in EXCHANGES.items():
            other = [self._broker.exchange("fanout")] if OTHER in arguments.values() else []
            named = {key: other[0].exchange if value == OTHER else value for key, value in arguments.items()}
            yield self._broker.ask(feature, (*other, self._broker.exchange(kind, named)), "exchange.declare-ok")

    def _bindings(self) -> Iterator[Answer]:
        first, second = self._broker.exchange("fanout"), self._broker.exchange("fanout")
        bind = m.ExchangeBind(1, 0, second.exchange, first.exchange, "")
        yield self._broker.ask("exchange.bind", (first, second, bind), "exchange.bind-ok")
        headers, queue = self._broker.exchange("headers"), self._broker.queue()
        form = values.table({"x-match": "all-with-x", "x-probe": "1"})
        compared = m.QueueBind(1, queue=queue.queue, exchange=headers.exchange, arguments=form)
        yield self._broker.ask("x-match all-with-x", (headers, queue, compared), "queue.bind-ok")

    def _carbon(self) -> Iterator[Answer]:
        """A broker that knows nothing of CC passes over it: only that the queue is filled shows that it does not."""
        feature, queue = "sender-selected distribution", self._broker.name()
        header = {"headers": [("CC", "A", [("S", queue.encode())])]}
        publish: Item = (m.BasicPublish(1, 0, "", f"{queue}.nobody"), b"probe", header)
        answer = self._broker.ask(
            feature, (self._broker.declare(queue), publish, m.BasicGet(1, 0, queue, True)), effects.TAKEN
        )
        if answer.state == OFFERED and self._broker.taken is None and effects.stays_empty(self._broker, queue):
            answer = Answer(feature, REFUSED, "CC is passed over")
        yield answer

    def _crowd(self) -> Answer:
        """As many connections at once as the suite may need."""
        links, words = list[RawConnection](), ""
        try:
            while len(links) < DOZEN:
                links.append(unrecorded(hasty(self._broker.target, self._broker.patience)))
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
            queue = self._broker.name()
            publish: Item = (m.BasicPublish(1, 0, "", queue), bytes(octets), {})
            answer = self._broker.ask(
                LARGE, (self._broker.declare(queue), publish, m.BasicGet(1, 0, queue, True)), effects.TAKEN
            )
            if answer.state != REFUSED or not sizes.blames(answer.words, octets):
                break
            refused = refused or answer.words
        return Answer(LARGE, REFUSED if refused else OFFERED, refused, octets if refused or not answer.words else None)

    def _reserved(self) -> Answer:
        """May what the broker has declared be used? Whose rights end with the suite's own names is told by 403, also of
        a name that is nobody's. What else comes of an exchange that is always there is for the rules about it."""
        find = m.ExchangeDeclare(1, exchange="amq.direct", type="direct", passive=True)
        answer = self._broker.ask(RESERVED, (find,), "exchange.declare-ok")
        if answer.state == OFFERED or (is_denied(answer) and is_denied(self._elsewhere())):
            return answer
        return Answer(RESERVED, WRONG, answer.words)

    def _in_order(self) -> Iterator[Answer]:
        """Does a get find what its channel has published before? Some brokers hand messages on by another way than
        gets, which overtake them. They come all the same: what does not is lost, and that is for the judge."""
        asked = self._stranger and self._broker.gets
        for _ in range(ROUNDS if asked else 0):
            queue = self._broker.queue()
            publish: Item = (m.BasicPublish(1, 0, "", queue.queue), b"probe", {})
            get = m.BasicGet(1, 0, queue.queue, True)
            came = self._broker.at_once(queue, [publish] * IN_ONE_WRITE + [get] * IN_ONE_WRITE, (effects.TAKEN, EMPTY))
            left = came.count(EMPTY) if len(came) == IN_ONE_WRITE else 0
            if left and self._come_later([get] * left):
                yield Answer(IN_ORDER, REFUSED, f"{left} of {IN_ONE_WRITE} gets found nothing, and all came later")
                return
        if asked:
            yield Answer(IN_ORDER, OFFERED)

    def _come_later(self, gets: Sequence[Item]) -> bool:
        """Is there a message for the last of these gets, after a pause?"""
        time.sleep(effects.PAUSE)
        return self._broker.ask("", gets, effects.TAKEN).state == OFFERED and self._broker.taken is not None

    def _elsewhere(self) -> Answer:
        find = m.ExchangeDeclare(1, exchange=f"nobodys.{self._broker.prefix}x", type="direct", passive=True)
        return self._broker.ask(RESERVED, (find,), "exchange.declare-ok")

    def _expiration(self) -> Iterator[Answer]:
        """A broker that knows nothing of it passes over it: that shows where gets find two messages that live for no
        time at all."""
        feature, queue = "expiration", self._broker.name()
        publish: Item = (m.BasicPublish(1, 0, "", queue), b"probe", {"expiration": "0"})
        get = m.BasicGet(1, 0, queue, True)
        answer = self._broker.ask(feature, (self._broker.declare(queue), publish, publish, get, get), effects.TAKEN)
        found = answer.state == OFFERED and self._broker.taken is not None
        if answer.state == LOST:  # what is there may come in no form that can be read
            counted = self._broker.ask("queue.purge", (m.QueuePurge(1, 0, queue),), "queue.purge-ok")
            last = self._broker.last
            found = counted.state == OFFERED and last is not None and bool(last.args.get("message_count"))
        yield Answer(feature, REFUSED, "it is passed over") if found else answer

    def _declares(self, feature: str, arguments: Mapping[str, object]) -> Answer:
        return self._broker.ask(feature, (self._broker.queue(arguments),), "queue.declare-ok")

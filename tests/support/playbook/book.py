"""Playbooks: histories told line by line, and what the judge makes of them.

    c:1 > ack 2 multiple        what the client sends on channel 1 of connection c (`1 >` is connection c)
    1 < closed 406 60 80 unknown delivery tag 2
    1 < get-ok 2 m1 q redelivered x-delivery-count=1        with a header
    1 > publish key m1 exchange=x h.ink=red     to an exchange, with a header
    1 > bind q x key x-match=any ink=red        with arguments; `void` is no value, `@5` a timestamp
    1 > unbind - x key                          of the last queue that the channel declared
    1 < get-ok 1 m1 q expiration=-      without the expiration with which it was published
    1 > publish q m1 with={"priority":3,"headers":{"a":["I",1]}} split=1,3,2   with properties, in frames of these sizes
    - deadline replies          what the driver notes
    - joined c                  what an observer notes: of this connection the beginning is missing
    - killed                    the broker was killed and started again
    - rule p ^q {"max-length":2} priority=1   this policy is set, for queues; apply_to=exchanges vhost=other operator=1
    - unrule p                  it is removed
    - restarted stopping        the broker is shut down in good order; started: it is back, with its data
    - octets c 0100...          the client sends these octets, whatever they are
    - alarm raised            a resource alarm is raised; before it: raising, at the end: clearing, cleared
    - rights c q              the user of this connection may no longer read the queue
    - permit u v {"write":"a"}  this user may do so much in this vhost, and nothing else
    - permit u v none         it may not enter this vhost; gone: it is deleted
    - header c 414d5150...      the client's first octets; answer c 414d...: the broker's header; beat c <: a heartbeat
    - known c login=1 vhost=0   is what the client is going to name the right thing?
    - gap c <                   octets of the broker are missing; - cut c: the rest
    - observed others           there may be connections that nobody sees; unordered: clocks differ

Shorthands begin with @ and stand for exchanges that go well:

    @queue q quorum x-key=1     declared on channel 90
    @stock q m1 m2              published and confirmed on channel 80
    @open 1  @close 1  @barrier 1
    @hold 1 q m1 m2             got by channel 1, to be settled; marked redelivered where they came before
    @consume 1 q c1             a consumer, started
    @drain q m1 m2              a fresh channel gets these with no_ack, then get-empty
    @exchange x q1 q2           a fanout exchange that leads to these, declared on channel 90
    @confirming 1               a channel in confirm mode
    @route x topic a.# q        such an exchange, with this queue bound by this key, declared on channel 90
"""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import dataclass, field

import codec
from codec import methods as m
from codec import values
from conformance.catalogue import profiles
from conformance.catalogue.profiles import Profile
from conformance.history.events import Event, EventBuilder, Labels
from conformance.oracle.monitors import Judge
from tests.support.playbook.notes import note
from tests.support.playbook.shorthands import Shorthands
from tests.support.playbook.words import MESSAGE_AT, NAMELESS, RECEIVED, SENT, Words, properties_of, table_of


def _malformed(builder: EventBuilder, problem: codec.MalformedFrame) -> Event:
    about = {"offset": problem.offset, "expected": problem.expected, "found": problem.found}
    return builder.note(">", "malformed", problem.raw, **about)


@dataclass
class Playbook:
    """One history in the making, judged as it grows."""

    profile: str | Profile = "documented"
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        profile = self.profile
        self.judge = Judge(profiles.load(profile) if isinstance(profile, str) else profile)
        self._count = itertools.count(1)
        self.now = 10**9
        self._builders: dict[str, EventBuilder] = {}
        self._shorthands = Shorthands(set())
        self._led: dict[str, m.BasicPublish] = {}
        """What an exchange leads to its queues keeps the address that it was published to."""
        self._headers: dict[str, dict[str, object]] = {}
        """What a message was published with, it is delivered with."""
        self._expirations: dict[str, str] = {}
        self._ready: dict[tuple[str, int], int] = {}
        """How many messages were ready when a channel last asked, which answers tell unless they say otherwise."""

    @property
    def broken(self) -> list[str]:
        """Rules with a certain finding, each once, in order of appearance."""
        return list(dict.fromkeys(one.rule for one in self.judge.judgement.findings if one.certain))

    @property
    def exercised(self) -> Counter[str]:
        return self.judge.judgement.exercised

    def play(self, text: str) -> Playbook:
        for line in text.strip().splitlines():
            if line.strip():
                self._line(line.split(" # ")[0].split())
        return self

    def rest(self) -> Playbook:
        """Somebody else gets all that must still be in a queue, so nothing is lost: what was passed over was there."""
        for number, (name, queue) in enumerate([*self.judge._model.queues.items()], 1):
            left = sorted(
                queue.absent(), key=lambda copy: (queue.order != "original" and not copy.returns, copy.published)
            )
            if not left or queue.deleted:
                continue
            self.play(f"rest:{number} > open \n rest:{number} < open-ok")
            for tag, copy in enumerate(left, 1):
                again = "redelivered" if copy.seen or copy.returns else ""
                self.play(f"rest:{number} > get {name} no_ack \n rest:{number} < get-ok {tag} {copy.id} {name} {again}")
        return self

    def _line(self, words: list[str]) -> None:
        if words[0].startswith("@"):
            for line in self._shorthands.told(words):
                self._line(line.split())
        elif words[0] == "-":
            note(self, words[1], words[2:])
        else:
            name, _, number = words[0].rpartition(":")
            self._frame(name or "c", int(number), words[1], words[2], Words(words[3:]))

    def builder(self, name: str) -> EventBuilder:
        """Of this connection; it is opened where it is new."""
        if name not in self._builders:
            builder = self.new_builder(name)
            if name:
                self.step(builder.local("open", host="localhost", port=5672))
        return self._builders[name]

    def new_builder(self, name: str) -> EventBuilder:
        """Of a connection that nobody has seen the beginning of."""
        labels = Labels("run", "broker", "history", name)
        self._builders[name] = EventBuilder(labels, self._count.__next__, lambda: self.now)
        return self._builders[name]

    def local(self, kind: str, **about: object) -> None:
        """Noted of the whole history."""
        self.step(self.builder("").local(kind, **about))

    def step(self, event: Event) -> None:
        self.events.append(event)
        self.judge.step(event)

    def send(self, name: str, raw: bytes) -> None:
        """The client sends these, whatever they are; what is no frame is noted as the driver does."""
        builder, reader = self.builder(name), codec.FrameReader()
        try:
            whole = reader.cut(raw)
        except codec.MalformedFrame as problem:
            self.step(_malformed(builder, problem))
            return
        for one in whole:
            try:
                event = builder.frame(">", codec.decode(one), one)
            except codec.MalformedFrame as problem:
                event = _malformed(builder, problem)
            if event is not None:
                self.step(event)

    def _frame(self, name: str, channel: int, direction: str, verb: str, words: Words) -> None:
        builder = self.builder(name)
        method = (SENT if direction == ">" else RECEIVED)[verb](channel, words)
        if direction == ">" and hasattr(method, "queue"):
            self._ready[name, channel] = self.judge.ready(method.queue)
        elif hasattr(method, "message_count"):
            ready = self._ready.get((name, channel), 0)
            told = method.message_count or max(0, ready - (verb == "get-ok"))
            method.message_count = int(words.pairs.get("says", told))
        frames: list[codec.Frame] = [method]
        if verb in MESSAGE_AT:
            message = words.text(MESSAGE_AT[verb])
            if direction == "<":
                self._shorthands.seen.add(message)
            elif method.exchange:
                self._led[message] = method
            if verb in ("deliver", "get-ok") and message in self._led:
                method.exchange, method.routing_key = self._led[message].exchange, self._led[message].routing_key
            counts = {name: int(count) for name, count in words.pairs.items() if name.endswith("-count")}
            sent = self._headers.setdefault(message, table_of(words, "h.")) if message else {}
            headers = {"headers": values.table(sent | counts)} if sent | counts else {}
            bodies = int(words.pairs.get("bodies", 1))
            expiration = words.pairs.get("expiration") or self._expirations.get(message, "")
            self._expirations |= {message: expiration} if message not in NAMELESS else {}
            more: dict[str, object] = {"expiration": expiration} if expiration not in ("", "-") else {}
            more |= {"delivery_mode": 2} if words.has("persistent") else {}
            more |= properties_of(words.pairs.get("with", "{}"))
            sizes = [int(size) for size in words.pairs["split"].split(",")] if "split" in words.pairs else [1] * bodies
            octets = bytes.fromhex(words.pairs.get("octets", ""))
            sizes = [len(octets)] if octets else sizes
            frames.append(
                codec.header(
                    channel, sum(sizes), message_id=None if message in NAMELESS else message, **headers, **more
                )
            )
            frames += [codec.Body(channel, octets or b"x" * size) for size in sizes]
        for frame in frames:
            event = builder.frame(direction, frame, frame.encode())
            if event is not None:
                self.step(event)

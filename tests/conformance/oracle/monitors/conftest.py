"""Playbooks: histories told line by line, and what the judge makes of them.

    c:1 > ack 2 multiple        what the client sends on channel 1 of connection c (`1 >` is connection c)
    1 < closed 406 60 80 unknown delivery tag 2
    1 < get-ok 2 m1 q redelivered x-delivery-count=1        with a header
    1 > publish key m1 exchange=x h.ink=red     to an exchange, with a header
    1 > bind q x key x-match=any ink=red        with arguments; `void` is no value
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
import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

import codec
from codec import methods as m
from codec import values
from conformance.catalogue import profiles
from conformance.history.events import Event, EventBuilder, Labels
from conformance.oracle.monitors import Judge

Built = tuple[codec.Method, str | None]
FLAGS = frozenset(
    {
        "no_ack",
        "multiple",
        "requeue",
        "redelivered",
        "no_wait",
        "exclusive",
        "immediate",
        "mandatory",
        "global",
        "passive",
        "active",
        "durable",
        "persistent",
        "auto_delete",
        "internal",
        "if_unused",
        "if_empty",
    }
)


class Words:
    """The words of one line: positional ones in order, flags, and key=value pairs."""

    def __init__(self, words: list[str]) -> None:
        self.flags = frozenset(words) & FLAGS
        self.pairs = dict(word.split("=", 1) for word in words if "=" in word)
        self.rest = [word for word in words if word not in FLAGS and "=" not in word]

    def text(self, at: int, default: str = "") -> str:
        return self.rest[at] if at < len(self.rest) else default

    def number(self, at: int, default: int = 0) -> int:
        return int(self.text(at, str(default)), 0)

    def has(self, flag: str) -> bool:
        return flag in self.flags


def _value(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    if text == "void":
        return None
    return int(text) if text.lstrip("-").isdigit() else text


def _table(words: Words, prefix: str = "") -> dict[str, object]:
    """The pairs whose names begin so, without that."""
    found = {key.removeprefix(prefix): value for key, value in words.pairs.items() if key.startswith(prefix)}
    return {key: _value(value) for key, value in found.items()}


def _arguments(words: Words) -> list[tuple[str, str, object]]:
    table = _table(words)
    if words.text(1):
        table["x-queue-type"] = words.text(1)
    return values.table(table)


def _properties(text: str) -> dict[str, object]:
    """Properties as JSON, each header with the letter of its type."""
    properties: dict[str, Any] = json.loads(text)
    if "headers" in properties:
        properties["headers"] = [(name, *_field(*typed)) for name, typed in properties["headers"].items()]
    return properties


def _field(letter: str, value: Any) -> tuple[str, Any]:
    if letter == "A":
        return letter, [_field(*one) for one in value]
    if letter == "F" and isinstance(value, dict):
        return letter, [(name, *_field(*typed)) for name, typed in value.items()]
    return letter, value.encode() if isinstance(value, str) else value


def _pairs(words: Words) -> Iterator[str]:
    return (f"{key}={value}" for key, value in words.pairs.items())


def _announced(words: Words) -> list[tuple[str, str, object]]:
    """What a side says of cancel notifications: `notify`, `notify=1`, `beside` the capabilities, or nothing."""
    value: object = True if "notify" in words.rest else words.pairs.get("notify")
    announced: dict[str, object] = {"connection.blocked": True} if "blocking" in words.rest else {}
    announced |= {} if value is None else {"consumer_cancel_notify": 1 if value == "1" else value}
    announced |= {"authentication_failure_close": True} if "tell" in words.rest else {}
    beside = {"consumer_cancel_notify": True} if "beside" in words.rest else {}
    return values.table({**({"capabilities": announced} if announced else {}), **beside})


def _rare(words: Words) -> list[tuple[str, str, object]]:
    """A field of a type that few clients use."""
    empty: list[tuple[str, str, object]] = [("capabilities", "F", [])] if "modest" in words.rest else []
    return [*empty, ("rare", "T", 1)] if "rare" in words.rest else empty


def _limits(words: Words) -> tuple[int, int, int]:
    channels, size, heartbeat = (int(words.pairs.get(name, 0)) for name in ("channels", "frames", "heartbeat"))
    return channels, size, heartbeat


def _login(words: Words) -> bytes:
    """By the user of this name, as in `user=guest`."""
    return f"\0{words.pairs['user']}\0secret".encode() if "user" in words.pairs else b""


def _rights(words: list[str]) -> dict[str, object]:
    """What an event says of a user and its vhost."""
    user, vhost, said = words
    if said == "gone":
        return {"user": user, "gone": True}
    patterns = dict.fromkeys(("configure", "write", "read"), None if said == "none" else "^none$")
    return {"user": user, "vhost": vhost, **patterns, **(json.loads(said) if said != "none" else {})}


def _blame(make: Callable[..., codec.Method], channel: int, words: Words) -> codec.Method:
    return make(channel, words.number(0), " ".join(words.rest[3:]), words.number(1), words.number(2))


Maker = Callable[[int, Words], codec.Method]
SENT: dict[str, Maker] = {
    "open": lambda c, w: m.ChannelOpen(c),
    "close": lambda c, w: m.ChannelClose(c, 200),
    "closed-ok": lambda c, w: m.ChannelCloseOk(c),
    "flow": lambda c, w: m.ChannelFlow(c, "pause" not in w.rest),
    "declare": lambda c, w: m.QueueDeclare(
        c,
        queue=w.text(0),
        passive=w.has("passive"),
        durable=w.has("durable"),
        exclusive=w.has("exclusive"),
        auto_delete=w.has("auto_delete"),
        no_wait=w.has("no_wait"),
        arguments=_arguments(w),
    ),
    "delete": lambda c, w: m.QueueDelete(
        c, queue=w.text(0), if_unused=w.has("if_unused"), if_empty=w.has("if_empty"), no_wait=w.has("no_wait")
    ),
    "purge": lambda c, w: m.QueuePurge(c, queue=w.text(0), no_wait=w.has("no_wait")),
    "exchange": lambda c, w: m.ExchangeDeclare(
        c,
        exchange=w.text(0),
        type=w.text(1, "fanout"),
        passive=w.has("passive"),
        durable=w.has("durable"),
        auto_delete=w.has("auto_delete"),
        internal=w.has("internal"),
        no_wait=w.has("no_wait"),
        arguments=values.table(_table(w)),
    ),
    "unexchange": lambda c, w: m.ExchangeDelete(
        c, exchange=w.text(0), if_unused=w.has("if_unused"), no_wait=w.has("no_wait")
    ),
    "bind": lambda c, w: m.QueueBind(
        c,
        queue=w.text(0),
        exchange=w.text(1),
        routing_key=w.text(2),
        no_wait=w.has("no_wait"),
        arguments=values.table(_table(w)),
    ),
    "unbind": lambda c, w: m.QueueUnbind(
        c, queue=w.text(0).strip("-"), exchange=w.text(1), routing_key=w.text(2), arguments=values.table(_table(w))
    ),
    "bind-exchange": lambda c, w: m.ExchangeBind(c, 0, w.text(0), w.text(1), w.text(2)),
    "unbind-exchange": lambda c, w: m.ExchangeUnbind(c, 0, w.text(0), w.text(1), w.text(2)),
    "confirm": lambda c, w: m.ConfirmSelect(c, w.has("no_wait")),
    "select": lambda c, w: m.TxSelect(c),
    "commit": lambda c, w: m.TxCommit(c),
    "rollback": lambda c, w: m.TxRollback(c),
    "qos": lambda c, w: m.BasicQos(c, int(w.pairs.get("size", 0)), w.number(0), w.has("global")),
    "consume": lambda c, w: m.BasicConsume(
        c,
        queue="" if w.text(0) == "-" else w.text(0),
        consumer_tag=w.text(1),
        no_ack=w.has("no_ack"),
        exclusive=w.has("exclusive"),
        no_wait=w.has("no_wait"),
        arguments=_arguments(Words(list(_pairs(w)))),
    ),
    "agreed": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "cancel": lambda c, w: m.BasicCancel(c, w.text(0), w.has("no_wait")),
    "cancel-ok": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "start-ok": lambda c, w: m.ConnectionStartOk(
        c, _announced(w) + _rare(w), w.pairs.get("mechanism", "PLAIN"), _login(w)
    ),
    "tune-ok": lambda c, w: m.ConnectionTuneOk(c, *_limits(w)),
    "enter": lambda c, w: m.ConnectionOpen(c, w.text(0, "/")),
    "recover": lambda c, w: m.BasicRecover(c, w.has("requeue")),
    "recover-async": lambda c, w: m.BasicRecoverAsync(c, w.has("requeue")),
    "get": lambda c, w: m.BasicGet(c, queue=w.text(0), no_ack=w.has("no_ack")),
    "ack": lambda c, w: m.BasicAck(c, w.number(0), w.has("multiple")),
    "nack": lambda c, w: m.BasicNack(c, w.number(0), w.has("multiple"), w.has("requeue")),
    "reject": lambda c, w: m.BasicReject(c, w.number(0), w.has("requeue")),
    "publish": lambda c, w: m.BasicPublish(
        c,
        routing_key=w.text(0),
        immediate=w.has("immediate"),
        mandatory=w.has("mandatory"),
        exchange=w.pairs.get("exchange", ""),
    ),
    "bye": lambda c, w: m.ConnectionClose(0, 200),
    "agree": lambda c, w: m.ConnectionCloseOk(0),
    "renew": lambda c, w: m.ConnectionUpdateSecret(0, b"secret", "refreshed"),
}
RECEIVED: dict[str, Maker] = {
    "open-ok": lambda c, w: m.ChannelOpenOk(c),
    "close-ok": lambda c, w: m.ChannelCloseOk(c),
    "flow-ok": lambda c, w: m.ChannelFlowOk(c, "paused" not in w.rest),
    "declare-ok": lambda c, w: m.QueueDeclareOk(
        c, queue=w.text(0), message_count=w.number(1), consumer_count=int(w.pairs.get("consumers", 0))
    ),
    "delete-ok": lambda c, w: m.QueueDeleteOk(c),
    "confirm-ok": lambda c, w: m.ConfirmSelectOk(c),
    "select-ok": lambda c, w: m.TxSelectOk(c),
    "commit-ok": lambda c, w: m.TxCommitOk(c),
    "rollback-ok": lambda c, w: m.TxRollbackOk(c),
    "purge-ok": lambda c, w: m.QueuePurgeOk(c),
    "qos-ok": lambda c, w: m.BasicQosOk(c),
    "consume-ok": lambda c, w: m.BasicConsumeOk(c, w.text(0)),
    "cancel-ok": lambda c, w: m.BasicCancelOk(c, w.text(0)),
    "cancel": lambda c, w: m.BasicCancel(c, w.text(0), w.has("no_wait")),
    "tune": lambda c, w: m.ConnectionTune(c, *_limits(w)),
    "start": lambda c, w: m.ConnectionStart(
        c,
        int(w.pairs.get("major", 0)),
        9,
        _announced(w) + values.table({} if "nameless" in w.rest else {"product": "p", "version": "v", "platform": "x"}),
        w.pairs.get("mechanisms", "PLAIN").encode(),
        w.pairs.get("locales", "en_US").encode(),
    ),
    "entered": lambda c, w: m.ConnectionOpenOk(c),
    "recover-ok": lambda c, w: m.BasicRecoverOk(c),
    "get-empty": lambda c, w: m.BasicGetEmpty(c),
    "ack": lambda c, w: m.BasicAck(c, w.number(0), w.has("multiple")),
    "nack": lambda c, w: m.BasicNack(c, w.number(0), w.has("multiple"), w.has("requeue")),
    "exchange-ok": lambda c, w: m.ExchangeDeclareOk(c),
    "unexchange-ok": lambda c, w: m.ExchangeDeleteOk(c),
    "bind-ok": lambda c, w: m.QueueBindOk(c),
    "unbind-ok": lambda c, w: m.QueueUnbindOk(c),
    "bind-exchange-ok": lambda c, w: m.ExchangeBindOk(c),
    "unbind-exchange-ok": lambda c, w: m.ExchangeUnbindOk(c),
    "return": lambda c, w: m.BasicReturn(c, int(w.pairs.get("code", 312)), "", w.pairs.get("exchange", ""), w.text(0)),
    "get-ok": lambda c, w: m.BasicGetOk(c, w.number(0), w.has("redelivered"), w.pairs.get("exchange", ""), w.text(2)),
    "deliver": lambda c, w: m.BasicDeliver(c, w.text(0), w.number(1), w.has("redelivered"), "", w.text(3)),
    "closed": lambda c, w: _blame(m.ChannelClose, c, w),
    "kicked": lambda c, w: _blame(m.ConnectionClose, 0, w),
    "blocked": lambda c, w: m.ConnectionBlocked(0, w.text(0)),
    "unblocked": lambda c, w: m.ConnectionUnblocked(0),
    "bye-ok": lambda c, w: m.ConnectionCloseOk(0),
    "renew-ok": lambda c, w: m.ConnectionUpdateSecretOk(0),
}
NAMELESS = ("", "-")
"""A message that has no message-id."""
MESSAGE_AT = {"publish": 1, "get-ok": 1, "deliver": 2, "return": 1}


def _malformed(builder: EventBuilder, problem: codec.MalformedFrame) -> Event:
    about = {"offset": problem.offset, "expected": problem.expected, "found": problem.found}
    return builder.note(">", "malformed", problem.raw, **about)


@dataclass
class Playbook:
    """One history in the making, judged as it grows."""

    profile: str = "documented"
    events: list[Event] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.judge = Judge(profiles.load(self.profile))
        self._count = itertools.count(1)
        self._now = 10**9
        self._builders: dict[str, EventBuilder] = {}
        self._seen: set[str] = set()
        self._led: dict[str, m.BasicPublish] = {}
        """What an exchange leads to its queues keeps the address that it was published to."""
        self._headers: dict[str, dict[str, object]] = {}
        """What a message was published with, it is delivered with."""
        self._expirations: dict[str, str] = {}
        self._tags: Counter[int] = Counter()
        self._confirms = itertools.count(1)
        self._fresh = itertools.count(50)
        self._opened: set[int] = set()
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
            for line in getattr(self, f"_at_{words[0][1:]}")(*words[1:]):
                self._line(line.split())
        elif words[0] == "-":
            self._local(words[1], words[2:])
        else:
            name, _, number = words[0].rpartition(":")
            self._frame(name or "c", int(number), words[1], words[2], Words(words[3:]))

    def _builder(self, name: str) -> EventBuilder:
        if name not in self._builders:
            builder = EventBuilder(Labels("run", "broker", "history", name), self._count.__next__, lambda: self._now)
            self._builders[name] = builder
            if name:
                self._step(builder.local("open", host="localhost", port=5672))
        return self._builders[name]

    def _step(self, event: Event) -> None:
        self.events.append(event)
        self.judge.step(event)

    def _local(self, kind: str, words: list[str]) -> None:
        if kind == "wait":
            self._now += int(float(words[0]) * 10**9)
        elif kind == "policy":
            self._step(self._builder("").local("policy", queue=words[0], consumer_timeout=int(words[1])))
        elif kind in ("rule", "unrule"):
            self._rule(kind, words)
        elif kind == "setting":
            self._step(self._builder("").local("settings", consumer_timeout=int(words[0]) if words else None))
        elif kind == "alarm":
            self._step(self._builder("").local("alarm", state=words[0]))
        elif kind == "killed":
            self._step(self._builder("").local("killed"))
        elif kind == "restarted":
            self._step(self._builder("").local("restarted", state=words[0]))
        elif kind == "octets":
            self._octets(words[0], bytes.fromhex(words[1]))
        elif kind == "rights":
            self._step(self._builder("").local("rights", of=words[0], queue=words[1]))
        elif kind == "permit":
            self._step(self._builder("").local("rights", **_rights(words)))
        elif kind in ("header", "answer"):
            raw, direction = bytes.fromhex(words[1]), ">" if kind == "header" else "<"
            known = "protocol" if raw.startswith(b"AMQP") else "malformed"
            self._step(self._builder(words[0]).note(direction, known, raw))
        elif kind == "beat":
            self._step(self._builder(words[0])._row(words[1], "heartbeat", 0, raw=b""))
        elif kind == "known":
            self._builder(words[0])
            about = {name: value == "1" for name, value in (word.split("=") for word in words[1:])}
            self._step(self._builder("").local("known", of=words[0], **about))
        elif kind == "oversize":
            about = {"offset": 0, "expected": "at most 5000 octets of frame_max", "found": "6000 octets"}
            self._step(self._builder(words[0]).note("<", "malformed", b"", **about))
        elif kind == "heartless":
            self._step(self._builder("").local("deadline", **{"for": "heartbeats", "connection": words[0]}))
        elif kind == "still":
            self._step(self._builder("").local("deadline", **{"for": "end", "connection": words[0]}))
        elif kind == "joined":
            builder = EventBuilder(
                Labels("run", "broker", "history", words[0]), self._count.__next__, lambda: self._now
            )
            self._builders[words[0]] = builder
            self._step(builder.local("joined", reason="it was there before"))
        elif kind in ("gap", "cut"):
            about = {"direction": words[1], "octets": None} if kind == "gap" else {}
            self._step(self._builder(words[0]).local(kind, reason="lost", **about))
        elif kind == "observed":
            self._step(
                self._builder("").local(
                    "observed", by="capture", others="others" in words, ordered="unordered" not in words
                )
            )
        elif kind == "end":
            self._step(self._builder(words[0]).local("end", cause=words[1]))
        elif kind == "deadline":
            about = {"queue": words[1]} if len(words) > 1 else {}
            self._step(self._builder("").local("deadline", **{"for": words[0], "waited_ms": 1, **about}))
        else:
            self._step(self._builder("").local("scene", name="play", rules=[], queue_type=words[0]))

    def _rule(self, kind: str, words: list[str]) -> None:
        """A policy is set or removed, and heeded; `pending`: it is not known yet whether that is done."""
        said = Words([word for word in words if not word.startswith("{")])
        about: dict[str, object] = {"vhost": said.pairs.get("vhost", "/"), "name": said.text(0)}
        about["operator"] = said.pairs.get("operator") == "1"
        if kind == "rule":
            about |= {"pattern": said.text(1), "priority": int(said.pairs.get("priority", 0))}
            about |= {"apply_to": said.pairs.get("apply_to", "queues"), "definition": json.loads(words[2])}
        for state in ("setting", "set") if kind == "rule" else ("clearing", "cleared"):
            if "pending" not in words or state.endswith("ing"):
                self._step(self._builder("").local("policy", state=state, **about))
        self._now += 0 if "busy" in words else 2 * 10**9

    def _octets(self, name: str, raw: bytes) -> None:
        """The client sends these, whatever they are; what is no frame is noted as the driver does."""
        builder, reader = self._builder(name), codec.FrameReader()
        try:
            whole = reader.cut(raw)
        except codec.MalformedFrame as problem:
            self._step(_malformed(builder, problem))
            return
        for one in whole:
            try:
                event = builder.frame(">", codec.decode(one), one)
            except codec.MalformedFrame as problem:
                event = _malformed(builder, problem)
            if event is not None:
                self._step(event)

    def _frame(self, name: str, channel: int, direction: str, verb: str, words: Words) -> None:
        builder = self._builder(name)
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
                self._seen.add(message)
            elif method.exchange:
                self._led[message] = method
            if verb in ("deliver", "get-ok") and message in self._led:
                method.exchange, method.routing_key = self._led[message].exchange, self._led[message].routing_key
            counts = {name: int(count) for name, count in words.pairs.items() if name.endswith("-count")}
            sent = self._headers.setdefault(message, _table(words, "h.")) if message else {}
            headers = {"headers": values.table(sent | counts)} if sent | counts else {}
            bodies = int(words.pairs.get("bodies", 1))
            expiration = words.pairs.get("expiration") or self._expirations.get(message, "")
            self._expirations |= {message: expiration} if message not in NAMELESS else {}
            more: dict[str, object] = {"expiration": expiration} if expiration not in ("", "-") else {}
            more |= {"delivery_mode": 2} if words.has("persistent") else {}
            more |= _properties(words.pairs.get("with", "{}"))
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
                self._step(event)

    # -- shorthands

    def _once(self, channel: str) -> Iterator[str]:
        if int(channel) not in self._opened:
            yield f"@open {channel}"

    def _at_open(self, channel: str) -> Iterator[str]:
        self._opened.add(int(channel))
        self._tags[int(channel)] = 0
        yield f"{channel} > open"
        yield f"{channel} < open-ok"

    def _at_close(self, channel: str) -> Iterator[str]:
        yield f"{channel} > close"
        yield f"{channel} < close-ok"

    def _at_barrier(self, channel: str) -> Iterator[str]:
        yield f"{channel} > flow"
        yield f"{channel} < flow-ok"

    def _at_queue(self, name: str, *more: str) -> Iterator[str]:
        yield from self._once("90")
        yield f"90 > declare {name} {' '.join(more)}"
        yield f"90 < declare-ok {name}"

    def _at_exchange(self, name: str, *queues: str) -> Iterator[str]:
        yield from self._once("90")
        yield f"90 > exchange {name}"
        yield "90 < exchange-ok"
        for queue in queues:
            yield f"90 > bind {queue} {name}"
            yield "90 < bind-ok"

    def _at_route(self, name: str, kind: str, key: str, queue: str, *more: str) -> Iterator[str]:
        yield from self._once("90")
        yield f"90 > exchange {name} {kind}"
        yield "90 < exchange-ok"
        yield f"90 > bind {queue} {name} {'' if key == '-' else key} {' '.join(more)}"
        yield "90 < bind-ok"

    def _at_confirming(self, channel: str) -> Iterator[str]:
        yield from self._once(channel)
        yield f"{channel} > confirm"
        yield f"{channel} < confirm-ok"

    def _at_stock(self, queue: str, *messages: str) -> Iterator[str]:
        if 80 not in self._opened:
            yield from ("@open 80", "80 > confirm", "80 < confirm-ok")
        for message in messages:
            yield f"80 > publish {queue} {message}"
            yield f"80 < ack {next(self._confirms)}"

    def _at_hold(self, channel: str, queue: str, *messages: str) -> Iterator[str]:
        yield from self._once(channel)
        for message in messages:
            self._tags[int(channel)] += 1
            again = "redelivered" if message in self._seen else ""
            yield f"{channel} > get {queue}"
            yield f"{channel} < get-ok {self._tags[int(channel)]} {message} {queue} {again}"

    def _at_consume(self, channel: str, queue: str, tag: str, *more: str) -> Iterator[str]:
        yield from self._once(channel)
        yield f"{channel} > consume {queue} {tag} {' '.join(more)}"
        yield f"{channel} < consume-ok {tag}"

    def _at_drain(self, queue: str, *messages: str) -> Iterator[str]:
        channel = str(next(self._fresh))
        yield f"@open {channel}"
        for tag, message in enumerate(messages, 1):
            again = "redelivered" if message in self._seen else ""
            yield f"{channel} > get {queue} no_ack"
            yield f"{channel} < get-ok {tag} {message} {queue} {again}"
        yield f"{channel} > get {queue} no_ack"
        yield f"{channel} < get-empty"


@pytest.fixture
def play() -> Callable[..., Playbook]:
    """Plays a text, under a profile, and gives the playbook."""

    def _play(text: str, profile: str = "documented") -> Playbook:
        return Playbook(profile).play(text)

    return _play


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The rows of a file's tables, for the tests of tables that it imports."""
    for name in ("sound", "broken", "lawful", "traps"):
        if name in metafunc.fixturenames and metafunc.function.__module__ == "tests.support.tables":
            table = getattr(metafunc.module, name.upper())
            rows = list(table.items() if isinstance(table, dict) else table)
            metafunc.parametrize(name, rows, ids=[row[0] for row in rows])

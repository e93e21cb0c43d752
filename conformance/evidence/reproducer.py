"""The minimal exchange as a reproducer: what client and broker send, without the names and numbers of one run.

A reproducer is a list of plain rows, which are both JSON and Python literals. `who` is `>` for what the client sends,
`<` for what the broker sends, and `-` for what is not on the wire: connect, hang_up, pause, and as the last row
silence or drain, if the rule was contradicted by something that did not come. A queue or exchange is called {q1} or
{x1}, a queue that the broker named {s1}, and a consumer that the broker named {t1}. A settlement names the delivery of
step 12 as @12. So a reproducer can be played anywhere, any number of times; see `scripts.player`.

`Untellable` says why an exchange has no reproducer. Then there is no script either.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import codec
from codec import values
from conformance.catalogue.profiles import Profile
from conformance.catalogue.rules.features import GET
from conformance.evidence.narrative import handshake
from conformance.evidence.scripts.player import counts
from conformance.history import events as ev
from conformance.history.events import Event
from conformance.oracle.model.owed import REPLY
from conformance.oracle.monitors import Judge

Row = dict[str, Any]
PRIVATE = re.compile(r"amqpconf\.[\w.-]+")
UNTOLD = frozenset({"reply_text", "message_count", "consumer_count", "server_properties", "cluster_id"})
"""What a broker says and nobody compares: words, and counts that depend on what was cut away."""
COUNTED = frozenset({"queue.declare-ok", "queue.purge-ok", "queue.delete-ok"})
SETTLED = frozenset({"basic.ack", "basic.nack", "basic.reject"})
ABOUT_COUNTS = frozenset({"RQ-012"})
"""Rules about what a delivery's headers count: for these they are part of what was seen."""
LONG = 0.4
"""Seconds between two events from which on time itself is part of the reproducer."""


class Untellable(ValueError):
    """This exchange cannot be written as a reproducer; the message says why."""


def reproducer_of(events: Sequence[Event], at: int, rule: str, profile: Profile) -> list[Row]:
    """The reproducer of an exchange in which `rule` is contradicted at event `at`. Raises Untellable."""
    told = _Teller(events, rule, profile).tell(at)
    if not told or told[-1]["who"] == ">":
        raise Untellable("no frame of the broker, and no missing frame, contradicts the rule")
    return told


def sharper(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """The same reproducer with more of it as part of what was seen: the order in which the broker spoke on the channel;
    that nothing had been returned before a commit was answered; the words of a close, where they name nothing of a
    run."""
    *before, last = rows
    yield [*before, {**last, "after": True}]
    if last["method"] == "tx.commit-ok":
        yield [*before, {**last, "first": [*last.get("first", []), {"method": "basic.return"}]}]
    if "words" in last:
        yield [*before, {**last, "reply_text": last["words"]}]


class _Teller:
    def __init__(self, events: Sequence[Event], rule: str, profile: Profile) -> None:
        self._events, self._rule, self._profile, self._judge = events, rule, profile, Judge(profile)
        self._names = dict(_names(events))
        self._lives: Counter[tuple[str, int]] = Counter()
        self._taken: dict[tuple[str, int, int, int], int] = {}
        self._closed: set[str] = set()
        self._rows: list[Row] = []

    def tell(self, at: int) -> list[Row]:
        before = 0
        for event in self._events:
            gap = (event.time_ns - before) / 1e9 if before else 0.0
            if event.seq == at:
                self._rows += self._last(event, gap)
                return [{"n": n, **row} for n, row in enumerate(self._rows, 1)]
            if gap > LONG and event.direction == ev.TO_BROKER and not handshake(event):
                self._add(who="-", on=event.connection, method="pause", seconds=round(gap + 0.1, 1))
            self._judge.step(event)
            for row in self._of(event, gap):
                self._add(**row)
            before = event.time_ns or before
        raise Untellable("the event that contradicts the rule is not part of the exchange")

    def _add(self, **row: Any) -> None:
        self._rows.append(row)

    def _of(self, event: Event, gap: float) -> Iterator[Row]:
        if event.kind == ev.METHOD:
            yield from self._method(event, gap)
        elif event.kind == ev.MALFORMED and event.direction == ev.TO_BROKER:
            yield {"who": ">", "on": event.connection, "channel": 0, "method": "octets", "hex": event.raw.hex()}
        elif event.kind == ev.MALFORMED:
            raise Untellable("the broker sends octets that are not a frame")
        elif event.kind == ev.END and event.connection not in self._closed:
            yield self._end(event)
        elif event.kind in (ev.POLICY, ev.SETTINGS) and event.args.get("consumer_timeout") is not None:
            raise Untellable("it needs settings of the broker that a client cannot change")
        elif event.kind == ev.POLICY and "pattern" in event.args:
            raise Untellable("it needs a policy, which no client can set")
        elif event.kind == ev.KILLED:
            raise Untellable("it needs a broker that is killed, which no client can do")
        elif event.kind == ev.RESTARTED:
            raise Untellable("it needs a broker that is restarted, which no client can do")
        elif event.kind == ev.ALARM:
            raise Untellable("it needs a broker that runs short of something")
        elif event.kind == ev.KNOWN:
            raise Untellable("it needs a handshake that goes its own way")
        elif event.kind == ev.RIGHTS:
            raise Untellable("it needs a user with rights of its own, which no client can make")

    def _end(self, event: Event) -> Row:
        if event.args.get("cause") in ("closed", "aborted"):
            return {"who": "-", "on": event.connection, "method": "hang_up"}
        return {"who": "<", "on": event.connection, "channel": 0, "method": "end"}

    def _method(self, event: Event, gap: float) -> Iterator[Row]:
        if event.method == "connection.start-ok":
            properties = event.args.get("client_properties", {})
            yield {
                "who": "-",
                "on": event.connection,
                "method": "connect",
                "capabilities": dict(properties.get("capabilities", {})),
            }
        if handshake(event):
            return
        if event.method in ("connection.close-ok", "connection.close"):
            self._closed.add(event.connection)
        if event.direction == ev.TO_BROKER:
            yield from self._sent(event)
        else:
            row = self._received(event, full=False)
            yield {**row, "seconds": round(gap * 1.5 + 3, 1)} if gap > LONG else row

    def _sent(self, event: Event) -> Iterator[Row]:
        if event.method == "connection.close-ok":
            return
        method, content = _decoded(event.raw)
        if event.method == "channel.open":
            self._lives[event.connection, event.channel] += 1
        fields = self._anonymous(_fields(method))
        if event.method in SETTLED:
            fields["delivery_tag"] = self._tag(event)
        yield {
            "who": ">",
            "on": event.connection,
            "channel": event.channel,
            "method": event.method,
            **{name: value for name, value in fields.items() if value not in ("", 0, False, {})},
            **self._anonymous(content),
        }

    def _received(self, event: Event, *, full: bool) -> Row:
        method, content = _decoded(event.raw)
        fields = _fields(method)
        life = event.connection, event.channel, self._lives[event.connection, event.channel]
        if event.method in ("basic.deliver", "basic.get-ok"):
            self._taken[(*life, event.delivery_tag or 0)] = len(self._rows) + 1
            if not self._rule.startswith("TAG-"):
                fields.pop("delivery_tag")
        kept = {
            name: value for name, value in fields.items() if name not in UNTOLD or (full and event.method in COUNTED)
        }
        row: Row = {"who": "<", "on": event.connection, "channel": event.channel, "method": event.method}
        row |= self._anonymous(kept)
        if content:
            row["message"] = event.message_id or content["body"]
        if content and full and self._rule in ABOUT_COUNTS:
            row["counts"] = counts(_headers(event))
        return row

    def _tag(self, event: Event) -> int | str:
        """The delivery that is settled, or a number that names none."""
        life = event.connection, event.channel, self._lives[event.connection, event.channel]
        tag = event.delivery_tag or 0
        if (*life, tag) in self._taken:
            return f"@{self._taken[(*life, tag)]}"
        known = [key for key in self._taken if key[:3] == life]
        return tag if tag == 0 or tag > len(known) else tag + 1000

    def _anonymous(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: self._anonymous(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._anonymous(inner) for inner in value]
        return self._names.get(value, value) if isinstance(value, str) else value

    # -- where the rule is contradicted

    def _last(self, event: Event, gap: float) -> Iterator[Row]:
        if event.kind == ev.METHOD and event.direction == ev.TO_CLIENT:
            yield {
                **self._received(event, full=True),
                "decisive": True,
                **self._soon(event, gap),
                **self._first(event),
                **self._words(event),
            }
        elif event.kind == ev.END and event.args.get("cause") not in ("closed", "aborted"):
            yield {**self._end(event), "decisive": True}
        elif event.kind == ev.DEADLINE and event.args.get("queue"):
            queue = str(event.args["queue"])
            missing = sorted(self._judge.wanted(queue))
            on = next((row["on"] for row in reversed(self._rows) if row["who"] == ">"), "c1")
            yield {
                "who": "-",
                "on": on,
                "method": "drain",
                "queue": self._names.get(queue, queue),
                "by": "basic.get" if self._profile.has(GET) else "basic.consume",
                "missing": missing,
                "about": f"{', '.join(missing)} is not in the queue any more",
            }
        elif event.kind == ev.DEADLINE and event.args.get("for") == "timeouts":
            yield self._overdue(gap)
        elif event.kind == ev.DEADLINE:
            yield self._silence(event)
        else:
            raise Untellable("no frame of the broker, and no missing frame, contradicts the rule")

    def _soon(self, event: Event, gap: float) -> Row:
        """How soon it came, where the time is what it is about: later, it would be something else."""
        ends = event.method in ("basic.cancel", "channel.close", "connection.close")
        timed = self._rule.startswith("TMO-") and ends and gap > LONG
        return {"within": round(gap * 1.5 + 0.4, 1)} if timed else {}

    def _words(self, event: Event) -> Row:
        """Of a close, unless they name something that is called otherwise next time."""
        text = str(event.args.get("reply_text", ""))
        return {"words": text} if text and not PRIVATE.search(text) else {}

    def _first(self, event: Event) -> Row:
        """The answers that the broker still owed on this channel: had one come before, it would be something else."""
        asked = {one.seq: one for one in self._events}
        owed = [
            {"method": method, **({"consumer_tag": self._anonymous(tag)} if (tag := request.consumer_tag) else {})}
            for one in self._judge.owed()
            if one.kind == REPLY
            and (one.connection, one.channel) == (event.connection, event.channel)
            and (request := asked.get(one.since_seq)) is not None
            for method in _methods(one.kind, one.what)
            if method != event.method
        ]
        return {"first": owed} if owed else {}

    def _overdue(self, gap: float) -> Row:
        """A delivery stays out for longer than it may, and nothing comes of that."""
        channels = dict.fromkeys((event.connection, event.channel) for event in self._events if event.channel)
        awaited = [
            {"on": on, "channel": number, "methods": ["basic.cancel", "channel.close"]}
            for on, number in channels
            if (connection := self._judge.connection(on)) and (view := connection.channel(number)) and view.unacked
        ]
        if not awaited:
            raise Untellable("only the suite knows what did not come")
        about = "; ".join(f"no basic.cancel and no channel.close on {one['on']}.{one['channel']}" for one in awaited)
        return {
            "who": "-",
            "on": "",
            "method": "silence",
            "awaited": awaited,
            "unconfirmed": [],
            "about": about,
            "seconds": round(gap + 0.5, 1),
        }

    def _silence(self, event: Event) -> Row:
        awaited: list[Row] = []
        unconfirmed: list[Row] = []
        for owed in self._judge.owed():
            where = {"on": owed.connection, "channel": owed.channel}
            if owed.kind == "confirm":
                unconfirmed.append({**where, "number": int(owed.what.rpartition(" ")[2])})
            else:
                awaited.append({**where, "methods": _methods(owed.kind, owed.what)})
        if event.args.get("for") == "end":
            awaited.append({"on": event.args["connection"], "channel": 0, "methods": ["end"]})
        if not awaited and not unconfirmed:
            raise Untellable("only the suite knows what did not come")
        about = "; ".join(f"no {' or '.join(one['methods'])} on {one['on']}.{one['channel']}" for one in awaited)
        about = "; ".join(
            filter(
                None,
                [
                    about,
                    *(
                        f"publish {one['number']} on {one['on']}.{one['channel']} stays unconfirmed"
                        for one in unconfirmed
                    ),
                ],
            )
        )
        return {
            "who": "-",
            "on": "",
            "method": "silence",
            "awaited": awaited,
            "unconfirmed": unconfirmed,
            "about": about,
        }


def _methods(kind: str, what: str) -> list[str]:
    """The methods by which what is owed would come."""
    if kind in ("channel.close", "connection.close"):
        return [kind]
    if kind == "delivery":
        return ["basic.deliver"]
    if kind == "notice":
        return ["basic.cancel"]
    asked = what.removeprefix("the answer to ")
    if asked == "basic.get":
        return ["basic.get-ok", "basic.get-empty"]
    return [asked if asked.endswith("-ok") else f"{asked}-ok"]


def _names(events: Iterable[Event]) -> Iterator[tuple[str, str]]:
    """What the names of queues, exchanges and consumers become."""
    numbers: Counter[str] = Counter()
    seen: set[str] = set()
    asked = {
        (event.connection, event.channel, event.method): event
        for event in events
        if not (event.queue or event.consumer_tag)
    }
    for event in events:
        for value, letter in (
            (event.queue, "s" if event.method == "queue.declare-ok" and not _private(event.queue) else "q"),
            (event.exchange, "x"),
            (event.consumer_tag, "t"),
        ):
            ours = _private(value) if letter != "t" else False
            theirs = (letter == "s" and (event.connection, event.channel, "queue.declare") in asked) or (
                letter == "t"
                and event.method == "basic.consume-ok"
                and (event.connection, event.channel, "basic.consume") in asked
            )
            if value and value not in seen and (ours or theirs):
                seen.add(value)
                numbers[letter] += 1
                yield value, f"{{{letter}{numbers[letter]}}}"


def _private(name: str | None) -> bool:
    return bool(name and PRIVATE.fullmatch(name))


def _decoded(raw: bytes) -> tuple[codec.Method, Row]:
    """The method of an event, and its content: properties and body."""
    parts = [codec.decode(part) for part in codec.FrameReader(0).cut(raw)]
    method = parts[0]
    if not isinstance(method, codec.Method):
        raise Untellable("the client sends frames that are not methods")
    content: Row = {}
    for part in parts[1:]:
        if isinstance(part, codec.Header):
            content["properties"] = {name: values.to_json(value) for name, value in part.properties().items()}
            content.setdefault("body", "")
        elif isinstance(part, codec.Body):
            content["body"] += part.payload.decode("latin-1")
    return method, content


def _fields(method: codec.Method) -> Row:
    return {
        name: values.plain(value) if isinstance(value, list) else value
        for name in method.FIELDS
        if not name.startswith("reserved")
        for value in [getattr(method, name)]
    }


def heard(event: Event) -> Row | None:
    """What the broker says in an event, as a player wants its frames; None for anything else."""
    if event.kind == ev.END and event.args.get("cause") not in ("closed", "aborted"):
        return {"on": event.connection, "channel": 0, "method": "end"}
    if event.kind != ev.METHOD or event.direction != ev.TO_CLIENT or handshake(event):
        return None
    method, content = _decoded(event.raw)
    row: Row = {"on": event.connection, "channel": event.channel, "method": event.method, **_fields(method)}
    return row | ({"message": event.message_id or content["body"], **_headers(event)} if content else {})


def _headers(event: Event) -> Row:
    """The headers of a content frame, as a wire tells them."""
    properties = event.args.get("properties")
    headers = properties.get("headers") if isinstance(properties, Mapping) else None
    return {"headers": dict(headers) if isinstance(headers, Mapping) else {}}

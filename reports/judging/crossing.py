"""One queue seen by several histories: what no single history can tell.

A history is judged by what one observer saw. Where two observers saw parts of the same queue, each part alone is
incomplete, and clocks of two observers are not compared. Two things follow.

`degraded`: a claim about a queue that needs all connections (the catalogue says so: ALL) is no longer certain in a
history that shares a queue with another one.

`findings`: some claims need no clock, because they hold in whatever order things happened. Within a channel the order
is that of the wire, a message is published before it is delivered, and that is all that is used:
    RQ-008    two deliveries of one message are both unmarked; whichever came second should have been marked
    MODE-002  an automatic delivery is the unmarked, so the first one, and still there is another
    RQ-011    two deliveries were both acknowledged for good, by acks that the broker had processed
    RQ-006    published on one channel in one order, first delivered on one channel in the other
A message counts if its publish was seen exactly once, straight to the queue; streams, which deliver without taking
away, and messages that were dead-lettered do not. If connections may exist that nobody saw, a message may have been
published by them a second time, so nothing is certain either.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from typing import NamedTuple

from conformance.catalogue import rules
from conformance.history import events as ev
from conformance.history.events import Event
from reports.judging.gold import FINDING, Row

PUBLISHED, AUTO, MANUAL, ACKED = "published", "auto", "manual", "acked"


class Fact(NamedTuple):
    """A publish to a queue, or a delivery from it, which is told again once it is known to be acknowledged.

    `line` is the life of a channel; `seq` orders what is of one history and line. `marked`: a delivery that is marked
    as redelivered, a publish with a priority. `others`: connections may exist that this history did not see.
    """

    run: str
    queue: str
    message: str
    what: str
    history: str
    line: str
    seq: int
    marked: bool
    others: bool


_GONE_WITH = ("channel.open", "channel.close", "basic.recover", "basic.recover-async", "tx.select")
_PASSED_ON = ("x-stream-offset", "x-death")
NEEDS_ALL = tuple(rule.id for rule in rules.CATALOGUE.values() if rule.scope.startswith("ALL"))


def facts_of(events: Iterable[Event]) -> Iterator[Fact]:
    """The facts of sorted histories."""
    for (run, history), own in groupby(events, key=lambda event: (event.run, event.history)):
        yield from _History(run, history).told(own)


class _Out:
    """A delivery that is followed until its fate is known."""

    __slots__ = ("fact", "settled")

    def __init__(self, fact: Fact) -> None:
        self.fact, self.settled = fact, False


class _History:
    """The fold over one history."""

    def __init__(self, run: str, history: str) -> None:
        self._run, self._history, self._others = run, history, False
        self._lives: defaultdict[tuple[str, int], int] = defaultdict(int)
        self._consumers: dict[tuple[str, str], tuple[str, bool]] = {}
        self._asked: defaultdict[str, list[tuple[str, bool]]] = defaultdict(list)
        self._last: dict[str, str] = {}
        self._out: defaultdict[str, dict[int, _Out]] = defaultdict(dict)

    def told(self, events: Iterable[Event]) -> Iterator[Fact]:
        for event in events:
            if event.kind == ev.OBSERVED:
                self._others = bool(event.args.get("others"))
            elif event.kind == ev.METHOD and event.channel:
                yield from self._method(event)
            elif event.kind in (ev.END, ev.CUT, ev.GAP):
                self._lost(event.connection)

    def _method(self, event: Event) -> Iterator[Fact]:
        place = event.connection, event.channel
        line = f"{event.connection} {event.channel} {self._lives[place]}"
        if event.method in _GONE_WITH:
            self._out.pop(line, None)
            self._lives[place] += event.method == "channel.open"
        elif event.direction == ev.TO_BROKER:
            self._asks(event, line)
            if event.method == "basic.publish" and not event.exchange and event.message and event.routing_key:
                unlike = "priority" in event.args.get("properties", {})
                yield Fact(
                    self._run,
                    event.routing_key,
                    event.message,
                    PUBLISHED,
                    self._history,
                    line,
                    event.seq,
                    unlike,
                    self._others,
                )
        else:
            yield from self._hears(event, line)

    def _asks(self, event: Event, line: str) -> None:
        queue, auto = event.queue or self._last.get(line, ""), event.has("no_ack")
        if event.method == "basic.consume":
            self._asked[f"{line} consume"].append((queue, auto))
            if event.consumer_tag:
                self._consumers[line, event.consumer_tag] = queue, auto
        elif event.method == "basic.get":
            self._asked[f"{line} get"].append((queue, auto))
        elif event.method in ("basic.ack", "basic.nack", "basic.reject"):
            self._settle(event, line)

    def _settle(self, event: Event, line: str) -> None:
        out, last = self._out[line], event.delivery_tag or 0
        covered = [tag for tag in out if tag <= last or not last] if event.multiple else [last]
        for tag in covered:
            if tag in out and event.method == "basic.ack":
                out[tag].settled = True
            elif tag in out and not out[tag].settled:
                del out[tag]

    def _hears(self, event: Event, line: str) -> Iterator[Fact]:
        if event.method == "queue.declare-ok":
            self._last[line] = event.queue or ""
        elif event.method == "basic.consume-ok" and self._asked[f"{line} consume"]:
            self._consumers[line, event.consumer_tag or ""] = self._asked[f"{line} consume"].pop(0)
        elif event.method == "basic.get-empty" and self._asked[f"{line} get"]:
            self._asked[f"{line} get"].pop(0)
        elif event.method in ("basic.deliver", "basic.get-ok"):
            yield from self._delivered(event, line)
        if event.method.endswith("-ok") and event.method != "basic.get-ok":
            yield from self._processed(line)

    def _delivered(self, event: Event, line: str) -> Iterator[Fact]:
        if event.method == "basic.get-ok":
            source = self._asked[f"{line} get"].pop(0) if self._asked[f"{line} get"] else None
        else:
            source = self._consumers.get((line, event.consumer_tag or ""))
        headers = event.args.get("properties", {}).get("headers") or {}
        if source is None or not source[0] or not event.message or any(name in headers for name in _PASSED_ON):
            return
        fact = Fact(
            self._run,
            source[0],
            event.message,
            AUTO if source[1] else MANUAL,
            self._history,
            line,
            event.seq,
            event.has("redelivered"),
            self._others,
        )
        yield fact
        if not source[1] and event.delivery_tag is not None:
            self._out[line][event.delivery_tag] = _Out(fact)

    def _processed(self, line: str) -> Iterator[Fact]:
        """The broker has answered on this channel, so it has seen all acks before that."""
        out = self._out[line]
        for tag in [tag for tag, one in out.items() if one.settled]:
            yield out.pop(tag).fact._replace(what=ACKED)

    def _lost(self, connection: str) -> None:
        """Nothing more is known of what is out on this connection."""
        for line in [line for line in self._out if line.startswith(f"{connection} ")]:
            del self._out[line]


def judged(facts: Iterable[Fact]) -> Iterator[Row]:
    """What contradicts a rule in the facts of one queue, whatever their order."""
    ordered = sorted(facts, key=lambda fact: (fact.history, fact.line, fact.seq, fact.what != ACKED))
    certain = not any(fact.others for fact in ordered)
    published: defaultdict[str, list[Fact]] = defaultdict(list)
    delivered: defaultdict[str, dict[tuple[str, str, int], Fact]] = defaultdict(dict)
    for fact in ordered:
        if fact.what == PUBLISHED:
            published[fact.message].append(fact)
        else:
            delivered[fact.message].setdefault((fact.history, fact.line, fact.seq), fact)
    once = {message: found[0] for message, found in published.items() if len(found) == 1}
    for message in sorted(once.keys() & delivered.keys()):
        own = list(delivered[message].values())
        if len({fact.history for fact in own}) > 1:
            yield from (_row(*one, certain) for one in _doubled(own))
    firsts = {message: own for message in once if len(own := list(delivered[message].values())) == 1}
    yield from (_row(*one, certain) for one in _overtaken(once, {name: own[0] for name, own in firsts.items()}))


Claim = tuple[str, Fact, Fact, str, str]


def _doubled(own: list[Fact]) -> Iterator[Claim]:
    """What is wrong with these deliveries of one message, in several histories."""
    first = [fact for fact in own if not fact.marked]
    acked = [fact for fact in own if fact.what == ACKED]
    if len(first) > 1:
        yield (
            "RQ-008",
            first[0],
            first[1],
            "all deliveries of a message but the first have redelivered set",
            f"{first[0].message} was delivered twice without redelivered",
        )
    elif first and first[0].what == AUTO:
        other = next(fact for fact in own if fact is not first[0])
        yield (
            "MODE-002",
            first[0],
            other,
            "what was delivered first and automatically is gone",
            f"{other.message} was delivered automatically, and again",
        )
    if len(acked) > 1:
        yield (
            "RQ-011",
            acked[0],
            acked[1],
            "a message is acknowledged for good once at most",
            f"{acked[0].message} was acknowledged twice, and both acknowledgements were accepted",
        )


def _overtaken(once: Mapping[str, Fact], first: Mapping[str, Fact]) -> Iterator[Claim]:
    """First deliveries on one channel in another order than that of their publishes on one channel elsewhere."""
    lines: defaultdict[tuple[str, str, str, str], list[tuple[Fact, Fact]]] = defaultdict(list)
    for message, came in first.items():
        sent = once[message]
        if not came.marked and not sent.marked and sent.history != came.history:
            lines[sent.history, sent.line, came.history, came.line].append((sent, came))
    for pairs in lines.values():
        pairs.sort()
        for (_, before), (_, after) in pairwise(pairs):
            if after.seq < before.seq:
                yield (
                    "RQ-006",
                    before,
                    after,
                    f"{before.message} before {after.message}, as they were published",
                    f"{after.message} was delivered before {before.message}",
                )


def _row(rule: str, one: Fact, other: Fact, allowed: str, observed: str, certain: bool) -> Row:
    first, second = sorted((one, other), key=lambda fact: (fact.history, fact.seq))
    where = f"; in {first.history}, event {first.seq}, and in {second.history}, event {second.seq}"
    doubt = "" if certain else "; a connection that nobody saw may have published it again"
    witness = sorted({fact.seq for fact in (first, second) if fact.history == first.history})
    return {
        "run": first.run,
        "history": first.history,
        "what": FINDING,
        "rule": rule,
        "times": 1,
        "at": witness[-1],
        "allowed": allowed,
        "observed": observed + where + doubt,
        "certain": certain,
        "witness": witness,
        "amid": [],
        "unless": [],
    }

"""Findings to the exchanges that show them, cut out of the history of each.

What a short history has is sliced as it is in a live run. Of a long one (a capture has millions of events) only what
the finding may rest on is kept before that: the channels and the messages of its witnesses, and how connections,
channels, queues and consumers came to be. Slicing judges what it keeps, so what comes out still contradicts the rule;
where it does not, the events around the finding are shown as they were.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice

from conformance.catalogue.profiles import Profile
from conformance.history.events import HEARTBEAT, Event
from conformance.history.recording import Placed
from conformance.oracle.verdicts import Finding
from conformance.outcome.exchanges import exchange
from conformance.outcome.ledger import ExchangeStep

LONG = 20_000
_MAKE = frozenset(
    {
        "channel.open",
        "channel.open-ok",
        "confirm.select",
        "confirm.select-ok",
        "tx.select",
        "tx.select-ok",
        "basic.qos",
        "basic.qos-ok",
        "basic.consume",
        "basic.consume-ok",
        "basic.cancel",
        "basic.cancel-ok",
        "queue.declare",
        "queue.declare-ok",
        "queue.bind",
        "queue.bind-ok",
        "exchange.declare",
        "exchange.declare-ok",
    }
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """A finding of which the exchange is asked for, if it is `shown`."""

    run: str
    finding: Finding
    shown: bool = True


@dataclass(frozen=True, slots=True)
class Cut:
    """The exchange, and for a capture where its events are: seq to (file, number of the packet)."""

    steps: tuple[ExchangeStep, ...] = ()
    packets: Mapping[int, tuple[str, int]] = field(default_factory=dict)


def sliced(history: Callable[[], Iterator[Placed]], finding: Finding, profile: Profile) -> Cut:
    """The exchange of a finding, whose history up to it may be gone through more than once."""
    placed = list(islice(history(), LONG + 1))
    if len(placed) > LONG:
        placed = _Matter.of((event for event, _ in history()), finding).kept(history())
    steps = exchange([event for event, _ in placed], finding, profile)
    packets = {
        event.seq: (said["file"], said["packet"])
        for event, extra in placed
        if extra
        for said in [json.loads(extra)]
        if "packet" in said
    }
    return Cut(steps, {step.seq: packets[step.seq] for step in steps if step.seq in packets})


@dataclass(frozen=True, slots=True)
class _Matter:
    """What a finding may rest on: channels and messages of its witnesses."""

    channels: frozenset[tuple[str, int]]
    messages: frozenset[str]

    @classmethod
    def of(cls, events: Iterable[Event], finding: Finding) -> _Matter:
        witness = [event for event in events if event.seq in (finding.at, *finding.witness)]
        return cls(
            frozenset((event.connection, event.channel) for event in witness),
            frozenset(event.message for event in witness if event.message),
        )

    def kept(self, placed: Iterable[Placed]) -> list[Placed]:
        """All that brought things into being, and the last LONG of the rest that may matter."""
        made: list[Placed] = []
        rest: deque[Placed] = deque(maxlen=LONG)
        for one in placed:
            if one[0].method in _MAKE or (not one[0].channel and one[0].kind != HEARTBEAT):
                made.append(one)
            elif (one[0].connection, one[0].channel) in self.channels or one[0].message in self.messages:
                rest.append(one)
        return sorted([*made, *rest], key=lambda one: one[0].seq)

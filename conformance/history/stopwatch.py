"""How long confirms and deliveries take: a fold over the events of one history, into histograms that add up exactly.

Both times are between two events of one observer, so no two clocks are compared:
    confirm   from a publish on a confirming channel to the ack or nack of the broker that covers it
    delivery  from a publish to the first delivery of a message with the same identity, the wait in the queue included
A message published twice before it came out says nothing, nor does one whose publish was not seen; of messages that
wait, the youngest `KEPT` of a history are remembered.

A time falls into one of 64 buckets for each power of two nanoseconds, so a percentile is off by less than 1 %.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from conformance.history import events as ev

CONFIRM, DELIVERY = "confirm", "delivery"
KEPT = 100_000
FINENESS = 6
SHARES = (*(n / 50 for n in range(1, 50)), 0.99, 0.995, 0.999, 1.0)
"""At which shares of all times a curve is told."""

_ANSWERS = frozenset({"basic.ack", "basic.nack"})
_COMES = frozenset({"basic.deliver", "basic.get-ok"})


class Timed(Protocol):
    """What an event must tell to be timed."""

    @property
    def connection(self) -> str: ...
    @property
    def channel(self) -> int: ...
    @property
    def time_ns(self) -> int: ...
    @property
    def direction(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def delivery_tag(self) -> int | None: ...
    @property
    def multiple(self) -> bool | None: ...
    @property
    def message_id(self) -> str | None: ...
    @property
    def body_hash(self) -> str | None: ...


class Stopwatch:
    """The fold over one history."""

    def __init__(self, counts: Counter[tuple[str, int]]) -> None:
        self._counts = counts
        self._unconfirmed: dict[tuple[str, int], dict[int, int]] = {}
        self._published: dict[tuple[str, int], int] = {}
        self._waiting: dict[str, int | None] = {}

    def step(self, row: Timed) -> None:
        channel = row.connection, row.channel
        if row.method == "basic.publish":
            self._publish(channel, row)
        elif row.method in _ANSWERS and row.direction == ev.TO_CLIENT:
            self._confirm(channel, row)
        elif row.method in _COMES:
            self._deliver(row)
        elif row.method in ("channel.open", "channel.close"):
            self._unconfirmed.pop(channel, None)
            self._published.pop(channel, None)
        elif row.method == "confirm.select":
            self._unconfirmed.setdefault(channel, {})

    def _publish(self, channel: tuple[str, int], row: Timed) -> None:
        pending = self._unconfirmed.get(channel)
        if pending is not None:
            number = self._published[channel] = self._published.get(channel, 0) + 1
            pending[number] = row.time_ns
        name = row.message_id or row.body_hash
        if name:
            self._waiting[name] = None if name in self._waiting else row.time_ns
            if len(self._waiting) > KEPT:
                del self._waiting[next(iter(self._waiting))]

    def _confirm(self, channel: tuple[str, int], row: Timed) -> None:
        pending, last = self._unconfirmed.get(channel, {}), row.delivery_tag or 0
        covered = [number for number in pending if number <= last] if row.multiple else [last]
        for number in covered:
            began = pending.pop(number, None)
            if began is not None:
                self._counts[CONFIRM, bucket(row.time_ns - began)] += 1

    def _deliver(self, row: Timed) -> None:
        began = self._waiting.pop(row.message_id or row.body_hash or "", None)
        if began is not None:
            self._counts[DELIVERY, bucket(row.time_ns - began)] += 1


def bucket(nanoseconds: int) -> int:
    """The number of the bucket of a time; 0 for none at all."""
    value = max(nanoseconds, 0)
    power = max(value.bit_length() - FINENESS - 1, 0)
    return (power << FINENESS) + (value >> power)


def middle(number: int) -> float:
    """The time in nanoseconds that stands for a bucket."""
    power = max((number >> FINENESS) - 1, 0)
    return (number - (power << FINENESS) + (0.5 if power else 0)) * 2.0**power


def curves(counts: Mapping[tuple[str, int], int]) -> dict[str, dict[str, Any]]:
    """`{what: {n, quantiles: [[share, milliseconds], ...]}}` of histograms by (what, bucket)."""
    found = {}
    for what in sorted({what for what, _ in counts}):
        buckets = sorted((place, n) for (one, place), n in counts.items() if one == what)
        found[what] = {"n": sum(n for _, n in buckets), "quantiles": list(_quantiles(buckets))}
    return found


def _quantiles(buckets: Sequence[tuple[int, int]]) -> Iterator[list[float]]:
    """At each of `SHARES`, the time within which this share of all came."""
    total, reached, place = sum(n for _, n in buckets), 0, -1
    for share in SHARES:
        while reached < share * total and place + 1 < len(buckets):
            place += 1
            reached += buckets[place][1]
        yield [share, round(middle(buckets[place][0]) / 1e6, 4)]

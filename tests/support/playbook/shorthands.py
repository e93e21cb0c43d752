"""Exchanges that go well, in a line each: what the shorthands of a playbook stand for."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator


class Shorthands:
    """Of one playbook. `seen`: the messages that have been delivered before."""

    def __init__(self, seen: set[str]) -> None:
        self.seen = seen
        self._tags: Counter[int] = Counter()
        self._confirms = itertools.count(1)
        self._fresh = itertools.count(50)
        self._opened: set[int] = set()

    def told(self, words: list[str]) -> Iterator[str]:
        """The lines that a shorthand stands for."""
        yield from getattr(self, f"_at_{words[0].removeprefix('@')}")(*words[1:])

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
            again = "redelivered" if message in self.seen else ""
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
            again = "redelivered" if message in self.seen else ""
            yield f"{channel} > get {queue} no_ack"
            yield f"{channel} < get-ok {tag} {message} {queue} {again}"
        yield f"{channel} > get {queue} no_ack"
        yield f"{channel} < get-empty"

"""Broken inputs for the pure core: what one process does, and what it found.

Each input has a connection of its own to one broker that lives as long as the process. What counts against the broker:
an exception that comes out of it, an answer that is no frame, an input that takes seconds, memory or state that stays
when everybody is gone. Only inputs that the broker refuses are counted as broken: a change of octets may well have left
something sound.
"""

from __future__ import annotations

import gc
import random
import signal
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import codec
from benchmarks.fuzz.inputs import Breaker, Input, corpus
from codec import methods as m
from reference_broker.core import routing
from reference_broker.core.broker import Broker
from reference_broker.core.connections.connection import Connection

LONG = 2.0
"""Seconds of CPU for one input that make it a hang; an input that takes ten times as long is given up."""
SWEEP = 500
"""After so many inputs the broker is emptied, as an operator would."""
WARM = 0.2
"""The part of the inputs after which memory is measured first."""


class Hang(BaseException):
    """An input that does not end."""


@dataclass
class Tally:
    """What came of inputs. `examples` has the octets of what went wrong, and how."""

    tried: int = 0
    refused: int = 0
    crashes: int = 0
    hangs: int = 0
    slowest: float = 0.0
    leaks_mb: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    examples: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("tried", "refused", "crashes", "hangs"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.slowest, self.leaks_mb = max(self.slowest, other.slowest), max(self.leaks_mb, other.leaks_mb)
        self.outcomes += other.outcomes
        self.examples = (self.examples + other.examples)[:20]

    def blame(self, kind: str, given: Input, why: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.examples) < 20:
            self.examples.append(f"{kind}: {given.phase} {given.octets[:400].hex()}\n{why}")


def resident_mb() -> float:
    """This process's memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6


class Victim:
    """One broker, and what is done to it."""

    def __init__(self) -> None:
        self.broker = Broker()
        self.tally = Tally()
        self.now = 0.0

    def attack(self, given: Input) -> None:
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_VIRTUAL, 10 * LONG)
        connection = None
        try:
            connection = self.broker.connect()
            outcome = self.converse(connection, given)
            connection.lost()
        except Hang:
            self.tally.blame("hangs", given, f"given up after {10 * LONG:g} s")
            self.broker = Broker()
            return
        except Exception:
            self.tally.blame("crashes", given, traceback.format_exc(limit=-4))
            self.broker = Broker()
            return
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        took = time.process_time() - begin
        self.tally.slowest = max(self.tally.slowest, took)
        if took > LONG:
            self.tally.blame("hangs", given, f"{took:.1f} s")
        self.count(given.phase, outcome)

    def converse(self, connection: Connection, given: Input) -> str:
        """What the broker made of it: the code of its last close, or a word."""
        connection.feed(given.beginning)
        reader = codec.FrameReader()
        outcome = heard(connection, reader, begun=True)
        for piece in given.pieces:
            connection.feed(piece)
            outcome = heard(connection, reader) or outcome
            if connection.finished:
                break
        self.now += 0.001
        self.broker.move_to(self.now)
        return outcome or (
            "hung up" if connection.finished else "waits" if connection.intake.reader.pending else "taken"
        )

    def count(self, phase: str, outcome: str) -> None:
        self.tally.tried += 1
        self.tally.refused += outcome != "taken"
        self.tally.outcomes[f"{phase}: {outcome}"] += 1

    def sweep(self) -> None:
        """Time passes, and an operator cleans up; then there must be nothing left."""
        broker = self.broker
        self.now += 60
        broker.move_to(self.now)
        for queue in list(broker.vhost.queues.values()):
            broker.vhost.delete_queue(queue)
        for exchange in [one for one in broker.vhost.exchanges.values() if one.name not in routing.PREDECLARED]:
            broker.vhost.delete_exchange(exchange)
        left = {
            "connections": broker.connections,
            "dirty": broker.dirty,
            "newcomers": broker.newcomers.due,
            "bindings": broker.vhost.bound_to,
        }
        for name, what in left.items():
            if what:
                self.tally.crashes += 1
                self.tally.examples.append(f"{len(what)} {name} are left when everybody is gone")
                self.broker = Broker()


def heard(connection: Connection, reader: codec.FrameReader, begun: bool = False) -> str:
    """The code of the last close among what is said; everything said must be frames."""
    said = ""
    while data := connection.take():
        if data.startswith(b"AMQP"):
            return "other protocol"
        for frame in reader.feed(data):
            if isinstance(frame, m.ConnectionClose | m.ChannelClose) and not begun:
                said = f"{frame.NAME.split('.')[0]} {frame.reply_code}"
    if reader.pending:
        raise AssertionError(f"the broker says half a frame: {reader.pending} octets")
    return said


def give_up(number: int, frame: FrameType | None) -> None:
    raise Hang


def work(seed: int, refused: int, deadline: float, frames: int = 3000) -> Tally:
    """Until so many inputs were refused, or so many seconds have passed."""
    signal.signal(signal.SIGVTALRM, give_up)
    until = time.monotonic() + deadline
    victim, breaker = Victim(), Breaker(corpus(seed, frames), random.Random(seed))
    tally, before = victim.tally, None
    while tally.refused < refused and time.monotonic() < until:
        for _ in range(SWEEP):
            victim.attack(breaker.input())
        victim.sweep()
        if before is None and tally.refused >= WARM * refused:
            gc.collect()
            before = resident_mb()
    gc.collect()
    tally.leaks_mb = max(0.0, resident_mb() - before) if before is not None else 0.0
    return tally

"""Explanations of what several receivers see: a right queue always has one, a wrong one has none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.catalogue import profiles
from conformance.oracle.model.connections.channels import ChannelLife, Consumer
from conformance.oracle.model.connections.connection import Connection
from conformance.oracle.model.queues.candidate_orders import CandidateOrders
from conformance.oracle.model.queues.declaring import queue_of
from conformance.oracle.model.queues.queue import Queue
from conformance.oracle.model.records import RETURNED, Copy, Delivery, PotentialReceiver

ORDERS = ("original", "returns-first", "tail")


def queue() -> Queue:
    return queue_of(profiles.load("documented"), "q", "classic", 1, {}, opaque=False)


def proven(receiver: PotentialReceiver) -> Callable[[Copy], bool]:
    """What was certainly in the queue when this receiver began."""
    return lambda copy: 0 < copy.proof <= receiver.start


@dataclass
class World:
    """A queue, its clients, and what is under way between them; `orders` is told what the clients see."""

    order: str
    clients: list[ChannelLife]
    random: Random
    orders: CandidateOrders = field(init=False)
    pipes: list[deque[Any]] = field(init=False)
    ready: list[Copy] = field(default_factory=list)
    ranks: dict[str, int] = field(default_factory=dict)
    back: int = 0
    clock: int = 0
    unacked: list[list[Copy]] = field(init=False)
    receivers: list[PotentialReceiver | None] = field(init=False)
    hands: list[deque[Copy | None]] = field(init=False)
    published: int = 0

    def __post_init__(self) -> None:
        self.orders = CandidateOrders(self.order, strict=True)
        self.queue = queue()
        self.pipes = [deque() for _ in self.clients]
        self.unacked = [[] for _ in self.clients]
        self.receivers = [None for _ in self.clients]
        self.hands = [deque() for _ in self.clients]

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    # -- what a client does

    def publish(self, at: int) -> None:
        self.published += 1
        now = self.tick()
        copy = Copy(f"m{self.published}", self.queue, now, self.clients[at], entered=now)
        self.orders.enter(copy, returned=False)
        self.pipes[at].append((copy, False))

    def give_back(self, at: int) -> None:
        if self.unacked[at]:
            copy = self.unacked[at].pop(self.random.randrange(len(self.unacked[at])))
            copy.entry, copy.entered, copy.proof = RETURNED, self.tick(), 0
            self.orders.enter(copy, returned=True)
            self.pipes[at].append((copy, True))

    def ask(self, at: int) -> None:
        if self.receivers[at] is None:
            self.receivers[at] = receiver = PotentialReceiver(self.tick(), no_ack=False, get=at > 0)
            if not receiver.get:
                receiver.consumer = Consumer("c", "q", False, "live", self.queue, receiver)
            self.pipes[at].append(receiver)

    # -- what the broker does

    def carry(self, at: int) -> None:
        """The next of what the client sent reaches the queue."""
        if not self.pipes[at]:
            return
        what = self.pipes[at].popleft()
        if isinstance(what, PotentialReceiver):
            if what.get:
                self.hands[at].append(self.pop())
            return
        copy, returned = what
        if self.order == "original":
            if not returned:
                self.ranks[copy.id] = len(self.ranks)
            self.ready.append(copy)
            self.ready.sort(key=lambda one: self.ranks[one.id])
        elif self.order == "returns-first" and returned:
            self.ready.insert(self.back, copy)
            self.back += 1
        else:
            self.ready.append(copy)
        if self.random.random() < 0.7:
            copy.proof = self.tick()

    def pop(self) -> Copy | None:
        if not self.ready:
            return None
        self.back = max(self.back - 1, 0)
        return self.ready.pop(0)

    def push(self, at: int) -> None:
        """A consumer is given a message."""
        if at == 0 and self.receivers[0] is not None and self.receivers[0] not in self.pipes[0] and self.ready:
            self.hands[0].append(self.pop())

    def show(self, at: int) -> bool | None:
        """The client reads what its receiver has taken."""
        receiver = self.receivers[at]
        if receiver is None or not self.hands[at]:
            return True
        others = [other for other in self.receivers if other is not None and other is not receiver]
        copy = self.hands[at].popleft()
        if receiver.get:
            self.receivers[at] = None
        if copy is None:
            self.orders.end(receiver)
            return not self.orders.lost
        told = self.orders.take(copy.id, receiver, proven(receiver), others)
        copy.holder = Delivery(1, copy.id, "q", None, False, self.tick(), False, self.clients[at], copy)
        copy.proof = 0
        self.unacked[at].append(copy)
        if receiver.get:
            self.orders.end(receiver)
        return told


@given(st.randoms(use_true_random=False), st.sampled_from(ORDERS))
@settings(max_examples=200, deadline=None)
def test_a_right_queue_is_always_explained(random: Random, order: str) -> None:
    world = World(order, [ChannelLife(Connection(str(at)), 1, at) for at in range(3)], random)
    doings = [
        world.publish,
        world.give_back,
        world.give_back,
        world.ask,
        world.ask,
        world.carry,
        world.carry,
        world.carry,
        world.push,
        world.show,
        world.show,
    ]
    for _ in range(60):
        told = random.choice(doings)(random.randrange(3))
        assert told is not False
        if world.orders.lost:
            return


def returned_by_two(order: str, *messages: str) -> list[bool | None]:
    """Of five messages four are got by two clients, who return m3 and then m2; these messages come next."""
    world = World(order, [ChannelLife(Connection(str(at)), 1, at) for at in range(3)], Random(1))
    for _ in range(5):
        world.publish(0)
    copies = {entry.copy.id: entry.copy for entry in world.orders.entries.values()}
    for copy in copies.values():
        copy.proof = world.tick()
    for at, message in enumerate(("m1", "m2", "m3", "m4")):
        get, copy = PotentialReceiver(world.tick(), no_ack=False, get=True), copies[message]
        assert world.orders.take(message, get, proven(get), [])
        copy.holder = Delivery(1, message, "q", None, False, world.tick(), False, world.clients[at % 2], copy)
        copy.proof = 0
    for message in ("m3", "m2"):
        copies[message].entry, copies[message].entered = RETURNED, world.tick()
        world.orders.enter(copies[message], returned=True)
        copies[message].proof = world.tick()
    gets = [PotentialReceiver(world.tick(), no_ack=False, get=True) for _ in messages]
    return [world.orders.take(message, get, proven(get), []) for message, get in zip(messages, gets, strict=True)]


@pytest.mark.parametrize(
    ("order", "lawful", "unlawful"),
    [
        ("original", ("m2", "m3", "m5"), "m3"),
        ("returns-first", ("m3", "m2", "m5"), "m2"),
        ("tail", ("m5", "m3", "m2"), "m3"),
    ],
)
def test_two_clients_return_and_a_third_sees_the_order(order: str, lawful: tuple[str, ...], unlawful: str) -> None:
    assert returned_by_two(order, *lawful) == [True, True, True]
    assert returned_by_two(order, unlawful) == [False]


def test_what_another_may_have_taken_is_passed_over() -> None:
    world = World("original", [ChannelLife(Connection("c"), 1, 1)], Random(1))
    for _ in range(3):
        world.publish(0)
    for entry in world.orders.entries.values():
        entry.copy.proof = world.tick()
    rival, get = (PotentialReceiver(world.tick(), no_ack=False, get=True) for _ in range(2))
    assert world.orders.take("m2", get, proven(get), [rival])
    world.orders.end(get)
    again = PotentialReceiver(world.tick(), no_ack=False, get=True)
    assert world.orders.take("m3", again, proven(again), [rival])
    assert world.orders.take("m1", rival, proven(rival), [])


def test_too_many_entries_lose_the_line_and_nothing_is_claimed() -> None:
    world = World("original", [ChannelLife(Connection("c"), 1, 1)], Random(1))
    for _ in range(100):
        world.publish(0)
    assert world.orders.lost
    get = PotentialReceiver(world.tick(), no_ack=False, get=True)
    assert world.orders.take("m50", get, proven(get), []) is None
    world.orders.begin()
    assert not world.orders.lost

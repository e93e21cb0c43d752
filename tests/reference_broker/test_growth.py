"""Cost must not grow with what lies around: counted in calls of the interpreter, never in seconds."""

from __future__ import annotations

import sys
import time

import pytest

from codec import methods as m
from reference_broker.core.channels.unacked import Delivery, Unacked

SMALL, LARGE = 50, 5000


def steps(action):
    """How many Python functions and builtins an action calls: the same on every machine."""
    count = 0

    def trace(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(trace)
    try:
        action()
    finally:
        sys.setprofile(None)
    return count


def ratio(prepare, act):
    """Steps of `act` in a large world over those in a small one."""
    counts = []
    for size in (SMALL, LARGE):
        world = prepare(size)
        counts.append(steps(lambda world=world: act(world)))
    return counts[1] / counts[0]


@pytest.fixture
def filled(client_of):
    def make(size):
        client = client_of()
        client.publish(*["x"] * size)
        return client

    return make


@pytest.fixture
def holding(filled):
    def make(size):
        client = filled(size + 20)
        client.feed(m.BasicConsume(1, 0, "q", "c").encode())
        client.connection.take()
        return client

    return make


def cycle(client):
    for _ in range(20):
        client.publish("y")
        client.get(no_ack=True)


def test_publish_and_get_at_any_depth(filled):
    assert ratio(filled, cycle) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("where", ["oldest", "newest", "middle"])
def test_single_acks_at_any_number_of_unacked(holding, where):
    def act(client):
        tags = list(client.connection.channels[1].unacked.by_tag)
        at = {"oldest": 0, "newest": len(tags) - 20, "middle": len(tags) // 2}[where]
        for tag in tags[at : at + 20]:
            client.send(m.BasicAck(1, tag))

    assert ratio(holding, act) == pytest.approx(1, abs=0.05)


def test_multiple_costs_what_it_settles(holding):
    assert ratio(holding, lambda client: client.send(m.BasicAck(1, 20, True))) == pytest.approx(1, abs=0.05)


def test_requeue_of_one_at_any_number_of_unacked(holding):
    def act(client):
        client.send(m.BasicCancel(1, "c"), *[m.BasicNack(1, tag, False, True) for tag in range(20, 0, -1)])
        client.gets(20)

    assert ratio(holding, act) == pytest.approx(1, abs=0.05)


def test_parked_consumers_cost_nothing(client_of):
    def prepare(size):
        client = client_of()
        client.send(m.BasicQos(1, 0, 1))
        for number in range(size // 10):
            client.consume(f"c{number}")
        client.publish(*["x"] * (size // 10 + 1))
        return client

    assert ratio(prepare, lambda client: client.publish(*["y"] * 50)) == pytest.approx(1, abs=0.05)


def test_consumers_parked_at_the_channel_limit_cost_nothing(client_of):
    def prepare(size):
        client = client_of()
        client.send(m.BasicQos(1, 0, 1, True))
        for number in range(size // 10):
            client.consume(f"c{number}")
        client.publish(*["x"] * (size // 10 + 50))
        return client

    def act(client):
        for tag in range(1, 21):
            client.send(m.BasicAck(1, tag))

    assert ratio(prepare, act) == pytest.approx(1, abs=0.05)


def test_many_bindings_cost_nothing_on_a_direct_exchange(client_of):
    def prepare(size):
        client = client_of()
        client.send(*[m.QueueBind(1, 0, "q", "amq.direct", f"k{number}", no_wait=True) for number in range(size)])
        return client

    act = lambda client: client.publish(*["x"] * 20, exchange="amq.direct", queue="k7")  # noqa: E731
    assert ratio(prepare, act) == pytest.approx(1, abs=0.05)


def test_taking_from_the_front_of_many_is_no_slower():
    """What call counts cannot see: time inside the data structure itself, as a ratio with ample room."""

    def seconds(size):
        unacked = Unacked()
        for tag in range(1, size + 1):
            unacked.add(Delivery(tag, None, None, None))
        start = time.process_time()
        for tag in range(1, 5001):
            unacked.up_to(tag)
        return time.process_time() - start

    assert min(seconds(200_000) for _ in range(3)) < 5 * min(seconds(5_000) for _ in range(3))

"""Requeued messages return to their original place."""

import random

import pytest

from codec import methods as m
from reference_broker.core.queues.message import Entry
from reference_broker.core.queues.ready import Ready


class Sized:
    body = b"12345"


def test_any_mix_of_returns_comes_out_in_order():
    chance = random.Random(7)
    ready, held = Ready(), []
    for position in range(500):
        ready.push(Entry(position, Sized, None))
    for _ in range(2000):
        if held and chance.random() < 0.5:
            ready.put_back(held.pop(chance.randrange(len(held))))
        elif ready:
            held.append(ready.pop())
    for entry in held:
        ready.put_back(entry)
    assert ready.octets == 500 * 5
    assert [ready.pop().position for _ in range(len(ready))] == list(range(500))
    assert ready.octets == 0


def test_head_is_what_pop_takes():
    ready = Ready()
    for position in (1, 2, 3):
        ready.push(Entry(position, Sized, None))
    first = ready.pop()
    assert ready.head().position == 2
    ready.put_back(first)
    assert ready.head() is first is ready.pop()


@pytest.mark.parametrize("second", [m.BasicNack(1, 2, False, True), m.BasicReject(1, 2, True)])
def test_requeue_one_by_one_in_any_order(client, second):
    client.publish(*"12345678")
    client.gets(5)
    client.send(m.BasicNack(1, 4, False, True), second, m.BasicReject(1, 5, True))
    assert client.drain() == [("2", True), ("4", True), ("5", True), ("6", False), ("7", False), ("8", False)]


def test_requeue_in_bulk_keeps_the_order(client):
    client.publish(*"1234")
    client.gets(3)
    client.send(m.BasicNack(1, 3, True, True))
    assert client.drain() == [("1", True), ("2", True), ("3", True), ("4", False)]


def test_requeue_from_two_connections(client, connect):
    other = connect().open()
    client.publish(*"12345678")
    assert client.gets(3) == ["1", "2", "3"]
    assert other.gets(3) == ["4", "5", "6"]
    other.send(m.BasicNack(1, 3, False, True))
    client.send(m.BasicNack(1, 3, False, True))
    client.send(m.BasicNack(1, 2, False, True))
    assert [body for body, _ in client.drain()] == ["2", "3", "6", "7", "8"]


@pytest.mark.parametrize("end", ["channel", "connection", "loss", "exception"])
def test_every_end_requeues_what_is_unsettled(client, connect, end):
    doomed = connect().open()
    client.publish("1", "2", "3", "4")
    doomed.gets(2)
    doomed.consume()
    doomed.send(m.BasicAck(1, 2))
    match end:
        case "channel":
            doomed.send(m.ChannelClose(1, 200))
        case "connection":
            doomed.send(m.ConnectionClose(0, 200))
        case "loss":
            doomed.connection.lost()
        case "exception":
            doomed.send(m.BasicAck(1, 77))
    assert client.drain() == [("1", True), ("3", True), ("4", True)]


def test_another_waiting_consumer_gets_what_a_dead_one_held(client, connect, found_in):
    doomed = connect().open()
    client.publish("1", "2")
    doomed.consume()
    assert client.consume() == []
    doomed.connection.lost()
    assert found_in(client.read()) == [(1, "1", True), (2, "2", True)]


def test_recover_requeues_gets_and_deliveries(client, found_in):
    client.publish("1", "2")
    client.get()
    client.consume()
    frames = client.send(m.BasicRecover(1, True))
    assert frames[0] == m.BasicRecoverOk(1)
    assert found_in(frames) == [(3, "1", True), (4, "2", True)]
    assert client.send(m.BasicAck(1, 1))[0].reply_code == 406


def test_recover_async_has_no_reply(client):
    client.publish("1")
    client.get()
    assert client.send(m.BasicRecoverAsync(1, True)) == []
    assert client.get() == (2, "1", True)

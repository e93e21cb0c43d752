"""Test programs as applications are: with pika and with py-amqp, everything that they offer and some mistakes.

Each declares what it needs under names of its own, and leaves nothing behind.
"""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Sequence
from contextlib import suppress
from uuid import uuid4

import amqp
import pika
from pika.adapters.blocking_connection import BlockingChannel
from pika.exceptions import ChannelClosedByBroker, UnroutableError

Program = Callable[[int, int], None]
"""Of (port on this machine, how many messages)."""


def with_pika(port: int, count: int) -> None:
    """Confirms, returns, consumers with every settlement, cancel, get, purge, errors, and what errors give back."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        channel = connection.channel()
        exchange, queue = f"programs-{uuid4()}", channel.queue_declare("", exclusive=True).method.queue
        channel.exchange_declare(exchange, "topic", auto_delete=True)
        channel.queue_bind(queue, exchange, "a.*")
        channel.confirm_delivery()
        for n in range(count):
            properties = pika.BasicProperties(message_id=f"{queue}-{n}", headers={"n": n}) if n % 3 else None
            channel.basic_publish(*((exchange, "a.b") if n % 2 else ("", queue)), b"b" * (n * n % 9000), properties)
        with suppress(UnroutableError):
            channel.basic_publish(exchange, "nowhere", b"back", mandatory=True)
        _consume(channel, queue, count)
        _mistakes(connection.channel(), connection.channel(), queue)
        channel.basic_get(queue)
        channel.queue_purge(queue)
        channel.queue_delete(queue)


def _consume(channel: BlockingChannel, queue: str, count: int) -> None:
    """By a limit, with acks of one and of several, nacks and rejects, until half of it is gone."""
    channel.basic_qos(prefetch_count=10)
    for seen, (method, _, _) in enumerate(channel.consume(queue), 1):
        tag = method.delivery_tag
        if seen % 11 == 0:
            channel.basic_nack(tag, multiple=True, requeue=False)
        elif seen % 7 == 0:
            channel.basic_nack(tag)
        elif seen % 13 == 0:
            channel.basic_reject(tag, requeue=True)
        elif seen % 5 == 0:
            channel.basic_ack(tag, multiple=True)
        elif seen % 5 < 3:
            channel.basic_ack(tag)
        if seen >= count // 2:
            break
    channel.cancel()


def _mistakes(one: BlockingChannel, other: BlockingChannel, queue: str) -> None:
    """A tag that never was, while something is held; a queue that is not there."""
    one.basic_get(queue)
    one.basic_ack(4711)
    with suppress(ChannelClosedByBroker):
        one.queue_declare(queue, passive=True)
    with suppress(ChannelClosedByBroker):
        other.queue_declare(f"missing-{uuid4()}", passive=True)


def with_py_amqp(port: int, count: int) -> None:
    """Confirms, a consumer that settles late, gets, recover, transactions, a channel closed over deliveries."""
    with amqp.Connection(f"127.0.0.1:{port}", confirm_publish=True) as connection:
        channel = connection.channel()
        queue = channel.queue_declare("", exclusive=True, auto_delete=False).queue
        for n in range(count):
            message = amqp.Message(b"c" * (n * 17), message_id=f"{queue}-{n}", delivery_mode=2 if n % 2 else 1)
            channel.basic_publish(message, routing_key=queue)
        held: list[int] = []
        channel.basic_qos(0, 20, False)
        tag = channel.basic_consume(queue, callback=lambda message: held.append(message.delivery_tag))
        while len(held) < min(20, count):
            connection.drain_events(timeout=180)
        for one in held[::2]:
            channel.basic_ack(one)
        channel.basic_cancel(tag)
        channel.basic_recover(requeue=True)
        while (message := channel.basic_get(queue)) is not None and message.delivery_tag < count // 2 + 20:
            channel.basic_ack(message.delivery_tag)
        channel.close()
        _transactions(connection, queue)
        connection.channel().queue_delete(queue)


def _transactions(connection: amqp.Connection, queue: str) -> None:
    channel = amqp.Channel(connection)
    connection.confirm_publish = False
    channel.open()
    channel.tx_select()
    for end in (channel.tx_commit, channel.tx_rollback, channel.tx_commit):
        channel._basic_publish(amqp.Message(b"t", message_id=str(uuid4())), routing_key=queue)
        message = channel.basic_get(queue)
        if message is not None:
            channel.basic_ack(message.delivery_tag)
        end()
    channel.close()


def automatic(port: int, count: int) -> None:
    """Publishes without confirms, consumes without acks, on one connection with two channels that take turns."""
    with pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", port)) as connection:
        sender, receiver = connection.channel(), connection.channel()
        queue = sender.queue_declare("", exclusive=True).method.queue
        for n in range(count):
            sender.basic_publish("", queue, b"%d" % n)
        for method, _, _ in receiver.consume(queue, auto_ack=True):
            if method.delivery_tag == count:
                break
        receiver.cancel()


ALL: Sequence[Program] = (with_pika, with_py_amqp, automatic)


def handed_around(port: int, count: int) -> None:
    """A queue that several connections share: returned by one and taken by another, by settlements, by a close, and by
    a socket that is reset."""
    parameters = pika.ConnectionParameters("127.0.0.1", port)
    queue = f"programs-{uuid4()}"
    keeper, worker, other = (pika.BlockingConnection(parameters) for _ in range(3))
    publisher, giver, receiver = keeper.channel(), worker.channel(), other.channel()
    publisher.queue_declare(queue)
    publisher.confirm_delivery()
    for n in range(count):
        publisher.basic_publish("", queue, b"m", pika.BasicProperties(message_id=f"{queue}-{n}"))
    for settle in (giver.basic_nack, giver.basic_reject):
        method, _, _ = giver.basic_get(queue)
        settle(method.delivery_tag, requeue=True)
        giver.basic_qos(prefetch_count=1)
        method, _, _ = receiver.basic_get(queue)
        receiver.basic_ack(method.delivery_tag)
        receiver.basic_qos(prefetch_count=1)
    giver.basic_get(queue)
    giver.close()
    method, _, _ = receiver.basic_get(queue)
    receiver.basic_ack(method.delivery_tag)
    worker.channel().basic_get(queue)
    _reset(worker)
    while receiver.basic_get(queue, auto_ack=True)[0] is not None:
        pass
    publisher.queue_purge(queue)
    publisher.queue_delete(queue)
    keeper.close()
    other.close()


def _reset(connection: pika.BlockingConnection) -> None:
    """Ends it by a TCP reset."""
    line = connection._impl._transport._sock
    line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    line.close()

"""aio-pika, unchanged, with its connection that comes back by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import aio_pika
import pytest
from aio_pika.exceptions import DeliveryError

DEADLINE = 60


def run(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, DEADLINE))


def test_confirms_returns_and_refusals(broker):
    async def story():
        async with await aio_pika.connect(broker.url) as connection:
            channel = await connection.channel(publisher_confirms=True, on_return_raises=True)
            queue = await channel.declare_queue("q", exclusive=True)
            exchange = channel.default_exchange
            await exchange.publish(aio_pika.Message(b"1"), queue.name)
            with pytest.raises(DeliveryError):
                await exchange.publish(aio_pika.Message(b"2"), "nowhere")
            full = await channel.declare_queue(
                "full", exclusive=True, arguments={"x-max-length": 0, "x-overflow": "reject-publish"}
            )
            with pytest.raises(DeliveryError):
                await exchange.publish(aio_pika.Message(b"3"), full.name)
            assert (await queue.get()).body == b"1"

    run(story())


def test_consume_nack_and_redelivery(broker):
    async def story():
        async with await aio_pika.connect(broker.url) as connection:
            channel = await connection.channel()
            await channel.set_qos(prefetch_count=1)
            queue = await channel.declare_queue(exclusive=True)
            assert queue.name.startswith("amq.gen-")
            for body in (b"1", b"2"):
                await channel.default_exchange.publish(aio_pika.Message(body), queue.name)
            seen = []
            async with queue.iterator() as messages:
                async for message in messages:
                    seen.append((message.body, message.redelivered))
                    await (message.nack(requeue=True) if len(seen) == 1 else message.ack())
                    if len(seen) == 3:
                        break
            assert seen == [(b"1", False), (b"1", True), (b"2", False)]

    run(story())


def test_exchanges_bound_to_exchanges(broker):
    async def story():
        async with await aio_pika.connect(broker.url) as connection:
            channel = await connection.channel()
            inner = await channel.declare_exchange("inner", "fanout", internal=True, auto_delete=True)
            outer = await channel.declare_exchange("outer", "topic", auto_delete=True)
            queue = await channel.declare_queue(exclusive=True)
            await inner.bind(outer, "a.*")
            await queue.bind(inner)
            await outer.publish(aio_pika.Message(b"1"), "a.b")
            assert (await queue.get()).body == b"1"
            await inner.unbind(outer, "a.*")
            assert await queue.get(fail=False) is None

    run(story())


def test_a_robust_connection_comes_back_after_a_kill(broker):
    async def story():
        connection = await aio_pika.connect_robust(broker.url, reconnect_interval=0.05)
        async with connection:
            channel = await connection.channel()
            queue = await channel.declare_queue("q", auto_delete=True)
            arrived = asyncio.Queue()
            await queue.consume(arrived.put, no_ack=True)
            back = asyncio.Event()
            connection.reconnect_callbacks.add(lambda *_: back.set())
            await asyncio.to_thread(broker.kill)
            await asyncio.to_thread(broker.revive)
            await back.wait()
            await channel.default_exchange.publish(aio_pika.Message(b"after"), "q")
            assert (await arrived.get()).body == b"after"

    run(story())

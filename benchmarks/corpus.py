"""A stream of frames as brokers and clients exchange them, laid out octet by octet without any codec under test.

Two thirds of the exchanges are messages (method, header, body; a third of them published, the others delivered), the
rest acknowledgements with some nacks, declarations, heartbeats and a few handshakes. About a third of the headers
carries a table, one routing key in a hundred is not ASCII, and body sizes are log-normal. Same seed, same octets.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

FRAMES = 200_000

_pack = struct.pack


def short(text: str) -> bytes:
    raw = text.encode()
    return bytes([len(raw)]) + raw


def field(value: Any) -> bytes:
    """A table value; integers above 32 bits are 'l', a 1-tuple is a timestamp."""
    match value:
        case bool():
            return b"t" + bytes([value])
        case int() if -(2**31) <= value < 2**31:
            return b"I" + _pack(">i", value)
        case int():
            return b"l" + _pack(">q", value)
        case str():
            raw = value.encode()
            return b"S" + _pack(">I", len(raw)) + raw
        case dict():
            return b"F" + table(value)
        case list():
            raw = b"".join(map(field, value))
            return b"A" + _pack(">I", len(raw)) + raw
        case (seconds,):
            return b"T" + _pack(">Q", seconds)
    raise TypeError(value)


def table(fields: dict[str, Any]) -> bytes:
    raw = b"".join(short(name) + field(value) for name, value in fields.items())
    return _pack(">I", len(raw)) + raw


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return _pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(channel: int, class_id: int, method_id: int, arguments: bytes) -> bytes:
    return frame(1, channel, _pack(">HH", class_id, method_id) + arguments)


def _headers_table(r: random.Random) -> bytes:
    """What applications, dead-lettering and task queues put into `headers`: names repeat, lengths vary."""
    queue = r.choice(["q.work", "invoices", "mail.out", "q.thumbnails", "reindex"])
    tables: list[Callable[[], dict[str, Any]]] = [
        lambda: {
            "x-retry": r.randrange(9),
            "trace-id": f"{r.getrandbits(128):032x}",
            "tenant": r.choice(["acme", "globex", "initech", "umbrella", "hooli"]),
            "ok": True,
        },
        lambda: {
            "x-death": [
                {
                    "count": r.randrange(9),
                    "exchange": "dlx",
                    "queue": queue,
                    "reason": r.choice(["expired", "rejected", "maxlen"]),
                    "time": (1700000000,),
                    "routing-keys": [queue],
                }
            ]
        },
        lambda: {
            "lang": "py",
            "task": r.choice(["proj.tasks.add", "mail.send", "images.resize", "billing.close"]),
            "id": f"{r.getrandbits(128):032x}",
            "retries": 0,
            "eta": r.getrandbits(40),
            "argsrepr": f"({r.randrange(10 ** r.randrange(1, 8))}, {r.randrange(100)})",
        },
    ]
    return table(r.choice(tables)())


def header(channel: int, size: int, r: random.Random) -> bytes:
    """A content header; which properties come together follows one draw, so that few combinations are common."""
    k = r.random()
    of_128_bits = f"{r.getrandbits(128):032x}"
    properties: list[tuple[int, bool, Callable[[], bytes]]] = [
        (0x8000, k < 0.9, lambda: short(r.choice(["application/json", "text/plain", "application/octet-stream"]))),
        (0x4000, k < 0.2, lambda: short("utf-8")),
        (0x2000, k < 0.35, lambda: _headers_table(r)),
        (0x1000, k < 0.9, lambda: bytes([r.choice((1, 2))])),
        (0x0800, k < 0.1, lambda: bytes([r.randrange(10)])),
        (0x0400, 0.2 < k < 0.5, lambda: short(of_128_bits)),
        (0x0200, 0.2 < k < 0.4, lambda: short(f"amq.gen-{r.getrandbits(88):022x}")),
        (0x0100, k < 0.05, lambda: short("60000")),
        (0x0080, 0.3 < k < 0.7, lambda: short(of_128_bits[::-1])),
        (0x0040, 0.3 < k < 0.8, lambda: _pack(">Q", 1700000000 + r.randrange(10**7))),
        (0x0020, 0.5 < k < 0.6, lambda: short("order.created")),
        (0x0008, 0.85 < k < 0.9, lambda: short("billing-svc")),
    ]
    present = [(flag, write()) for flag, here, write in properties if here]
    flags = sum(flag for flag, _ in present)
    return frame(2, channel, _pack(">HHQH", 60, 0, size, flags) + b"".join(raw for _, raw in present))


CONNECTION_START = method(
    0,
    10,
    10,
    b"\0\x09"
    + table(
        {
            "capabilities": dict.fromkeys(
                [
                    "publisher_confirms",
                    "exchange_exchange_bindings",
                    "basic.nack",
                    "consumer_cancel_notify",
                    "connection.blocked",
                    "consumer_priorities",
                    "authentication_failure_close",
                    "per_consumer_qos",
                    "direct_reply_to",
                ],
                True,
            ),
            "cluster_name": "rabbit@host",
            "copyright": "Copyright (c) the authors of this broker and their companies",
            "information": "Licensed under the MPL 2.0",
            "platform": "Erlang/OTP 27",
            "product": "RabbitMQ",
            "version": "4.2.0",
        }
    )
    + _pack(">I", 14)
    + b"PLAIN AMQPLAIN"
    + _pack(">I", 5)
    + b"en_US",
)


def _message(channel: int, tag: int, r: random.Random) -> list[bytes]:
    body = r.randbytes(max(1, min(4096, int(r.lognormvariate(5.3, 1.0)))))
    exchange = r.choice(["", "amq.topic", "events", "orders"])
    key = r.choice([f"orders.{r.randrange(1000)}.eu", "q.work", "celery", f"a.b.c.d.{r.randrange(50)}"])
    if r.random() < 0.01:
        key = f"ключ.{r.randrange(9)}"
    if r.random() < 0.375:
        begin = method(channel, 60, 40, b"\0\0" + short(exchange) + short(key) + bytes([r.random() < 0.1]))
    else:
        begin = method(
            channel,
            60,
            60,
            short(f"ctag{channel}.{channel * 7919:032x}")
            + _pack(">Q", tag)
            + bytes([r.random() < 0.05])
            + short(exchange)
            + short(key),
        )
    return [begin, header(channel, len(body), r), frame(3, channel, body)]


def _declaration(channel: int, r: random.Random) -> bytes:
    arguments = {
        "x-queue-type": "quorum",
        "x-max-length": r.randrange(10**5),
        "x-dead-letter-exchange": "dlx",
        "x-message-ttl": 60000,
    }
    return method(
        channel, 50, 10, b"\0\0" + short(f"q.{r.randrange(999)}") + bytes([r.randrange(32)]) + table(arguments)
    )


def stream(seed: int) -> Iterator[bytes]:
    """Frame after frame, without end."""
    r, tag = random.Random(seed), 0
    while True:
        channel, k = r.randrange(1, 9), r.random()
        if k < 0.64:
            tag += 1
            yield from _message(channel, tag, r)
        elif k < 0.94:
            yield method(channel, 60, 80, _pack(">QB", r.randrange(10**6), r.random() < 0.1))
        elif k < 0.97:
            yield method(channel, 60, 120, _pack(">QB", r.randrange(10**6), r.randrange(4)))
        elif k < 0.99:
            yield _declaration(channel, r)
        elif k < 0.992:
            yield CONNECTION_START
        else:
            yield frame(8, 0, b"")


def build(count: int = FRAMES, seed: int = 1) -> list[bytes]:
    frames = stream(seed)
    return [next(frames) for _ in range(count)]

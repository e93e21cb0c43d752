"""The codecs of pamqp, pika and py-amqp, each at its best: a frame a call, already cut out of the stream for them.

`decode` reads frames, `objects` gives what `encode` then writes. For py-amqp, whose codec is spread over transport and
channel, the envelope is read as its transport does and the arguments as its channel does.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import pack, unpack, unpack_from
from typing import Any, NamedTuple

import amqp.channel
import amqp.connection
import amqp.serialization
import pamqp.frame
import pika.frame
from amqp.basic_message import Message

Frames = list[bytes]


class Peer(NamedTuple):
    name: str
    decode: Callable[[Frames], None]
    objects: Callable[[Frames], list[Any]]
    encode: Callable[[list[Any]], list[bytes]]


def pamqp_decode(frames: Frames) -> None:
    unmarshal = pamqp.frame.unmarshal
    for raw in frames:
        unmarshal(raw)


def pamqp_objects(frames: Frames) -> list[Any]:
    return [pamqp.frame.unmarshal(raw)[1:] for raw in frames]


def pamqp_encode(objects: list[Any]) -> list[bytes]:
    marshal = pamqp.frame.marshal
    return [marshal(value, channel) for channel, value in objects]


def pika_decode(frames: Frames) -> None:
    decode_frame = pika.frame.decode_frame
    for raw in frames:
        decode_frame(raw)


def pika_objects(frames: Frames) -> list[Any]:
    return [pika.frame.decode_frame(raw)[1] for raw in frames]


def pika_encode(objects: list[Any]) -> list[bytes]:
    return [value.marshal() for value in objects]


def _pyamqp_formats() -> dict[tuple[int, int], str]:
    """Argument formats: those py-amqp has in tables, and those it writes as literals when it sends."""
    tables = amqp.channel.Channel._METHODS, amqp.connection.Connection._METHODS
    formats = {(60, 40): "Bssbb", (60, 80): "Lb", (60, 120): "Lbb", (50, 10): "BsbbbbbF"}
    methods = [m for t in tables for m in (t.values() if isinstance(t, dict) else t)]
    return formats | {m.method_sig: m.args for m in methods if m.args}


PYAMQP_FORMATS = _pyamqp_formats()


def pyamqp_decode(frames: Frames) -> None:
    loads, properties = amqp.serialization.loads, amqp.serialization.decode_properties_basic
    formats = PYAMQP_FORMATS
    for raw in frames:
        kind, _, size = unpack(">BHI", raw[:7])
        payload = raw[7 : 7 + size]
        if raw[7 + size] != 0xCE:
            raise ValueError(raw)
        if kind == 1:
            loads(formats[unpack_from(">HH", payload, 0)], payload, 4)
        elif kind == 2:
            unpack_from(">HxxQ", payload, 0)
            properties(payload, 12)


def pyamqp_objects(frames: Frames) -> list[Any]:
    return [_pyamqp_object(raw) for raw in frames]


def _pyamqp_object(raw: bytes) -> Any:
    kind, channel, size = unpack(">BHI", raw[:7])
    payload = raw[7 : 7 + size]
    if kind == 1:
        signature = unpack_from(">HH", payload, 0)
        form = PYAMQP_FORMATS[signature]
        return kind, channel, signature, form, amqp.serialization.loads(form, payload, 4)[0]
    if kind == 2:
        message = Message()
        message._load_properties(60, payload, 12)
        return kind, channel, unpack_from(">HxxQ", payload, 0)[1], message
    return kind, channel, payload


def pyamqp_encode(objects: list[Any]) -> list[bytes]:
    dumps, out = amqp.serialization.dumps, []
    for value in objects:
        if value[0] == 1:
            payload = b"".join([pack(">HH", *value[2]), dumps(value[3], value[4])])
        elif value[0] == 2:
            payload = b"".join([pack(">HHQ", 60, 0, value[2]), value[3]._serialize_properties()])
        else:
            payload = value[2]
        out.append(pack(f">BHI{len(payload)}sB", value[0], value[1], len(payload), payload, 0xCE))
    return out


PEERS = [
    Peer("pika", pika_decode, pika_objects, pika_encode),
    Peer("pamqp", pamqp_decode, pamqp_objects, pamqp_encode),
    Peer("py-amqp", pyamqp_decode, pyamqp_objects, pyamqp_encode),
]

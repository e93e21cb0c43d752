"""pika, pamqp and py-amqp as oracles of the octets: what we write they read, and they write it back the same.

Reserved arguments keep their defaults here (pamqp insists), and tables hold what all three write alike. Where they and
we part is in test_divergences.
"""

from __future__ import annotations

import inspect
from typing import Any

import amqp.serialization
import pamqp.commands
import pamqp.frame
import pika.frame
import pika.spec
import pytest
from amqp.basic_message import Message
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import codec
from codec import methods as m
from codec import values
from codec.lower import Op

quiet = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TABLE = values.table({"a-text": "värde", "b-yes": True, "c-none": None, "d-table": {"e": False}, "f-list": ["x", True]})
NUMBERS = {"B": 0xF1, "H": 0xF1F2, "I": 0xF1F2F3F4, "Q": 0x71F2F3F4F5F6F7F8}
NAMES = {"queue", "exchange", "source", "destination"}  # ASCII only, says pamqp
FORMATS = {
    ("number", "B"): "o",
    ("number", "H"): "B",
    ("number", "I"): "l",
    ("number", "Q"): "L",
    ("text", "B"): "s",
    ("octets", "I"): "S",
    ("items", "I"): "F",
}


def arguments_ops(cls: type[codec.Method]) -> list[Op]:
    return m.method_ops(cls.CLASS_ID, cls.METHOD_ID)[1][:-1]


def value(op: Op) -> Any:
    """One that shows which octet went where; and in text, that it is UTF-8."""
    text = f"a-{op.name}" if op.name in NAMES else f"{op.name}.ключ"
    return {"number": NUMBERS.get(op.fmt), "text": text, "octets": op.name.encode(), "items": TABLE}[op.kind]


def example(cls: type[codec.Method]) -> codec.Method:
    """Every second bit is set."""
    arguments: dict[str, Any] = {}
    for op in arguments_ops(cls):
        if op.kind == "bits":
            arguments |= {name: bool(i % 2 == 0) for i, name in enumerate(op.extra)}
        elif not op.name.startswith("reserved_"):
            arguments[op.name] = value(op)
    if cls is m.ConnectionOpen:  # pamqp insists on what these reserved arguments meant once
        arguments["reserved_2"] = False
    if cls in (m.ChannelOpen, m.ChannelOpenOk):
        arguments["reserved_1"] = "0" if cls is m.ChannelOpen else b"0"
    return cls(5, **arguments)  # type: ignore[call-arg]


EXAMPLES = [example(cls) for cls in m.BY_INDEX.values()]
HEADER = codec.header(
    5,
    7,
    content_type="text/plain",
    content_encoding="utf-8",
    headers=TABLE,
    delivery_mode=2,
    priority=3,
    correlation_id="c",
    reply_to="r",
    expiration="60000",
    message_id="m",
    timestamp=1700000000,
    type="t",
    user_id="guest",
    app_id="a",
    cluster_id="cl",
)


@pytest.mark.parametrize(
    "frame", [f for f in EXAMPLES if f.NAME != "connection.update-secret"], ids=lambda frame: frame.NAME
)
def test_pika_reads_and_writes_our_methods(frame: codec.Method) -> None:
    length, theirs = pika.frame.decode_frame(frame.encode())
    assert length == len(frame.encode())
    assert theirs.channel_number == 5
    names = list(inspect.signature(type(theirs.method).__init__).parameters)[1:]
    for ours, name in zip(frame.FIELDS, names, strict=True):
        got = getattr(theirs.method, name)
        expected = getattr(frame, ours)
        assert (got == values.plain(expected)) if isinstance(expected, list) else (got in (expected, _text(expected)))
    assert theirs.marshal() == frame.encode()


def _text(octets: Any) -> Any:
    return octets.decode() if isinstance(octets, bytes) else octets


@pytest.mark.parametrize("frame", [f for f in EXAMPLES if f.CLASS_ID != 30], ids=lambda frame: frame.NAME)
def test_pamqp_reads_and_writes_our_methods(frame: codec.Method) -> None:
    length, channel, theirs = pamqp.frame.unmarshal(frame.encode())
    assert (length, channel) == (len(frame.encode()), 5)
    for ours, name in zip(frame.FIELDS, theirs.__slots__, strict=True):
        expected = getattr(frame, ours)
        got = getattr(theirs, name)
        assert (got == values.plain(expected)) if isinstance(expected, list) else (got in (expected, _text(expected)))
    assert pamqp.frame.marshal(theirs, 5) == frame.encode()


@pytest.mark.parametrize("frame", EXAMPLES, ids=lambda frame: frame.NAME)
def test_py_amqp_reads_and_writes_our_methods(frame: codec.Method) -> None:
    form = "".join(
        "b" * len(op.extra) if op.kind == "bits" else FORMATS[op.kind, op.fmt] for op in arguments_ops(type(frame))
    )
    raw = frame.encode()[11:-1]
    theirs, length = amqp.serialization.loads(form, raw, 0)
    assert length == len(raw)
    assert amqp.serialization.dumps(form, theirs) == raw
    for ours, got in zip(frame.FIELDS, theirs, strict=True):
        expected = getattr(frame, ours)
        assert (got == values.plain(expected)) if isinstance(expected, list) else (got in (expected, _text(expected)))


def test_pika_reads_and_writes_our_headers() -> None:
    theirs = pika.frame.decode_frame(HEADER.encode())[1]
    assert theirs.body_size == 7
    assert theirs.properties.headers == values.plain(TABLE)
    assert theirs.properties.cluster_id == "cl"
    assert theirs.marshal() == HEADER.encode()


def test_pamqp_reads_and_writes_our_headers() -> None:
    theirs = pamqp.frame.unmarshal(HEADER.encode())[2]
    assert theirs.body_size == 7
    assert theirs.properties.headers == values.plain(TABLE)
    assert pamqp.frame.marshal(theirs, 5) == HEADER.encode()


def test_py_amqp_reads_and_writes_our_headers() -> None:
    """It leaves out the deprecated cluster-id, and writes what it read."""
    message, ours = Message(), {n: v for n, v in HEADER.properties().items() if n != "cluster_id"}
    raw = codec.header(5, 7, **ours).encode()[19:-1]
    message._load_properties(60, raw, 0)
    assert message.properties["application_headers"] == values.plain(TABLE)
    assert message._serialize_properties() == raw


@pytest.mark.parametrize("frame", [codec.Body(5, b"\0\xce\xff"), codec.Heartbeat()], ids=["body", "heartbeat"])
def test_pika_and_pamqp_write_our_other_frames(frame: codec.Body | codec.Heartbeat) -> None:
    assert pika.frame.decode_frame(frame.encode())[1].marshal() == frame.encode()
    _, channel, theirs = pamqp.frame.unmarshal(frame.encode())
    assert pamqp.frame.marshal(theirs, channel) == frame.encode()


def test_they_write_our_protocol_header() -> None:
    ours = codec.ProtocolHeader().encode()
    assert pika.frame.ProtocolHeader().marshal() == ours
    assert pamqp.frame.marshal(pamqp.frame.unmarshal(ours)[2], 0) == ours


plain_values = st.recursive(
    st.booleans() | st.none() | st.text(max_size=20) | st.integers(2**16, 2**31 - 1),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@quiet
@given(table=st.dictionaries(st.text(max_size=20), plain_values, max_size=5))
def test_pika_and_py_amqp_write_our_tables(table: dict[str, Any]) -> None:
    ours = m.QueueBind(1, arguments=values.table(table)).encode()[17:-1]
    assert amqp.serialization.dumps("F", [table]) == ours
    pieces: list[bytes] = []
    pika.data.encode_table(pieces, table)
    assert b"".join(pieces) == ours


@quiet
@given(table=st.dictionaries(st.text(max_size=20), plain_values, max_size=5))
def test_they_all_read_our_tables(table: dict[str, Any]) -> None:
    ours = m.QueueBind(1, arguments=values.table(table)).encode()[17:-1]
    assert amqp.serialization.loads("F", ours, 0)[0] == [table]
    assert pika.data.decode_table(ours, 0)[0] == table
    assert pamqp.decode.field_table(ours)[1] == table

"""tshark's AMQP dissector reads what we write: every method with its arguments, headers, bodies, heartbeats."""

from __future__ import annotations

import json
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest

import codec
from codec import methods as m
from codec import values

pytestmark = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed (apt install tshark)")

TABLE = values.table({"a": 1, "b": "x", "c": True, "d": {"e": None, "f": 2**40}, "g": [1, 2.5, b"\xff"]})
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
# Wireshark 4.0 has not heard of these
UNKNOWN_TO_IT = {"connection.update-secret", "connection.update-secret-ok"}


def packet(number: int, seq: int, payload: bytes) -> bytes:
    """A captured segment from port 40000 to 5672, IPv4 without a link layer."""
    tcp = struct.pack(">HHIIBBHHH", 40000, 5672, seq, 1, 0x50, 0x18, 65535, 0, 0) + payload
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), number, 0, 64, 6, 0) + bytes((127, 0, 0, 1)) * 2
    return struct.pack("<IIII", number, 0, len(ip + tcp), len(ip + tcp)) + ip + tcp


def capture(payloads: list[bytes]) -> bytes:
    out, seq = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)], 1
    for number, payload in enumerate(payloads):
        out.append(packet(number, seq, payload))
        seq += len(payload)
    return b"".join(out)


def example(cls: type[codec.Method]) -> codec.Method:
    """Another value for every argument."""
    arguments: dict[str, Any] = {}
    for i, (name, kind) in enumerate(m.arguments(m.method_ops(cls.CLASS_ID, cls.METHOD_ID)[1][:-1])):
        arguments[name] = {
            "number": 100 + i,
            "bits": i % 2 == 0,
            "text": f"{name}-{i}",
            "octets": name.encode(),
            "items": TABLE,
        }[kind]
    return cls(5, **arguments)  # type: ignore[call-arg]


METHODS = [example(cls) for cls in m.BY_INDEX.values() if cls.NAME not in UNKNOWN_TO_IT]


@pytest.fixture(scope="module")
def dissected(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What tshark makes of one connection: the protocol header, all methods, and the other frames."""
    path: Path = tmp_path_factory.mktemp("tshark") / "frames.pcap"
    frames = [codec.ProtocolHeader(), *METHODS, HEADER, codec.Body(5, b"payload"), codec.Heartbeat()]
    path.write_bytes(capture([frame.encode() for frame in frames]))
    command = [
        "tshark",
        "-r",
        str(path),
        "-d",
        "tcp.port==5672,amqp",
        "-T",
        "json",
        "-J",
        "amqp",
        "--no-duplicate-keys",
    ]
    out = subprocess.run(command, capture_output=True, check=True).stdout
    layers = [packet["_source"]["layers"] for packet in json.loads(out)]
    assert len(layers) == len(frames)
    return [layer.get("amqp", {}) for layer in layers]


def as_tshark_prints(value: Any) -> set[str]:
    """How tshark may print an argument."""
    if isinstance(value, bytes):
        return {value.decode(), value.hex(":")}
    return {str(int(value)) if isinstance(value, bool) else str(value)}


def count(fields: Any) -> int:
    """Fields of a dissected table, with those inside."""
    if isinstance(fields, dict):
        return sum(count(f) + (len(f) if isinstance(f, list) else 1) for f in fields.values())
    return sum(count(f) for f in fields) if isinstance(fields, list) else 0


@pytest.mark.parametrize("number", range(len(METHODS)), ids=[frame.NAME for frame in METHODS])
def test_a_method_is_dissected_as_written(number: int, dissected: list[dict[str, Any]]) -> None:
    ours, theirs = METHODS[number], dissected[1 + number]
    assert (theirs["amqp.type"], theirs["amqp.channel"]) == ("1", "5")
    assert theirs["amqp.length"] == str(len(ours.encode()) - 8)
    assert (theirs["amqp.method.class"], theirs["amqp.method.method"]) == (str(ours.CLASS_ID), str(ours.METHOD_ID))
    got = theirs["amqp.method.arguments"] or {}
    got.pop("amqp.method.arguments.publish_number", None)  # its own count of what is to be confirmed
    for name, value in zip(ours.FIELDS, got.values(), strict=True):
        expected = getattr(ours, name)
        assert count(value) == 10 if isinstance(expected, list) else value in as_tshark_prints(expected), name


def test_a_header_is_dissected_as_written(dissected: list[dict[str, Any]]) -> None:
    theirs = dissected[-3]
    assert theirs["amqp.header.class"] == "60"
    assert theirs["amqp.header.weight"] == "0"
    assert theirs["amqp.header.body-size"] == "7"
    assert theirs["amqp.header.property-flags"] == "0xfffc"
    properties = {k.rsplit(".", 1)[1]: v for k, v in theirs["amqp.header.properties"].items()}
    assert list(properties) == list(HEADER.properties())
    assert count(properties.pop("headers")) == 10
    assert properties.pop("timestamp").startswith("Nov 14, 2023 22:13:20")
    assert properties == {n: str(getattr(HEADER, n)) for n in properties}


def test_a_body_and_a_heartbeat_are_dissected_as_written(dissected: list[dict[str, Any]]) -> None:
    body, heartbeat = dissected[-2:]
    assert (body["amqp.type"], body["amqp.payload"]) == ("3", b"payload".hex(":"))
    assert (heartbeat["amqp.type"], heartbeat["amqp.length"]) == ("8", "0")

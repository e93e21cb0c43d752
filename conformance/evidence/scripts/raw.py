"""AMQP 0-9-1 over a plain socket, with nothing but the standard library.

Only as much of the protocol as it takes to say what the reproducer says and to read what comes. Nothing is answered by
itself: the reproducer has all that the client says.
"""

import itertools
import select
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

METHODS: dict[str, tuple[int, int, str]] = {
    "connection.start": (10, 10, "version_major:B version_minor:B server_properties:F mechanisms:S locales:S"),
    "connection.start-ok": (10, 11, "client_properties:F mechanism:s response:S locale:s"),
    "connection.tune": (10, 30, "channel_max:H frame_max:I heartbeat:H"),
    "connection.tune-ok": (10, 31, "channel_max:H frame_max:I heartbeat:H"),
    "connection.open": (10, 40, "virtual_host:s reserved_1:s reserved_2:b"),
    "connection.open-ok": (10, 41, "reserved_1:s"),
    "connection.close": (10, 50, "reply_code:H reply_text:s class_id:H method_id:H"),
    "connection.close-ok": (10, 51, ""),
    "connection.blocked": (10, 60, "reason:s"),
    "connection.unblocked": (10, 61, ""),
    "channel.open": (20, 10, "reserved_1:s"),
    "channel.open-ok": (20, 11, "reserved_1:S"),
    "channel.flow": (20, 20, "active:b"),
    "channel.flow-ok": (20, 21, "active:b"),
    "channel.close": (20, 40, "reply_code:H reply_text:s class_id:H method_id:H"),
    "channel.close-ok": (20, 41, ""),
    "exchange.declare": (
        40,
        10,
        "reserved_1:H exchange:s type:s passive:b durable:b auto_delete:b internal:b no_wait:b arguments:F",
    ),
    "exchange.declare-ok": (40, 11, ""),
    "exchange.delete": (40, 20, "reserved_1:H exchange:s if_unused:b no_wait:b"),
    "exchange.delete-ok": (40, 21, ""),
    "exchange.bind": (40, 30, "reserved_1:H destination:s source:s routing_key:s no_wait:b arguments:F"),
    "exchange.bind-ok": (40, 31, ""),
    "exchange.unbind": (40, 40, "reserved_1:H destination:s source:s routing_key:s no_wait:b arguments:F"),
    "exchange.unbind-ok": (40, 51, ""),
    "queue.declare": (
        50,
        10,
        "reserved_1:H queue:s passive:b durable:b exclusive:b auto_delete:b no_wait:b arguments:F",
    ),
    "queue.declare-ok": (50, 11, "queue:s message_count:I consumer_count:I"),
    "queue.bind": (50, 20, "reserved_1:H queue:s exchange:s routing_key:s no_wait:b arguments:F"),
    "queue.bind-ok": (50, 21, ""),
    "queue.purge": (50, 30, "reserved_1:H queue:s no_wait:b"),
    "queue.purge-ok": (50, 31, "message_count:I"),
    "queue.delete": (50, 40, "reserved_1:H queue:s if_unused:b if_empty:b no_wait:b"),
    "queue.delete-ok": (50, 41, "message_count:I"),
    "queue.unbind": (50, 50, "reserved_1:H queue:s exchange:s routing_key:s arguments:F"),
    "queue.unbind-ok": (50, 51, ""),
    "basic.qos": (60, 10, "prefetch_size:I prefetch_count:H global_:b"),
    "basic.qos-ok": (60, 11, ""),
    "basic.consume": (
        60,
        20,
        "reserved_1:H queue:s consumer_tag:s no_local:b no_ack:b exclusive:b no_wait:b arguments:F",
    ),
    "basic.consume-ok": (60, 21, "consumer_tag:s"),
    "basic.cancel": (60, 30, "consumer_tag:s no_wait:b"),
    "basic.cancel-ok": (60, 31, "consumer_tag:s"),
    "basic.publish": (60, 40, "reserved_1:H exchange:s routing_key:s mandatory:b immediate:b"),
    "basic.return": (60, 50, "reply_code:H reply_text:s exchange:s routing_key:s"),
    "basic.deliver": (60, 60, "consumer_tag:s delivery_tag:Q redelivered:b exchange:s routing_key:s"),
    "basic.get": (60, 70, "reserved_1:H queue:s no_ack:b"),
    "basic.get-ok": (60, 71, "delivery_tag:Q redelivered:b exchange:s routing_key:s message_count:I"),
    "basic.get-empty": (60, 72, "reserved_1:s"),
    "basic.ack": (60, 80, "delivery_tag:Q multiple:b"),
    "basic.reject": (60, 90, "delivery_tag:Q requeue:b"),
    "basic.recover-async": (60, 100, "requeue:b"),
    "basic.recover": (60, 110, "requeue:b"),
    "basic.recover-ok": (60, 111, ""),
    "basic.nack": (60, 120, "delivery_tag:Q multiple:b requeue:b"),
    "confirm.select": (85, 10, "no_wait:b"),
    "confirm.select-ok": (85, 11, ""),
    "tx.select": (90, 10, ""),
    "tx.select-ok": (90, 11, ""),
    "tx.commit": (90, 20, ""),
    "tx.commit-ok": (90, 21, ""),
    "tx.rollback": (90, 30, ""),
    "tx.rollback-ok": (90, 31, ""),
}
NAMES = {(number, method): name for name, (number, method, _) in METHODS.items()}
SIZES = {"t": 1, "b": 1, "B": 1, "s": 2, "u": 2, "I": 4, "i": 4, "l": 8, "L": 8, "f": 4, "d": 8, "D": 5, "T": 8, "V": 0}
"""Octets of a value in a table, by its letter; others tell theirs in four octets in front."""
WHOLE = "bBsuIilL"
CONTENT = ("basic.publish", "basic.return", "basic.deliver", "basic.get-ok")
PROPERTIES = {
    "content_type": "s",
    "content_encoding": "s",
    "headers": "F",
    "delivery_mode": "B",
    "priority": "B",
    "correlation_id": "s",
    "reply_to": "s",
    "expiration": "s",
    "message_id": "s",
    "timestamp": "Q",
    "type": "s",
    "user_id": "s",
    "app_id": "s",
    "cluster_id": "s",
}


def pack(kind: str, value: Any) -> bytes:
    """One argument: a number, a short or long string, a table."""
    if kind in "BHIQ":
        return struct.pack(">" + kind, value or 0)
    if kind == "F":
        raw = b"".join(pack("s", name) + typed(inner) for name, inner in (value or {}).items())
        return struct.pack(">I", len(raw)) + raw
    raw = value if isinstance(value, bytes) else str(value or "").encode()
    return struct.pack(">B" if kind == "s" else ">I", len(raw)) + raw


def typed(value: Any) -> bytes:
    """A value in a table, after its letter."""
    if value is None:
        return b"V"
    if isinstance(value, bool):
        return b"t" + bytes([value])
    if isinstance(value, int):
        return b"I" + struct.pack(">i", value) if -(2**31) <= value < 2**31 else b"l" + struct.pack(">q", value)
    if isinstance(value, float):
        return b"d" + struct.pack(">d", value)
    if isinstance(value, dict):
        return b"F" + pack("F", value)
    if isinstance(value, list):
        raw = b"".join(map(typed, value))
        return b"A" + struct.pack(">I", len(raw)) + raw
    return b"S" + pack("S", value)


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def encode(row: dict[str, Any]) -> bytes:
    """What the client sends: a method, with its content if it has one, or octets as they are."""
    name, channel = row["method"], row.get("channel", 0)
    if name == "octets":
        return bytes.fromhex(row["hex"])
    number, method, arguments = METHODS[name]
    raw, bits = struct.pack(">HH", number, method), list[bool]()
    for argument, kind in (word.split(":") for word in arguments.split()):
        if kind == "b":
            bits.append(bool(row.get(argument)))
            continue
        raw, bits = raw + packed(bits), []
        raw += pack(kind, row.get(argument))
    frames = frame(1, channel, raw + packed(bits))
    return frames + content(row, channel) if name == "basic.publish" else frames


def packed(bits: list[bool]) -> bytes:
    return bytes([sum(bit << place for place, bit in enumerate(bits))]) if bits else b""


def content(row: dict[str, Any], channel: int) -> bytes:
    body, properties = row.get("body", "").encode("latin-1"), row.get("properties", {})
    flags = sum(0x8000 >> place for place, name in enumerate(PROPERTIES) if name in properties)
    listed = b"".join(pack(kind, properties[name]) for name, kind in PROPERTIES.items() if name in properties)
    header = frame(2, channel, struct.pack(">HHQH", 60, 0, len(body), flags) + listed)
    size = 120000
    return header + b"".join(frame(3, channel, body[at : at + size]) for at in range(0, len(body), size))


def unpack(kind: str, raw: bytes, at: int) -> tuple[Any, int]:
    """One argument, and where the next begins. Tables are skipped."""
    if kind in "BHIQ":
        size = struct.calcsize(kind)
        return struct.unpack_from(">" + kind, raw, at)[0], at + size
    size = raw[at] if kind == "s" else struct.unpack_from(">I", raw, at)[0]
    begin = at + (1 if kind == "s" else 4)
    value: Any = raw[begin : begin + size]
    return (value.decode("utf-8", "replace") if kind == "s" else None if kind == "F" else value), begin + size


def decode(raw: bytes) -> dict[str, Any]:
    """A method and its arguments by name."""
    name = NAMES.get(struct.unpack_from(">HH", raw), "unknown")
    found: dict[str, Any] = {"method": name}
    at, bit = 4, 0
    for argument, kind in (word.split(":") for word in METHODS[name][2].split()) if name in METHODS else ():
        if kind == "b":
            found[argument] = bool(raw[at] >> bit & 1)
            bit += 1
        else:
            at, bit = at + (bit > 0), 0
            found[argument], at = unpack(kind, raw, at)
    return found


def named(raw: bytes) -> tuple[str | None, dict[str, int]]:
    """The message id of a content header, and of its headers the whole numbers."""
    flags, at = struct.unpack_from(">H", raw, 12)[0], 14
    found, headers = None, dict[str, int]()
    for place, (name, kind) in enumerate(PROPERTIES.items()):
        if flags & 0x8000 >> place:
            begin = at
            value, at = unpack(kind, raw, at)
            if name == "message_id":
                found = str(value)
            elif name == "headers":
                headers = whole(raw[begin + 4 : at])
    return found, headers


def whole(table: bytes) -> dict[str, int]:
    """The entries of a table that are whole numbers."""
    found, at = dict[str, int](), 0
    while at < len(table):
        name, at = unpack("s", table, at)
        letter = chr(table[at])
        size = SIZES[letter] if letter in SIZES else 4 + struct.unpack_from(">I", table, at + 1)[0]
        if letter in WHOLE:
            found[name] = int.from_bytes(table[at + 1 : at + 1 + size], "big", signed=letter in "bsIl")
        at += 1 + size
    return found


class Connection:
    """One connection: frames in and out."""

    def __init__(self, name: str, url: str, capabilities: dict[str, Any]) -> None:
        self.name, self.rest, self.ended = name, b"", False
        self.pending: dict[int, dict[str, Any]] = {}
        parts = urlsplit(url)
        port = parts.port or (5671 if parts.scheme == "amqps" else 5672)
        self.socket = socket.create_connection((parts.hostname or "localhost", port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if parts.scheme == "amqps":
            self.socket = _tls(parts.query).wrap_socket(self.socket, server_hostname=parts.hostname)
        self._log_in(parts, capabilities)

    def _log_in(self, parts: Any, capabilities: dict[str, Any]) -> None:
        self.socket.sendall(b"AMQP\0\0\x09\x01")
        self._await("connection.start")
        login = f"\0{unquote(parts.username or 'guest')}\0{unquote(parts.password or 'guest')}"
        self.send(
            {
                "method": "connection.start-ok",
                "client_properties": {"capabilities": capabilities},
                "mechanism": "PLAIN",
                "response": login,
                "locale": "en_US",
            }
        )
        tune = self._await("connection.tune")
        limits = {name: tune[name] for name in ("channel_max", "frame_max")}
        beats = int(parse_qs(parts.query).get("heartbeat", ["0"])[0])
        self.send(
            {"method": "connection.tune-ok", **limits, "heartbeat": beats},
            {"method": "connection.open", "virtual_host": unquote(parts.path.removeprefix("/")) or "/"},
        )
        self._await("connection.open-ok")

    def _await(self, method: str) -> dict[str, Any]:
        until = time.monotonic() + 10
        while time.monotonic() < until and not self.ended:
            for found in self.receive(1):
                if found["method"] == method:
                    return found
                if found["method"] in ("connection.close", "end"):
                    raise OSError(f"the broker refuses the connection: {found.get('reply_text', 'it hangs up')}")
        raise OSError(f"the broker does not send {method}")

    def send(self, *rows: dict[str, Any]) -> None:
        if not self.ended:
            try:
                self.socket.sendall(b"".join(map(encode, rows)))
            except OSError:
                self.ended = True

    def receive(self, seconds: float) -> Iterator[dict[str, Any]]:
        """The frames that are whole, after waiting for some."""
        if self.ended or not self._ready(seconds):
            return
        try:
            data = self.socket.recv(1 << 20)
        except OSError:
            data = b""
        self.rest += data
        while len(self.rest) >= 8 and len(self.rest) >= 8 + (size := struct.unpack_from(">I", self.rest, 3)[0]):
            kind, channel = struct.unpack_from(">BH", self.rest)
            payload, self.rest = self.rest[7 : 7 + size], self.rest[8 + size :]
            found = self._whole(kind, channel, payload)
            if found:
                yield {"on": self.name, "channel": channel, **found}
        if not data:
            self.ended = True
            yield {"on": self.name, "channel": 0, "method": "end"}

    def _ready(self, seconds: float) -> bool:
        tls = isinstance(self.socket, ssl.SSLSocket) and self.socket.pending()
        return bool(tls or select.select([self.socket], [], [], seconds)[0])

    def _whole(self, kind: int, channel: int, payload: bytes) -> dict[str, Any] | None:
        """A method, once its content is whole."""
        if kind == 1:
            found = decode(payload)
            if found["method"] not in CONTENT:
                return found
            self.pending[channel] = found
        elif kind == 2 and channel in self.pending:
            name, headers = named(payload)
            self.pending[channel] |= {
                "size": struct.unpack_from(">Q", payload, 4)[0],
                "body": b"",
                "id": name,
                "headers": headers,
            }
        elif kind == 3 and channel in self.pending:
            self.pending[channel]["body"] += payload
        waiting = self.pending.get(channel, {})
        if kind == 1 or len(waiting.get("body", b"")) < waiting.get("size", 1 << 63):
            return None
        del self.pending[channel]
        return {**waiting, "message": waiting["id"] or waiting["body"].decode("latin-1")}


def _tls(query: str) -> ssl.SSLContext:
    asked = parse_qs(query)
    context = ssl.create_default_context(cafile=asked.get("cacertfile", [None])[0])
    if asked.get("verify") == ["verify_none"]:
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


class Wire:
    """All connections of one performance."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.connections: dict[str, Connection] = {}
        self.declared: list[dict[str, Any]] = []

    def connect(self, name: str, capabilities: dict[str, Any]) -> None:
        self.connections[name] = Connection(name, self.url, capabilities)

    def send(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.declared += [row for row in rows if row["method"] in ("queue.declare", "exchange.declare")]
        self.connections[name].send(*rows)

    def receive(self, seconds: float) -> list[dict[str, Any]]:
        live = [one for one in self.connections.values() if not one.ended]
        ready = select.select([one.socket for one in live], [], [], seconds)[0] if live else []
        if not live:
            time.sleep(seconds)
        return [found for one in live if one.socket in ready or one.socket.fileno() < 0 for found in one.receive(0)]

    def hang_up(self, name: str) -> None:
        self.connections[name].ended = True
        self.connections[name].socket.close()

    def clean(self) -> None:
        """Removes what was declared, on a connection of its own."""
        for one in self.connections.values():
            one.socket.close()
        broom = Connection("broom", self.url, {})
        for channel, row in zip(itertools.count(1), self.declared, strict=False):
            kind = row["method"].partition(".")[0]
            if row.get(kind):
                broom.send(
                    {"method": "channel.open", "channel": channel},
                    {"method": f"{kind}.delete", "channel": channel, kind: row[kind]},
                )
        broom.send({"method": "connection.close", "reply_code": 200, "reply_text": "normal shutdown"})
        until = time.monotonic() + 5
        while not broom.ended and time.monotonic() < until:
            if any(found["method"] == "connection.close-ok" for found in broom.receive(1)):
                break
        broom.socket.close()

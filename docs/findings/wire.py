"""Just enough AMQP 0-9-1 over a plain socket to show a finding: no client library, no project code.

Every function that begins an exchange returns bytes, so a script can put several frames into one TCP write.
"""

from __future__ import annotations

import socket
import struct
import sys
from urllib.parse import unquote, urlsplit

Frame = tuple[int, tuple[int, int], bytes]  # channel, (class id, method id) or (0, 0) for content, arguments
CONTENT = (0, 0)

CHANNEL_OPEN, CHANNEL_OPEN_OK, CHANNEL_CLOSE, CHANNEL_CLOSE_OK = (20, 10), (20, 11), (20, 40), (20, 41)
CONNECTION_CLOSE, CONNECTION_CLOSE_OK = (10, 50), (10, 51)
DECLARE, DECLARE_OK, DELETE, DELETE_OK = (50, 10), (50, 11), (50, 40), (50, 41)
BIND, BIND_OK = (50, 20), (50, 21)
EXCHANGE_DECLARE, EXCHANGE_DECLARE_OK, EXCHANGE_DELETE, EXCHANGE_DELETE_OK = (40, 10), (40, 11), (40, 20), (40, 21)
CONSUME, CONSUME_OK, CANCEL, CANCEL_OK = (60, 20), (60, 21), (60, 30), (60, 31)
PUBLISH, DELIVER, GET, GET_OK, GET_EMPTY = (60, 40), (60, 60), (60, 70), (60, 71), (60, 72)
ACK, REJECT, NACK, CONFIRM, CONFIRM_OK = (60, 80), (60, 90), (60, 120), (85, 10), (85, 11)
FLOW, FLOW_OK = (20, 20), (20, 21)
QOS, QOS_OK = (60, 10), (60, 11)
RETURN, RECOVER_ASYNC, RECOVER, RECOVER_OK = (60, 50), (60, 100), (60, 110), (60, 111)
TX_SELECT, TX_SELECT_OK, TX_COMMIT, TX_COMMIT_OK = (90, 10), (90, 11), (90, 20), (90, 21)


def short(text: str) -> bytes:
    raw = text.encode()
    return bytes([len(raw)]) + raw


def table(**entries: str | int) -> bytes:
    body = b""
    for name, value in entries.items():
        key = short(name.replace("_", "-"))
        if isinstance(value, int):
            body += key + b"I" + struct.pack(">i", value)
        else:
            body += key + b"S" + struct.pack(">I", len(value)) + value.encode()
    return struct.pack(">I", len(body)) + body


def frame(kind: int, channel: int, payload: bytes) -> bytes:
    return struct.pack(">BHI", kind, channel, len(payload)) + payload + b"\xce"


def method(channel: int, name: tuple[int, int], arguments: bytes = b"") -> bytes:
    return frame(1, channel, struct.pack(">HH", *name) + arguments)


def publish(
    channel: int,
    queue: str,
    body: str,
    mandatory: bool = False,
    immediate: bool = False,
    exchange: str = "",
) -> bytes:
    raw = body.encode()
    header = struct.pack(">HHQHB", 60, 0, len(raw), 0x1000, 2)  # delivery-mode 2: persistent
    flags = bytes([mandatory + 2 * immediate])
    start = method(channel, PUBLISH, bytes(2) + short(exchange) + short(queue) + flags)
    return start + frame(2, channel, header) + (frame(3, channel, raw) if raw else b"")


def consume(channel: int, queue: str, tag: str = "c", no_ack: bool = False) -> bytes:
    return method(channel, CONSUME, bytes(2) + short(queue) + short(tag) + bytes([2 * no_ack]) + table())


def qos(channel: int, count: int, shared: bool = False, size: int = 0) -> bytes:
    """`shared` is the bit called global."""
    return method(channel, QOS, struct.pack(">IHB", size, count, shared))


def recover(channel: int, requeue: bool = True) -> bytes:
    return method(channel, RECOVER, bytes([requeue]))


def cancel(channel: int, tag: str = "c") -> bytes:
    return method(channel, CANCEL, short(tag) + bytes(1))


def get(channel: int, queue: str, no_ack: bool = False) -> bytes:
    return method(channel, GET, bytes(2) + short(queue) + bytes([no_ack]))


def ack(channel: int, tag: int, multiple: bool = False) -> bytes:
    return method(channel, ACK, struct.pack(">QB", tag, multiple))


def nack(channel: int, tag: int, multiple: bool = False, requeue: bool = True) -> bytes:
    return method(channel, NACK, struct.pack(">QB", tag, multiple + 2 * requeue))


def reject(channel: int, tag: int, requeue: bool = True) -> bytes:
    return method(channel, REJECT, struct.pack(">QB", tag, requeue))


def close(channel: int) -> bytes:
    """channel.close, or connection.close for channel 0."""
    name = CHANNEL_CLOSE if channel else CONNECTION_CLOSE
    return method(channel, name, struct.pack(">H", 200) + short("done") + bytes(4))


def reason(arguments: bytes) -> str:
    """Reply code and text of a close."""
    return f"{struct.unpack_from('>H', arguments)[0]} {arguments[3 : 3 + arguments[2]].decode()}"


def closing(found: Frame) -> str:
    """A close in words, with the method that it names: connection.close 530 NOT_ALLOWED, (60, 20)."""
    scope = "channel" if found[1] == CHANNEL_CLOSE else "connection"
    return f"{scope}.close {reason(found[2])}, {struct.unpack('>HH', found[2][-4:])}"


def delivery_tag(found: Frame) -> int:
    """That of a delivery or of a get-ok; in basic.deliver it stands behind the consumer tag."""
    at = 1 + found[2][0] if found[1] == DELIVER else 0
    return int(struct.unpack_from(">Q", found[2], at)[0])


_CAPABILITIES = short("consumer_cancel_notify") + b"t\x01"
_ENTRY = short("capabilities") + b"F" + struct.pack(">I", len(_CAPABILITIES)) + _CAPABILITIES
NOTIFY = struct.pack(">I", len(_ENTRY)) + _ENTRY
"""Properties of a client that wants to be told when the broker ends a consumer."""


class Connection:
    """One connection, frame by frame."""

    def __init__(self, url: str, properties: bytes = bytes(4), frame_max: int = 0) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 5672), timeout=15)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = b""
        self.send(b"AMQP\x00\x00\x09\x01")
        start = self.wait((10, 10))[2]
        self.broker = f"{_property(start, b'product')} {_property(start, b'version')}"
        login = f"\0{unquote(parts.username or 'guest')}\0{unquote(parts.password or 'guest')}"
        response = struct.pack(">I", len(login)) + login.encode()
        self.send(method(0, (10, 11), properties + short("PLAIN") + response + short("en_US")))
        limits = self.wait((10, 30))[2]
        largest = struct.pack(">I", frame_max) if frame_max else limits[2:6]
        self.send(method(0, (10, 31), limits[:2] + largest + bytes(2)))
        self.send(method(0, (10, 40), short(unquote(parts.path[1:]) or "/") + short("") + bytes(1)))
        self.wait((10, 41))

    def send(self, *frames: bytes) -> None:
        """All of it in one TCP write."""
        self._socket.sendall(b"".join(frames))

    def read(self, timeout: float = 15.0) -> Frame | None:
        """The next frame that is no heartbeat; None when none comes or the broker hangs up."""
        self._socket.settimeout(timeout)
        while True:
            size = int.from_bytes(self._buffer[3:7], "big") + 8 if len(self._buffer) >= 7 else 1 << 62
            if len(self._buffer) >= size:
                raw, self._buffer = self._buffer[:size], self._buffer[size:]
                if raw[0] != 8:
                    return _split(raw)
                continue
            try:
                more = self._socket.recv(65536)
            except (TimeoutError, ConnectionError):
                return None
            if not more:
                return None
            self._buffer += more

    def wait(self, *names: tuple[int, int]) -> Frame:
        """Reads on until one of these methods comes; what comes before is dropped."""
        while (found := self.read()) is not None:
            if found[1] in names:
                return found
            if found[1] in (CONNECTION_CLOSE, CHANNEL_CLOSE):
                raise ConnectionError(reason(found[2]))
        raise ConnectionError(f"no {names}")

    def open(self, channel: int) -> None:
        self.send(method(channel, CHANNEL_OPEN, short("")))
        self.wait(CHANNEL_OPEN_OK)

    def declare(self, channel: int, queue: str, queue_type: str, **arguments: int | str) -> int:
        """Declares a durable queue; the number of ready messages in it."""
        options = table(x_queue_type=queue_type, **arguments)
        self.send(method(channel, DECLARE, bytes(2) + short(queue) + b"\x02" + options))
        answer = self.wait(DECLARE_OK)[2]
        return int.from_bytes(answer[1 + answer[0] : 5 + answer[0]], "big")

    def delete(self, channel: int, queue: str) -> None:
        self.send(method(channel, DELETE, bytes(2) + short(queue) + bytes(1)))
        self.wait(DELETE_OK)

    def exchange(self, channel: int, name: str, kind: str, **arguments: int | str) -> None:
        """Declares one that is neither durable nor internal."""
        what = bytes(2) + short(name) + short(kind) + bytes(1) + table(**arguments)
        self.send(method(channel, EXCHANGE_DECLARE, what))
        self.wait(EXCHANGE_DECLARE_OK)

    def bind(self, channel: int, queue: str, exchange: str, key: str = "") -> None:
        what = bytes(2) + short(queue) + short(exchange) + short(key) + bytes(1) + bytes(4)
        self.send(method(channel, BIND, what))
        self.wait(BIND_OK)

    def drop(self, channel: int, *exchanges: str) -> None:
        """Deletes exchanges."""
        for one in exchanges:
            self.send(method(channel, EXCHANGE_DELETE, bytes(2) + short(one) + bytes(1)))
            self.wait(EXCHANGE_DELETE_OK)

    def fill(self, channel: int, queue: str, bodies: list[str]) -> None:
        """Publishes on a channel put into confirm mode, and waits until all of it is confirmed."""
        self.send(method(channel, CONFIRM, bytes(1)))
        self.wait(CONFIRM_OK)
        self.send(*(publish(channel, queue, body) for body in bodies))
        open_tags = set(range(1, len(bodies) + 1))
        while open_tags:
            arguments = self.wait(ACK)[2]
            tag, multiple = struct.unpack(">QB", arguments)
            open_tags -= set(range(1, tag + 1)) if multiple else {tag}

    def take(self, channel: int, queue: str, no_ack: bool = False) -> str | None:
        """The body of the next ready message, by basic.get."""
        self.send(get(channel, queue, no_ack))
        if self.wait(GET_OK, GET_EMPTY)[1] == GET_EMPTY:
            return None
        self.read()
        body = self.read()
        assert body is not None
        return body[2].decode()

    def end(self, reset: bool = False) -> None:
        """Without a word: by FIN, or by RST."""
        if reset:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._socket.close()


def _split(raw: bytes) -> Frame:
    kind, channel = raw[0], int.from_bytes(raw[1:3], "big")
    if kind == 1:
        return channel, (int.from_bytes(raw[7:9], "big"), int.from_bytes(raw[9:11], "big")), raw[11:-1]
    return channel, CONTENT, raw[7:-1]


def _property(start: bytes, name: bytes) -> str:
    at = start.index(bytes([len(name)]) + name + b"S") + len(name) + 2
    size = int.from_bytes(start[at : at + 4], "big")
    return start[at + 4 : at + 4 + size].decode()


def urls() -> list[str]:
    """The brokers named on the command line."""
    return sys.argv[1:] or ["amqp://guest:guest@127.0.0.1:5672/%2F"]

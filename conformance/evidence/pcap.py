"""The frames of an exchange as a capture that Wireshark and tshark open.

TCP and IP are made up around the recorded octets: each connection is a client port of its own, every event a segment
with the next sequence number, a handshake before the first and no loss anywhere. Addresses and times are made up, too:
a millisecond for each step. Classic pcap, raw IPv4 (link type 101), checksums filled in.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any

BROKER, CLIENT, PORT = bytes((127, 0, 0, 1)), bytes((127, 0, 0, 2)), 5672
_SYN, _ACK, _PUSH = 2, 16, 8
_MOST = 60_000


def capture(steps: Iterable[Mapping[str, Any]]) -> bytes:
    """The octets of a pcap file; steps as in a case: direction, connection, raw in hexadecimal, n."""
    streams: dict[str, _Stream] = {}
    packets = [struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 101)]
    for step in steps:
        raw = bytes.fromhex(step["raw"])
        if raw and step["direction"] in "<>":
            stream = streams.setdefault(step["connection"], _Stream(50_000 + len(streams)))
            for packet in stream.say(step["direction"] == ">", raw):
                packets.append(struct.pack("<IIII", 0, 1000 * step["n"], len(packet), len(packet)) + packet)
    return b"".join(packets)


class _Stream:
    """One TCP connection."""

    def __init__(self, port: int) -> None:
        self._port, self._open = port, False
        self._sent = {True: 1000, False: 5000}

    def say(self, client: bool, raw: bytes) -> Iterable[bytes]:
        if not self._open:
            self._open = True
            for by, flags in ((True, _SYN), (False, _SYN | _ACK), (True, _ACK)):
                yield self._packet(by, flags, b"")
                self._sent[by] += bool(flags & _SYN)
        for at in range(0, len(raw), _MOST):
            part = raw[at : at + _MOST]
            yield self._packet(client, _ACK | _PUSH, part)
            self._sent[client] += len(part)

    def _packet(self, client: bool, flags: int, data: bytes) -> bytes:
        ports = (self._port, PORT) if client else (PORT, self._port)
        source, target = (CLIENT, BROKER) if client else (BROKER, CLIENT)
        acked = self._sent[not client] if flags & _ACK else 0
        head = struct.pack(">HHIIBBHHH", *ports, self._sent[client], acked, 0x50, flags, 65535, 0, 0)
        whole = source + target + struct.pack(">BBH", 0, 6, len(head) + len(data)) + head + data
        tcp = head[:16] + struct.pack(">H", _checksum(whole)) + head[18:] + data
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0x4000, 64, 6, 0) + source + target
        return ip[:10] + struct.pack(">H", _checksum(ip)) + ip[12:] + tcp


def _checksum(octets: bytes) -> int:
    padded = octets + b"\0" * (len(octets) % 2)
    total: int = sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF

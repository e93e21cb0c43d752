"""Captures that never happened: TCP sessions as segments, and segments as files in every shape that we claim to read.

A `Talk` is one connection between a client and a broker; what is said in it becomes segments with right sequence and
acknowledgement numbers, starting anywhere, so also just before the numbers wrap around. A list of segments may be
mutated at will before it is written: the files are only as true as it is.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16
MASK = (1 << 32) - 1
BEGIN_NS = 1_700_000_000_000_000_000
STEP_NS = 50_000

_pack = struct.pack


@dataclass(frozen=True, slots=True)
class Seg:
    """One segment; ports and hosts are of its source and destination."""

    source: tuple[str, int]
    destination: tuple[str, int]
    seq: int
    ack: int
    flags: int
    data: bytes = b""
    time_ns: int = 0


class Talk:
    """One connection; its segments are appended to `into`, which several talks may share."""

    def __init__(
        self,
        into: list[Seg],
        client: tuple[str, int] = ("10.0.0.7", 40000),
        broker: tuple[str, int] = ("10.0.0.1", 5672),
        numbers: tuple[int, int] = (1000, 9000),
        mss: int = 1448,
    ) -> None:
        self.into, self.ends, self.mss = into, (client, broker), mss
        self.next = [numbers[0] & MASK, numbers[1] & MASK]

    def open(self) -> Talk:
        self._send(0, SYN, b"")
        self._send(1, SYN | ACK, b"")
        self._send(0, ACK, b"")
        return self

    def client(self, *pieces: bytes) -> Talk:
        """The client says all of this in one go."""
        return self._say(0, b"".join(pieces))

    def broker(self, *pieces: bytes) -> Talk:
        return self._say(1, b"".join(pieces))

    def close(self) -> Talk:
        """The client goes."""
        self._send(0, FIN | ACK, b"")
        self._send(1, FIN | ACK, b"")
        self._send(0, ACK, b"")
        return self

    def reset(self, side: int = 1) -> Talk:
        self._send(side, RST | ACK, b"")
        return self

    def _say(self, side: int, data: bytes) -> Talk:
        for at in range(0, len(data), self.mss):
            self._send(side, PSH | ACK, data[at : at + self.mss])
        return self

    def _send(self, side: int, flags: int, data: bytes) -> None:
        ack = self.next[1 - side] if flags & ACK else 0
        time = BEGIN_NS + len(self.into) * STEP_NS
        self.into.append(Seg(self.ends[side], self.ends[1 - side], self.next[side], ack, flags, data, time))
        self.next[side] = (self.next[side] + len(data) + bool(flags & (SYN | FIN))) & MASK


def datagram(seg: Seg, number: int = 0, *, options: bytes = b"", v6_headers: bytes = b"") -> bytes:
    """IPv4 or IPv6, as the addresses ask for. `options` go into the IPv4 header; `v6_headers` is one header of
    destination options between IPv6 and TCP."""
    tcp = _pack(">HHIIBBHHH", seg.source[1], seg.destination[1], seg.seq, seg.ack, 0x80, seg.flags, 65535, 0, 0)
    tcp += b"\x01\x01\x08\x0a" + bytes(8) + seg.data
    source, destination = (ipaddress.ip_address(end[0]).packed for end in (seg.source, seg.destination))
    if len(source) == 16:
        first = 60 if v6_headers else 6
        return _pack(">IHBB", 6 << 28, len(v6_headers) + len(tcp), first, 64) + source + destination + v6_headers + tcp
    size = 20 + len(options)
    head = _pack(">BBHHHBBH", 0x40 | size // 4, 0, size + len(tcp), number & 0xFFFF, 0, 64, 6, 0)
    return head + source + destination + options + tcp


def _kind(ip: bytes) -> bytes:
    return b"\x86\xdd" if ip[0] >> 4 == 6 else b"\x08\x00"


LINKS: Mapping[str, tuple[int, Callable[[bytes], bytes]]] = {
    "ethernet": (1, lambda ip: bytes(12) + _kind(ip) + ip + bytes(max(0, 46 - len(ip)))),
    "vlan": (1, lambda ip: bytes(12) + b"\x81\x00\x00\x07" + _kind(ip) + ip),
    "qinq": (1, lambda ip: bytes(12) + b"\x88\xa8\x00\x07\x81\x00\x00\x09" + _kind(ip) + ip),
    "cooked": (113, lambda ip: bytes(14) + _kind(ip) + ip),
    "cooked2": (276, lambda ip: _kind(ip) + bytes(18) + ip),
    "null": (0, lambda ip: _pack("<I", 30 if ip[0] >> 4 == 6 else 2) + ip),
    "loop": (108, lambda ip: _pack(">I", 24 if ip[0] >> 4 == 6 else 2) + ip),
    "raw": (101, lambda ip: ip),
}

Packet = tuple[int, bytes]
"""(nanoseconds, octets with their link layer)"""


def packets(segments: Iterable[Seg], link: str = "ethernet") -> list[Packet]:
    wrap = LINKS[link][1]
    return [(seg.time_ns, wrap(datagram(seg, number))) for number, seg in enumerate(segments)]


def pcap(found: Iterable[Packet], link: int = 1, *, order: str = "<", nano: bool = False, snap: int = 1 << 18) -> bytes:
    """A classic pcap file."""
    out = [_pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, snap, link)]
    for time, octets in found:
        part = time % 1_000_000_000 // (1 if nano else 1000)
        out += [_pack(order + "IIII", time // 1_000_000_000, part, len(octets[:snap]), len(octets)), octets[:snap]]
    return b"".join(out)


def pcapng(found: Iterable[Packet], link: int = 1, *, order: str = "<", nano: bool = False) -> bytes:
    """A pcapng file: a section, an interface, a block that is to be passed over, packets."""
    resolution = _pack(order + "HHB3xHH", 9, 1, 9, 0, 0) if nano else b""
    out = [
        _block(order, 0x0A0D0D0A, _pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)),
        _block(order, 1, _pack(order + "HHI", link, 0, 0) + resolution),
        _block(order, 5, bytes(12)),
    ]
    for time, octets in found:
        units = time if nano else time // 1000
        head = _pack(order + "IIIII", 0, units >> 32, units & MASK, len(octets), len(octets))
        out.append(_block(order, 6, head + octets + bytes(-len(octets) % 4)))
    return b"".join(out)


def _block(order: str, kind: int, body: bytes) -> bytes:
    size = _pack(order + "I", 12 + len(body))
    return _pack(order + "I", kind) + size + body + size


def moved(seg: Seg, **changes: object) -> Seg:
    """The same segment with some of its fields changed."""
    return replace(seg, **changes)  # type: ignore[arg-type]


def write(path: str, segments: Iterable[Seg]) -> None:
    """A plain Ethernet pcap, written as it goes; for captures that are too large to hold."""
    wrap = LINKS["ethernet"][1]
    with open(path, "wb") as file:
        file.write(pcap([]))
        for number, seg in enumerate(segments):
            octets = wrap(datagram(seg, number))
            part = seg.time_ns % 1_000_000_000 // 1000
            file.write(_pack("<IIII", seg.time_ns // 1_000_000_000, part, len(octets), len(octets)))
            file.write(octets)

"""From packets to TCP segments: the link layers and IP versions in between.

A segment is `(key, seq, ack, flags, octets)`. `key` is the addresses and ports, source first: 12 octets with IPv4, 36
with IPv6; `answer` turns it round. Padding is removed. Octets that a snapshot length cut off are missing, and TCP sees
a hole. Only the first fragment of a fragmented datagram can be read, and it ends in a hole as well.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Mapping

FIN, SYN, RST, ACK = 1, 2, 4, 16

Segment = tuple[bytes, int, int, int, bytes]

_tcp = struct.Struct(">IIBB").unpack_from
_plain = struct.Struct(">12xHBxHxxHxBxx12sIIBB").unpack_from
_PLAIN = 14 + 20 + 20
_VLAN = frozenset({0x8100, 0x88A8, 0x9100})
_IP = frozenset({0x0800, 0x86DD})
_EXTENSIONS = frozenset({0, 43, 51, 60, 135})
_FRAGMENT = 44


def _ether(packet: bytes, at: int) -> int:
    """Where IP begins, if the type at `at` and what follows it lead there; -1 otherwise."""
    kind = packet[at] << 8 | packet[at + 1]
    while kind in _VLAN:
        at += 4
        kind = packet[at] << 8 | packet[at + 1]
    return at + 2 if kind in _IP else -1


def _ethernet(packet: bytes) -> int:
    return _ether(packet, 12)


def _cooked(packet: bytes) -> int:
    return _ether(packet, 14)


def _cooked2(packet: bytes) -> int:
    """The type comes first in this header of 20 octets."""
    kind = packet[0] << 8 | packet[1]
    if kind in _VLAN:
        return _ether(packet, 22)
    return 20 if kind in _IP else -1


def _loopback(packet: bytes) -> int:
    return 4


def _raw(packet: bytes) -> int:
    return 0


LINKS: Mapping[int, Callable[[bytes], int]] = {
    1: _ethernet,
    113: _cooked,
    276: _cooked2,
    0: _loopback,
    108: _loopback,
    101: _raw,
    12: _raw,
    14: _raw,
    228: _raw,
    229: _raw,
}


def segment(link: int, packet: bytes) -> Segment | None:
    """The TCP segment in this packet, if there is one. Raises KeyError for a link layer that we do not know."""
    if link == 1 and len(packet) >= _PLAIN:  # Ethernet, IPv4 without options: most packets
        kind, version, total, fragment, protocol, key, seq, ack, offset, flags = _plain(packet)
        if kind == 0x0800 and version == 0x45 and total and protocol == 6 and not fragment & 0x1FFF:
            return key, seq, ack, flags, packet[34 + (offset >> 4) * 4 : 14 + total]
    find = LINKS[link]
    try:
        at = find(packet)
        if at < 0:
            return None
        version = packet[at] >> 4
        if version == 4:
            return _v4(packet, at)
        return _v6(packet, at) if version == 6 else None
    except (IndexError, struct.error):
        return None


def _v4(packet: bytes, at: int) -> Segment | None:
    if packet[at + 9] != 6 or (packet[at + 6] & 0x1F) or packet[at + 7]:
        return None
    total = packet[at + 2] << 8 | packet[at + 3]
    end = at + total if total else len(packet)  # zero where the card was to cut it up
    begin = at + (packet[at] & 15) * 4
    seq, ack, offset, flags = _tcp(packet, begin + 4)
    key = packet[at + 12 : at + 20] + packet[begin : begin + 4]
    return key, seq, ack, flags, packet[begin + (offset >> 4) * 4 : end]


def _v6(packet: bytes, at: int) -> Segment | None:
    size = packet[at + 4] << 8 | packet[at + 5]
    end = at + 40 + size if size else len(packet)
    kind, begin = packet[at + 6], at + 40
    while kind in _EXTENSIONS or kind == _FRAGMENT:
        if kind == _FRAGMENT and (packet[begin + 2] << 8 | packet[begin + 3]) & 0xFFF8:
            return None
        length = 8 if kind == _FRAGMENT else (packet[begin + 1] + 2) * 4 if kind == 51 else (packet[begin + 1] + 1) * 8
        kind, begin = packet[begin], begin + length
    if kind != 6:
        return None
    seq, ack, offset, flags = _tcp(packet, begin + 4)
    key = packet[at + 8 : at + 40] + packet[begin : begin + 4]
    return key, seq, ack, flags, packet[begin + (offset >> 4) * 4 : end]


def answer(key: bytes) -> bytes:
    """The key of segments in the other direction."""
    size = (len(key) - 4) // 2
    return key[size : 2 * size] + key[:size] + key[-2:] + key[-4:-2]


def ends(key: bytes) -> tuple[tuple[str, int], tuple[str, int]]:
    """Source and destination, as people write them."""
    size = (len(key) - 4) // 2
    source, destination = struct.unpack(">HH", key[-4:])
    return (_address(key[:size]), source), (_address(key[size : 2 * size]), destination)


def _address(octets: bytes) -> str:
    return str(ipaddress.ip_address(octets))


def place(end: tuple[str, int]) -> str:
    """Address and port in one word."""
    host, port = end
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

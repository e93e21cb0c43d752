"""Every link layer and IP version gives the same segments."""

from __future__ import annotations

import struct

import pytest

from benchmarks import packets
from benchmarks.packets import ACK, PSH, Seg
from reports.capture.links import answer, ends, place, segment

V4 = Seg(("10.0.0.7", 40000), ("10.0.0.1", 5672), 17, 4_000_000_000, PSH | ACK, b"octets of a stream")
V6 = packets.moved(V4, source=("fe80::7", 40000), destination=("2001:db8::1", 5672))


def gist(link: int, octets: bytes) -> object:
    found = segment(link, octets)
    return found and (ends(found[0]), *found[1:])


def expected(seg: Seg, data: bytes | None = None) -> object:
    return ((seg.source, seg.destination), seg.seq, seg.ack, seg.flags, seg.data if data is None else data)


@pytest.mark.parametrize("seg", [V4, V6, packets.moved(V4, data=b""), packets.moved(V6, data=b"x")])
@pytest.mark.parametrize("link", packets.LINKS)
def test_a_segment_is_found_under_every_link_layer(link: str, seg: Seg) -> None:
    number, wrap = packets.LINKS[link]
    assert gist(number, wrap(packets.datagram(seg))) == expected(seg)


def test_ip_options_and_extension_headers_are_passed_over() -> None:
    assert gist(101, packets.datagram(V4, options=b"\x01" * 12)) == expected(V4)
    destination_options = b"\x06\x01" + bytes(14)
    assert gist(101, packets.datagram(V6, v6_headers=destination_options)) == expected(V6)


def test_of_fragments_only_the_first_is_read() -> None:
    octets = bytearray(packets.datagram(V4))
    octets[6] = 0x20
    assert gist(101, bytes(octets)) == expected(V4)
    octets[7] = 1
    assert gist(101, bytes(octets)) is None


def test_a_snapshot_length_leaves_what_it_left() -> None:
    octets = packets.datagram(V4)
    assert gist(101, octets[:-5]) == expected(V4, V4.data[:-5])
    for size in range(20 + 14):  # numbers and flags end there
        assert gist(101, octets[:size]) is None


def test_a_length_of_zero_means_all_of_the_packet() -> None:
    octets = bytearray(packets.datagram(V4))
    octets[2:4] = b"\0\0"
    assert gist(101, bytes(octets)) == expected(V4)


@pytest.mark.parametrize(
    "octets",
    [
        struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0, 64, 17, 0) + bytes(16),  # UDP
        bytes((0x55,)) * 40,
        b"",
    ],
)
def test_what_is_not_tcp_is_nothing(octets: bytes) -> None:
    assert segment(101, octets) is None
    assert segment(1, bytes(12) + b"\x08\x06" + octets) is None


def test_an_unknown_link_layer_is_an_error() -> None:
    with pytest.raises(KeyError):
        segment(147, b"anything")


def test_keys_turn_round() -> None:
    for seg in (V4, V6):
        found = segment(101, packets.datagram(seg))
        assert found is not None
        assert ends(answer(found[0])) == (seg.destination, seg.source)
        assert answer(answer(found[0])) == found[0]
    assert place(V4.source) == "10.0.0.7:40000"
    assert place(V6.destination) == "[2001:db8::1]:5672"

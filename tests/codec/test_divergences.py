"""Where the installed pika, pamqp and py-amqp read or write other than we do, and what each of us does.

One test a divergence: when a peer changes its mind, the test that names it says so. Each begins with what we do.
"""

from __future__ import annotations

import struct
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import amqp.exceptions
import amqp.serialization
import pamqp.commands
import pamqp.decode
import pamqp.encode
import pamqp.exceptions
import pamqp.frame
import pika.data
import pika.exceptions
import pika.frame
import pytest

import codec
from codec import methods as m
from codec import values
from tests.support.octets import broken

ACK = m.BasicAck(1, 7).encode()
PUBLISH = m.BasicPublish(1, 0, "ex", "key").encode()
HEADER = codec.header(1, 5, content_type="a").encode()
Refused = codec.MalformedFrame


def field(letter: bytes, octets: bytes) -> bytes:
    """A table with one field, k."""
    return struct.pack(">I", len(octets) + 3) + b"\1k" + letter + octets


def ours(table: bytes) -> Any:
    """The (letter, value) that we read."""
    method = codec.decode(broken.frame(1, 1, m.QueueBind(1).encode()[7:17] + table))
    assert isinstance(method, m.QueueBind)
    ((_, letter, value),) = method.arguments
    return letter, value


def by_pika(table: bytes) -> Any:
    return pika.data.decode_table(table, 0)[0]["k"]


def by_pamqp(table: bytes) -> Any:
    return pamqp.decode.field_table(table)[1]["k"]


def by_py_amqp(table: bytes) -> Any:
    return amqp.serialization.loads("F", table, 0)[0][0]["k"]


def pika_writes(value: Any) -> bytes:
    pieces: list[bytes] = []
    pika.data.encode_table(pieces, {"k": value})
    return b"".join(pieces)[6:]


def pamqp_writes(value: Any) -> bytes:
    return bytes(pamqp.encode.field_table({"k": value})[6:])


def py_amqp_writes(value: Any) -> bytes:
    return bytes(amqp.serialization.dumps("F", [{"k": value}])[6:])


def we_write(value: Any) -> bytes:
    return m.QueueBind(1, arguments=values.table({"k": value})).encode()[23:-1]


# Reading tables


@pytest.mark.parametrize(("letter", "fmt"), [(b"f", ">f"), (b"d", ">d")])
def test_floats_lose_their_fraction_in_pika(letter: bytes, fmt: str) -> None:
    table = field(letter, struct.pack(fmt, 1.5))
    assert ours(table) == (letter.decode(), 1.5)
    assert by_pamqp(table) == by_py_amqp(table) == 1.5
    assert by_pika(table) == 1


def test_letter_U_is_a_short_to_pika_and_py_amqp() -> None:
    table = field(b"U", b"\0\1")
    with pytest.raises(Refused, match="found b'U'"):
        ours(table)
    with pytest.raises(ValueError, match="Unknown type"):
        by_pamqp(table)
    assert by_pika(table) == by_py_amqp(table) == 1


def test_letter_zero_is_none_to_pamqp() -> None:
    table = field(b"\0", b"")
    with pytest.raises(Refused, match="letter"):
        ours(table)
    with pytest.raises(pika.exceptions.InvalidFieldTypeException):
        by_pika(table)
    with pytest.raises(amqp.exceptions.FrameSyntaxError):
        by_py_amqp(table)
    assert by_pamqp(table) is None


def test_large_timestamps_are_milliseconds_to_pamqp_and_errors_to_others() -> None:
    table = field(b"T", struct.pack(">Q", 2**40))
    assert ours(table) == ("T", 2**40)
    assert by_pamqp(table) == datetime(2004, 11, 3, 19, 53, 47, 776000, tzinfo=UTC)
    for read in (by_pika, by_py_amqp):
        with pytest.raises(ValueError, match="out of range"):
            read(table)


def test_all_three_accept_a_long_string_that_ends_past_its_table() -> None:
    table = field(b"S", b"\0\0\0\7a")
    with pytest.raises(Refused, match="a length of 7"):
        ours(table)
    assert by_pika(table) == by_pamqp(table) == by_py_amqp(table) == "a"


def test_decimals_are_signed_to_all_of_us() -> None:
    table = field(b"D", struct.pack(">Bi", 1, -15))
    assert ours(table) == ("D", (1, -15))
    assert by_pika(table) == by_pamqp(table) == by_py_amqp(table) == Decimal("-1.5")
    assert values.plain_value("D", (1, -15)) == Decimal("-1.5")


def test_pamqp_gives_octets_as_a_bytearray() -> None:
    table = field(b"x", b"\0\0\0\1\xff")
    assert ours(table) == ("x", b"\xff")
    assert type(by_pika(table)) is type(by_py_amqp(table)) is bytes
    assert type(by_pamqp(table)) is bytearray


# Writing tables


def test_pamqp_writes_floats_in_32_bits_and_pika_not_at_all() -> None:
    assert we_write(0.1) == py_amqp_writes(0.1) == b"d" + struct.pack(">d", 0.1)
    assert pamqp_writes(0.1) == b"f" + struct.pack(">f", 0.1)
    with pytest.raises(pika.exceptions.UnsupportedAMQPFieldException):
        pika_writes(0.1)


@pytest.mark.parametrize(
    ("value", "letters"),
    [
        (1, {"ours": "I", "pika": "I", "pamqp": "b", "py-amqp": "I"}),
        (200, {"ours": "I", "pika": "I", "pamqp": "s", "py-amqp": "I"}),
        (2**31, {"ours": "l", "pika": "l", "pamqp": "i", "py-amqp": "L"}),
        (-(2**31), {"ours": "I", "pika": "I", "pamqp": "I", "py-amqp": "L"}),
        (2**40, {"ours": "l", "pika": "l", "pamqp": "l", "py-amqp": "L"}),
    ],
)
def test_integers_get_different_letters(value: int, letters: dict[str, str]) -> None:
    writes = {"ours": we_write, "pika": pika_writes, "pamqp": pamqp_writes, "py-amqp": py_amqp_writes}
    assert {who: write(value)[:1].decode() for who, write in writes.items()} == letters


def test_octets_are_text_to_py_amqp_and_nothing_to_pamqp() -> None:
    assert we_write(b"\xff") == pika_writes(b"\xff") == b"x\0\0\0\1\xff"
    assert py_amqp_writes(b"\xff") == b"S\0\0\0\1\xff"
    with pytest.raises(TypeError):
        pamqp_writes(b"\xff")


def test_a_bytearray_is_written_by_pamqp_only() -> None:
    assert we_write(bytearray(b"\xff")) == pamqp_writes(bytearray(b"\xff")) == b"x\0\0\0\1\xff"
    with pytest.raises(pika.exceptions.UnsupportedAMQPFieldException):
        pika_writes(bytearray(b"\xff"))
    with pytest.raises(amqp.exceptions.FrameSyntaxError):
        py_amqp_writes(bytearray(b"\xff"))


def test_a_decimal_with_an_exponent_breaks_py_amqp() -> None:
    large = Decimal("1E+2")
    assert we_write(large) == pika_writes(large) == pamqp_writes(large) == b"D\0\0\0\0\x64"
    with pytest.raises(struct.error):
        py_amqp_writes(large)


def test_pamqp_sorts_names_and_cuts_them_to_128_octets() -> None:
    table = {"b": None, "a": None, "k" * 130: None}
    raw = m.QueueBind(1, arguments=values.table(table)).encode()[17:-1]
    assert raw == amqp.serialization.dumps("F", [table])
    assert pamqp.encode.field_table(table)[4:] == b"\1aV\1bV\x80" + b"k" * 128 + b"V"


# Frames and methods


def test_pamqp_reads_delivery_tags_as_signed() -> None:
    raw = m.BasicAck(1, 2**64 - 1).encode()
    assert codec.decode(raw) == m.BasicAck(1, 2**64 - 1)
    assert pika.frame.decode_frame(raw)[1].method.delivery_tag == 2**64 - 1
    assert pamqp.frame.unmarshal(raw)[2].delivery_tag == -1


def test_pika_cannot_read_update_secret() -> None:
    raw = m.ConnectionUpdateSecret(0, b"new", "old one expired").encode()
    assert codec.decode(raw).encode() == raw
    assert pamqp.frame.unmarshal(raw)[2].reason == "old one expired"
    with pytest.raises(TypeError, match="missing 2 required positional arguments"):
        pika.frame.decode_frame(raw)


def test_pamqp_insists_on_a_reserved_argument() -> None:
    raw = m.ChannelOpen(1).encode()
    assert codec.decode(raw) == m.ChannelOpen(1, "")
    assert pika.frame.decode_frame(raw)[1].method.out_of_band == ""
    with pytest.raises(ValueError, match="out_of_band must be 0"):
        pamqp.frame.marshal(pamqp.frame.unmarshal(raw)[2], 1)


def test_pamqp_refuses_names_that_are_not_ascii() -> None:
    raw = m.QueuePurge(1, 0, "ключ").encode()
    assert codec.decode(raw).encode() == pika.frame.decode_frame(raw)[1].marshal() == raw
    with pytest.raises(ValueError, match="Invalid value for queue"):
        pamqp.frame.marshal(pamqp.frame.unmarshal(raw)[2], 1)


def test_all_three_accept_trailing_octets_after_arguments() -> None:
    raw = broken.defect("trailing octets", ACK)
    with pytest.raises(Refused, match="1 more octets"):
        codec.decode(raw)
    assert pamqp.frame.unmarshal(raw)[2].delivery_tag == 7
    assert pika.frame.decode_frame(raw)[1].method.delivery_tag == 7
    assert amqp.serialization.loads("Lb", raw[11:-1], 0)[0] == [7, False]


def test_all_three_ignore_undefined_bits() -> None:
    raw = broken.defect("undefined bits", ACK)
    with pytest.raises(Refused, match="bits multiple and zeros"):
        codec.decode(raw)
    assert pamqp.frame.unmarshal(raw)[2].multiple is False
    assert pika.frame.decode_frame(raw)[1].method.multiple is False
    assert amqp.serialization.loads("Lb", raw[11:-1], 0)[0] == [7, False]


def test_pika_gives_octets_for_a_short_string_that_is_not_utf_8() -> None:
    raw = broken.defect("bad UTF-8", PUBLISH)
    with pytest.raises(Refused, match="UTF-8 in a short string exchange"):
        codec.decode(raw)
    with pytest.raises(pamqp.exceptions.UnmarshalingException):
        pamqp.frame.unmarshal(raw)
    with pytest.raises(UnicodeDecodeError):
        amqp.serialization.loads("Bss", raw[11:-1], 0)
    assert pika.frame.decode_frame(raw)[1].method.exchange == b"\xffx"


def test_unknown_methods_and_short_ones_leak_other_errors_from_pika() -> None:
    for defect, leak in (("unknown method", KeyError), ("payload ends early", struct.error)):
        raw = broken.defect(defect, ACK)
        with pytest.raises(Refused):
            codec.decode(raw)
        with pytest.raises(pamqp.exceptions.UnmarshalingException):
            pamqp.frame.unmarshal(raw)
        with pytest.raises(leak):
            pika.frame.decode_frame(raw)


def test_pamqp_refuses_an_empty_body() -> None:
    raw = codec.Body(1, b"").encode()
    assert codec.decode(raw) == codec.Body(1, b"")
    assert pika.frame.decode_frame(raw)[1].fragment == b""
    with pytest.raises(pamqp.exceptions.UnmarshalingException, match="No frame size"):
        pamqp.frame.unmarshal(raw)


def test_pika_accepts_a_heartbeat_with_a_payload() -> None:
    raw = broken.defect("trailing octets", codec.Heartbeat().encode())
    with pytest.raises(Refused):
        codec.decode(raw)
    with pytest.raises(pamqp.exceptions.UnmarshalingException):
        pamqp.frame.unmarshal(raw)
    assert isinstance(pika.frame.decode_frame(raw)[1], pika.frame.Heartbeat)


# Content headers


def test_pamqp_takes_any_class_for_basic() -> None:
    raw = broken.defect("content header with another class_id", HEADER)
    with pytest.raises(Refused, match="class 60, the only one with content"):
        codec.decode(raw)
    with pytest.raises(KeyError):
        pika.frame.decode_frame(raw)
    assert pamqp.frame.unmarshal(raw)[2].properties.content_type == "a"


def test_all_three_ignore_the_weight() -> None:
    raw = broken.defect("content header with another weight", HEADER)
    with pytest.raises(Refused, match="weight 0"):
        codec.decode(raw)
    assert pamqp.frame.unmarshal(raw)[2].properties.content_type == "a"
    assert pika.frame.decode_frame(raw)[1].properties.content_type == "a"


def test_a_second_word_of_flags_is_read_by_two_and_taken_for_a_property_by_one() -> None:
    raw = broken.frame(2, 1, struct.pack(">HHQHH", 60, 0, 5, 0x8001, 0) + b"\1a")
    with pytest.raises(Refused, match="0x1 undefined"):
        codec.decode(raw)
    assert pamqp.frame.unmarshal(raw)[2].properties.content_type == "a"
    assert pika.frame.decode_frame(raw)[1].properties.content_type == "a"
    assert amqp.serialization.decode_properties_basic(raw[19:-1], 0)[0] == {"content_type": ""}


def test_pamqp_leaves_out_properties_that_are_empty() -> None:
    assert codec.header(1, 0, content_type="", app_id="x").encode()[19:-1] == b"\x80\x08\0\1x"
    assert pamqp.commands.Basic.Properties(content_type="", app_id="x").marshal() == b"\0\x08\1x"

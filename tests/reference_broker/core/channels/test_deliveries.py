"""Deliveries in pieces: the same octets as frame by frame, however alike or unlike the one before."""

from hypothesis import given
from hypothesis import strategies as st

import codec
from codec import methods as m
from reference_broker.core.channels.deliveries import Deliveries
from reference_broker.core.queues.message import Message

FRAME_MAX = 4096
KEYS = [("", "q"), ("", "schlüssel"), ("logs", "q")]
HEADERS = {size: [codec.header(0, size), codec.header(0, size, delivery_mode=2)] for size in (0, 5, 4088, 4089, 9000)}


@st.composite
def deliveries(draw):
    exchange, key = draw(st.sampled_from(KEYS))
    size = draw(st.sampled_from(list(HEADERS)))
    header = draw(st.sampled_from(HEADERS[size]))
    method = m.BasicDeliver(
        draw(st.integers(1, 2)),
        draw(st.sampled_from(["c", "é" * 9])),
        draw(st.integers(0, 2**64 - 1)),
        draw(st.booleans()),
        exchange,
        key,
    )
    return method, Message(exchange, key, header, bytes([draw(st.integers(0, 255))]) * size)


@given(st.lists(deliveries(), max_size=20))
def test_the_octets_are_those_of_the_frames(sent):
    kept = Deliveries()
    for method, message in sent:
        plain = codec.content(method, message.body, FRAME_MAX, **message.header.properties())
        assert b"".join(kept.pieces(method, message, FRAME_MAX)) == plain


def test_what_is_alike_is_made_once():
    kept, header = Deliveries(), HEADERS[5][0]
    for body in (b"first", b"other"):
        kept.pieces(m.BasicDeliver(1, "c", 1, False, "", "q"), Message("", "q", header, body), FRAME_MAX)
    method, message = m.BasicDeliver(1, "c", 2, True, "", "q"), Message("", "q", header, b"third")
    before, _, after, body, _ = kept.pieces(method, message, FRAME_MAX)
    assert before is kept.before
    assert after is kept.after
    assert body == b"third"

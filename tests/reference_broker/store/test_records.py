"""What is written is what is read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import codec
from reference_broker.core.queues.message import copied
from reference_broker.store import records
from reference_broker.store.records import Damaged, Place

texts = st.text(max_size=40).filter(lambda text: len(text.encode()) < 256)
numbers = st.integers(0, 2**32 - 1)
positions = st.integers(1, 2**53).map(float)
places = st.builds(
    Place,
    queue=numbers,
    position=positions,
    expires=st.floats(0, allow_nan=False),
    redelivered=st.booleans(),
    in_line=st.booleans(),
    failures=numbers,
    returns=numbers,
)


def packed(place):
    flags = records.REDELIVERED * place.redelivered | records.IN_LINE * place.in_line
    return records.ENTRY.pack(place.queue, place.position, place.expires, flags, place.failures, place.returns)


@given(
    place=places,
    exchange=texts,
    key=texts,
    more=st.lists(texts, max_size=3),
    body=st.binary(max_size=50),
    kind=texts,
    delivery_mode=st.sampled_from([1, 2]),
)
def test_a_publish(place, exchange, key, more, body, kind, delivery_mode):
    header = codec.header(0, len(body), content_type=kind, delivery_mode=delivery_mode)
    message = copied(exchange, key, header, body, tuple(more))
    raw = b"".join(records.publish(packed(place), records.address_and_header(message), body))
    ((found, content),) = records.records(memoryview(raw))
    assert found == records.PUBLISH
    assert records.read_place(content) == place
    again = records.read_message(content[records.ENTRY.size :])
    assert (again.exchange, again.routing_keys(), again.body) == (exchange, (key, *more), body)
    assert again.header.properties() == header.properties()


@given(parts=st.lists(st.text(max_size=300), max_size=8).map(tuple), rest=st.binary(max_size=20))
def test_a_key(parts, rest):
    found, behind = records.read_key(memoryview(records.key(parts) + rest))
    assert (found, bytes(behind)) == (parts, rest)


@given(queue=numbers, gone=st.lists(positions), back=st.lists(st.tuples(positions, numbers, numbers)))
def test_what_left_and_what_came_back(queue, gone, back):
    raw = memoryview(records.those(records.GONE, queue, gone) + records.returned(queue, back))
    (first, left), (second, returned) = records.records(raw)
    assert (first, second) == (records.GONE, records.RETURNED)
    assert (records.read_those(left)[0], list(records.read_those(left)[1])) == (queue, gone)
    number, places = records.read_returned(returned)
    assert (number, list(places)) == (queue, back)


@given(payloads=st.lists(st.binary(min_size=1, max_size=30), max_size=5), cut=st.integers(1, 20))
def test_blocks_are_read_up_to_the_first_that_is_not_whole(payloads, cut):
    raw = b"".join(records.block([payload]) for payload in payloads)
    assert [bytes(payload) for _, payload in records.blocks(raw, 0)] == payloads
    if raw:
        torn, found = raw[: -min(cut, len(payloads[-1]))], []
        with pytest.raises(Damaged):
            found += records.blocks(torn, 0)
        assert [bytes(payload) for _, payload in found] == payloads[:-1]


def test_zeros_are_no_block():
    with pytest.raises(Damaged):
        list(records.blocks(bytes(100), 0))

"""Which rule a settlement must be refused by, decided when it is sent."""

from __future__ import annotations

import pytest

import codec
from codec import methods as m


@pytest.fixture
def held(wire):
    """Channel 1 holds tags 1 to 3, of which 2 is acked; 4 came with no_ack; channel 2 is open and holds nothing."""
    line = wire()
    line.publish("m1", "m2", "m3", "m4")
    for tag in (1, 2, 3):
        line.get_ok(tag, f"m{tag}")
    line.sends(m.BasicGet(1, queue="q", no_ack=True))
    line.receives(m.BasicGetOk(1, 4, False, "", "q"), *content("m4"))
    line.sends(m.BasicAck(1, 2), m.ChannelOpen(2))
    line.receives(m.ChannelOpenOk(2))
    return line


def content(message: str):
    return codec.header(1, 1, message_id=message), codec.Body(1, b"x")


@pytest.mark.parametrize(
    ("settle", "rule"),
    [
        (m.BasicAck(1, 2), "ERR-001"),
        (m.BasicReject(1, 2, True), "ERR-001"),
        (m.BasicAck(1, 5), "ERR-002"),
        (m.BasicAck(2, 3), "ERR-003"),
        (m.BasicAck(1, 4), "MODE-006"),
        (m.BasicAck(1, 0), "ACK-009"),
        (m.BasicReject(1, 0), "ACK-009"),
        (m.BasicAck(1, 2, True), "ACK-010"),
        (m.BasicAck(1, 9, True), "ACK-010"),
        (m.BasicNack(1, 2, True, True), "ACK-010"),
        (m.BasicAck(1, 2**63), "TAG-009"),
        (m.BasicNack(1, 2**64 - 1, True, True), "TAG-009"),
    ],
)
def test_refused(held, settle, rule: str) -> None:
    held.sends(settle)
    channel = held.model.connections["c"].channel(settle.channel)
    assert channel.state == "failing"
    assert channel.settlement_error.rule == rule


@pytest.mark.parametrize(
    ("settle", "left"),
    [
        (m.BasicAck(1, 1), [3]),
        (m.BasicAck(1, 3), [1]),
        (m.BasicAck(1, 3, True), []),
        (m.BasicAck(1, 1, True), [3]),
        (m.BasicAck(1, 0, True), []),
        (m.BasicNack(1, 0, True, True), []),
        (m.BasicReject(1, 3, False), [1]),
        (m.BasicAck(2, 0, True), [1, 3]),
    ],
)
def test_accepted(held, settle, left: list[int]) -> None:
    held.sends(settle)
    assert held.model.connections["c"].channel(settle.channel).state == "open"
    assert list(held.model.connections["c"].channel(1).unacked) == left


def test_either(held) -> None:
    held.sends(m.BasicGet(1, queue="q"), m.BasicAck(1, 5))
    channel = held.model.connections["c"].channel(1)
    assert channel.state == "open"
    assert channel.indeterminate

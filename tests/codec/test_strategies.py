"""The strategies reach what the declaration has."""

from __future__ import annotations

import construct as c
import pytest
from hypothesis import HealthCheck, Phase, find, given, settings
from hypothesis import strategies as st

import codec
from codec import wire
from codec.lower import Unsupported
from codec.values import FieldTable
from tests.support.octets import strategies

search = settings(max_examples=3000, database=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
quiet = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow], database=None)


def letters(table: FieldTable) -> set[str]:
    return {item[-2] for item in table} | {x for item in table if item[-2] in "FA" for x in letters(item[-1])}


@pytest.mark.parametrize("letter", [key.decode() for key in wire.LETTERS])
def test_every_letter_is_drawn(letter: str) -> None:
    find(strategies.tables(), lambda table: letter in letters(table), settings=search)


@quiet
@given(raw=strategies.frames())
def test_frames_are_good(raw: bytes) -> None:
    assert codec.decode(raw).encode() == raw


@quiet
@given(data=st.data(), index=st.sampled_from(sorted(c << 16 | m for c, m in wire.METHODS)))
def test_a_method_can_be_chosen(data: st.DataObject, index: int) -> None:
    frame = codec.decode(data.draw(strategies.methods(index)))
    assert isinstance(frame, codec.Method)
    assert index == frame.INDEX


@pytest.mark.parametrize("accepted", [True, False])
def test_damaged_frames_are_now_and_then_still_good(accepted: bool) -> None:
    def verdict(raw: bytes) -> bool:
        try:
            codec.decode(raw)
        except codec.MalformedFrame:
            return False
        return True

    find(strategies.damaged(), lambda raw: verdict(raw) is accepted, settings=search)


def test_what_is_not_understood_is_refused() -> None:
    with pytest.raises(Unsupported):
        strategies.of(c.VarInt, {})

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from conformance.drive.machines.cutting import cut_batches, cut_down


def test_what_does_not_matter_is_left_out() -> None:
    tried: list[list[int]] = []

    def fails(part: list[int]) -> bool:
        tried.append(part)
        return 17 in part and 40 in part

    assert cut_down(range(100), fails) == [17, 40]
    assert len(tried) < 100


@given(st.lists(st.integers(0, 9), max_size=20), st.sets(st.integers(0, 9)))
def test_no_single_item_could_be_left_out(items: list[int], needed: set[int]) -> None:
    needed &= set(items)
    kept = cut_down(items, needed.issubset)
    assert sorted(kept) == sorted(needed)


def test_batches_lose_their_useless_parts_too() -> None:
    batches = [(1, 2, 3), (4,), (5, 6, 7, 8), (9, 10)]

    def fails(part: list[tuple[int, ...]]) -> bool:
        return any({6, 8} <= set(batch) for batch in part) and any(3 in batch for batch in part)

    assert cut_batches(batches, fails) == [(3,), (6, 8)]


def test_nothing_that_fails_alone_is_lost() -> None:
    assert cut_down([1, 2, 3], lambda part: False) == [1, 2, 3]
    assert cut_down([], lambda part: True) == []

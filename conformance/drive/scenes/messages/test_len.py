"""LEN: more comes than a queue may hold. One channel fills it, gets take all that is there."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.props import confirming
from conformance.drive.stage import Stage

MOST, OCTETS, OVERFLOW = "x-max-length", "x-max-length-bytes", "x-overflow"


def filled(stage: Stage, limits: dict[str, int | str], sizes: Sequence[int], held: int = 0) -> None:
    """A queue of its own gets a message of each size; after so many, all are fetched and kept. Then it is emptied."""
    queue = stage.queue(dict(limits))
    publisher, taker, keeper = confirming(stage), stage.channel(), stage.channel()
    for number, size in enumerate(sizes):
        if held and number == held:
            stage.confirmed(publisher)
            stage.fetch(keeper, queue, held)
        publisher.publish(queue, body=bytes([65 + number % 26]) * size)
    stage.confirmed(publisher)
    for _ in range(len(sizes) + 1):
        if stage.get(taker, queue, no_ack=True) is None:
            break


@rule("LEN-001", queue_types=("classic",))
@pytest.mark.parametrize("most", [0, 1, 2, 16, 65])
def test_more_messages_than_the_limit(stage: Stage, most: int) -> None:
    """One more, and twice as many."""
    for count in (most + 1, 2 * most + 1):
        filled(stage, {MOST: most}, [3] * count)


@rule("LEN-002", queue_types=("classic",))
@pytest.mark.parametrize("how", [None, "drop-head"], ids=["default", "drop-head"])
def test_the_newest_are_there(stage: Stage, how: str | None) -> None:
    """Nine come to a queue for four, whether it says that the oldest are to go, or says nothing."""
    filled(stage, {MOST: 4} | ({OVERFLOW: how} if how else {}), [3] * 9)


@rule("LEN-003", queue_types=("classic",))
def test_a_full_queue_is_full(stage: Stage) -> None:
    """As many as it may hold, one more, and some more, in bodies of all sizes."""
    for count in (8, 9, 30):
        filled(stage, {MOST: 8}, [10 + 7 * (number % 5) for number in range(count)])


@rule("LEN-004", queue_types=("classic",))
def test_some_are_held_by_a_client(stage: Stage) -> None:
    """Three of four are fetched and kept; then four more come, and one that is too many."""
    for count in (7, 8):
        filled(stage, {MOST: 4}, [10] * count, held=3)


@rule("LEN-005", queue_types=("classic",))
@pytest.mark.parametrize("sizes", [(10,) * 21, (30, 60, 90, 10, 40), (150, 101), (50, 50, 1), (0, 0, 0, 100, 1)])
def test_more_octets_than_the_limit(stage: Stage, sizes: tuple[int, ...]) -> None:
    """A limit of 100: for small and for large bodies, for one that is too large, and for the last octet."""
    filled(stage, {OCTETS: 100}, sizes)


@rule("LEN-006", queue_types=("classic",))
@pytest.mark.parametrize("size", [5, 50])
def test_two_limits(stage: Stage, size: int) -> None:
    """Small bodies reach the one, large bodies the other."""
    filled(stage, {MOST: 5, OCTETS: 100}, [size] * 12)


@rule("LEN-007", queue_types=("classic",))
@pytest.mark.parametrize(("limit", "most"), [(MOST, 4), (OCTETS, 40)], ids=["messages", "octets"])
def test_the_newest_is_refused(stage: Stage, limit: str, most: int) -> None:
    """Nine come to a queue for four that refuses the newest."""
    filled(stage, {limit: most, OVERFLOW: "reject-publish"}, [10] * 9)

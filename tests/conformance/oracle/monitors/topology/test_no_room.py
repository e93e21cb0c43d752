"""A broker that has no room for another queue says so by 403: that is no word about the name or the arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.oracle.monitors.topology.test_naming import LONG, free


@pytest.mark.parametrize(("code", "broken"), [(403, []), (406, ["QUEUE-023"])])
def test_what_a_refusal_of_a_new_queue_says(play: Callable[..., Any], code: int, broken: list[str]) -> None:
    book = play(free(LONG) + f"1 < closed {code} 50 10 no")
    assert sorted(book.broken) == sorted(broken)

"""What is given back often enough dies of that, by a limit that no declaration names."""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.messages.test_dlx import ASK, GOT, LATER, M1, TAKEN, dead, entry, two
from tests.support.tables import Play


@pytest.mark.parametrize(("times", "broken"), [(2, ["DLX-003"]), (20, [])])
def test_a_queue_of_limited_length_may_have_a_limit_by_default_too(play: Play, times: int, broken: list[str]) -> None:
    """A quorum queue gives a message up that was returned twenty times, whatever its declaration says of its length."""
    again = "2 > open \n 2 < open-ok \n 2 > get q \n 2 < get-ok 1 m1 q redelivered \n"
    taken = TAKEN + f"2 > close \n 2 < close-ok \n {again}" * times + "2 > close \n 2 < close-ok \n"
    died = dead(entry("q", "delivery_limit", 1), first=("q", "delivery_limit"))
    assert play(two("quorum", "x-max-length=9") + M1 + taken + LATER + ASK + GOT + died).broken == broken

"""DLX: of what did a message die that somebody may have given back, unseen, as often as its queue lets it?"""

from __future__ import annotations

import pytest

from tests.conformance.oracle.monitors.messages.test_dlx import ASK, GOT, M1, TAKEN, dead, entry, two

LIMITED = two("quorum", "x-delivery-limit=0") + M1.replace("m1", "m1 expiration=60000")
GIVEN_BACK = dead(entry("q", "delivery_limit", 1, original_expiration=["S", "60000"]), first=("q", "delivery_limit"))


@pytest.mark.parametrize(
    ("before", "broken"),
    [
        ("", ["DLX-002"]),
        ("@consume 2 q c2 \n 2 > close \n 2 < close-ok \n", []),
        ("@consume 2 q c2 \n 2 > close \n 2 < close-ok \n - wait 70 \n", []),
    ],
    ids=["nobody", "who-hung-up", "who-hung-up-long-ago"],
)
def test_a_consumer_that_hangs_up_may_have_had_it(play, before: str, broken: list[str]) -> None:
    assert play(LIMITED + before + ASK + GOT + GIVEN_BACK, "rabbitmq-3.10").broken == broken


@pytest.mark.parametrize(
    "back", ["2 > nack 1 requeue \n", "2 > nack 0 multiple requeue \n", "2 > recover requeue \n 2 < recover-ok \n"]
)
def test_what_was_given_back_may_have_been_once_too_often(play, back: str) -> None:
    """Whether that counts depends on the version."""
    assert play(LIMITED + TAKEN + back + "@barrier 2 \n" + ASK + GOT + GIVEN_BACK, "rabbitmq-3.10").broken == []

"""POLICY: queues that arguments limit as well."""

from __future__ import annotations

import pytest

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import (
    ARGUMENT,
    CLASSIC,
    HOUR,
    LARGE,
    MOST,
    OCTETS,
    SHORT,
    SOON,
    TTL,
    PolicyTrial,
    expires,
    heeded,
    only,
    put,
    so_large,
)
from conformance.drive.stage import Stage


@rule("POLICY-007", queue_types=CLASSIC)
@pytest.mark.parametrize(("argument", "policy"), [(2, 5), (5, 2)], ids=["argument", "policy"])
def test_the_smaller_limit(stage: Stage, argument: int, policy: int) -> None:
    """The one or the other is smaller, for lengths, in messages and in octets, and for times to live."""
    lives = {min(argument, policy): SHORT, max(argument, policy): HOUR}
    limited, dying = PolicyTrial(stage, stage.queue({ARGUMENT: argument})), None
    put(stage, only(limited.queue), {MOST: policy})
    weighed = (
        PolicyTrial(stage, stage.queue({f"x-{OCTETS}": so_large(argument)})) if stage.offers(f"x-{OCTETS}") else None
    )
    if weighed is not None:
        put(stage, only(weighed.queue), {OCTETS: so_large(policy)})
    if stage.offers("x-message-ttl") and expires(stage):
        dying = PolicyTrial(stage, stage.queue({"x-message-ttl": lives[argument]}))
        put(stage, only(dying.queue), {TTL: lives[policy]})
    heeded(stage)
    limited.keeps(8)
    if weighed is not None:
        weighed.octets(LARGE, 8)
    if dying is not None:
        dying.fill(3)
        wait(stage, SOON)
        dying.empty()

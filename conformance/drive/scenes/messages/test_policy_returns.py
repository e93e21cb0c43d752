"""POLICY: messages that are given back, where a policy says how often."""

from __future__ import annotations

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import SOON, PolicyTrial, heeded, only, put
from conformance.drive.scenes.props import patiently
from conformance.drive.stage import Stage

MOST = 2


@rule("POLICY-021", queue_types=("quorum",))
def test_a_policy_ends_the_returns(stage: Stage) -> None:
    """One message after another is rejected until it does not come any more, or comes too often. A quorum queue needs a
    moment to bring it again. Then the policy is removed, and one more is rejected as often."""
    trial = PolicyTrial(stage, stage.queue())
    name = put(stage, only(trial.queue), {"delivery-limit": MOST})
    heeded(stage)
    for removed in (False, False, True):
        if removed:
            stage.around.unrule(stage, name)
            heeded(stage)
        trial.fill(1)
        for _ in range(MOST + 2):
            tag = stage.get(trial.taker, trial.queue)
            if tag is None:
                wait(stage, SOON)
                tag = stage.get(trial.taker, trial.queue)
            if tag is None:
                patiently(stage, lambda: trial.empty(1))
                break
            trial.taker.reject(tag, requeue=True)
            stage.barrier(trial.taker)

"""POLICY: what is declared when the policy is there already, and policies that are not like most."""

from __future__ import annotations

import pytest

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import (
    CLASSIC,
    EXPIRES,
    GONE,
    MOST,
    SHORT,
    PolicyTrial,
    asked,
    fresh,
    heeded,
    look,
    only,
    plain,
    put,
    strays,
)
from conformance.drive.stage import Stage

LOW = -3
"""A priority below that of policies that say nothing of it."""


@rule("POLICY-001", queue_types=CLASSIC)
def test_a_policy_of_a_low_priority(stage: Stage) -> None:
    """No other one fits; then one does that has none, and says something else."""
    trial = PolicyTrial(stage, stage.queue())
    put(stage, only(trial.queue), {MOST: 3}, priority=LOW)
    heeded(stage)
    trial.keeps(8)
    put(stage, only(trial.queue), {EXPIRES: 3_600_000}, priority=0)
    heeded(stage)
    trial.keeps(8)


@rule("POLICY-002", queue_types=CLASSIC)
def test_a_queue_that_is_declared_later(stage: Stage) -> None:
    """The policy comes first, and holds for three queues, one of them exclusive, also if they are declared again, and
    if they are deleted before that."""
    stage.channel()  # time passes for those who are connected
    names = [fresh(stage) for _ in range(3)]
    put(stage, f"^({'|'.join(map(plain, names))})$", {MOST: 3})
    heeded(stage)
    for name in names:
        trial = PolicyTrial(stage, stage.queue(name=name, exclusive=name == names[1]))
        trial.keeps(4, 8)
        for anew in (False, True):
            if anew:
                stage.backstage(name).delete(name)
                stage.quiesce()
            stage.queue(name=name, exclusive=name == names[1])
            trial.keeps(4, 8)


@rule("POLICY-010", queue_types=CLASSIC)
@pytest.mark.parametrize(("before", "after"), [(6, 3), (3, 6)], ids=["lowered", "raised"])
def test_an_operator_changes_a_policy(stage: Stage, before: int, after: int) -> None:
    """The queue is empty meanwhile."""
    trial, name = PolicyTrial(stage, stage.queue()), fresh(stage)
    for most in (before, after):
        put(stage, only(trial.queue), {MOST: most}, name, operator=True)
        heeded(stage)
        trial.keeps(8)


@rule("POLICY-013", queue_types=CLASSIC)
def test_an_exchange_that_is_declared_later(stage: Stage) -> None:
    """The policy gives it an alternate, also when it has been deleted and declared anew."""
    queue, exchange = stage.queue(), fresh(stage)
    put(stage, only(exchange), {"alternate-exchange": stage.exchange(queue)}, apply_to="exchanges")
    heeded(stage)
    stage.belongings.exchanges[exchange] = None
    for _ in range(2):
        channel = stage.channel()
        channel.declare_exchange(exchange, "direct")
        stage.quiesce()
        strays(stage, exchange)
        look(stage, queue)
        channel.delete_exchange(exchange)
        stage.quiesce()


@rule("POLICY-015", queue_types=CLASSIC)
def test_a_queue_that_goes_is_declared_later(stage: Stage) -> None:
    """Nobody uses it; and again, when it has gone."""
    name = fresh(stage)
    stage.channel()  # time passes for those who are connected
    put(stage, only(name), {EXPIRES: SHORT})
    heeded(stage)
    for _ in range(2):
        stage.queue(name=name)
        wait(stage, GONE)
        asked(stage, name)

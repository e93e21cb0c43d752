"""POLICY: what is there and what is declared later, policies that are not like most, and those of operators."""

from __future__ import annotations

import pytest

from conformance.drive.around import wait
from conformance.drive.scenes.marks import rule
from conformance.drive.scenes.messages.test_policy import (
    ARGUMENT,
    ARGUMENTS,
    CLASSIC,
    EXPIRES,
    GONE,
    HIGH,
    HOUR,
    LEASE,
    MOST,
    SHORT,
    SOON,
    TTL,
    PolicyTrial,
    asked,
    expires,
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


def _of_a_low_priority(stage: Stage) -> None:
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


def _changes(stage: Stage, before: int, after: int) -> None:
    """The queue is empty meanwhile."""
    trial, name = PolicyTrial(stage, stage.queue()), fresh(stage)
    for most in (before, after):
        put(stage, only(trial.queue), {MOST: most}, name, operator=True)
        heeded(stage)
        trial.keeps(8)


def _exchange_that_is_declared_later(stage: Stage) -> None:
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


def _that_is_declared_later(stage: Stage) -> None:
    """Nobody uses it; and again, when it has gone."""
    name = fresh(stage)
    stage.channel()  # time passes for those who are connected
    put(stage, only(name), {EXPIRES: SHORT})
    heeded(stage)
    for _ in range(2):
        stage.queue(name=name)
        wait(stage, GONE)
        asked(stage, name)


@rule("POLICY-001", queue_types=CLASSIC)
def test_queues_that_are_there(stage: Stage) -> None:
    """They take all that comes; then a policy limits each of them. Some have other properties, and arguments that say
    nothing of lengths. Of one some messages are out with a client. And a policy may have a low priority."""
    _of_a_low_priority(stage)
    trials = [(most, PolicyTrial(stage, stage.queue())) for most in (0, 1, 5)]
    trials += [(3, PolicyTrial(stage, queue)) for queue in _of_all_kinds(stage)]
    for most, trial in trials:
        trial.keeps(7)
        if most == 5:
            trial.fill(4)
            stage.fetch(trial.taker, trial.queue, 4)
            trial.empty()
        put(stage, only(trial.queue), {MOST: most})
    heeded(stage)
    for most, trial in trials:
        trial.keeps(most + 1, 2 * most + 3)


def _of_all_kinds(stage: Stage) -> list[str]:
    given = [{name: value} for name, value in ARGUMENTS.items() if stage.offers(name)]
    return [*map(stage.queue, given), stage.queue(exclusive=True), stage.queue(auto_delete=True)]


@rule("POLICY-010", queue_types=CLASSIC)
@pytest.mark.parametrize(("user", "operator"), [(6, 3), (3, 6), (0, 3)], ids=["operator", "user", "argument"])
def test_an_operator_has_a_policy(stage: Stage, user: int, operator: int) -> None:
    """It allows less than the user's, or more, or less than an argument; for lengths, and for times to live; the one
    comes before the other, or after it. And it may be changed."""
    if user:
        _changes(stage, user, operator)
    trial, dying = PolicyTrial(stage, stage.queue({} if user else {ARGUMENT: 6})), None
    limits = [(False, user), (True, operator)] if user else [(True, operator)]
    if user > operator:
        limits.reverse()
    for by, limit in limits:
        put(stage, only(trial.queue), {MOST: limit}, operator=by)
    if user and expires(stage):
        dying = PolicyTrial(stage, stage.queue())
        lives = {min(user, operator): SHORT, max(user, operator): HOUR}
        for by, limit in limits:
            put(stage, only(dying.queue), {TTL: lives[limit]}, operator=by)
    heeded(stage)
    trial.keeps(8)
    if dying is not None:
        dying.fill(3)
        wait(stage, SOON)
        dying.empty()


@rule("POLICY-013", queue_types=CLASSIC)
def test_an_alternate_exchange(stage: Stage) -> None:
    """Nothing is bound to the exchange. Then it has another alternate, by a policy for all, and then none: the policy
    says something else, or another one of higher priority does, or it is removed. Another exchange comes later."""
    _exchange_that_is_declared_later(stage)
    queue = stage.queue()
    alternate, exchange = stage.exchange(queue), stage.exchange(kind="direct")
    name = put(stage, only(exchange), {"alternate-exchange": alternate}, apply_to="exchanges")
    heeded(stage)
    strays(stage, exchange)
    look(stage, queue)
    other = stage.queue()
    put(stage, only(exchange), {"alternate-exchange": stage.exchange(other)}, name, apply_to="all")
    heeded(stage)
    strays(stage, exchange)
    look(stage, queue, other)
    _of_something_else(stage, exchange, other)
    stage.around.unrule(stage, name)
    heeded(stage)
    strays(stage, exchange)
    look(stage, queue, other)


def _of_something_else(stage: Stage, exchange: str, alternate: str) -> None:
    """The policy that holds for the exchange speaks of queues alone: it is another one, or has been changed."""
    onward, elsewhere = {"alternate-exchange": stage.exchange(alternate)}, {MOST: 9}
    higher = fresh(stage)
    for definition in (elsewhere, onward, elsewhere):
        put(stage, only(exchange), definition, higher, apply_to="all", priority=HIGH + 1)
        heeded(stage)
        strays(stage, exchange)
        look(stage, alternate)
    stage.around.unrule(stage, higher)


@rule("POLICY-015", queue_types=CLASSIC)
def test_a_policy_makes_queues_go(stage: Stage) -> None:
    """One is used by nobody; one by a get, when some of its time has passed; and one by a consumer all the time.
    One more is declared later."""
    _that_is_declared_later(stage)
    unused, used, consumed, consumer = stage.queue(), stage.queue(), stage.queue(), stage.channel()
    consumer.consume(consumed)
    stage.quiesce()
    for queue in (unused, consumed):
        put(stage, only(queue), {EXPIRES: SHORT})
    put(stage, only(used), {EXPIRES: LEASE})
    heeded(stage)
    wait(stage, 1.0)
    stage.get(stage.channel(), used)
    wait(stage, 2.3)
    asked(stage, unused, used, consumed)

"""Each command of the confirms machine, on a world where it means something and on one where it means nothing."""

from __future__ import annotations

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target
from conformance.drive.machines import alphabet as a
from conformance.drive.machines import campaign, search
from conformance.drive.machines import confirms as c
from conformance.drive.machines.campaign import SCHEDULERS, Scheduler
from conformance.drive.machines.world import World
from conformance.drive.roster import BACKSTAGE
from conformance.drive.run.bench import Bench
from reference_broker import ReferenceBroker
from tests.support.worlds import Until, last

PROFILE = profiles.load("documented")
BEGIN = c.Begin(1)


def sent_for(world: World, *commands: a.Command) -> list[str]:
    """What goes over the wire for the last of these commands, each on a broker at rest."""
    return [
        f"{event.direction}{event.method}{' multiple' if event.multiple else ''}"
        for event in last(world, *commands)
        if event.channel != BACKSTAGE
    ]


def send(
    address: c.Address,
    *,
    channel: int = 0,
    count: int = 1,
    mandatory: bool = False,
    body: c.Body = "small",
) -> c.Send:
    return c.Send(channel, address, 0, count, mandatory, True, body)


@pytest.mark.parametrize(
    ("command", "wire"),
    [
        (send("queue", count=2), [">basic.publish"] * 2 + ["<basic.ack multiple"]),
        (send("queue", body="large", count=3), [">basic.publish", "<basic.ack"]),
        (send("queue", body="empty"), [">basic.publish", "<basic.ack"]),
        (send("all"), [">basic.publish", "<basic.ack"]),
        (send("mixed"), [">basic.publish", "<basic.ack"]),
        (send("full", count=4), [">basic.publish"] * 4 + ["<basic.ack multiple", "<basic.nack", "<basic.nack"]),
        (send("nowhere"), [">basic.publish", "<basic.ack"]),
        (send("other key", mandatory=True), [">basic.publish", "<basic.return", "<basic.ack"]),
        (send("queue", channel=1), [">basic.publish"]),
    ],
)
def test_publishing(world: World, command: c.Send, wire: list[str]) -> None:
    """Channel 0 is in confirm mode, channel 1 is not."""
    assert sent_for(world, command) == wire


def test_a_publish_to_what_is_gone_costs_the_channel(world: World) -> None:
    assert sent_for(world, send("gone"))[-3:] == [">basic.publish", "<channel.close", ">channel.close-ok"]


def test_modes(world: World) -> None:
    assert sent_for(world, c.Select(1, no_wait=True)) == [">confirm.select"]
    assert sent_for(world, c.Begin(1)) == [], "in confirm mode"
    assert sent_for(world, c.Mix(2)) == [], "in neither"
    assert sent_for(world, c.Mix(1)) == [">tx.select", "<channel.close", ">channel.close-ok"]
    assert sent_for(world, BEGIN)[-2:] == [">tx.select", "<tx.select-ok"]
    assert sent_for(world, c.Select(1, no_wait=False)) == [], "transactional"
    assert sent_for(world, c.Mix(1)) == [">confirm.select", "<channel.close", ">channel.close-ok"]


def test_transactions(world: World) -> None:
    assert sent_for(world, c.End(0, commit=True, wrong=False)) == [], "there is none"
    assert sent_for(world, BEGIN, send("nowhere", channel=1, mandatory=True)) == [">basic.publish"]
    assert sent_for(world, c.End(0, commit=True, wrong=False)) == [">tx.commit", "<basic.return", "<tx.commit-ok"]
    assert sent_for(world, c.End(0, commit=False, wrong=False)) == [">tx.rollback", "<tx.rollback-ok"]
    assert sent_for(world, c.End(2, commit=False, wrong=True))[1] == "<channel.close"


def test_purging(world: World) -> None:
    assert sent_for(world, send("queue"), c.Purge(1, 0)) == [">queue.purge", "<queue.purge-ok"]


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_sound_broker_passes(target: Target, scheduler: Scheduler) -> None:
    outcome = search.run(
        c.CONFIRMS,
        Bench(target, PROFILE, deadline=10.0),
        "classic",
        scheduler,
        12,
        30,
        3,
    )
    assert outcome.broken == {}
    assert outcome.judgement.findings == []
    assert outcome.histories >= 12
    if scheduler == "lockstep":  # pipelined, what can be proved hangs on the interleaving
        for rule in ("CNF-004", "CNF-006", "CNF-008", "CNF-009", "CNF-010", "CNF-016", "CNF-025", "TX-003", "TX-004"):
            assert outcome.judgement.exercised[rule], rule


@pytest.mark.parametrize(
    ("mutant", "rule"),
    [
        ("confirms.second-select-restarts", "CNF-003"),
        ("routes.confirm-before-return", "CNF-009"),
        ("routes.returned-without-consumers", "CNF-025"),
        ("confirms.confirm-in-transaction", "CNF-016"),
    ],
)
@pytest.mark.sampled(2)
def test_a_bug_is_found(monkeypatch: pytest.MonkeyPatch, until: Until, mutant: str, rule: str) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.5)
    monkeypatch.setattr(search, "MOST_BROKEN", 2)
    until(rule)
    with ReferenceBroker(mutants=(mutant,)) as broker:
        outcome = search.run(
            c.CONFIRMS,
            Bench(Target.parse(broker.url), PROFILE, deadline=0.5),
            "classic",
            "lockstep",
            60,
            40,
            5,
        )
    assert rule in outcome.broken

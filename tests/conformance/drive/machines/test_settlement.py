"""How a campaign deals with findings, shown with planted ones on a broker that is right."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from conformance.catalogue import profiles
from conformance.drive.drivers.raw import Target, Unreachable
from conformance.drive.machines import campaign, search
from conformance.drive.machines.settlement import SCHEDULERS, SETTLEMENT, MachineOutcome, Scheduler
from conformance.drive.machines.world import Command
from conformance.drive.run.audience import Listener
from conformance.drive.run.bench import Bench
from conformance.history.events import Event
from conformance.history.recorder import Recorder
from conformance.oracle.monitors import Judge, judge
from conformance.oracle.verdicts import Finding, Judgement
from reference_broker import ReferenceBroker

PROFILE = profiles.load("documented")


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 1.0)


@dataclass(frozen=True)
class Hearing(Listener):
    """Keeps what it is told."""

    told: list[tuple[Judgement, Sequence[Event], str]] = field(default_factory=list)

    def contribute(self, judgement: Judgement, history: Sequence[Event] = (), *, reproduced: str = "witnessed") -> None:
        self.told.append((judgement, history, reproduced))


class Run:
    """One run of the machine and all that it told."""

    def __init__(self, target: Target, scheduler: Scheduler = "lockstep", examples: int = 12, seed: int = 1) -> None:
        self.recorded: list[Event] = []
        audience = Hearing(curious=True)
        self.told = audience.told
        bench = Bench(target, PROFILE, deadline=10.0, recorder=Recorder("run", "reference", self.recorded.append))
        self.outcome: MachineOutcome = search.run(SETTLEMENT, bench, "classic", scheduler, examples, 20, seed, audience)


def plant(monkeypatch: pytest.MonkeyPatch, **rules: Callable[[Event], bool]) -> None:
    """The judge blames these rules for events of these kinds."""

    class Planted(Judge):
        def step(self, event: Event) -> list[Finding]:
            found = super().step(event)
            for rule, wrong in rules.items():
                if wrong(event):
                    finding = Finding(rule.replace("_", "-"), event.history, event.seq, "nothing", "planted")
                    self.judgement.findings.append(finding)
            return found

    monkeypatch.setattr("conformance.drive.stage.Judge", Planted)


def rejects(event: Event) -> bool:
    return event.method == "basic.reject"


def recovers(event: Event) -> bool:
    return event.method == "basic.recover-ok"


@pytest.mark.parametrize("scheduler", SCHEDULERS)
def test_a_right_broker_is_not_blamed(target: Target, scheduler: Scheduler) -> None:
    run = Run(target, scheduler)
    assert run.outcome.judgement.findings == []
    assert run.outcome.broken == {}
    assert len(run.told) == run.outcome.histories >= 12
    assert judge(run.recorded, PROFILE) == run.outcome.judgement, "what is recorded gives the same verdict again"


def test_the_seed_decides_what_is_done(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands; when a broker's close is read, and what can then still be sent, is a matter of time."""
    step = campaign.Campaign.step

    def drawn(seed: int) -> list[Sequence[Command]]:
        seen: list[Sequence[Command]] = []

        def noted(self: campaign.Campaign, example: campaign.Example, commands: Sequence[Command]) -> None:
            seen.append(commands)
            step(self, example, commands)

        monkeypatch.setattr(campaign.Campaign, "step", noted)
        Run(target, seed=seed)
        return seen

    assert drawn(3) == drawn(3)
    assert drawn(3) != drawn(4)


def test_a_broken_rule_is_shrunk_and_its_first_witness_kept(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 10.0)
    plant(monkeypatch, ACK_012=rejects)
    found = (Run(target, seed=seed).outcome.broken["ACK-012"] for seed in range(3, 8))
    broken = next(one for one in found if len(one.events) < len(one.first_events))
    methods = [event.method for event in broken.events]
    after = methods[len(methods) - methods[::-1].index("basic.reject") :]
    assert set(after) <= {"channel.close", "channel.close-ok", ""}, "the history ends where the rule broke"
    assert broken.reproduced == "5 of 5"


def test_one_broken_rule_does_not_hide_another(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ACK_012=rejects, RQ_009=recovers)
    run = Run(target, examples=30)
    assert set(run.outcome.broken) == {"ACK-012", "RQ-009"}


def test_only_what_is_told_is_recorded(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """The attempts of shrinking are not; the shortest history and the first one are."""
    plant(monkeypatch, ACK_012=rejects)
    run = Run(target, examples=8)
    histories = list(dict.fromkeys(event.history for event in run.recorded))
    assert sorted(histories) == sorted({history[0].history for _, history, _ in run.told})
    assert len(histories) == run.outcome.histories == len(run.outcome.judgements)
    told = {reproduced for judgement, _, reproduced in run.told if judgement.findings}
    assert "5 of 5" in told
    assert sum(len(judgement.findings) for judgement in run.outcome.judgements) == len(run.outcome.judgement.findings)


def test_a_finding_that_happens_once_is_kept_as_witnessed(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    once = iter([True])
    plant(monkeypatch, ACK_012=lambda event: rejects(event) and next(once, False))
    run = Run(target)
    broken = run.outcome.broken["ACK-012"]
    assert broken.reproduced == "witnessed"
    assert broken.events == broken.first_events
    assert run.outcome.histories >= 12, "and the search goes on"


def test_doubts_are_counted_and_fail_nothing(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    class Doubting(Judge):
        def step(self, event: Event) -> list[Finding]:
            found = super().step(event)
            if rejects(event):
                doubt = Finding("ACK-012", event.history, event.seq, "nothing", "planted", certain=False)
                self.judgement.findings.append(doubt)
            return found

    monkeypatch.setattr("conformance.drive.stage.Judge", Doubting)
    run = Run(target)
    assert run.outcome.broken == {}
    assert run.outcome.judgement.findings


def test_shrinking_gives_up_in_time(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, ACK_012=rejects)
    monkeypatch.setattr(campaign, "SHRINK_SECONDS", 0.0)
    broken = Run(target).outcome.broken["ACK-012"]
    assert broken.events == broken.first_events
    assert broken.reproduced == "5 of 5"


def test_trouble_that_is_no_finding_stops_the_run(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(event: Event) -> bool:
        if rejects(event):
            raise Unreachable("tcp", "gone")
        return False

    plant(monkeypatch, ACK_012=breaks)
    with pytest.raises(Unreachable, match="gone"):
        Run(target)


def test_nothing_is_left_on_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: set[str | None] = set()
    declared: set[str | None] = set()
    swept: list[str] = []

    def sweep(target: Target, queues: Any, exchanges: Any, deadline: float) -> None:
        swept.extend([*queues, *exchanges])

    monkeypatch.setattr("conformance.drive.guard.sweep", sweep)
    plant(monkeypatch, ACK_012=rejects)
    with ReferenceBroker() as broker:
        run = Run(Target.parse(broker.url))
    for event in run.recorded:
        if event.method == "queue.declare":
            declared.add(event.queue)
        elif event.method == "queue.delete":
            deleted.add(event.queue)
    assert declared - deleted <= set(swept)

"""The directed checks are complete, provoke what they promise, and expose the bugs their rules are about."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from conformance.catalogue import profiles, rules
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.run.bench import Bench
from conformance.drive.run.plays import Play, plays
from conformance.drive.run.runner import perform
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS
from tests.reference_broker.test_control import asking
from tools.rooms import folder_of

JUDGED = [rule.id for rule in rules.CATALOGUE.values() if rule.status in ("judged", "characterised")]


@dataclass(frozen=True)
class Scene:
    """One directed check, with a play for each of its cases and queue types."""

    name: str
    plays: tuple[Play, ...]

    @property
    def rules(self) -> tuple[str, ...]:
        return self.plays[0].check.rules

    @property
    def queue_types(self) -> tuple[str, ...]:
        return self.plays[0].check.queue_types

    @property
    def module(self) -> str:
        return self.plays[0].function.__module__

    def run(
        self,
        broker: ReferenceBroker,
        deadline: float,
        profile: str = "documented",
        queue_type: str | None = None,
    ) -> Judgement:
        """Every case on a stage of its own, all judged together; on the first of its queue types, or on this one."""
        around = Around(Admin(broker.admin_url), broker.leap, broker.crash, broker.restart, broker.alarm)
        bench = Bench(Target.parse(broker.url), profiles.load(profile), around, deadline)
        total = Judgement()
        for play in self.plays:
            if play.queue_type == (queue_type or self.queue_types[0]):
                stage, failure = perform(play, bench)
                if failure is not None:
                    raise failure
                total.add(stage.judgement)
        return total


def scenes() -> list[Scene]:
    found: dict[Callable[..., None], list[Play]] = {}
    for play in plays():
        if not play.machine:
            found.setdefault(play.function, []).append(play)
    return [Scene(function.__name__, tuple(those)) for function, those in found.items()]


SCENES = scenes()
DOCUMENTED = profiles.load("documented")
OFFERED = [  # the embedded broker is held to the texts
    scene
    for scene in SCENES
    if not all(rules.get(rule).ruled_out(DOCUMENTED.choices) for rule in scene.rules or ("TAG-001",))
]
BY_RULE = {rule: scene for scene in SCENES for rule in scene.rules}
BRIEF, GENEROUS = 0.3, 10.0
"""Seconds for what is owed: enough nearly always, and enough on a crowded machine."""


@pytest.fixture(scope="module")
def broker() -> Iterator[ReferenceBroker]:
    with ReferenceBroker(clock="elastic", http_port=0) as broker:
        yield broker


def test_every_judged_rule_has_exactly_one_scene() -> None:
    played = Counter(rule for scene in SCENES for rule in scene.rules)
    wrong = [
        f"{rule}: {played[rule]} scenes are marked @rule({rule!r}), and there must be one, "
        f"in conformance/drive/scenes/{folder_of(rules.FAMILIES[rule.partition('-')[0]])}/ (docs/add-a-rule.md)"
        for rule in sorted({*JUDGED, *played})
        if played[rule] != (rule in JUDGED)
    ]
    assert not wrong, "\n".join(wrong)


def test_no_two_scenes_share_a_name() -> None:
    """Histories are named after their scene, also where several workers make them."""
    names = [scene.name for scene in SCENES]
    assert sorted(set(names)) == sorted(names)


def test_a_scene_lives_in_a_module_of_its_family() -> None:
    for scene in SCENES:
        family = scene.module.rpartition("test_")[2].partition("_")[0]
        of = "/".join(sorted({rules.get(rule).family.lower() for rule in scene.rules}))
        assert of == family, f"{scene.name} belongs into test_{of}.py, or test_{of}_IDEA.py"


def test_a_scene_is_offered_where_its_rule_applies() -> None:
    for rule, scene in BY_RULE.items():
        assert set(scene.queue_types) <= set(rules.get(rule).queue_types), rule


def left_behind(broker: ReferenceBroker) -> list[str]:
    """Queues and exchanges that are still there, when those of closed connections have had the time to go. Scenes share
    names."""
    until = time.monotonic() + GENEROUS
    while True:
        there = (one["name"] for kind in ("queues", "exchanges") for one in asking(broker)("GET", f"/api/{kind}"))
        names = [name for name in there if name.startswith("amqpconf.")]
        if not names or time.monotonic() > until:
            return names


@pytest.mark.parametrize("scene", OFFERED, ids=lambda scene: scene.name)
def test_on_the_reference_broker_a_scene_exercises_its_rule_and_nothing_is_wrong(
    scene: Scene,
    broker: ReferenceBroker,
) -> None:
    judgement = scene.run(broker, deadline=GENEROUS)
    assert not judgement.findings
    for rule in scene.rules:
        assert judgement.exercised[rule] >= rules.get(rule).needed, judgement.exercised
    assert not left_behind(broker)


@pytest.fixture(scope="module", params=["tune.few-channels", "tune.small-frames"])
def narrow(request: pytest.FixtureRequest) -> Iterator[ReferenceBroker]:
    with ReferenceBroker(clock="elastic", http_port=0, personality=request.param) as broker:
        yield broker


@pytest.mark.parametrize("scene", OFFERED, ids=lambda scene: scene.name)
@pytest.mark.sampled(12)
def test_where_channels_are_few_or_frames_are_small_nothing_is_wrong(scene: Scene, narrow: ReferenceBroker) -> None:
    """What of a scene is on another connection then is sent there, too."""
    assert not scene.run(narrow, deadline=GENEROUS).findings


def held_to(wanted: list[str]) -> str:
    """The texts, or the latest dialect to which these rules apply."""
    for name in ("documented", "rabbitmq-4.3", "rabbitmq-4.0"):
        if not all(rules.get(rule).ruled_out(profiles.load(name).choices) for rule in wanted):
            return name
    raise AssertionError(f"{wanted} apply to no dialect")


BY_MACHINES_ONLY = {"expiry.revived-for-a-moment"}  # tests/reference_broker/test_mutants.py shows it
"""When the broker could have sent what a revived consumer gets is known only where its limit had been reached."""


BESIDE = {
    "halfway.quiet-deletions": "NOWAIT-006",
    "halfway.quiet-binding": "NOWAIT-006",
    "halfway.reserved-queue-made": "QUEUE-009",
    "halfway.reserved-made": "EXCH-008",
    "namesakes.settled-in-the-next": "CAN-012",
}
"""Mutants that the scene of another rule leads to: what it is about comes before what goes wrong."""


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - BY_MACHINES_ONLY))
@pytest.mark.sampled(4)
def test_a_mutant_is_caught_by_the_scene_of_its_rule(name: str) -> None:
    wanted = [rule for rule in MUTANTS[name].rules if rule in BY_RULE]
    assert wanted, "none of its rules has a scene"
    profile = held_to(wanted)
    found: dict[tuple[float, str, str], set[str]] = {}
    with ReferenceBroker(clock="elastic", http_port=0, mutants=(name,), dialect=profile) as broker:
        for deadline, rule in itertools.product((BRIEF, GENEROUS), [BESIDE.get(name, one) for one in wanted]):
            for queue_type in BY_RULE[rule].queue_types:
                judgement = BY_RULE[rule].run(broker, deadline, profile, queue_type)
                found[deadline, rule, queue_type] = {finding.rule for finding in judgement.findings}
                if found[deadline, rule, queue_type].intersection(wanted):
                    return
    raise AssertionError(found)

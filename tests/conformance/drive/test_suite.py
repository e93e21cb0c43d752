"""The directed checks are complete, provoke what they promise, and expose the bugs their rules are about."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import conformance.drive.scenes
from conformance.catalogue import profiles, rules
from conformance.drive.around import Around
from conformance.drive.drivers.admin import Admin
from conformance.drive.drivers.raw import Target
from conformance.drive.stage import SceneOver, Stage
from conformance.history.recorder import Recorder
from conformance.oracle.verdicts import Judgement
from reference_broker import ReferenceBroker
from reference_broker.mutants import MUTANTS

JUDGED = [rule.id for rule in rules.CATALOGUE.values() if rule.status in ("judged", "characterised")]


@dataclass(frozen=True)
class Scene:
    """One directed check, with the cases it is parametrised by."""

    name: str
    play: Any
    rules: tuple[str, ...]
    queue_types: tuple[str, ...]
    cases: tuple[dict[str, Any], ...]

    @classmethod
    def of(cls, function: Any) -> Scene | None:
        marks = {mark.name: mark for mark in getattr(function, "pytestmark", ())}
        if "rule" not in marks or not marks["rule"].args:
            return None
        cases: tuple[dict[str, Any], ...] = ({},)
        if "parametrize" in marks:
            name, given = marks["parametrize"].args
            cases = tuple({name: value} for value in given)
        mark = marks["rule"]
        return cls(function.__name__, function, mark.args, mark.kwargs["queue_types"], cases)

    def run(
        self,
        broker: ReferenceBroker,
        deadline: float,
        profile: str = "documented",
        queue_type: str | None = None,
    ) -> Judgement:
        """Every case on a stage of its own, all judged together; on the first of its queue types, or on this one."""
        total = Judgement()
        for case in self.cases:
            stage = Stage(
                Target.parse(broker.url),
                profiles.load(profile),
                Recorder("test", "reference"),
                self.name,
                self.rules,
                queue_type or self.queue_types[0],
                deadline,
            )
            stage.around = Around(Admin(broker.admin_url), broker.leap, broker.crash)
            try:
                with contextlib.suppress(SceneOver):
                    self.play(stage, **case)
                total.add(stage.finish())
            finally:
                stage.cleanup()
        return total


def scenes() -> Iterator[Scene]:
    for module in pkgutil.iter_modules(conformance.drive.scenes.__path__, "conformance.drive.scenes."):
        if ".test_" in module.name:
            for _, function in inspect.getmembers(importlib.import_module(module.name), inspect.isfunction):
                scene = Scene.of(function)
                if scene is not None:
                    yield scene


SCENES = list(scenes())
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
    assert sorted(rule for scene in SCENES for rule in scene.rules) == sorted(JUDGED)


def test_no_two_scenes_share_a_name() -> None:
    """Histories are named after their scene, also where several workers make them."""
    names = [scene.name for scene in SCENES]
    assert sorted(set(names)) == sorted(names)


def test_a_scene_lives_in_a_module_of_its_family() -> None:
    for scene in SCENES:
        module = inspect.getmodule(scene.play).__name__  # type: ignore[union-attr]
        family = module.rpartition("test_")[2].partition("_")[0]
        assert {rule.split("-")[0].lower() for rule in scene.rules} == {family}


def test_a_scene_is_offered_where_its_rule_applies() -> None:
    for rule, scene in BY_RULE.items():
        assert set(scene.queue_types) <= set(rules.get(rule).queue_types), rule


@pytest.mark.parametrize("scene", OFFERED, ids=lambda scene: scene.name)
def test_on_the_reference_broker_a_scene_exercises_its_rule_and_nothing_is_wrong(
    scene: Scene,
    broker: ReferenceBroker,
) -> None:
    judgement = scene.run(broker, deadline=GENEROUS)
    assert not judgement.findings
    for rule in scene.rules:
        assert judgement.exercised[rule] >= rules.get(rule).needed, judgement.exercised


def held_to(wanted: list[str]) -> str:
    """The texts, or the latest dialect to which these rules apply."""
    for name in ("documented", "rabbitmq-4.3", "rabbitmq-4.0"):
        if not all(rules.get(rule).ruled_out(profiles.load(name).choices) for rule in wanted):
            return name
    raise AssertionError(f"{wanted} apply to no dialect")


BY_MACHINES_ONLY = {"expiry.revived-for-a-moment"}
"""When the broker could have sent what a revived consumer gets is known only where its limit had been reached."""


@pytest.mark.parametrize("name", sorted(MUTANTS.keys() - BY_MACHINES_ONLY))
def test_a_mutant_is_caught_by_the_scene_of_its_rule(name: str) -> None:
    wanted = [rule for rule in MUTANTS[name].rules if rule in BY_RULE]
    assert wanted, "none of its rules has a scene"
    profile = held_to(wanted)
    found: dict[tuple[float, str, str], set[str]] = {}
    with ReferenceBroker(clock="elastic", http_port=0, mutants=(name,), dialect=profile) as broker:
        for deadline, rule in itertools.product((BRIEF, GENEROUS), wanted):
            for queue_type in BY_RULE[rule].queue_types:
                judgement = BY_RULE[rule].run(broker, deadline, profile, queue_type)
                found[deadline, rule, queue_type] = {finding.rule for finding in judgement.findings}
                if found[deadline, rule, queue_type].intersection(wanted):
                    return
    raise AssertionError(found)
